"""Validation at the public edge: whatever a user hands over becomes `Rows`, or an error that says what to do.

The inside trusts what comes from here. Values are not searched for NaN up front (that would read the table once more): a
model's statistics show that something is not finite, and `refuse_non_finite` then finds and names the cell.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.engines import ArrayRows, Rows
from assay.engines.rows import check_weights as check_weights
from assay.errors import DataConversionWarning, DataError, DataTypeError, SchemaError, as_seen_by_sklearn, nearest
from assay.numerics import Array

Levels = tuple[tuple[str, ...] | None, ...]


def as_rows(
    X: Any, y: Any = None, sample_weight: Any = None, *, categories: bool = False, levels: Levels | None = None
) -> Rows:
    """Rows of anything that holds a table: arrays, lists, frames (pandas, polars, Arrow, …), Dask collections, `assay.rows`.

    `categories`: text and categorical columns become codes (for models that take them) instead of an error; `levels` are
    the categories of an earlier fit, by which they are then coded (unknown ones become missing).
    """
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise DataError("assay.rows(...) brings its own target and weights: name them there, not in this call.")
        return X
    if hasattr(X, "__dask_graph__"):
        from assay.engines.cluster import dask_rows

        return dask_rows(X, y, sample_weight)
    names, cats, array = _matrix(X, categories, levels)
    n = array.shape[0]
    target = None if y is None else as_column(y, "y", n)
    weights = None if sample_weight is None else as_weights(sample_weight, n)
    return ArrayRows(array, target, weights, names=names, categories=cats)


def _matrix(X: Any, categories: bool, levels: Levels | None) -> tuple[tuple[str, ...] | None, Levels | None, Array]:
    if _is_sparse(X):
        raise DataTypeError(
            "Sparse data is not supported by this model yet: convert it with X.toarray() (dense data is required)."
        )
    if not isinstance(X, np.ndarray | list | tuple):
        frame = _as_frame(X)
        if frame is not None:
            return _frame_matrix(frame, categories, levels)
    return None, None, as_matrix(X)


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


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
    if array.ndim != 2:
        shape = "a single value" if array.ndim == 0 else f"{array.ndim}D array"
        raise DataError(
            f"Expected 2D array, got {shape} instead (shape {array.shape}). Reshape your data: X.reshape(-1, 1) for a single "
            "column, X.reshape(1, -1) for a single row."
        )
    if array.dtype.kind not in "fiub":
        array = _numbers(array)
    if array.dtype == np.float16 or array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    n, d = array.shape
    if d == 0:
        raise DataError(f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    if n == 0:
        raise DataError(f"Found array with 0 sample(s) (shape={array.shape}) while a minimum of 1 is required.")
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


def _as_frame(X: Any) -> Any:
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


def _frame_matrix(frame: Any, categories: bool, levels: Levels | None) -> tuple[tuple[str, ...] | None, Any, Array]:
    names = _frame_names(frame)
    if frame.shape[1] == 0 or frame.shape[0] == 0:
        as_matrix(np.empty(frame.shape))
    columns, cats = [], []
    fitted = levels if levels is not None and len(levels) == frame.shape[1] else (None,) * frame.shape[1]
    for column, known in zip(frame.iter_columns(), fitted):  # by place: a column's name may be a number
        values, found = frame_column(column, categories, known)
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
            "Encode it as numbers, drop it, or use a model that takes categories (NaiveBayes, CategoricalNB)."
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


def _plain_numbers(array: Array) -> Array:
    """Numbers held as objects (as frames with missing values do) as an array of numbers; anything else as it was."""
    if not all(isinstance(v, int | float | np.generic) for v in array):
        return array
    numbers = np.array(array.tolist())
    return numbers if numbers.dtype.kind in "iufb" else array


def as_regression_target(y: Array) -> Array:
    """A finite float64 target."""
    try:
        target = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"y holds {y.dtype}, for instance {y[0]!r}: a regression target must be numbers.") from None
    if not np.all(np.isfinite(target)):
        where = int(np.flatnonzero(~np.isfinite(target))[0])
        what = "NaN" if np.isnan(target[where]) else "infinity or a value too large for dtype('float64')"
        raise DataError(f"Input y contains {what}. (First at row {where}: drop the rows without a target.)")
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
        raise DataError("Every value of sample_weight is zero, so no row counts: give some rows a positive weight.")
    return w


def refuse_non_finite(X: Array, start: int = 0, names: Sequence[str] | None = None, *, nan: bool = True) -> None:
    """Raise for the first infinite (or, with `nan`, missing) value of a block, naming row and column."""
    bad = ~np.isfinite(X) if nan else np.isinf(X)
    if bad.any():
        i, j = (int(k) for k in np.argwhere(bad)[0])
        column = f"column {names[j]!r}" if names is not None else f"column {j}"
        if np.isnan(X[i, j]):
            raise DataError(
                f"Input X contains NaN (first in row {start + i}, {column}). Drop or impute missing values, or use a model "
                "that leaves them out (the naive Bayes family)."
            )
        raise DataError(
            f"Input X contains infinity or a value too large for dtype('{X.dtype}') (first in row {start + i}, {column})."
        )


def refuse_overflow(X: Array, start: int = 0, names: Sequence[str] | None = None) -> None:
    """Raise for values whose squares overflow, naming the column."""
    top = np.nanmax(np.abs(X), axis=0)
    j = int(np.argmax(top))
    column = f"Column {names[j]!r}" if names is not None else f"Column {j}"
    raise DataError(
        f"{column} holds values as large as {top[j]:.3g}, whose squares overflow float64. Rescale it (divide by a constant)."
    )


def check_features(model: Any, rows: Rows) -> None:
    """Raise where rows at prediction do not have the columns of the fit."""
    name = type(model).__name__
    fitted: Array | None = getattr(model, "feature_names_in_", None)
    if fitted is not None and rows.names is not None and tuple(fitted) != tuple(rows.names):
        raise SchemaError(_names_message(list(fitted), list(rows.names)))
    if rows.n_columns != model.n_features_in_:
        raise DataError(
            f"X has {rows.n_columns} features, but {name} is expecting {model.n_features_in_} features as input."
        )
    if fitted is not None and rows.names is None:
        warnings.warn(
            f"X does not have valid feature names, but {name} was fitted with feature names", UserWarning, stacklevel=5
        )
    elif fitted is None and rows.names is not None:
        warnings.warn(f"X has feature names, but {name} was fitted without feature names", UserWarning, stacklevel=5)


def _names_message(fitted: list[str], given: list[str]) -> str:
    unseen = sorted(set(given) - set(fitted))
    missing = sorted(set(fitted) - set(given))
    message = "The feature names should match those that were passed during fit.\n"
    if unseen:
        message += "Feature names unseen at fit time:\n" + "".join(f"- {n}\n" for n in unseen[:5])
        if len(unseen) > 5:
            message += "- ...\n"
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {n}\n" for n in missing[:5])
        if len(missing) > 5:
            message += "- ...\n"
        if unseen:
            message += nearest(missing[0], unseen) + "\n"
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message
