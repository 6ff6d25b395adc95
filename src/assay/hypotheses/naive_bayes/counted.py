"""What naive Bayes models of counted things share: α further occurrences of everything."""

from __future__ import annotations

from typing import Any, ClassVar

from assay.hypotheses.naive_bayes.model import NaiveBayesModel, Settings

LESS_AND_LESS = tuple({"alpha": alpha} for alpha in (10.0, 1.0, 0.1))  # smoothing, as a search goes through it


class CountedModel(NaiveBayesModel):
    """A model whose probabilities are smoothed counts; `family` is the density of its columns."""

    family: ClassVar[str]
    discrete = True

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        return Settings(self.family, self.class_prior, self.fit_prior, self.alpha, self.force_alpha)
