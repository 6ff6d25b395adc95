"""The rows a picture shows: numbers without gaps, with names, and a way to ask any model about new points like them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.engines import ArrayRows, Rows
from assay.errors import DataError, ParameterError, SchemaError, nearest, not_fitted
from assay.estimator.estimator import Estimator
from assay.inputs import KnownLevels, Levels, NumberColumns, as_column, as_rows, check_features
from assay.inputs.rows import as_frame
from assay.numerics import Array, Floats

AT_ONCE = 4_000_000  # numbers that a model is asked about at once
MOST_POINTS = 300  # drawn in one picture: more hide each other, and an SVG holds each of them


@dataclass(frozen=True)
class PictureRows:
    """X (n, d) and y (n,) without the rows that have gaps; `left_out` of them were dropped."""

    X: Floats
    y: Array | None
    names: tuple[str, ...]
    left_out: int = 0
    categories: Levels | None = None
    frame: Any = None  # the kind of frame that the rows came in, for models that want one

    @property
    def note(self) -> str:
        return f"{self.left_out} rows with missing values are not drawn." if self.left_out else ""

    def column(self, wanted: int | str) -> int:
        """The place of a column given by place or name."""
        if isinstance(wanted, str):
            if wanted not in self.names:
                raise SchemaError(f"There is no column {wanted!r}. {nearest(wanted, self.names)}")
            return self.names.index(wanted)
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer):
            raise ParameterError(f"A column is given by place or name, got {wanted!r}.")
        if not 0 <= wanted < len(self.names):
            raise SchemaError(f"There is no column {wanted}: X has {len(self.names)}, from 0 to {len(self.names) - 1}.")
        return int(wanted)

    def two(self, columns: Sequence[int | str]) -> tuple[int, int]:
        """Two different columns."""
        if len(self.names) < 2:
            raise DataError("X has one column, and this picture shows two: give a model of at least two columns.")
        if isinstance(columns, str) or len(columns) != 2:
            raise ParameterError(f"columns={columns!r}: give two, such as (0, 1) or two names.")
        a, b = (self.column(c) for c in columns)
        if a == b:
            raise ParameterError(f"columns={columns!r} are the same column twice: give two different ones.")
        return a, b

    def ask(self, model: Any, method: str, X: Floats) -> Array:
        """model.method at new points (m, d), in parts and in the form that the model was fitted on."""
        step = max(1, AT_ONCE // X.shape[1])
        answers = [self._ask(model, method, X[a : a + step]) for a in range(0, len(X), step)]
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def _ask(self, model: Any, method: str, X: Floats) -> Array:
        question: Any = X
        if isinstance(model, Estimator):
            names = tuple(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None
            question = ArrayRows(X, names=names, categories=self.categories)
        elif self.frame is not None:
            import narwhals.stable.v2 as nw

            columns = {name: X[:, j] for j, name in enumerate(self.names)}
            question = nw.from_dict(columns, backend=self.frame).to_native()
        with warnings.catch_warnings():  # the columns were checked already; other models ask for a frame
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return np.asarray(getattr(model, method)(question))


def picture_rows(
    model: Any, X: Any, y: Any = None, names: Sequence[str] | None = None, *, fitted: bool = True
) -> PictureRows:
    """The rows of X as a model that was fitted on such rows sees them; rows with gaps are left out."""
    if fitted:
        check_fitted(model)
    levels = _levels(model)
    rows = as_rows(X, categories=levels is not None, levels=levels).in_memory()
    d = getattr(model, "n_features_in_", rows.n_columns)
    if fitted and d != rows.n_columns:
        raise DataError(f"X has {rows.n_columns} columns, and this {type(model).__name__} was fitted on {d}.")
    known = getattr(model, "feature_names_in_", None)
    if fitted and known is not None and rows.names is not None:
        check_features(model, rows)
    target = rows.y if y is None and rows.has_target else None if y is None else as_column(y, "y", rows.n_rows)
    whole = np.isfinite(rows.X).all(axis=1)
    if target is not None:
        whole &= _there(target)
    if not whole.any():
        raise DataError("Every row has a missing or infinite value: there is nothing to show. Fill them in first.")
    frame = None if isinstance(X, np.ndarray | list | tuple | Rows) else as_frame(X)
    return PictureRows(
        np.asarray(rows.X[whole], dtype=np.float64),
        None if target is None else target[whole],
        _names(names, known, rows),
        int((~whole).sum()),
        tuple(levels) if levels is not None else rows.categories,
        None if frame is None else frame.implementation,
    )


def _there(values: Array) -> Array:
    """Which targets are not missing."""
    if values.dtype.kind in "iubUS":
        return np.ones(len(values), dtype=bool)
    return np.array([v is not None and v == v for v in values.tolist()])  # NaN is not equal to itself


def check_fitted(model: Any) -> None:
    """Raise where a model cannot predict, or has not been fitted (by the rule of scikit-learn: nothing ends in "_")."""
    if not callable(getattr(model, "predict", None)):
        raise ParameterError(f"{type(model).__name__} has no predict: give a fitted model.")
    says = getattr(model, "__sklearn_is_fitted__", None)
    learnt = says() if says else any(n.endswith("_") and not n.startswith("__") for n in getattr(model, "__dict__", {}))
    if hasattr(model, "fit") and not learnt:
        raise not_fitted(model)


def _levels(model: Any) -> KnownLevels | None:
    if not isinstance(model, Estimator) or not model.takes_categories or not hasattr(model, "n_features_in_"):
        return None
    found = model.to_record().categories
    if found is None:
        return NumberColumns(model.n_features_in_)
    return tuple(None if c is None else tuple(c) for c in found)


def _names(given: Sequence[str] | None, known: Any, rows: Rows) -> tuple[str, ...]:
    if given is not None:
        if len(given) != rows.n_columns:
            raise ParameterError(f"names has {len(given)} names, and X has {rows.n_columns} columns.")
        return tuple(str(n) for n in given)
    if known is not None:
        return tuple(str(n) for n in known)
    return rows.names or tuple(f"column {j}" for j in range(rows.n_columns))


def codes_of(values: Array, classes: Sequence[Any]) -> Array:
    """The place of each value among the classes (each must be there)."""
    place = {c: k for k, c in enumerate(classes)}
    return np.array([place[v] for v in values.tolist()], dtype=np.intp)


def all_classes(model: Any, *values: Array | None) -> list[Any]:
    """The classes of a model, then whatever else occurs in the values."""
    classes = list(np.asarray(getattr(model, "classes_", [])).tolist())
    extra = {v for a in values if a is not None for v in a.tolist()} - set(classes)
    return classes + sorted(extra, key=lambda v: (str(type(v)), v))


def some_of(n: int, most: int = MOST_POINTS) -> Array:
    """Evenly spaced places of at most `most` of n rows: the same rows every time.

    >>> some_of(10, 4)
    array([0, 3, 6, 9])
    """
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(np.intp))


def thinned_note(n: int, most: int = MOST_POINTS) -> str:
    """What to say about rows that are not drawn."""
    return f"{most} of {n:,} rows drawn." if n > most else ""
