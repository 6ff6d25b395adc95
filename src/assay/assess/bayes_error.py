"""The best error any classifier can reach, bracketed from the nearest neighbour's leave-one-out error e (Cover and Hart 1967).

    (K − 1)/K · (1 − √(1 − K/(K − 1)·e)) ≤ R* ≤ e        (families/neighbours/leave_one_out.py)

R* ≤ e holds for any number of rows. The lower end is asymptotic: with few rows, or many columns that say nothing, e is still
above its limit and so is the lower end. How far e still falls shows on half of the rows: what the last doubling of the rows took off is
taken off once more before the lower end is stated with its uncertainty. Both ends are estimates, and said to be. e itself is exact; of sparse rows, or where groups are
kept apart, it is found by tiles of matrix products, |x − z|² = |x|² − 2x·z + |z|².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.assess.score import Score, check_confidence, plain, proportion, same_length
from assay.engines.derived import row_keys
from assay.engines.engine import Threads
from assay.errors import DataError, OneClassError, ParameterError
from assay.families.neighbours.leave_one_out import least_bayes_error
from assay.families.neighbours.search import NeighbourSearch
from assay.inputs.labels import distinct
from assay.numerics import Array, Floats

TILE = 512  # query rows at a time: 512 × 4000 distances stay in the cache of one core


def loo_1nn_error(X: Any, y: Array, groups: Array | None = None) -> int:
    """How many rows differ in class from their nearest other row, with `groups` (codes) from the nearest row of another group; of equal
    distances the first row counts.

    >>> loo_1nn_error(np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 0]))
    2
    """
    sparse = hasattr(X, "toarray")
    if not sparse and groups is None and X.shape[1]:
        own = np.arange(len(y))
        near = NeighbourSearch(np.asarray(X, dtype=np.float64), 2.0, Threads()).nearest(X, 1, own)[1][:, 0]
        return int((y[near] != y).sum())
    norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse else np.einsum("ij,ij->i", X, X)
    wrong = 0
    for start in range(0, len(y), TILE):
        rows = np.arange(start, min(start + TILE, len(y)))
        products = X[rows] @ X.T
        distances: Floats = norms - 2 * (products.toarray() if sparse else products)  # |x|² is the same along a row
        distances[rows - start, rows] = np.inf
        if groups is not None:
            distances[groups[rows][:, None] == groups] = np.inf
        wrong += int((y[distances.argmin(axis=1)] != y[rows]).sum())
    return wrong


def standardised(X: Any) -> Any:
    """Columns of mean 0 and deviation 1, without constant ones, a missing value at the mean; sparse ones are left as they are."""
    if hasattr(X, "toarray"):
        return X.tocsr().astype(np.float64)
    X = np.asarray(X, dtype=np.float64)
    known = np.isfinite(X)
    counts = np.maximum(1, known.sum(axis=0))
    X = np.where(known, X, 0.0)
    X = np.where(known, X - X.sum(axis=0) / counts, 0.0)
    scale = np.sqrt((X * X).sum(axis=0) / counts)
    varies = scale > 1e-12 * np.maximum(1e-300, np.abs(X).max(axis=0, initial=0.0))
    return X[:, varies] / scale[varies]


@dataclass(frozen=True)
class BayesBracket:
    """low ≤ R* ≤ high; `neighbour` is e, `fall` how much less e is than on half of the rows; `least` and `most` are the ends with their
    uncertainty: at the ends of the interval of e, the lower one less `fall`."""

    low: float
    high: float
    least: float
    most: float
    classes: int
    neighbour: Score
    note: str = "asymptotic, estimate"
    fall: float = 0.0

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
    fall = max(0.0, _on_half(Z, y[rows], kept_apart, neighbour_errors) - e.value)
    low, least = (least_bayes_error(v, K) for v in (e.value, max(0.0, e.low - fall)))
    return BayesBracket(min(low, e.value), e.value, min(least, low), e.high, K, e, fall=fall)


def _on_half(Z: Any, y: Array, kept_apart: tuple[Array, ...], neighbour_errors: Callable[..., int]) -> float:
    """The nearest neighbour's error with half as many rows to be near to, drawn evenly; 0 where these are too few or of one group."""
    half = drawn_rows(len(y), max(2, len(y) // 2), seed=1)
    if len(half) == len(y) or any(len(np.unique(g[half])) < 2 for g in kept_apart):
        return 0.0
    return neighbour_errors(Z[half], y[half], *(g[half] for g in kept_apart)) / len(half)


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
