"""Whatever a user hands over becomes `Rows`, its targets and weights arrays, or an error that says what to do.

scipy lets anyone assign to the arrays behind a sparse matrix, so nothing of it is believed: what points outside the matrix is refused
before any loop reads by it. The user's object is never changed; where it is canonical already, its entries are not copied.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from assay.engines import ArrayRows, Rows, SparseRows
from assay.engines.csr import SparseMatrix
from assay.engines.rows import check_weights
from assay.errors import DataConversionWarning, DataError, DataTypeError, as_seen_by_sklearn
from assay.inputs.frames import KnownLevels, Levels, as_frame, frame_matrix
from assay.numerics import Array

NOT_SPARSE = "Sparse data is not supported by this model: convert it with X.toarray() (dense data is required)."
MOST_COLUMNS = (1 << 31) - 1
LINES = {"csr": "row", "csc": "column", "bsr": "block of rows"}


def as_rows(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    categories: bool = False,
    levels: KnownLevels | None = None,
    sparse: bool = False,
    multi_output: bool = False,
) -> Rows:
    """Rows of anything that holds a table: arrays, lists, frames (pandas, polars, Arrow, …), Dask collections, `assay.rows`.

    `categories`: text and categorical columns become codes (for models that take them) instead of an error; `levels` are
    the categories of an earlier fit (None for a column of numbers), by which they are then coded; unknown ones become
    missing, and a column that changed its kind is refused. `sparse`: sparse matrices stay sparse instead of an error.
    `multi_output`: y may have several columns, a target each.
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
    y: Any, sample_weight: Any, n: int, multi_output: bool = False
) -> tuple[Array | None, Array | None]:
    target = None if y is None else as_targets(y, n) if multi_output else as_column(y, "y", n)
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


def as_targets(y: Any, n: int | None) -> Array:
    """A target (n,), or several (n, T): a column each, also where there is but one."""
    if np.ndim(y) != 2 or is_sparse(y):
        return as_column(y, "y", n)
    array = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    columns = [as_column(column, "y", n) for column in array.T]
    if not columns:
        raise DataError("y has no columns: give one for each target.")
    return np.stack(columns, axis=1)


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
