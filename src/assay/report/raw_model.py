"""A model of a table seen as one of the table's own columns, so that pictures have the units that the table has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.engines import ArrayRows
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.selection.details import Details
from assay.selection.raw_rows import RawRows
from assay.selection.table_model import TableModel
from assay.tables.schema.schema import TEXTUAL

ENOUGH = 50  # rows without a gap, or half of all: then the others are left out of a picture rather than filled


class RawModel:
    """Answers rows of raw values (numbers, codes of categories, seconds) by encoding them first.

    A model that refuses what a picture asks of it is asked again about what it can know: one of counts at zero where the picture's edge
    lies below it, one of whole numbers about the nearest ones.
    """

    def __init__(self, model: TableModel) -> None:
        self.model_, self._encoding = model.learner, model.encoding_
        plain = [c for c in model.schema_.used if c.kind not in TEXTUAL]
        self._least = np.array([0.0 if c.low is not None and c.low >= 0 else -np.inf for c in plain])
        self._whole = np.array([c.whole for c in plain])
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        for name in ("predict_proba", "decision_function"):
            if hasattr(self.model_, name):
                setattr(self, name, self._asking(name))

    def predict(self, X: Any) -> Array:
        """The answers for raw rows (m, d)."""
        answers: Array = self._asking("predict")(X)
        return answers

    def both(self, X: Any) -> tuple[Array, Array | None]:
        """Answers and, where the model has them, probabilities: what they share is computed once."""
        if not hasattr(self.model_, "predict_proba"):
            return self.predict(X), None
        pieces = self._holding(lambda rows: list(self.model_.predict_both_blocks(rows)), X)
        return np.concatenate([a for a, _ in pieces]), np.concatenate([p for _, p in pieces])

    def _asking(self, method: str) -> Any:
        ask = getattr(self.model_, method)

        return lambda X: np.asarray(self._holding(ask, X))

    def _holding(self, ask: Any, X: Any) -> Any:
        counts = np.maximum(X, self._least)
        for rows in (X, counts):
            try:
                return ask(self._encoding.rows(ArrayRows(rows)))
            except DataError:  # densities of counts know neither negative numbers nor, some of them, fractions
                continue
        return ask(self._encoding.rows(ArrayRows(np.where(self._whole, counts.round(), counts))))


def two_columns(details: Details) -> tuple[int, int] | None:
    """The two numeric columns that matter most, by their places among the raw columns; None where there are not two."""
    kinds = {c.name: (j, c.kind) for j, c in enumerate(details.sample.plain)}
    ranked = [
        kinds[i.name][0] for i in details.importance if i.name in kinds and kinds[i.name][1] in ("number", "date")
    ]
    return (ranked[0], ranked[1]) if len(ranked) > 1 else None


def picture_rows(rows: RawRows, shown: tuple[int, int]) -> tuple[ArrayRows, Array, bool]:
    """Rows for a picture with their targets, and whether gaps had to be filled.

    Rows with a gap are left out where enough others remain; else gaps outside the two columns shown stand at the median.
    """
    X, whole, filled = without_gaps(rows.values, shown)
    names = tuple(c.name for c in rows.plain)
    levels = tuple(tuple(c.levels or ()) if c.kind == "category" else None for c in rows.plain)
    categories = levels if any(level is not None for level in levels) else None
    return ArrayRows(X[whole], names=names, categories=categories), rows.y[whole], filled


def without_gaps(values: Array, shown: Sequence[int]) -> tuple[Floats, Array, bool]:
    """Rows (n, d) with gaps filled where they must be, which of them have none left, and whether some were filled."""
    X: Floats = np.array(values, dtype=np.float64)
    whole = np.asarray(np.isfinite(X).all(axis=1))
    filled = int(whole.sum()) < min(ENOUGH, len(X) / 2)
    if filled:
        middle = [_middle(X[:, j]) for j in range(X.shape[1])]
        rest = [j for j in range(X.shape[1]) if j not in shown]
        X[:, rest] = np.where(np.isfinite(X[:, rest]), X[:, rest], np.array(middle)[rest])
        whole = np.asarray(np.isfinite(X).all(axis=1))
    return X, whole, filled


def _middle(column: Floats) -> float:
    known = column[np.isfinite(column)]
    return float(np.quantile(known, 0.5, method="lower")) if len(known) else 0.0
