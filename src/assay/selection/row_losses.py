"""What a model answers for rows, and what each answer costs under the loss that a comparison is about.

zero-one 1{ŷ ≠ y}     log −log p(y | x)     brier Σ_k (p_k − 1{y = k})² (two classes: half)     squared (ŷ − y)²     absolute |ŷ − y|
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.assess.calibration import Bin
from assay.assess.score import Score, proportion
from assay.assess.scores import ClassScores, f1_of, jaccard_of
from assay.certify.intervals import Interval
from assay.engines import Rows
from assay.errors import ParameterError, nearest
from assay.numerics import Array, Floats
from assay.selection.data import TableData

OF_CLASSES = ("zero-one", "log", "brier")
OF_NUMBERS = ("squared", "absolute")
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


def check_loss(loss: str | None, classes: bool) -> str:
    """The loss of a comparison: by default zero-one for classes, squared for numbers."""
    known = OF_CLASSES if classes else OF_NUMBERS
    if loss is None:
        return known[0]
    name = loss.replace("_", "-").lower()
    if name not in known:
        what = "classes" if classes else "numbers"
        raise ParameterError(f"loss={loss!r} is not possible for a target of {what}. {nearest(name, known)}")
    return name


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


# Scores of rows that were tested several times: a row asked again is no new row, so intervals are those of the distinct rows.
#
# n answers for m < n distinct rows: the deviation of a mean is taken to be √(n/m) times that of n independent rows, which
# is right where the answers for a row agree, and too wide (never too narrow) where they do not.

LEAST_REPEATS = {"R²": -math.inf}  # what a score cannot be below (else 0) or above (else infinity)
MOST = {"balanced error": 1.0, "AUC": 1.0, "R²": 1.0, "Brier score": 2.0}
MOST |= {"average precision": 1.0, "expected calibration error": 1.0, "cost": 1.0}


def of_distinct_rows(score: Score, rows: int) -> Score:
    """The score with the interval that so many distinct rows allow.

    >>> str(of_distinct_rows(Score("MSE", 4.0, 3.0, 5.0, "approximate", "low", 400), 100))
    'MSE 4 [2, 6] about'
    """
    if rows >= score.n:
        return score
    if score.name == "error":
        return share_of_rows(score, rows)
    within = widened(score.value, Interval(score.low, score.high), math.sqrt(score.n / rows))
    low, high = max(within.low, LEAST_REPEATS.get(score.name, 0.0)), min(within.high, MOST.get(score.name, math.inf))
    return replace(score, low=min(low, score.value), high=max(high, score.value), kind="approximate", n=rows)


def share_of_rows(score: Score, rows: int) -> Score:
    """A share of answers with the interval of that share of so many distinct rows; several fits answered, so it is not exact.

    >>> str(share_of_rows(proportion("recall", 500, 500), 100))
    'recall 1 [0.9638, 1] about'
    """
    if rows == 0:
        return replace(score, kind="approximate")
    found = proportion(score.name, round(score.value * rows), rows, better=score.better)
    low, high = min(found.low, score.value), max(found.high, score.value)
    return replace(found, value=score.value, low=low, high=high, kind="approximate")


def class_of_rows(found: ClassScores, true: Array, answered: Array, tested: Array) -> ClassScores:
    """The scores of a class with the intervals of the distinct rows behind each: (m,) who is of it, who was said to be, and which row it is."""
    n, said, either = (len(np.unique(tested[which])) for which in (true, answered, true | answered))
    precision, recall = share_of_rows(found.precision, said), share_of_rows(found.recall, n)
    return ClassScores(found.label, n, precision, recall, f1_of(share_of_rows(jaccard_of(found.f1), either)))


def bins_of_rows(bins: Iterable[Bin], p: Floats, tested: Array) -> tuple[Bin, ...]:
    """Bins of probabilities p (m,) with the intervals of the distinct rows in each; equal ones share a bin, so its ends say who is in it."""
    rows = [(b, tested[(b.least <= p) & (p <= b.greatest)]) for b in bins]
    return tuple(replace(b, observed=share_of_rows(b.observed, len(np.unique(inside)))) for b, inside in rows)


def widened(value: float, within: Interval, factor: float) -> Interval:
    """The interval with both ends that many times as far away."""
    return Interval(value - factor * (value - within.low), value + factor * (within.high - value))
