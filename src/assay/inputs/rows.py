"""Whatever a user hands over becomes `Rows`, its targets and weights arrays, or an error that says what to do.

scipy lets anyone assign to the arrays behind a sparse matrix, so nothing of it is believed: what points outside the matrix is refused
before any loop reads by it. The user's object is never changed; where it is canonical already, its entries are not copied.
Frames of any kind (pandas, polars, Arrow, …, through narwhals) become a matrix of numbers and codes of categories.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.engines import ArrayRows, Rows, SparseRows
from assay.engines.csr import SparseMatrix
from assay.engines.rows import check_weights
from assay.errors import DataConversionWarning, DataError, DataTypeError, SchemaError, as_seen_by_sklearn
from assay.numerics import Array

NOT_SPARSE = "Sparse data is not supported by this model: convert it with X.toarray() (dense data is required)."
MOST_COLUMNS = (1 << 31) - 1
LINES = {"csr": "row", "csc": "column", "bsr": "block of rows"}
Levels = tuple[tuple[str, ...] | None, ...]
KnownLevels = Sequence[tuple[str, ...] | None]


def as_rows(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    categories: bool = False,
    levels: KnownLevels | None = None,
    sparse: bool = False,
    multi_output: bool | str = False,
) -> Rows:
    """Rows of anything that holds a table: arrays, lists, frames (pandas, polars, Arrow, …), Dask collections, `assay.rows`.

    `categories`: text and categorical columns become codes (for models that take them) instead of an error; `levels` are
    the categories of an earlier fit (None for a column of numbers), by which they are then coded; unknown ones become
    missing, and a column that changed its kind is refused. `sparse`: sparse matrices stay sparse instead of an error.
    `multi_output`: y may have several columns, a target each; "flat": a single column is flattened.
    """
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise DataError("assay.rows(...) brings its own target and weights: name them there, not in this call.")
        if X.sparse and not sparse:
            raise DataTypeError(NOT_SPARSE)
        return X
    if hasattr(X, "__dask_graph__"):
        from assay.engines.cluster import dask_rows

        return dask_rows(X, y, sample_weight)
    if is_sparse(X):
        if not sparse:
            raise DataTypeError(NOT_SPARSE)
        kept = as_sparse(X)
        return SparseRows(kept, *_target_and_weights(y, sample_weight, len(kept), multi_output))
    names, cats, array = _matrix(X, categories, levels)
    target, weights = _target_and_weights(y, sample_weight, len(array), multi_output)
    return ArrayRows(array, target, weights, names=names, categories=cats)


def _matrix(
    X: Any, categories: bool, levels: KnownLevels | None
) -> tuple[tuple[str, ...] | None, Levels | None, Array]:
    if not isinstance(X, np.ndarray | list | tuple):
        frame = as_frame(X)
        if frame is not None:
            _refuse_empty(frame.shape)
            return frame_matrix(frame, categories, levels)
    return None, None, as_matrix(X)


def _target_and_weights(
    y: Any, sample_weight: Any, n: int, multi_output: bool | str = False
) -> tuple[Array | None, Array | None]:
    target = None if y is None else as_targets(y, n, multi_output)
    weights = None if sample_weight is None else as_weights(sample_weight, n)
    return target, weights


def as_matrix(X: Any) -> Array:
    """A two-dimensional array of numbers."""
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise DataError(
            f"X is ragged: its rows have different lengths. Every row needs the same columns. ({error})"
        ) from None
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: pass the real and imaginary parts as two columns.")
    _refuse_other_than_2d(array.shape)
    if array.dtype.kind not in "fiub":
        array = _numbers(array)
    if array.dtype == np.float16 or array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    _refuse_empty(array.shape)
    return array


def _numbers(array: Array) -> Array:
    """Objects or text as float64; what is not a number is an error that names the first such cell."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        for i, row in enumerate(array):
            for j, value in enumerate(row):
                if value is None:
                    continue
                try:
                    float(value)
                except (TypeError, ValueError):
                    message = (
                        f"X contains {value!r} in row {i}, column {j}, which is not a number. Encode text columns first "
                        "(a float() argument must be a string or a real number)."
                    )
                    raise (DataError if isinstance(value, str) else DataTypeError)(message) from None
        return np.array([[np.nan if v is None else v for v in row] for row in array], dtype=np.float64)


def as_column(y: Any, name: str, n: int | None) -> Array:
    """A one-dimensional target; a column vector is flattened with a warning."""
    _refuse_sparse_targets(y)
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise DataError(f"{name} is ragged: {error}") from None
    if array.dtype == object and array.ndim == 1 and len(array) and isinstance(array[0], int | float | np.generic):
        array = _plain_numbers(array)
    if array.dtype.kind == "c":
        raise DataError(f"Complex data not supported in {name}.")
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            f"A column-vector {name} was passed when a 1d array was expected. Please change its shape to (n_samples,), "
            f"for example using ravel().",
            as_seen_by_sklearn(DataConversionWarning),
            stacklevel=4,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise DataError(f"{name} should be a 1d array, got an array of shape {array.shape} instead.")
    if n is not None and len(array) != n:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, {name} has {len(array)}."
        )
    return array


def as_targets(y: Any, n: int | None, multi_output: bool | str = True) -> Array:
    """A target (n,), or with `multi_output` several (n, T): a column each, also where there is but one, unless that is to be "flat"."""
    if not multi_output:
        return as_column(y, "y", n)
    _refuse_sparse_targets(y)
    try:
        array = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    except ValueError:
        array = np.empty(0)  # ragged, which is refused below
    if array.ndim != 2 or (multi_output == "flat" and array.shape[1] == 1):
        return as_column(y, "y", n)
    columns = [as_column(column, "y", n) for column in array.T]
    if not columns:
        raise DataError("y has no columns: give one for each target.")
    return np.stack(columns, axis=1)


def _refuse_sparse_targets(y: Any) -> None:
    """Raise for targets in a sparse matrix."""
    if is_sparse(y):
        raise DataTypeError(
            f"y is a sparse matrix of shape {y.shape}, and a sparse multilabel-indicator for y is not supported. Give an array: y.toarray()."
        )


def _plain_numbers(array: Array) -> Array:
    """Numbers held as objects (as frames with missing values do) as an array of numbers; anything else as it was."""
    if not all(isinstance(v, int | float | np.generic) for v in array):
        return array
    numbers = np.array(array.tolist())
    return numbers if numbers.dtype.kind in "iufb" else array


def as_regression_target(y: Array, start: int = 0) -> Array:
    """A finite float64 target; `start` is the number of its first row."""
    try:
        target = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"y holds {y.dtype}, for instance {y[0]!r}: a regression target must be numbers.") from None
    if not np.all(np.isfinite(target)):
        where = int(np.argwhere(~np.isfinite(target))[0, 0])
        what = "NaN" if np.isnan(target[where]).any() else "infinity or a value too large for dtype('float64')"
        raise DataError(f"Input y contains {what}. (First at row {start + where}: drop the rows without a target.)")
    return target


def as_weights(sample_weight: Any, n: int) -> Array:
    """Weights: finite, not negative, not all zero."""
    try:
        w = np.asarray(sample_weight.to_numpy() if hasattr(sample_weight, "to_numpy") else sample_weight)
    except ValueError as error:
        raise DataError(f"sample_weight is ragged: {error}") from None
    if w.ndim == 0 and isinstance(sample_weight, np.ndarray):
        raise DataTypeError(
            f"Input should have at least 1 dimension i.e. satisfy `len(x.shape) > 0`, got scalar `{w.astype(np.float64)!r}` instead. "
            f"(sample_weight: give one weight for each of the {n} rows, or a number for all.)"
        )
    if w.ndim == 0:
        w = np.full(n, w)
    if w.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar, got an array of shape {w.shape}.")
    if len(w) != n:
        raise DataError(f"sample_weight.shape == {w.shape}, expected {(n,)}: one weight a row.")
    try:
        w = w.astype(np.float64)
    except (TypeError, ValueError):
        raise DataTypeError(f"sample_weight holds {w.dtype}, not numbers.") from None
    if len(w) and not check_weights(w).any():
        raise DataError(
            "Every value of sample_weight is zero, so no row counts (Invalid input - all samples have zero or negative weights.): "
            "give some rows a positive weight."
        )
    return w


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix; by its looks, so that nothing of scipy is imported."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def as_sparse(X: Any) -> SparseMatrix:
    """Canonical CSR of a sparse matrix: columns sorted, duplicates summed, zeros dropped, indices int32."""
    _refuse_other_than_2d(X.shape)
    _refuse_empty(X.shape)
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported: pass the real and imaginary parts as two columns.")
    if X.dtype.kind not in "fiub":
        raise DataTypeError(f"The sparse matrix holds {X.dtype}, not numbers: convert it with X.astype(float).")
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(f"X has {X.shape[1]} columns, and sparse rows take at most 2³¹ − 1: hash or drop some columns.")
    _refuse_broken(X)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    csr = X if getattr(X, "format", None) == "csr" else X.astype(dtype).tocsr()
    if csr is not X:
        _refuse_broken(csr)
    if not _is_canonical(csr):
        csr = _canonical(csr, dtype)
    kept = int(csr.indptr[-1])
    return SparseMatrix(
        np.ascontiguousarray(csr.data[:kept], dtype=dtype),
        np.ascontiguousarray(csr.indices[:kept], dtype=np.int32),
        np.ascontiguousarray(csr.indptr, dtype=np.int64),
        int(X.shape[1]),
    )


def _is_canonical(csr: Any) -> bool:
    """Whether columns rise strictly in every row and no zero is kept; asked of the arrays, not of scipy's notes on them."""
    kept = int(csr.indptr[-1])
    indices = csr.indices[:kept]
    rises = indices[1:] > indices[:-1]
    starts = csr.indptr[1:-1]
    starts = starts[(starts > 0) & (starts < kept)]
    rises[starts - 1] = True
    return bool(rises.all()) and np.count_nonzero(csr.data[:kept]) == kept


def _canonical(csr: Any, dtype: Any) -> Any:
    """A canonical copy; duplicates are summed as `dtype`, so that no small integer overflows."""
    made = csr.astype(dtype, copy=True)
    made.has_canonical_format = made.has_sorted_indices = False  # scipy's notes may be stale
    made.sum_duplicates()
    made.eliminate_zeros()
    return made


def _refuse_broken(X: Any) -> None:
    """Raise where the arrays behind a matrix contradict each other or point outside it."""
    kind = getattr(X, "format", None)
    if kind == "coo":
        for name, at, size in zip(("row", "column"), (X.row, X.col), X.shape):
            if len(at) != len(X.data):
                raise _broken(f"it has {len(X.data)} values and {len(at)} {name} numbers")
            _refuse_outside(at, size, name, "entry", np.arange(len(at)))
    elif kind in LINES:
        shape = X.shape if kind != "bsr" else tuple(s // b for s, b in zip(X.shape, X.blocksize))
        lines, across = shape if kind != "csc" else shape[::-1]
        _refuse_broken_lines(X.data, X.indices, X.indptr, lines, across, LINES[kind])


def _refuse_broken_lines(data: Array, indices: Array, indptr: Array, lines: int, across: int, line: str) -> None:
    if indptr.ndim != 1 or len(indptr) != lines + 1:
        raise _broken(f"indptr has shape {indptr.shape} where {(lines + 1,)} is due")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise _broken(f"indices and indptr must be whole numbers, not {indices.dtype} and {indptr.dtype}")
    if indices.ndim != 1 or len(indices) != len(data):
        raise _broken(f"it has {len(data)} values and {len(indices)} indices")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if len(falls):
        raise _broken(f"indptr falls at {line} {falls[0]}, from {indptr[falls[0]]} to {indptr[falls[0] + 1]}")
    if indptr[0] != 0:
        raise _broken(f"indptr begins with {indptr[0]} at {line} 0 where 0 is due")
    if indptr[-1] > len(indices):
        at = int(np.argmax(indptr > len(indices))) - 1
        raise _broken(f"{line} {at} ends at entry {indptr[at + 1]}, and there are only {len(indices)}")
    kept = indices[: int(indptr[-1])]
    _refuse_outside(kept, across, "row" if line == "column" else "column", line, indptr)


def _refuse_outside(at: Array, size: int, what: str, line: str, pointers: Array) -> None:
    """Raise for the first number in `at` that is not in 0 … size − 1; `pointers` say to which line an entry belongs."""
    if len(at) and (at.min() < 0 or at.max() >= size):
        entry = int(np.argmax((at < 0) | (at >= size)))
        number = int(np.searchsorted(pointers, entry, side="right")) - 1
        raise _broken(f"{line} {number} names the {what} {at[entry]}, and there are only 0 … {size - 1}")


def _broken(why: str) -> DataError:
    return DataError(f"X is a broken sparse matrix: {why}. Build it anew, for instance from (data, (rows, columns)).")


def _refuse_other_than_2d(shape: tuple[int, ...]) -> None:
    """Raise where a table is not rows by columns."""
    if len(shape) != 2:
        what = "a single value" if not shape else f"{len(shape)}D array"
        raise DataError(
            f"Expected 2D array, got {what} instead (shape {shape}). Reshape your data: X.reshape(-1, 1) for a single "
            "column, X.reshape(1, -1) for a single row."
        )


def _refuse_empty(shape: tuple[int, ...]) -> None:
    """Raise where a table has no columns or no rows."""
    n, d = shape
    if d == 0:
        raise DataError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if n == 0:
        raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")


class NumberColumns(Sequence[None]):
    """The levels of columns that all hold numbers. It takes no room: how many there are may be the word of a file alone."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at: Any) -> Any:
        if not -self._count <= at < self._count:
            raise IndexError(at)
        return None


def as_frame(X: Any) -> Any:
    """A narwhals frame, or None where the object is no frame."""
    module = type(X).__module__.split(".")[0]
    if module in ("numpy", "builtins"):
        return None
    if hasattr(X, "__array__") and not hasattr(X, "columns") and not hasattr(X, "__arrow_c_stream__"):
        return None
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if not isinstance(frame, nw.DataFrame) and hasattr(X, "__arrow_c_stream__"):
            frame = nw.DataFrame.from_arrow(X, backend=_arrow_backend())
    except nw.exceptions.DuplicateError as error:
        raise SchemaError(f"Two columns have the same name: rename or drop one. ({error})") from None
    except (TypeError, ImportError):
        return None
    return frame if isinstance(frame, nw.DataFrame) else None


def _arrow_backend() -> Any:
    return next((name for name in ("pyarrow", "polars", "pandas") if name in sys.modules), "pyarrow")


def frame_matrix(frame: Any, categories: bool, levels: KnownLevels | None) -> tuple[tuple[str, ...] | None, Any, Array]:
    """(names, categories of each column or None, matrix) of a narwhals frame that has rows and columns."""
    names = _frame_names(frame)
    columns, cats = [], []
    fitted = levels is not None and len(levels) == frame.shape[1]
    for j, column in enumerate(frame.iter_columns()):  # by place: a column's name may be a number
        values, found = fitted_column(column, levels[j]) if fitted and levels else frame_column(column, categories)
        columns.append(values)
        cats.append(found)
    # float32 only where every column is: the rule depends on the schema, never on the values
    dtype = np.float32 if all(c.dtype == np.float32 for c in columns) else np.float64
    array = np.empty((frame.shape[0], len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        array[:, j] = column
    return names, tuple(cats) if any(c is not None for c in cats) else None, array


def _frame_names(frame: Any) -> tuple[str, ...] | None:
    native = frame.to_native()
    labels = list(getattr(native, "columns", frame.columns))
    if all(isinstance(c, str) for c in labels):
        return tuple(labels)
    if any(isinstance(c, str) for c in labels):
        kinds = sorted({type(c).__name__ for c in labels})
        raise DataTypeError(
            f"Feature names are only supported if all input features have string names, but your input has {kinds} as "
            "feature name / column name types. Rename the columns: X.columns = X.columns.astype(str)."
        )
    return tuple(frame.columns) if not hasattr(native, "columns") or not _integer_labels(labels) else None


def _integer_labels(labels: Sequence[Any]) -> bool:
    return all(isinstance(c, int | np.integer) for c in labels)


def fitted_column(column: Any, levels: tuple[str, ...] | None) -> tuple[Array, tuple[str, ...] | None]:
    """A column as in the fit: numbers where it held numbers, codes of its categories where it held text."""
    if levels is None:
        return frame_column(column, False)
    values, found = frame_column(column, True, levels)
    if found is None and not np.all(np.isnan(values)):
        raise SchemaError(
            f"Column {column.name!r} held text at the fit, such as {levels[0] if levels else ''!r}, and holds numbers now: "
            "give it as text (categories), as at the fit."
        )
    return values, levels


def frame_column(
    column: Any, categories: bool, levels: tuple[str, ...] | None = None
) -> tuple[Array, tuple[str, ...] | None]:
    """One column of a narwhals frame as numbers, or as codes of its sorted categories (missing: NaN)."""
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        if dtype == nw.Float32:
            return column.to_numpy().astype(np.float32, copy=False), None
        if column.null_count():
            column = column.cast(nw.Float64).fill_null(float("nan"))
        return np.asarray(column.to_numpy(), dtype=np.float64), None
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        values = np.asarray(column.to_numpy(), dtype=object)
        if dtype == nw.Object and all(_missing(v) or isinstance(v, bool | int | float | np.generic) for v in values):
            return np.array([np.nan if _missing(v) else float(v) for v in values]), None
        if not categories:
            return _numbers_in_text(values, column.name), None
        return encode_categories(values, levels)
    raise DataTypeError(
        f"Column {column.name!r} holds {dtype}, which is neither numbers nor categories: convert or drop it."
    )


def _numbers_in_text(values: Array, name: str) -> Array:
    try:
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    except (TypeError, ValueError):
        text = next(v for v in values if isinstance(v, str))
        raise DataError(
            f"Column {name!r} contains {text!r}, which is not a number (a float() argument must be a string or a real number). "
            "Encode it as numbers, drop it, or use a model that takes categories (trees, forests, NaiveBayes, CategoricalNB)."
        ) from None


def encode_categories(values: Array, levels: Sequence[str] | None = None) -> tuple[Array, tuple[str, ...]]:
    """Text as codes of `levels` (default: its sorted distinct values); missing and unknown values become NaN."""
    text = np.array(["" if _missing(v) else str(v) for v in values], dtype=object)
    gone = np.array([_missing(v) for v in values], dtype=bool)
    known = tuple(sorted(set(text[~gone]))) if levels is None else tuple(levels)
    index = {level: float(i) for i, level in enumerate(known)}
    codes = np.array([index.get(t, np.nan) for t in text], dtype=np.float64)
    codes[gone] = np.nan
    return codes, known


def _missing(value: Any) -> bool:
    return value is None or value != value
