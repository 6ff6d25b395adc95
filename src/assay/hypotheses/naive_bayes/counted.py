"""What naive Bayes models of counted things share: α further occurrences of everything."""

from __future__ import annotations

from typing import Any, ClassVar

from assay.hypotheses.naive_bayes.model import NaiveBayesModel, Settings
from assay.learner import attribute

LESS_AND_LESS = tuple({"alpha": alpha} for alpha in (10.0, 1.0, 0.1))  # smoothing, as a search goes through it


class CountedModel(NaiveBayesModel):
    """A model whose probabilities are smoothed counts; `family` is the density of its columns."""

    family: ClassVar[str]
    discrete = True

    alpha: Any = attribute()
    force_alpha: bool = attribute()
    fit_prior: bool = attribute()
    class_prior: Any = attribute()

    def _settings(self) -> Settings:
        return Settings(self.family, self.class_prior, self.fit_prior, self.alpha, self.force_alpha)
