"""Naive Bayes of ones and zeros: a coin a class and column."""

from __future__ import annotations

from typing import Any

from assay.hypotheses.naive_bayes.counted import LESS_AND_LESS, CountedModel
from assay.hypotheses.naive_bayes.model import Settings
from assay.hypotheses.naive_bayes.params import ALPHAS, FIT_PRIOR, FORCE_ALPHA, PRIORS
from assay.learner.prospect import Features, Prospect
from assay.numerics import Floats, safe_log
from assay.params import CLASS_WEIGHT, N_JOBS, Range, param


class BernoulliNB(CountedModel):
    """Naive Bayes with a coin a class and column. Shape: one fold.

        log p(k | x) = log π_k + Σ_j [ x_j log p_kj + (1 − x_j) log(1 − p_kj) ] + const,    p_kj = (S_kj + α) / (N_kj + 2α)

    `binarize`: values above it are ones; None: the columns hold 0 and 1 already.

    Certificate
    -----------
    Priors and densities are the closed-form (smoothed) maximum likelihood of the rows, made anew from them.

    See Also
    --------
    NaiveBayes : a density of its own for each column.
    MultinomialNB : counts instead of ones and zeros.

    Examples
    --------
    >>> BernoulliNB().fit([[0, 1], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1]).predict([[1, 0]])
    array([1])
    """

    name = "bernoulli-nb"
    family = "bernoulli"
    alpha: Any = ALPHAS
    force_alpha: bool = FORCE_ALPHA
    binarize: float | None = param("values above it count as one; None: columns hold 0 and 1", default=0.0, check=Range(low=0, words=(None,)))  # fmt: skip
    fit_prior: bool = FIT_PRIOR
    class_prior: Any = PRIORS
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS

    @classmethod
    def _prospect(cls, features: Features) -> Prospect:
        """Whether a column is above its mean: scaled columns have it at zero, which is the default of `binarize`."""
        return Prospect(search=LESS_AND_LESS, scaled=True)

    def _settings(self) -> Settings:
        return super()._settings()._replace(binarize=self.binarize)

    @property
    def feature_count_(self) -> Floats:
        """The weight of the ones, (K, d)."""
        count: Floats = self.class_factor_[:, None] * self._state.bernoulli_sum
        return count

    @property
    def feature_log_prob_(self) -> Floats:
        """log p_kj, the logarithm of the probability of a one, (K, d)."""
        log_prob: Floats = safe_log(self.bernoulli_prob_)
        return log_prob
