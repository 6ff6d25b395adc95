"""A model of a table seen as one of the table's own columns, so that pictures have the units that the table has."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import ArrayRows
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.select.details import Details
from assay.select.raw_rows import RawRows
from assay.select.table_model import TableModel

ENOUGH = 50  # rows without a gap, or half of all: then the others are left out of a picture rather than filled


class RawModel:
    """Answers rows of raw values (numbers, codes of categories, seconds) by encoding them first.

    The edge of a picture of counts and the like lies below zero, where they cannot be: there it answers as at zero. A model that takes whole
    numbers alone is asked about the nearest ones.
    """

    def __init__(self, model: TableModel) -> None:
        self.model_, self._encoding = model.model_, model.encoding_
        plain = [c for c in model.schema_.used if c.kind != "text"]
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

    def _asking(self, method: str) -> Any:
        ask = getattr(self.model_, method)

        def asked(X: Any) -> Array:
            held = np.maximum(X, self._least)
            try:
                return np.asarray(ask(self._encoding.rows(ArrayRows(held))))
            except DataError:  # densities of counts know whole numbers alone
                return np.asarray(ask(self._encoding.rows(ArrayRows(np.where(self._whole, held.round(), held)))))

        return asked


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
    X: Floats = np.array(rows.values, dtype=np.float64)
    whole = np.isfinite(X).all(axis=1)
    filled = int(whole.sum()) < min(ENOUGH, len(X) / 2)
    if filled:
        middle = [_middle(X[:, j]) for j in range(X.shape[1])]
        rest = [j for j in range(X.shape[1]) if j not in shown]
        X[:, rest] = np.where(np.isfinite(X[:, rest]), X[:, rest], np.array(middle)[rest])
        whole = np.isfinite(X).all(axis=1)
    names = tuple(c.name for c in rows.plain)
    levels = tuple(tuple(c.levels or ()) if c.kind == "category" else None for c in rows.plain)
    categories = levels if any(level is not None for level in levels) else None
    return ArrayRows(X[whole], names=names, categories=categories), rows.y[whole], filled


def _middle(column: Floats) -> float:
    known = column[np.isfinite(column)]
    return float(np.quantile(known, 0.5, method="lower")) if len(known) else 0.0
