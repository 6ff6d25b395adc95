"""Naive Bayes of ones and zeros: a coin a class and column."""

from __future__ import annotations

from typing import Any, ClassVar

from assay.hypotheses.naive_bayes.counted import LESS_AND_LESS, CountedModel
from assay.hypotheses.naive_bayes.model import Settings
from assay.hypotheses.naive_bayes.params import ALPHAS, FIT_PRIOR, FORCE_ALPHA, PRIORS
from assay.learner.prospect import Features, Prospect
from assay.numerics import Floats, safe_log
from assay.params import CLASS_WEIGHT, N_JOBS, Range


class BernoulliNB(CountedModel):
    """Naive Bayes with a coin a class and column: p_kj = (S_kj + α) / (N_kj + 2α). Shape: one fold.

    `binarize`: values above it are ones; None: the columns hold 0 and 1 already.

    >>> BernoulliNB().fit([[0, 1], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1]).predict([[1, 0]])
    array([1])
    """

    name = "bernoulli-nb"
    family = "bernoulli"
    params: ClassVar = {
        "alpha": ALPHAS,
        "force_alpha": FORCE_ALPHA,
        "binarize": Range(low=0, words=(None,), doc="values above it count as one; None: columns hold 0 and 1"),
        "fit_prior": FIT_PRIOR,
        "class_prior": PRIORS,
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior, n_jobs=n_jobs
        )
        self.binarize = binarize
        self.class_weight = class_weight

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
        """log p_kj."""
        log_prob: Floats = safe_log(self.bernoulli_prob_)
        return log_prob
