"""Naive Bayes: for each column its own density, or one kind of density for all (normal, coin, urn, table).

They differ in their hyper-parameters and in names only; `fit.py` has what they share.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from assay.engines import Block
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Free, Range, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.naive_bayes.choose import FAMILIES, is_choice
from assay.families.naive_bayes.densities.categorical import Tables
from assay.families.naive_bayes.fit import NaiveBayesModel, NaiveBayesSettings
from assay.numerics import Array, Floats, safe_log


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


PRIORS = param("probabilities of the classes; None: as frequent as in the rows", default=None, check=Free("a list with a probability for each class (Priors must be non-negative)", words=(None,), check=_are_numbers))  # fmt: skip
ALPHA = param("smoothing: this many further occurrences of everything; 0 is plain maximum likelihood", default=1.0, check=Range(low=0, open_high=True))  # fmt: skip
ALPHA_EACH = param(
    "smoothing: this many further occurrences of everything; 0 is plain maximum likelihood",
    default=1.0,
    check=Free(
        "a number ≥ 0, or a list with one for each column", check=lambda value: _is_amount(value) or _are_numbers(value)
    ),
)
VAR_SMOOTHING = param("share of the largest column variance that is added to every variance", default=1e-9, check=Range(low=0, open_high=True))  # fmt: skip
FORCE_ALPHA = param("use alpha as it is; otherwise at least 1e-10", default=True)
FIT_PRIOR = param("learn the priors from the rows; otherwise all classes are equally likely", default=True)
ALPHAS_TRIED = tuple({"alpha": alpha} for alpha in (10.0, 1.0, 0.1))  # ever less smoothing


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

    title = "Naive Bayes"
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
    def _search_space(cls, features: TableTraits) -> SearchSpace:
        """Categories as they are; ever less smoothing."""
        return SearchSpace(
            search=(
                {"alpha": 10.0, "var_smoothing": 1e-2},
                {"alpha": 1.0, "var_smoothing": 1e-5},
                {"alpha": 1.0, "var_smoothing": 1e-9},
            ),
            categories="native",
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.columns in ("bernoulli", "poisson", "multinomial", "categorical")
        tags.input_tags.categorical = self.columns == "categorical"
        tags.input_tags.sparse = self.columns != "categorical"
        return tags

    def _settings(self) -> NaiveBayesSettings:
        return NaiveBayesSettings(self.columns, self.priors, alpha=self.alpha, var_smoothing=self.var_smoothing)

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

    title = "Gaussian naive Bayes"
    name = "gaussian-nb"
    priors: Any = PRIORS
    var_smoothing: float = VAR_SMOOTHING
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS

    @classmethod
    def _search_space(cls, features: TableTraits) -> SearchSpace:
        """Ever less smoothing, which is a share of the largest variance: hence columns of one scale."""
        return SearchSpace(
            search=tuple({"var_smoothing": share} for share in (1e-2, 1e-5, 1e-9)),
            scaled=True,
            unfit="every column is a category, and a normal density is for numbers"
            if features.only_categories
            else None,
            dense=features.text,  # words are mostly zeros, which no normal density describes
        )

    def _settings(self) -> NaiveBayesSettings:
        return NaiveBayesSettings("gaussian", self.priors, var_smoothing=self.var_smoothing)


class BernoulliNB(NaiveBayesModel):
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

    title = "Bernoulli naive Bayes"
    name = "bernoulli-nb"
    discrete = True
    alpha: Any = ALPHA_EACH
    force_alpha: bool = FORCE_ALPHA
    binarize: float | None = param("values above it count as one; None: columns hold 0 and 1", default=0.0, check=Range(low=0, words=(None,)))  # fmt: skip
    fit_prior: bool = FIT_PRIOR
    class_prior: Any = PRIORS
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS

    @classmethod
    def _search_space(cls, features: TableTraits) -> SearchSpace:
        """Whether a column is above its mean: scaled columns have it at zero, which is the default of `binarize`."""
        return SearchSpace(search=ALPHAS_TRIED, scaled=True)

    def _settings(self) -> NaiveBayesSettings:
        return _count_settings("bernoulli", self)._replace(binarize=self.binarize)

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


class MultinomialNB(NaiveBayesModel):
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

    title = "Multinomial naive Bayes"
    name = "multinomial-nb"
    discrete = True
    positive_only = True
    alpha: Any = ALPHA_EACH
    force_alpha: bool = FORCE_ALPHA
    fit_prior: bool = FIT_PRIOR
    class_prior: Any = PRIORS
    n_jobs: int | None = N_JOBS

    @classmethod
    def _search_space(cls, features: TableTraits) -> SearchSpace:
        """Ever less smoothing, where all columns can be counts."""
        return SearchSpace(
            search=ALPHAS_TRIED,
            unfit=None if features.never_negative else "a column holds negative numbers, which cannot be counts",
        )

    def _settings(self) -> NaiveBayesSettings:
        return _count_settings("multinomial", self)

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


class CategoricalNB(NaiveBayesModel):
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

    title = "Categorical naive Bayes"
    name = "categorical-nb"
    takes_sparse = False
    discrete = True
    positive_only = True
    takes_categories = True
    alpha: float = ALPHA
    force_alpha: bool = FORCE_ALPHA
    fit_prior: bool = FIT_PRIOR
    class_prior: Any = PRIORS
    min_categories: Any = param(
        "least number of categories of a column, so that those not seen have a probability",
        default=None,
        check=Free(
            "a whole number ≥ 1 or one a column ('min_categories' should have shape (n_features,))",
            words=(None,),
            check=_are_whole,
        ),
    )
    n_jobs: int | None = N_JOBS

    @classmethod
    def _search_space(cls, features: TableTraits) -> SearchSpace:
        """Ever less smoothing, where all columns are categories."""
        return SearchSpace(
            search=ALPHAS_TRIED,
            categories="native",
            unfit=None if features.only_categories else "a column is no category: it takes categories alone",
        )

    def _settings(self) -> NaiveBayesSettings:
        return _count_settings("categorical", self)._replace(min_categories=self.min_categories, cut=True)

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


def _count_settings(density: str, model: Any) -> NaiveBayesSettings:
    """The settings of densities that are smoothed counts: α further occurrences of everything."""
    given = NaiveBayesSettings(density, model.class_prior, model.fit_prior, model.alpha, model.force_alpha)
    return given._replace(owner=f"{type(model).__name__} (input X)")
