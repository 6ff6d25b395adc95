"""What a model answers for rows, and what each answer costs under the loss that a comparison is about.

zero-one 1{ŷ ≠ y}     log −log p(y | x)     brier Σ_k (p_k − 1{y = k})² (two classes: half)     squared (ŷ − y)²     absolute |ŷ − y|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.engines import Rows
from assay.numerics import Array, Floats
from assay.selection.data import TableData

LEAST = float(np.finfo(np.float64).eps)  # the least probability that the log loss takes, as in assess.scores


@dataclass
class Answers:
    """Answers for m rows: codes of the classes or numbers, and, where the model has them, probabilities and scores."""

    values: Array  # (m,)
    P: Floats | None = None  # (m, K)
    scores: Floats | None = None  # (m,) or (m, K): of models without probabilities

    @classmethod
    def of(cls, model: Any, rows: Rows, classes: Array | None) -> Answers:
        """Ask a fitted model everything. Labels that it gives are among the `classes`, though it may know fewer of them."""
        if classes is None:
            return cls(np.asarray(model.predict(rows), dtype=np.float64))
        values = np.searchsorted(classes, model.predict(rows))
        if hasattr(model, "predict_proba"):
            P = np.asarray(model.predict_proba(rows), dtype=np.float32)
            if P.shape[1] < len(classes):
                wide = np.zeros((len(P), len(classes)), dtype=np.float32)
                wide[:, np.searchsorted(classes, model.classes_)] = P
                P = wide
            return cls(values, P)
        if not hasattr(model, "decision_function") or len(model.classes_) < len(classes):  # no score for a class unseen
            return cls(values)
        return cls(values, None, model.decision_function(rows))

    @classmethod
    def for_loss(cls, model: Any, rows: Rows, classes: Array | None, loss: str) -> Answers:
        """Ask a fitted model no more than the loss looks at."""
        if classes is not None and loss == "zero-one":
            return cls(np.searchsorted(classes, model.predict(rows)))
        return cls.of(model, rows, classes)

    def joined(self, other: Answers) -> Answers:
        """These rows and those of another split."""
        both = (self.P, other.P), (self.scores, other.scores)
        P, scores = (None if a is None or b is None else np.concatenate([a, b]) for a, b in both)
        return Answers(np.concatenate([self.values, other.values]), P, scores)


def row_losses(loss: str, data: TableData, which: Array, answers: Answers) -> Floats:
    """(m,): what the answer for each of these rows costs; NaN where the loss needs probabilities and the model has none."""
    y = data.codes[which]
    if loss == "zero-one":
        return np.asarray(answers.values != y, dtype=np.float64)
    if loss == "squared":
        return np.asarray((answers.values - y) ** 2, dtype=np.float64)
    if loss == "absolute":
        return np.asarray(np.abs(answers.values - y), dtype=np.float64)
    if answers.P is None:
        return np.full(len(y), np.nan)
    P = answers.P.astype(np.float64)
    if loss == "log":
        return -np.log(np.maximum(P[np.arange(len(y)), y], LEAST))
    P[np.arange(len(y)), y] -= 1.0
    half = 0.5 if P.shape[1] == 2 else 1.0  # as in assess.scores
    return np.asarray(half * (P**2).sum(axis=1))
