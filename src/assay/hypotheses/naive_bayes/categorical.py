"""Naive Bayes of categories: a table a class and column."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.hypotheses.densities.categorical import Tables
from assay.hypotheses.naive_bayes.counted import LESS_AND_LESS, CountedModel
from assay.hypotheses.naive_bayes.model import Settings
from assay.hypotheses.naive_bayes.params import ALPHA, FIT_PRIOR, FORCE_ALPHA, PRIORS, are_whole
from assay.learner.prospect import Features, Prospect
from assay.numerics import Array, Floats, safe_log
from assay.params import N_JOBS, Free, param


class CategoricalNB(CountedModel):
    """Naive Bayes with a table of probabilities a class and column. Shape: one fold.

        log p(k | x) = log π_k + Σ_j log p_kj(x_j) + const,    p_kj(c) = (N_kjc + α) / (N_kj + α·C_j)

    Columns hold the numbers 0 … C_j − 1 of their categories, or text in a frame. `min_categories`: C_j is at least that.
    A category that the fit never saw is left out of the product, as a missing value is. Fractions are cut off, with a
    warning. For class weights use NaiveBayes("categorical", class_weight=...).

    Certificate
    -----------
    Priors and densities are the closed-form (smoothed) maximum likelihood of the rows, made anew from them.

    See Also
    --------
    NaiveBayes : categories and numbers side by side, with class weights.
    DecisionTreeClassifier : takes categories as they are, too.

    Examples
    --------
    >>> CategoricalNB().fit([[0, 2], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1]).predict([[1, 7]])
    array([1])
    """

    name = "categorical-nb"
    takes_sparse = False
    family = "categorical"
    positive_only = True
    takes_categories = True
    alpha: float = ALPHA
    force_alpha: bool = FORCE_ALPHA
    fit_prior: bool = FIT_PRIOR
    class_prior: Any = PRIORS
    min_categories: Any = param(
        "least number of categories of a column, so that those not seen have a probability",
        default=None,
        check=Free("a whole number ≥ 1 or one a column", words=(None,), check=are_whole),
    )
    n_jobs: int | None = N_JOBS

    @classmethod
    def _prospect(cls, features: Features) -> Prospect:
        """Ever less smoothing, where all columns are categories."""
        return Prospect(
            search=LESS_AND_LESS,
            categories="native",
            unfit=None if features.only_categories else "a column is no category: it takes categories alone",
        )

    def _settings(self) -> Settings:
        return super()._settings()._replace(min_categories=self.min_categories, cut=True)

    @property
    def n_categories_(self) -> Array:
        """The number of categories of each column, (d,)."""
        return np.diff(self.category_offsets_)

    @property
    def category_count_(self) -> list[Floats]:
        """The weight of each category, one array (K, C_j) a column."""
        tables: Tables = self._state.categories.grown(self.n_categories_)
        return tables.by_column(self.class_factor_[:, None] * tables.counts)

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """The logarithm of the probabilities, one array (K, C_j) a column."""
        return Tables(self.category_prob_, self.category_offsets_).by_column(safe_log(self.category_prob_))
