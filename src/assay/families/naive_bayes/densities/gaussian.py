"""A normal density for each class and column.

    log p(x | k) = −½ Σ_j [ (x_j − θ_kj)² / v_kj + log 2π v_kj ]

Maximum likelihood: θ_kj the mean, v_kj the mean squared deviation (1/N, not 1/(N − 1)) of the values present. Smoothing adds
ε = var_smoothing · (largest variance of a column over all rows) to every v_kj.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from assay.engines import SparseMatrix
from assay.families.naive_bayes.densities.columns import (
    NO_WEIGHTS,
    ColumnsOfClasses,
    class_weight,
    entry_weight,
    nothing,
    tiles,
)
from assay.numerics import Array, Floats
from assay.statistics.scatter import LEAST, ClassMoments, absorb_moments, absorb_present, merge_moments

SMALLEST = float(np.finfo(np.float64).tiny)
LARGEST = 2.0**1000  # variances above it leave no room to compute with them


def absorb(part: ColumnsOfClasses) -> tuple[ClassMoments, Array | None]:
    """The moments of the values present, and the hashes of the columns (None for sparse rows)."""
    if isinstance(part.X, SparseMatrix):
        return absorb_entries(part), None
    with np.errstate(over="ignore", invalid="ignore"):
        moments, _, hashes = absorb_moments(part.X, part.codes, part.w, part.K)
        if not np.isfinite(moments.m2).all():
            part.refuse_infinite()
            moments = absorb_present(part.X, part.codes, part.w, part.K)
            if not np.isfinite(moments.m2).all():
                part.refuse_overflow()
    return moments, hashes


def absorb_entries(part: ColumnsOfClasses) -> ClassMoments:
    """The moments of sparse rows: those of the entries present, merged with the zeros that are absent."""
    from assay.families.naive_bayes.loops import add_entry_moments, heaviest_entries, merge_with_zeros

    X, codes, w, K = part.X, part.codes, part.w, part.K
    arrays = (X.data, X.indices, X.indptr, codes, NO_WEIGHTS if w is None else w)
    n, pivot, s1, s2 = (np.zeros((K, X.n_columns)) for _ in range(4))
    heaviest_entries(*arrays, n, pivot)
    add_entry_moments(*arrays, pivot, s1, s2)
    there = entry_weight(X, codes, w, K, missing=False)
    gone = entry_weight(X, codes, w, K, missing=True) if np.isnan(X.data).any() else nothing(K)
    merge_with_zeros(class_weight(codes, w, K), there, gone, pivot, s1, s2, n)
    if not np.isfinite(s2).all():
        part.refuse_infinite()
        part.refuse_overflow()
    lost = (s2 < LEAST) & (pivot != 0)
    if lost.any():
        small = np.abs(X.data) < np.sqrt(LEAST)
        s2[:, np.unique(X.indices[small & (X.data != 0)])] += SMALLEST
    return ClassMoments(n, pivot, s2)


def pooled(s: ClassMoments) -> ClassMoments:
    """The moments of each column over all classes, (1, c). Merging keeps a variance of zero exact."""
    classes = (ClassMoments(s.n[k : k + 1], s.mean[k : k + 1], s.m2[k : k + 1]) for k in range(len(s.n)))
    return reduce(merge_moments, classes)


def variances(s: ClassMoments, otherwise: Floats) -> Floats:
    """Σ w (x − mean)² / n (K, c) of the values present; `otherwise` where there are none."""
    out: Floats = np.divide(s.m2, s.n, out=np.full(s.m2.shape, otherwise), where=s.n > 0)
    return out


class Estimate(NamedTuple):
    """theta, var (K, c): what the density uses; epsilon: what was added; lost (c,): whether squares underflow."""

    theta: Floats
    var: Floats
    epsilon: float
    lost: Array


def estimate(s: ClassMoments, var_smoothing: float) -> Estimate:
    """Maximum likelihood and smoothing.

    A class without any value in a column takes the mean and variance of the whole column. A variance that is still zero
    becomes 1e-9 of the column's, or 1 in a column that never varies, where it says nothing about the class. Variances that
    overflow are infinite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        whole = pooled(s)
        spread = variances(whole, np.zeros(1))
        theta: Floats = np.where(s.n > 0, s.mean, np.where(whole.n > 0, whole.mean, 0.0))
        raw = variances(s, spread)
        epsilon = var_smoothing * float(spread.max(initial=0.0))
        var: Floats = raw + epsilon
    least = np.where(spread * 1e-9 >= SMALLEST, spread * 1e-9, 1.0)
    lost = (np.minimum(whole.m2, np.where(s.m2 > 0, s.m2, np.inf).min(axis=0)) < LEAST) & (whole.m2 > 0)
    return Estimate(theta, np.where(var >= SMALLEST, var, least), epsilon, lost[0])


@dataclass(frozen=True)
class Gaussian:
    """The log density made ready: theta (K, c), curvature −1/(2v) (K, c), level −½ log 2πv (K, c) and its sum (K,)."""

    theta: Floats
    curvature: Floats
    level: Floats
    total: Floats

    @classmethod
    def of(cls, theta: Floats, var: Floats) -> Gaussian:
        level: Floats = -0.5 * np.log(2 * np.pi * var)
        return cls(theta, -0.5 / var, level, level.sum(axis=1))

    @cached_property
    def at_zero(self) -> tuple[Floats, Floats, Floats]:
        """zero (K, c): curvature·θ², which x = 0 adds to the level; high + low (K,): the log density of a row of zeros."""
        from assay.families.naive_bayes.loops import add_up

        with np.errstate(over="ignore"):
            zero: Floats = self.curvature * self.theta**2
        high, low = np.zeros(len(zero)), np.zeros(len(zero))
        add_up(self.level, high, low)
        add_up(zero, high, low)
        return zero, high, low

    def log_density(self, X: Array | SparseMatrix) -> Floats:
        """(m, K). Squares are taken of differences, never expanded, so that no digits cancel far from the origin."""
        if isinstance(X, SparseMatrix):
            return self._of_entries(X)
        K = len(self.theta)
        Z: Floats = np.empty((K, len(X))).T
        room = np.empty((0, X.shape[1]))
        for tile in tiles(X):
            x = X[tile]
            if len(room) < len(x):
                room = np.empty(x.shape)
            t = room[: len(x)]
            for k in range(K):
                np.subtract(x, self.theta[k], out=t)
                np.multiply(t, t, out=t)
                np.dot(t, self.curvature[k], out=Z[tile, k])
        Z += self.total
        incomplete = np.flatnonzero(np.isnan(Z[:, 0]))
        if len(incomplete):
            Z[incomplete] = self._of_present(X[incomplete])
        far = np.flatnonzero(Z[:, 0] == -np.inf)
        far = far[np.isneginf(Z[far]).all(axis=1)]
        if len(far):
            Z[far] = self._of_far(X[far])
        return Z

    def _of_far(self, X: Array) -> Floats:
        """Rows whose log density is below all floats in every class: their squared distances in units of the largest, times −1e300.

        Such densities differ by more than all else; a row whose own squares overflow stays at −∞.
        """
        Z: Floats = np.empty((len(X), len(self.theta)))
        for i, x in enumerate(X):
            t = np.where(np.isnan(x), 0.0, x - self.theta)
            t *= np.sqrt(-self.curvature) if np.isfinite(t * t).all() else np.inf
            q = ((t / np.abs(t).max()) ** 2).sum(axis=1)
            Z[i] = np.where(np.isnan(q), -np.inf, (q.min() - q) * 1e300)
        return Z

    def _of_entries(self, X: SparseMatrix) -> Floats:
        """The log density of sparse rows; the few whose terms overflow are taken as arrays."""
        from assay.families.naive_bayes.loops import normal_scores

        Z: Floats = np.empty((len(self.theta), len(X))).T
        normal_scores(X.data, X.indices, X.indptr, self.theta, self.curvature, self.level, *self.at_zero, Z)
        lost = np.flatnonzero(np.isnan(Z).any(axis=1))
        for tile in tiles(X[lost]):
            Z[lost[tile]] = self.log_density(X[lost[tile]].toarray())
        return Z

    def _of_present(self, X: Array) -> Floats:
        """The log density of rows with missing values: their factors are left out of the product."""
        Z: Floats = np.empty((len(X), len(self.theta)))
        for tile in tiles(X):
            there = ~np.isnan(X[tile])
            for k in range(Z.shape[1]):
                t = np.where(there, X[tile] - self.theta[k], 0.0)
                Z[tile, k] = (t * t) @ self.curvature[k] + there @ self.level[k]
        return Z
