"""Naive Bayes with a density chosen for each column."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import Block
from assay.hypotheses.densities.choose import FAMILIES, is_choice
from assay.hypotheses.naive_bayes.model import NaiveBayesModel, Settings
from assay.hypotheses.naive_bayes.params import ALPHA, PRIORS, VAR_SMOOTHING
from assay.learner.prospect import Features, Prospect
from assay.numerics import Floats
from assay.params import CLASS_WEIGHT, N_JOBS, Free, param


class NaiveBayes(NaiveBayesModel):
    """Naive Bayes with a density chosen for each column. Shape: one fold.

        log p(k | x) = log π_k + Σ_j log p_j(x_j | k) + const

    `columns` names the densities: one word for all columns, or a dict {column name or number: word}; columns not named
    are "auto". The words: "gaussian" (normal), "bernoulli" (0 or 1), "poisson" (counts), "multinomial" (the counts of
    these columns together are draws from one urn), "categorical" (a table), "auto".

    The rule of "auto": text and categories of a frame are categorical; columns of only 0 and 1 are bernoulli; whole
    numbers ≥ 0 are poisson where its maximised likelihood given the classes exceeds that of gaussian (with 1/12 added
    to its variance for rounding), else gaussian; everything else is gaussian. `columns_` records the choice.

    A category that the fit never saw is left out of the product, as a missing value is; so is, where all columns are "auto",
    a value that the chosen density cannot have (a 2 where the fit saw but 0 and 1).

    Certificate
    -----------
    Priors and densities are the closed-form (smoothed) maximum likelihood of the rows, made anew from them.

    See Also
    --------
    GaussianNB : all columns normal.
    BernoulliNB : all columns ones and zeros.
    MultinomialNB : all columns counts from one urn.
    CategoricalNB : all columns categories.

    Examples
    --------
    >>> X = [[0, 1.5], [1, 2.5], [1, 7.5], [1, 9.5]]
    >>> model = NaiveBayes().fit(X, ["a", "a", "b", "b"])
    >>> model.columns_
    ['bernoulli', 'gaussian']
    >>> model.predict([[1, 8.0], [None, 2.0]]).tolist()
    ['b', 'a']
    """

    name = "naive-bayes"
    takes_categories = True
    columns: Any = param(
        "the density of each column given the class: one word for all, or a dict; 'auto': by its values",
        default="auto",
        kw_only=False,
        check=Free("a dict {column name or number: density}", words=("auto", *FAMILIES), check=is_choice),
    )
    alpha: float = ALPHA
    var_smoothing: float = VAR_SMOOTHING
    priors: Any = PRIORS
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS

    @classmethod
    def _prospect(cls, features: Features) -> Prospect:
        """Categories as they are; ever less smoothing."""
        return Prospect(
            search=(
                {"alpha": 10.0, "var_smoothing": 1e-2},
                {"alpha": 1.0, "var_smoothing": 1e-5},
                {"alpha": 1.0, "var_smoothing": 1e-9},
            ),
            categories="native",
            unfit="it takes categories as they are, and words of a text are thousands of sparse columns"
            if features.text
            else None,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.columns in ("bernoulli", "poisson", "multinomial", "categorical")
        tags.input_tags.categorical = self.columns == "categorical"
        tags.input_tags.sparse = self.columns != "categorical"
        return tags

    def _settings(self) -> Settings:
        return Settings(self.columns, self.priors, alpha=self.alpha, var_smoothing=self.var_smoothing)

    def _scores(self, X: Any) -> Floats:
        return super()._scores(self._possible(X))

    def _explain_scores(self, block: Block, Z: Floats) -> None:
        super()._explain_scores(block._replace(X=self._possible(block.X)), Z)

    def _possible(self, X: Any) -> Any:
        """Values that a density of the rule's own choice cannot have become missing ones; infinity is left to be refused."""
        plan = self._plan
        if self.columns != "auto" or not isinstance(X, np.ndarray) or not len(plan.bernoulli) + len(plan.poisson):
            return X
        ones, counts = X[:, plan.bernoulli], X[:, plan.poisson]
        odd = (ones != 0) & (ones != 1) & np.isfinite(ones), ((counts < 0) | (counts % 1 != 0)) & np.isfinite(counts)
        if not (odd[0].any() or odd[1].any()):
            return X
        X = X.astype(np.float64)
        X[:, plan.bernoulli] = np.where(odd[0], np.nan, ones)
        X[:, plan.poisson] = np.where(odd[1], np.nan, counts)
        return X
