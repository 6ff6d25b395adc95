"""The best error any classifier can reach, bracketed from the nearest neighbour's (Cover and Hart 1967).

As rows grow without end, the error e of the nearest neighbour and the Bayes error R* of K classes satisfy

    R* ≤ e ≤ R*(2 − K/(K − 1)·R*),   hence   (K − 1)/K · (1 − √(1 − K/(K − 1)·e)) ≤ R* ≤ e

R* ≤ e holds for any number of rows. The lower end is asymptotic: with few rows, or many columns that say nothing, e is still
above its limit and so is the lower end. Both are estimates, and said to be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.assess.neighbour import loo_1nn_error, standardised
from assay.assess.score import Score, check_confidence, plain, proportion, same_length
from assay.errors import OneClassError, ParameterError
from assay.labels import distinct
from assay.numerics import Array


@dataclass(frozen=True)
class BayesBracket:
    """low ≤ R* ≤ high; `least` and `most` are the same ends at the ends of the interval of e, `neighbour` is e."""

    low: float
    high: float
    least: float
    most: float
    classes: int
    neighbour: Score
    note: str = "asymptotic, estimate"

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def cover_hart(e: float, K: int) -> float:
    """The least Bayes error of K classes where the nearest neighbour errs at rate e; past (K − 1)/K, worse than guessing, nothing: 0.

    >>> round(cover_hart(0.0445, 2), 4)
    0.0228
    """
    top = (K - 1) / K
    return 0.0 if e >= top else top * (1 - math.sqrt(1 - e / top))


def bayes_bracket(
    X: Any,
    y: Any,
    *,
    most: int = 4000,
    seed: int = 0,
    confidence: float = 0.95,
    neighbour_errors: Callable[[Any, Array], int] = loo_1nn_error,
) -> BayesBracket:
    """The bracket from rows X (n, d), numbers, and classes y; of more than `most` rows a subset drawn by `seed`.

    `neighbour_errors(X, y)` counts the rows whose nearest other row is of another class.

    >>> b = bayes_bracket(np.array([[0.0], [1.0], [2.1], [8.0], [9.0], [10.1]]), ["oak"] * 3 + ["elm"] * 3)
    >>> b.low, b.high, round(b.most, 3)
    (0.0, 0.0, 0.459)
    """
    confidence = check_confidence(confidence)
    y = np.asarray(y)
    n, K = X.shape[0] if hasattr(X, "toarray") else same_length(X=X, y=y), len(distinct(y))
    if K < 2:
        raise OneClassError(f"All {n} rows are of one class: there is no error to bracket.")
    if most < 2:
        raise ParameterError(f"most={most!r} is not possible: a nearest neighbour needs at least 2 rows.")
    rows = np.arange(n)
    if n > most:
        rows = np.sort(np.random.default_rng([seed, n]).choice(n, most, replace=False))
    X = X[rows] if hasattr(X, "toarray") else np.asarray(X)[rows]
    e = proportion("1-NN leave-one-out error", neighbour_errors(standardised(X), y[rows]), len(rows), confidence)
    low, least = (cover_hart(v, K) for v in (e.value, e.low))
    return BayesBracket(min(low, e.value), e.value, min(least, low), e.high, K, e)
