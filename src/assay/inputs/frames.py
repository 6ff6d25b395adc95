"""Frames of any kind (pandas, polars, Arrow, …, through narwhals) as a matrix of numbers and codes of categories."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.errors import DataError, DataTypeError, SchemaError
from assay.numerics import Array

Levels = tuple[tuple[str, ...] | None, ...]
KnownLevels = Sequence[tuple[str, ...] | None]


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
