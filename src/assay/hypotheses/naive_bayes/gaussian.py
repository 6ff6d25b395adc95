"""Naive Bayes of numbers: a normal density a class and column."""

from __future__ import annotations

from typing import Any

from assay.hypotheses.naive_bayes.model import NaiveBayesModel, Settings
from assay.hypotheses.naive_bayes.params import PRIORS, VAR_SMOOTHING
from assay.learner.prospect import Features, Prospect
from assay.params import CLASS_WEIGHT, N_JOBS


class GaussianNB(NaiveBayesModel):
    """Naive Bayes with one normal density a class and column. Shape: one fold.

        log p(k | x) = log π_k − ½ Σ_j [ (x_j − θ_kj)² / v_kj + log 2π v_kj ] + const

    `theta_` are the means, `var_` the variances (1/N) plus `epsilon_` = var_smoothing · (largest variance of a column).

    Certificate
    -----------
    Priors and densities are the closed-form (smoothed) maximum likelihood of the rows, made anew from them.

    See Also
    --------
    NaiveBayes : a density of its own for each column.
    QuadraticDiscriminantAnalysis : normal densities whose columns may depend on each other.

    Examples
    --------
    >>> GaussianNB().fit([[0.], [1.], [9.], [10.]], [0, 0, 1, 1]).predict([[2.]])
    array([0])
    """

    name = "gaussian-nb"
    priors: Any = PRIORS
    var_smoothing: float = VAR_SMOOTHING
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS

    @classmethod
    def _prospect(cls, features: Features) -> Prospect:
        """Ever less smoothing, which is a share of the largest variance: hence columns of one scale."""
        return Prospect(
            search=tuple({"var_smoothing": share} for share in (1e-2, 1e-5, 1e-9)),
            scaled=True,
            unfit="every column is a category, and a normal density is for numbers"
            if features.only_categories
            else "the words of a text are mostly zeros, which no normal density describes"
            if features.text
            else None,
        )

    def _settings(self) -> Settings:
        return Settings("gaussian", self.priors, var_smoothing=self.var_smoothing)
