"""Densities of coins and counts, whose logarithm is linear in the counts: bernoulli, poisson, multinomial.

    log p(x | k) = Σ_j [ slope_kj · x_j + base_kj ]        one matrix product for all rows and classes

Terms that are the same for every class (log x!) are left out. A missing x_j drops out with its base_kj. Where a
probability is exactly zero (no smoothing) the logarithm is −∞; these events are counted apart, since 0 · (−∞) is no number.

    bernoulli     p(x_j | k) = p_kj^x_j (1 − p_kj)^(1 − x_j),  x_j ∈ {0, 1}      p_kj = (S_kj + α) / (N_kj + 2α)
    poisson       p(x_j | k) = λ_kj^x_j e^(−λ_kj) / x_j!                         λ_kj = (S_kj + α) / (N_kj + α)
    multinomial   p(x | k) ∝ Π_j θ_kj^x_j                                        θ_kj = (S_kj + α_j) / Σ_j (S_kj + α_j)
    complement    1 / p(x | not k)                                               the same, of the sums of all classes but k

N counts the values present in each class, S is their sum; α = 0 is maximum likelihood. For poisson, each column counts on its own and α
stands for that many further rows with a count of one; the multinomial columns of a row are draws from one urn a class (words of a text).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.engines import SparseMatrix
from assay.families.naive_bayes.densities.columns import NO_WEIGHTS, ColumnsOfClasses, class_weight, entry_weight, tiles
from assay.numerics import Array, Floats, safe_log


def binarized(X: Any, threshold: float | None) -> Any:
    """1 where x > threshold, 0 elsewhere; missing stays missing. Without a threshold the values are taken as they are."""
    if threshold is None:
        return X
    if isinstance(X, SparseMatrix):  # a threshold is never negative, so the absent zeros stay zeros
        ones = binarized(X.data, threshold)
        return X.with_data(ones).keep(ones != 0)
    B: Array = (threshold < X).astype(np.float64)
    gone = ~np.isfinite(X)
    if gone.any():
        B[gone] = np.where(np.isnan(X[gone]), np.nan, np.inf)  # infinity is refused, not taken for a one
    return B


def absorb(part: ColumnsOfClasses, threshold: float | None) -> ValueSums:
    """N and S of a block."""
    part = part._replace(X=binarized(part.X, threshold))
    found = absorb_sums(part)
    if found.low < 0 or found.high > 1 or found.rest != 0:
        refuse(part)
    return found.sums


def refuse(part: ColumnsOfClasses) -> None:
    """Raise where a value is neither 0 nor 1."""
    part.refuse_infinite()
    X = part.values
    part.refuse_where(
        ~np.isnan(X) & (X != 0) & (X != 1),
        "A bernoulli column holds something other than 0 and 1",
        "Give another density for it, or a threshold (BernoulliNB(binarize=...)).",
    )


def estimate(s: ValueSums, alpha: Array) -> Floats:
    """p_kj, with α a column; a coin never seen is fair. Ones and rows are summed apart: of rounding there may be more ones than rows."""
    n = s.n + 2 * alpha
    p: Floats = np.divide(s.total + alpha, n, out=np.full_like(n, 0.5), where=n > 0)
    return np.minimum(p, 1.0)


def density(p: Floats, threshold: float | None) -> Linear:
    """log p(x | k) = Σ_j x_j log(p_kj / (1 − p_kj)) + log(1 − p_kj); a threshold has made all values whole."""
    base = safe_log(1 - p)
    with np.errstate(invalid="ignore"):
        return Linear.of(safe_log(p) - base, base, top=1.0, whole=threshold is None)


def absorb_poisson(part: ColumnsOfClasses) -> ValueSums:
    """N and S of a block of whole numbers."""
    found = absorb_sums(part)
    if found.low < 0 or found.rest != 0:
        refuse_fractions(part)
    return found.sums


def absorb_multinomial(part: ColumnsOfClasses) -> ValueSums:
    """N and S of a block; counts may be fractions (tf-idf), but not negative."""
    found = absorb_sums(part)
    if found.low < 0 or not np.isfinite(found.rest):
        refuse_negative(part)
    if not np.isfinite(found.sums.total).all():
        part.refuse_overflow()
    return found.sums


def refuse_negative(part: ColumnsOfClasses) -> None:
    """Raise where a count is infinite or negative."""
    part.refuse_infinite()
    part.refuse_where(
        part.values < 0,
        f"Negative values in data passed to {part.owner}",
        "Counts cannot be negative: use gaussian for such a column.",
    )


def refuse_fractions(part: ColumnsOfClasses) -> None:
    """Raise where a count is infinite, negative or not whole."""
    refuse_negative(part)
    part.refuse_where(
        ~np.isnan(part.values) & (np.floor(part.values) != part.values),
        "A poisson column holds something other than whole numbers",
        "Give another density for it (gaussian, or multinomial for weighted counts).",
    )


def estimate_poisson(s: ValueSums, alpha: Array) -> Floats:
    """λ_kj; a rate without any evidence is 1."""
    n = s.n + alpha
    rate: Floats = np.divide(s.total + alpha, n, out=np.ones_like(n), where=n > 0)
    return rate


def estimate_multinomial(s: ValueSums, alpha: Array) -> Floats:
    """θ_kj; a class without any count is uniform."""
    smoothed = s.total + alpha
    total = smoothed.sum(axis=1, keepdims=True)
    uniform = np.full_like(smoothed, 1 / max(1, smoothed.shape[1]))
    theta: Floats = np.divide(smoothed, total, out=uniform, where=total > 0)
    return theta


def of_others(s: ValueSums) -> ValueSums:
    """For each class the sums of all others: those before it and those after it, so that nothing is lost to a difference."""
    return ValueSums(*(_without_own(part) for part in s))


def _without_own(part: Floats) -> Floats:
    found = np.zeros(part.shape)
    found[1:] += np.cumsum(part[:-1], axis=0)
    found[:-1] += np.cumsum(part[:0:-1], axis=0)[::-1]
    return found


def poisson_density(rate: Floats) -> Linear:
    """log p(x | k) = Σ x log λ − λ, without log x!."""
    return Linear.of(safe_log(rate), -rate, whole=True)


def multinomial_density(theta: Floats) -> Linear:
    """log p(x | k) = Σ x log θ, without the number of orders."""
    return Linear.of(safe_log(theta), np.zeros_like(theta))


def complement_density(theta: Floats, norm: bool) -> Linear:
    """−Σ x log θ of all other classes."""
    return Linear.of(*_decided(complement_weights(theta, norm)))


def complement_weights(theta: Floats, norm: bool) -> Floats:
    """−log θ, with `norm` divided by their sum: for a share of zero the limit of smoothing that vanishes."""
    weights: Floats = -safe_log(theta)
    if norm:
        never = np.isinf(weights)
        weights = np.where(never.any(axis=1, keepdims=True), never, weights)
        weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return weights


def _decided(weights: Floats) -> tuple[Floats, Floats]:
    """Slopes and bases: a column that only one class has excludes the others; one that none has says nothing."""
    only = np.isposinf(weights)
    some = only.any(axis=0) & ~only.all(axis=0)
    slopes = np.where(some, np.where(only, 0.0, -np.inf), np.where(only, 0.0, weights))
    return slopes, np.zeros_like(slopes)


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
        from assay.families.naive_bayes.loops import linear_scores

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


class ValueSums(NamedTuple):
    """n (K, c): weight of the values present; total (K, c): their weighted sum."""

    n: Floats
    total: Floats


class BlockSums(NamedTuple):
    """The sums of a block, with the least and largest value and Σ (x − ⌊x⌋), which is zero where all are whole.

    An infinite value makes `rest` NaN. Of sparse rows the least and largest are those of the kept entries.
    """

    sums: ValueSums
    low: float
    high: float
    rest: float


class ValueRanges(NamedTuple):
    """Least value, largest value and Σ (x − ⌊x⌋) of each column, (c,)."""

    low: Floats
    high: Floats
    rest: Floats


def absorb_sums(part: ColumnsOfClasses) -> BlockSums:
    """One pass over the values present of rows with positive weight."""
    return _of_entries(part) if isinstance(part.X, SparseMatrix) else absorb_ranges(part)[0]


def absorb_ranges(part: ColumnsOfClasses) -> tuple[BlockSums, ValueRanges]:
    """As `absorb_sums`, and what each column holds."""
    from assay.families.naive_bayes.loops import add_present, look_at_columns

    X, c, w = part.X, part.X.shape[1], NO_WEIGHTS if part.w is None else part.w
    ranges = ValueRanges(np.full(c, np.inf), np.full(c, -np.inf), np.zeros(c))
    if isinstance(X, SparseMatrix):
        kept = np.zeros(c, dtype=np.int64)
        look_at_columns(X.data, X.indices, X.indptr, w, *ranges, kept)
        some_zero = kept < (len(X) if part.w is None else np.count_nonzero(w))
        np.minimum(ranges.low, 0.0, out=ranges.low, where=some_zero)
        np.maximum(ranges.high, 0.0, out=ranges.high, where=some_zero)
        return _of_entries(part), ranges
    n, total = np.zeros((part.K, c)), np.zeros((part.K, c))
    add_present(X, part.codes, w, n, total, *ranges)
    low, high = ranges.low.min(initial=np.inf), ranges.high.max(initial=-np.inf)
    return BlockSums(ValueSums(n, total), float(low), float(high), float(ranges.rest.sum())), ranges


def _of_entries(part: ColumnsOfClasses) -> BlockSums:
    """The sums of sparse rows: absent entries are zeros, which are present and add nothing but their weight.

    Where nothing is missing, n is one column shown c times, which costs nothing to make, keep and merge.
    """
    from assay.families.naive_bayes.loops import add_entries

    X, codes, w, K = part.X, part.codes, part.w, part.K
    total = np.zeros((K, X.n_columns))
    weights = NO_WEIGHTS if w is None else w
    low, high, rest, missing = add_entries(X.data, X.indices, X.indptr, codes, weights, total)
    n = class_weight(codes, w, K)
    if missing:
        n = n.without(entry_weight(X, codes, w, K, missing=True))
    return BlockSums(ValueSums(np.broadcast_to(n.total, total.shape), total), low, high, rest)


def merge_sums(a: ValueSums, b: ValueSums) -> ValueSums:
    """The sums of both together."""
    if a.n.strides[1] == b.n.strides[1] == 0:
        return ValueSums(np.broadcast_to(a.n[:, :1] + b.n[:, :1], a.n.shape), a.total + b.total)
    return ValueSums(a.n + b.n, a.total + b.total)
