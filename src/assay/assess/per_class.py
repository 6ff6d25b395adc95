"""Precision, recall and F1 of every class, all with exact intervals: each is (a function of) a share of a counted number of rows.

recall     TP/(TP + FN)    given how many rows are truly of the class
precision  TP/(TP + FP)    given how many rows were answered with it
F1         2J/(1 + J), J = TP/(TP + FP + FN)    given how many rows are one or the other; 2J/(1 + J) grows with J
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.assess.score import Score, plain, proportion
from assay.certify.measure import count_answers
from assay.labels import distinct, plain_labels
from assay.numerics import Array

ENDS = ("value", "low", "high")


@dataclass(frozen=True)
class ClassScores:
    """Of one class: how many rows are truly of it, and its three scores."""

    label: Any
    n: int
    precision: Score
    recall: Score
    f1: Score

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def per_class(y: Any, answers: Any, classes: Any = None, confidence: float = 0.95) -> list[ClassScores]:
    """The scores of each class, in the order of the classes.

    >>> [round(c.f1.value, 3) for c in per_class([0, 0, 1, 1], [0, 1, 1, 1])]
    [0.667, 0.8]
    """
    y, answers = np.asarray(y), np.asarray(answers)
    known = distinct(np.concatenate([y, answers])) if classes is None else np.asarray(classes)
    C = count_answers(y, answers, known)
    return [class_scores(label, C, k, confidence) for k, label in enumerate(plain_labels(known))]


def class_scores(label: Any, C: Array, k: int, confidence: float = 0.95) -> ClassScores:
    """The scores of class k from counts C (K or K + 1, K)."""
    right, true, answered = int(C[k, k]), int(C[k].sum()), int(C[:, k].sum())
    jaccard = proportion("F1", right, true + answered - right, confidence, "high")
    return ClassScores(
        label,
        true,
        proportion("precision", right, answered, confidence, "high"),
        proportion("recall", right, true, confidence, "high"),
        f1_of(jaccard),
    )


def f1_of(jaccard: Score) -> Score:
    """F1 with its interval from the share J of the rows of either kind that are of both."""
    return replace(jaccard, **{end: 2 * j / (1 + j) for end in ENDS for j in [getattr(jaccard, end)]})


def jaccard_of(f1: Score) -> Score:
    """The share J = F1/(2 − F1) that an F1 is made of."""
    return replace(f1, **{end: f / (2 - f) for end in ENDS for f in [getattr(f1, end)]})
