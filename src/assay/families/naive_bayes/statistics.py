"""The sufficient statistics of naive Bayes: one state for every mixture of densities.

Families that a model does not use have arrays of width zero, so all naive Bayes models share one state and one file layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.engines import Block, fingerprint
from assay.families.naive_bayes.choose import FAMILIES
from assay.families.naive_bayes.densities import categorical, counts, gaussian
from assay.families.naive_bayes.densities import counts as bernoulli
from assay.families.naive_bayes.densities.categorical import Tables
from assay.families.naive_bayes.densities.columns import ColumnsOfClasses, take
from assay.families.naive_bayes.densities.counts import ValueSums, merge_sums
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.statistics.class_moments import ClassMoments, merge_moments


class NaiveBayesStatistics(NamedTuple):
    """K classes; gaussian (K, dg), bernoulli (K, db), poisson (K, dp), multinomial (K, dm), categories (K, T)."""

    class_count: Floats
    gaussian_count: Floats
    gaussian_mean: Floats
    gaussian_m2: Floats
    bernoulli_count: Floats
    bernoulli_sum: Floats
    poisson_count: Floats
    poisson_sum: Floats
    multinomial_count: Floats
    multinomial_sum: Floats
    category_counts: Floats
    category_offsets: Array
    mark: bytes

    @property
    def gaussian(self) -> ClassMoments:
        return ClassMoments(self.gaussian_count, self.gaussian_mean, self.gaussian_m2)

    @property
    def bernoulli(self) -> ValueSums:
        return ValueSums(self.bernoulli_count, self.bernoulli_sum)

    @property
    def poisson(self) -> ValueSums:
        return ValueSums(self.poisson_count, self.poisson_sum)

    @property
    def multinomial(self) -> ValueSums:
        return ValueSums(self.multinomial_count, self.multinomial_sum)

    @property
    def categories(self) -> Tables:
        return Tables(self.category_counts, self.category_offsets)

    def weighted(self, factor: Floats) -> NaiveBayesStatistics:
        """The statistics of rows whose weights are multiplied by `factor` (K,) of their class."""
        if np.all(factor == 1):
            return self
        f = factor[:, None]
        unchanged = ("gaussian_mean", "category_offsets", "mark", "class_count")
        changed = {name: getattr(self, name) * f for name in self._fields if name not in unchanged}
        return self._replace(class_count=self.class_count * factor, **changed)


class DensityPlan(NamedTuple):
    """Which columns each family reads, the threshold of the bernoulli columns, and whether categories are cut to whole numbers."""

    gaussian: Array
    bernoulli: Array
    poisson: Array
    multinomial: Array
    categorical: Array
    binarize: float | None
    cut: bool

    @classmethod
    def of(cls, columns: Sequence[str], binarize: float | None = None, cut: bool = False) -> DensityPlan:
        words = np.array(columns[:1] if len(set(columns)) == 1 else columns)  # texts have very many columns, all alike
        at = {family: np.flatnonzero(np.broadcast_to(words == family, len(columns))) for family in FAMILIES}
        return cls(**at, binarize=binarize, cut=cut)


def absorb(labels: Labels, plan: DensityPlan, names: Sequence[str] | None, block: Block) -> NaiveBayesStatistics:
    """The statistics of a block."""
    assert block.y is not None
    codes = labels.encode(block.y)
    K = len(labels.classes)

    def part(columns: Array) -> ColumnsOfClasses:
        return ColumnsOfClasses(take(block.X, columns), codes, block.w, K, columns, block.start, names)

    moments, hashes = _no_moments(K), None
    if len(plan.gaussian):
        moments, hashes = gaussian.absorb(part(plan.gaussian))
    if len(plan.gaussian) < block.X.shape[1] or hashes is None:
        mark = fingerprint.leaf_of(block.X, codes, block.w)
    else:
        mark = fingerprint.leaf(hashes, block.X, codes, block.w)
    tables = Tables.empty(K, plan.categorical)
    if len(plan.categorical):
        tables = categorical.absorb(part(plan.categorical), plan.cut)
    return NaiveBayesStatistics(
        np.bincount(codes, weights=block.w, minlength=K).astype(np.float64),
        *moments,
        *(bernoulli.absorb(part(plan.bernoulli), plan.binarize) if len(plan.bernoulli) else _no_sums(K)),
        *(counts.absorb_poisson(part(plan.poisson)) if len(plan.poisson) else _no_sums(K)),
        *(counts.absorb_multinomial(part(plan.multinomial)) if len(plan.multinomial) else _no_sums(K)),
        *tables,
        mark,
    )


def _no_moments(K: int) -> ClassMoments:
    return ClassMoments(np.zeros((K, 0)), np.zeros((K, 0)), np.zeros((K, 0)))


def _no_sums(K: int) -> ValueSums:
    return ValueSums(np.zeros((K, 0)), np.zeros((K, 0)))


def merge(a: NaiveBayesStatistics, b: NaiveBayesStatistics) -> NaiveBayesStatistics:
    """The statistics of both stretches of rows together."""
    with np.errstate(over="ignore", invalid="ignore"):  # the model refuses what is not finite
        return NaiveBayesStatistics(
            a.class_count + b.class_count,
            *merge_moments(a.gaussian, b.gaussian),
            *(merge_sums(a.bernoulli, b.bernoulli) if a.bernoulli_sum.size else a.bernoulli),
            *(merge_sums(a.poisson, b.poisson) if a.poisson_sum.size else a.poisson),
            *(merge_sums(a.multinomial, b.multinomial) if a.multinomial_sum.size else a.multinomial),
            *(categorical.merge(a.categories, b.categories) if len(a.category_offsets) > 1 else a.categories),
            fingerprint.join(a.mark, b.mark),
        )
