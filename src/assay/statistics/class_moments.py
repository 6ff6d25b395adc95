"""Count, mean and sum of squared deviations of every column in every class: the statistics of normal densities.

A block is summed about a pivot p, the first of its heaviest rows in the class. If M = Σw(x − mean)² then w_max·(p − mean)² ≤ M, so
that the sums about the pivot are at most (m + 1)·M for m rows and no more than log₁₀ m digits cancel, whatever the data.
Blocks are merged by the pairwise formula of Chan, Golub and LeVeque (1979).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.engines.fingerprint import bits
from assay.numerics import Array, Floats

NO_WEIGHTS = np.empty(0)
LEAST = 2.0**-960  # sums of squares below it have lost digits to underflow
SMALLEST = float(np.finfo(np.float64).tiny)


class ClassMoments(NamedTuple):
    """n (K, d): weight of the values present; mean (K, d); m2 (K, d): Σ w (x − mean)².

    m2 is zero where the values are all the same, and above zero, if below `LEAST`, where squares of what they differ by underflow.
    """

    n: Floats
    mean: Floats
    m2: Floats


def absorb_moments(X: Array, codes: Array, w: Array | None, K: int) -> tuple[ClassMoments, Floats, Array]:
    """The moments of a block, the weight of each class (K,), and the hashes of its columns.

    Values that are not finite make the second moments so; the caller decides what to do then.
    """
    from assay.statistics.loops import add_moments, add_weighted_moments, heaviest_of_each_class

    d = X.shape[1]
    weights = NO_WEIGHTS if w is None else w
    pivot = np.zeros((K, d))
    heaviest_of_each_class(X, codes, weights, pivot)
    weight, s1, s2, h = np.zeros(K), np.zeros((K, d)), np.zeros((K, d)), np.zeros(d, dtype=np.uint64)
    U, shift = bits(X)
    if w is None:
        add_moments(X, U, shift, codes, pivot, weight, s1, s2, h)
    else:
        add_weighted_moments(X, U, shift, codes, w, pivot, weight, s1, s2, h)
    n = np.repeat(weight[:, None], d, axis=1)
    return _about_mean(n, pivot, s1, s2), weight, h


def absorb_present(X: Array, codes: Array, w: Array | None, K: int) -> ClassMoments:
    """The moments of a block over the values that are not missing."""
    from assay.statistics.loops import add_moments_where_present

    d = X.shape[1]
    pivot = np.zeros((K, d))
    order = np.arange(len(X)) if w is None else np.argsort(-w, kind="stable")[: np.count_nonzero(w)]
    for j in range(d):  # each column has its own first present value of the heaviest rows
        rows = order[~np.isnan(X[order, j])]
        present, at = np.unique(codes[rows], return_index=True)
        pivot[present, j] = X[rows[at], j]
    n, s1, s2 = np.zeros((K, d)), np.zeros((K, d)), np.zeros((K, d))
    add_moments_where_present(X, codes, NO_WEIGHTS if w is None else w, pivot, n, s1, s2)
    return _about_mean(n, pivot, s1, s2)


def _about_mean(n: Floats, pivot: Floats, s1: Floats, s2: Floats) -> ClassMoments:
    with np.errstate(invalid="ignore", over="ignore"):
        shift = np.divide(s1, n, out=np.zeros_like(s1), where=n > 0)
        m2 = np.maximum(s2 - s1 * shift, 0.0)  # np.maximum keeps NaN, which tells of values that are not finite
    return ClassMoments(n, pivot + shift, _above_zero(m2, s1 != 0))


def _above_zero(m2: Floats, differ: Array) -> Floats:
    return np.where((m2 < SMALLEST) & differ, SMALLEST, m2)


def merge_moments(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    """The moments of both together."""
    n = a.n + b.n
    share = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)
    delta = np.where((a.n > 0) & (b.n > 0), b.mean - a.mean, 0.0)  # the mean of no rows means nothing
    mean = np.where(a.n > 0, a.mean + delta * share, b.mean)
    m2 = a.m2 + b.m2 + delta * delta * (a.n * share)
    return ClassMoments(n, mean, _above_zero(m2, delta != 0))
