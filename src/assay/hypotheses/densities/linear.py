"""Densities whose logarithm is linear in the counts: bernoulli, poisson, multinomial.

    log p(x | k) = Σ_j [ slope_kj · x_j + base_kj ]        one matrix product for all rows and classes

Terms that are the same for every class (log x!) are left out. A missing x_j drops out with its base_kj. Where a
probability is exactly zero (no smoothing) the logarithm is −∞; these events are counted apart, since 0 · (−∞) is no number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.engines import SparseMatrix
from assay.hypotheses.densities.part import tiles
from assay.numerics import Array, Floats


class Linear(NamedTuple):
    """slope, base (c, K), total = Σ_j base (K,); `top`: the largest value possible; `whole`: fractions are impossible.

    never_more, never_zero (c, K) mark what a class excludes (x > 0, x = 0), or are None where nothing is excluded.
    """

    slope: Floats
    base: Floats
    total: Floats
    top: float
    whole: bool
    never_more: Floats | None
    never_zero: Floats | None

    @classmethod
    def of(cls, slope: Floats, base: Floats, *, top: float = np.inf, whole: bool = False) -> Linear:
        """Of slopes (K, c) that may be ±∞ and bases (K, c) that may be −∞."""
        slope, base = np.ascontiguousarray(slope.T), np.ascontiguousarray(base.T)
        never_more, never_zero = np.isneginf(slope), np.isneginf(base)
        slope, base = (np.where(np.isfinite(a), a, 0.0) for a in (slope, base))
        return cls(
            slope,
            base,
            base.sum(axis=0),
            top,
            whole,
            never_more.astype(np.float64) if never_more.any() else None,
            never_zero.astype(np.float64) if never_zero.any() else None,
        )

    def log_density(self, X: Array | SparseMatrix) -> Floats:
        """(m, K); a row with a value that cannot be (negative, above `top`, a fraction) gives NaN."""
        if isinstance(X, SparseMatrix):
            return self._of_entries(X)
        Z: Floats = np.empty((len(X), len(self.total)))
        for tile in tiles(X):
            x = X[tile]
            Z[tile] = self._of_all(x) if self._possible(x) else self._of_present(x)
        return Z

    def _of_entries(self, X: SparseMatrix) -> Floats:
        from assay.loops.sparse_scores import linear_scores

        Z: Floats = np.empty((len(X), len(self.total)))
        none = np.empty((0, len(self.total)))
        never = (none if table is None else table for table in (self.never_more, self.never_zero))
        linear_scores(X.data, X.indices, X.indptr, self.slope, self.base, self.total, self.top, self.whole, *never, Z)
        return Z

    def _possible(self, x: Array) -> bool:
        """Whether all values can be, and none is missing."""
        if not x.min(initial=0.0) >= 0 or (self.top < np.inf and x.max(initial=0.0) > self.top):
            return False
        return not self.whole or bool((x == np.floor(x)).all())

    def _of_all(self, x: Array) -> Floats:
        Z: Floats = x @ self.slope + self.total
        return self._exclude(Z, x)

    def _of_present(self, x: Array) -> Floats:
        there = ~np.isnan(x)
        Z: Floats = np.where(there, x, 0.0) @ self.slope + there @ self.base
        Z = self._exclude(Z, x)
        bad = (x < 0) | (x > self.top)
        if self.whole:
            bad |= there & (x != np.floor(x))
        Z[bad.any(axis=1)] = np.nan
        return Z

    def _exclude(self, Z: Floats, x: Array) -> Floats:
        if self.never_more is not None:
            Z[(x > 0) @ self.never_more > 0] = -np.inf
        if self.never_zero is not None:
            Z[(x == 0) @ self.never_zero > 0] = -np.inf
        return Z
