"""Matrices, targets and weights as arrays of numbers, or an error that says what to do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from assay.engines.rows import check_weights
from assay.errors import DataConversionWarning, DataError, DataTypeError, as_seen_by_sklearn
from assay.numerics import Array


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
    refuse_other_than_2d(array.shape)
    if array.dtype.kind not in "fiub":
        array = _numbers(array)
    if array.dtype == np.float16 or array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    refuse_empty(array.shape)
    return array


def refuse_other_than_2d(shape: tuple[int, ...]) -> None:
    """Raise where a table is not rows by columns."""
    if len(shape) != 2:
        what = "a single value" if not shape else f"{len(shape)}D array"
        raise DataError(
            f"Expected 2D array, got {what} instead (shape {shape}). Reshape your data: X.reshape(-1, 1) for a single "
            "column, X.reshape(1, -1) for a single row."
        )


def refuse_empty(shape: tuple[int, ...]) -> None:
    """Raise where a table has no columns or no rows."""
    n, d = shape
    if d == 0:
        raise DataError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if n == 0:
        raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")


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
        where = int(np.flatnonzero(~np.isfinite(target))[0])
        what = "NaN" if np.isnan(target[where]) else "infinity or a value too large for dtype('float64')"
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
        raise DataError("Every value of sample_weight is zero, so no row counts: give some rows a positive weight.")
    return w
