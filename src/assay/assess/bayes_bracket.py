"""The best error any classifier can reach, bracketed from the nearest neighbour's (Cover and Hart 1967).

    (K − 1)/K · (1 − √(1 − K/(K − 1)·e)) ≤ R* ≤ e        (neighbours/cover_hart.py)

R* ≤ e holds for any number of rows. The lower end is asymptotic: with few rows, or many columns that say nothing, e is still
above its limit and so is the lower end. Both are estimates, and said to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.assess.neighbour import loo_1nn_error, standardised
from assay.assess.score import Score, check_confidence, plain, proportion, same_length
from assay.engines.split import row_keys
from assay.errors import DataError, OneClassError, ParameterError
from assay.labels import distinct
from assay.neighbours.cover_hart import least_bayes_error
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


def cover_hart(X: Any, y: Any, *, groups: Any = None, confidence: float = 0.95) -> BayesBracket:
    """The bracket of the best possible error from all rows X (n, d) and classes y, columns brought to deviation 1.

    >>> cover_hart([[0.0], [1.0], [2.1], [8.0], [9.0], [10.1]], ["oak"] * 3 + ["elm"] * 3).high
    0.0
    """
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return bayes_bracket(X, y, groups=groups, most=max(2, n), confidence=confidence)


def bayes_bracket(
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    most: int = 4000,
    seed: int = 0,
    confidence: float = 0.95,
    neighbour_errors: Callable[..., int] = loo_1nn_error,
) -> BayesBracket:
    """The bracket from rows X (n, d), numbers, and classes y; of more than `most` rows a subset drawn by `seed`.

    `groups`: rows that belong together (visits of one patient, copies of one row) are not each other's neighbours: what one of them
    says of another is no error that a new case could have. `neighbour_errors(X, y)`, or (X, y, groups), counts the rows whose nearest other
    row is of another class. Neighbours are shared, so the interval of their error is `approximate`.

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
    rows = drawn_rows(n, most, seed)
    Z = standardised(X[rows] if hasattr(X, "toarray") else np.asarray(X)[rows])
    kept_apart = () if groups is None else (_codes(groups, n, rows),)
    wrong = neighbour_errors(Z, y[rows], *kept_apart)
    e = replace(proportion("1-NN leave-one-out error", wrong, len(rows), confidence), kind="approximate")
    low, least = (least_bayes_error(v, K) for v in (e.value, e.low))
    return BayesBracket(min(low, e.value), e.value, min(least, low), e.high, K, e)


def drawn_rows(n: int, most: int, seed: int = 0) -> Array:
    """At most so many of n rows, in order, chosen by a hash of their numbers: evenly over a table that may be sorted.

    >>> len(drawn_rows(10, 20)), len(drawn_rows(6000, 4000))
    (10, 4000)
    """
    return np.arange(n) if n <= most else np.sort(np.argpartition(row_keys(0, n, seed), most)[:most])


def _codes(groups: Any, n: int, rows: Array) -> Array:
    """The groups of some rows as codes; there must be two at least."""
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise DataError(f"groups has the shape {groups.shape}: one group for each of the {n} rows is due.")
    names, codes = np.unique(groups[rows], return_inverse=True)
    if len(names) < 2:
        raise DataError(f"All rows are of one group ({names[0]}): none has a neighbour of another.")
    return np.asarray(codes)
