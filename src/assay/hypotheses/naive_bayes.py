"""Naive Bayes under the names people know: one class a set of hyper-parameters, all of one text."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np

from assay.engines import Block
from assay.hypotheses.densities.categorical import Tables
from assay.hypotheses.densities.choose import FAMILIES, is_choice
from assay.hypotheses.naive_bayes_model import NaiveBayesModel, Settings
from assay.learner.prospect import Features, Prospect
from assay.numerics import Array, Floats, safe_log
from assay.params import CLASS_WEIGHT, N_JOBS, Flag, Free, Range


def _are_numbers(value: Any) -> bool:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return array.ndim == 1 and array.size > 0 and bool(np.all(np.isfinite(array)) and np.all(array >= 0))


def _is_amount(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real) and 0 <= float(value) < np.inf


def _are_whole(value: Any) -> bool:
    array = np.asarray(value)
    return not isinstance(value, bool) and array.dtype.kind in "iu" and array.ndim <= 1 and bool(np.all(array >= 1))


PRIORS = Free(
    words=(None,),
    what="a list with a probability for each class",
    doc="priors; None: as frequent as in the rows",
    check=_are_numbers,
)
ALPHA = Range(low=0, doc="smoothing: this many further occurrences of everything; 0 is plain maximum likelihood")
ALPHAS = Free(
    what="a number ≥ 0, or a list with one for each column",
    doc="smoothing: this many further occurrences of everything; 0 is plain maximum likelihood",
    check=lambda value: _is_amount(value) or _are_numbers(value),
)
VAR_SMOOTHING = Range(low=0, doc="share of the largest column variance that is added to every variance")
FORCE_ALPHA = Flag(doc="use alpha as it is; otherwise at least 1e-10")
FIT_PRIOR = Flag(doc="learn the priors from the rows; otherwise all classes are equally likely")


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

    >>> X = [[0, 1.5], [1, 2.5], [1, 7.5], [1, 9.5]]
    >>> model = NaiveBayes().fit(X, ["a", "a", "b", "b"])
    >>> model.columns_
    ['bernoulli', 'gaussian']
    >>> model.predict([[1, 8.0], [None, 2.0]]).tolist()
    ['b', 'a']
    """

    name = "naive-bayes"
    takes_categories = True
    params: ClassVar = {
        "columns": Free(
            words=("auto", *FAMILIES),
            what="a dict {column name or number: density}",
            doc="the density of each column",
            check=is_choice,
        ),
        "alpha": ALPHA,
        "var_smoothing": VAR_SMOOTHING,
        "priors": PRIORS,
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        columns: Any = "auto",
        *,
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.columns = columns
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.priors = priors
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Categories as they are; ever less smoothing."""
        if kind != "classifier":
            return None
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


class GaussianNB(NaiveBayesModel):
    """Naive Bayes with one normal density a class and column. Shape: one fold.

        log p(k | x) = log π_k − ½ Σ_j [ (x_j − θ_kj)² / v_kj + log 2π v_kj ] + const

    `theta_` are the means, `var_` the variances (1/N) plus `epsilon_` = var_smoothing · (largest variance of a column).

    >>> GaussianNB().fit([[0.], [1.], [9.], [10.]], [0, 0, 1, 1]).predict([[2.]])
    array([0])
    """

    name = "gaussian-nb"
    params: ClassVar = {
        "priors": PRIORS,
        "var_smoothing": VAR_SMOOTHING,
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self, *, priors: Any = None, var_smoothing: float = 1e-9, class_weight: Any = None, n_jobs: int | None = None
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Ever less smoothing, which is a share of the largest variance: hence columns of one scale."""
        if kind != "classifier":
            return None
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


class BernoulliNB(NaiveBayesModel):
    """Naive Bayes with a coin a class and column: p_kj = (S_kj + α) / (N_kj + 2α). Shape: one fold.

    `binarize`: values above it are ones; None: the columns hold 0 and 1 already.

    >>> BernoulliNB().fit([[0, 1], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1]).predict([[1, 0]])
    array([1])
    """

    name = "bernoulli-nb"
    discrete = True
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
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Whether a column is above its mean: scaled columns have it at zero, which is the default of `binarize`."""
        if kind != "classifier":
            return None
        return Prospect(search=tuple({"alpha": alpha} for alpha in (10.0, 1.0, 0.1)), scaled=True)

    def _settings(self) -> Settings:
        return Settings(
            "bernoulli", self.class_prior, self.fit_prior, self.alpha, self.force_alpha, binarize=self.binarize
        )

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


class MultinomialNB(NaiveBayesModel):
    """Naive Bayes for counts that are draws from one urn a class, such as words: θ_kj = (S_kj + α) / Σ_j (S_kj + α).

    Shape: one fold.

        log p(k | x) = log π_k + Σ_j x_j log θ_kj + const

    Counts may be fractions (tf-idf) but not negative. For class weights use NaiveBayes("multinomial", class_weight=...).

    >>> MultinomialNB().fit([[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 1, 1]], [0, 0, 1, 1]).predict([[1, 0, 1]])
    array([0])
    """

    name = "multinomial-nb"
    discrete = True
    positive_only = True
    params: ClassVar = {
        "alpha": ALPHAS,
        "force_alpha": FORCE_ALPHA,
        "fit_prior": FIT_PRIOR,
        "class_prior": PRIORS,
        "n_jobs": N_JOBS,
    }

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

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Ever less smoothing, where all columns can be counts."""
        if kind != "classifier":
            return None
        return Prospect(
            search=tuple({"alpha": alpha} for alpha in (10.0, 1.0, 0.1)),
            unfit=None if features.never_negative else "a column holds negative numbers, which cannot be counts",
        )

    def _settings(self) -> Settings:
        return Settings("multinomial", self.class_prior, self.fit_prior, self.alpha, self.force_alpha)

    @property
    def feature_count_(self) -> Floats:
        """The sum of the counts, (K, d)."""
        count: Floats = self.class_factor_[:, None] * self._state.multinomial_sum
        return count

    @property
    def feature_log_prob_(self) -> Floats:
        """log θ_kj."""
        log_prob: Floats = safe_log(self.multinomial_prob_)
        return log_prob


class CategoricalNB(NaiveBayesModel):
    """Naive Bayes with a table of probabilities a class and column: (N_kjc + α) / (N_kj + α·C_j).

    Shape: one fold.

    Columns hold the numbers 0 … C_j − 1 of their categories, or text in a frame. `min_categories`: C_j is at least that.
    A category that the fit never saw is left out of the product, as a missing value is. Fractions are cut off, with a
    warning. For class weights use NaiveBayes("categorical", class_weight=...).

    >>> CategoricalNB().fit([[0, 2], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1]).predict([[1, 7]])
    array([1])
    """

    name = "categorical-nb"
    takes_sparse = False
    discrete = True
    positive_only = True
    takes_categories = True
    params: ClassVar = {
        "alpha": ALPHA,
        "force_alpha": FORCE_ALPHA,
        "fit_prior": FIT_PRIOR,
        "class_prior": PRIORS,
        "min_categories": Free(
            words=(None,), what="a whole number ≥ 1 or one a column", doc="least number of categories", check=_are_whole
        ),
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.n_jobs = n_jobs

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Ever less smoothing, where all columns are categories."""
        if kind != "classifier":
            return None
        return Prospect(
            search=tuple({"alpha": alpha} for alpha in (10.0, 1.0, 0.1)),
            categories="native",
            unfit=None if features.only_categories else "a column is no category: it takes categories alone",
        )

    def _settings(self) -> Settings:
        return Settings(
            "categorical",
            self.class_prior,
            self.fit_prior,
            self.alpha,
            self.force_alpha,
            min_categories=self.min_categories,
            cut=True,
        )

    @property
    def n_categories_(self) -> Array:
        """The number of categories of each column."""
        return np.diff(self.category_offsets_)

    @property
    def category_count_(self) -> list[Floats]:
        """The weight of each category, one array (K, C_j) a column."""
        tables: Tables = self._state.categories.grown(self.n_categories_)
        return tables.by_column(self.class_factor_[:, None] * tables.counts)

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """log of the probabilities, one array (K, C_j) a column."""
        return Tables(self.category_prob_, self.category_offsets_).by_column(safe_log(self.category_prob_))
