"""Naive Bayes of counts: an urn a class."""

from __future__ import annotations

from typing import Any

from assay.hypotheses.naive_bayes.counted import LESS_AND_LESS, CountedModel
from assay.hypotheses.naive_bayes.params import ALPHAS, FIT_PRIOR, FORCE_ALPHA, PRIORS
from assay.learner.prospect import Features, Prospect
from assay.numerics import Floats, safe_log
from assay.params import N_JOBS


class MultinomialNB(CountedModel):
    """Naive Bayes for counts that are draws from one urn a class, such as words: θ_kj = (S_kj + α) / Σ_j (S_kj + α).

    Shape: one fold.

        log p(k | x) = log π_k + Σ_j x_j log θ_kj + const

    Counts may be fractions (tf-idf) but not negative. For class weights use NaiveBayes("multinomial", class_weight=...).

    Certificate
    -----------
    Priors and densities are the closed-form (smoothed) maximum likelihood of the rows, made anew from them.

    See Also
    --------
    NaiveBayes : a density of its own for each column, with class weights.
    BernoulliNB : ones and zeros instead of counts.

    Examples
    --------
    >>> MultinomialNB().fit([[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 1, 1]], [0, 0, 1, 1]).predict([[1, 0, 1]])
    array([0])
    """

    name = "multinomial-nb"
    family = "multinomial"
    positive_only = True
    alpha: Any = ALPHAS
    force_alpha: bool = FORCE_ALPHA
    fit_prior: bool = FIT_PRIOR
    class_prior: Any = PRIORS
    n_jobs: int | None = N_JOBS

    @classmethod
    def _prospect(cls, features: Features) -> Prospect:
        """Ever less smoothing, where all columns can be counts."""
        return Prospect(
            search=LESS_AND_LESS,
            unfit=None if features.never_negative else "a column holds negative numbers, which cannot be counts",
        )

    @property
    def feature_count_(self) -> Floats:
        """The sum of the counts, (K, d)."""
        count: Floats = self.class_factor_[:, None] * self._state.multinomial_sum
        return count

    @property
    def feature_log_prob_(self) -> Floats:
        """log θ_kj, the logarithm of each column's share of the counts, (K, d)."""
        log_prob: Floats = safe_log(self.multinomial_prob_)
        return log_prob
