"""What all naive Bayes models share: fit, answers, certificate and file. Shape: one fold.

    f(x) = argmax_k  π_k · Π_j p_j(x_j | k)

Training reads every value once, O(nd); an answer costs O(d) a class. Missing values (NaN) are left out of the product,
in training as in answering. The sufficient statistics are one state for every mixture of densities: families that a model does
not use have arrays of width zero, so all models share one state and one file layout.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows, fingerprint
from assay.errors import DataError, ModelFileError, ParameterError
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Fact, Tensor
from assay.estimator.one_fold import OneFold
from assay.estimator.params import attribute
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.naive_bayes.choose import FAMILIES, choose
from assay.families.naive_bayes.claims import COVERAGE, make_claims
from assay.families.naive_bayes.densities import categorical, counts, gaussian
from assay.families.naive_bayes.densities import counts as bernoulli
from assay.families.naive_bayes.densities.categorical import Tables
from assay.families.naive_bayes.densities.columns import ColumnsOfClasses, take
from assay.families.naive_bayes.densities.counts import ValueSums, merge_sums
from assay.inputs.labels import Labels, class_multipliers
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats, safe_log
from assay.statistics.scatter import ClassMoments, merge_moments
from assay.store import Record

LEAST_ALPHA = 1e-10
LARGEST_ALPHA = 1e290


class NaiveBayesSettings(NamedTuple):
    """The hyper-parameters of all naive Bayes models under one name each."""

    columns: Any
    priors: Any = None
    fit_prior: bool = True
    alpha: Any = 1.0
    force_alpha: bool = True
    var_smoothing: float = 1e-9
    binarize: float | None = None
    min_categories: Any = None
    cut: bool = False  # fractions of categories are cut off instead of refused
    owner: str = "a density of counts"  # in messages
    complement: bool = False  # the counts of a class are those of all others
    norm: bool = False  # and its weights are divided by their sum


class NaiveBayesStatistics(NamedTuple):
    """K classes; gaussian (K, dg), bernoulli (K, db), poisson (K, dp), multinomial (K, dm), categories (K, T)."""

    class_count: Floats
    gaussian_count: Floats
    gaussian_mean: Floats
    gaussian_m2: Floats
    bernoulli_count: Floats
    bernoulli_sum: Floats
    poisson_count: Floats
    poisson_sum: Floats
    multinomial_count: Floats
    multinomial_sum: Floats
    category_counts: Floats
    category_offsets: Array
    mark: bytes

    @property
    def gaussian(self) -> ClassMoments:
        return ClassMoments(self.gaussian_count, self.gaussian_mean, self.gaussian_m2)

    @property
    def bernoulli(self) -> ValueSums:
        return ValueSums(self.bernoulli_count, self.bernoulli_sum)

    @property
    def poisson(self) -> ValueSums:
        return ValueSums(self.poisson_count, self.poisson_sum)

    @property
    def multinomial(self) -> ValueSums:
        return ValueSums(self.multinomial_count, self.multinomial_sum)

    @property
    def categories(self) -> Tables:
        return Tables(self.category_counts, self.category_offsets)

    def weighted(self, factor: Floats) -> NaiveBayesStatistics:
        """The statistics of rows whose weights are multiplied by `factor` (K,) of their class."""
        if np.all(factor == 1):
            return self
        f = factor[:, None]
        unchanged = ("gaussian_mean", "category_offsets", "mark", "class_count")
        with np.errstate(over="ignore", invalid="ignore"):  # the model refuses what is not finite
            changed = {name: getattr(self, name) * f for name in self._fields if name not in unchanged}
            return self._replace(class_count=self.class_count * factor, **changed)


class DensityPlan(NamedTuple):
    """Which columns each family reads, the threshold of the bernoulli columns, whether categories are cut to whole numbers, and whose they are."""

    gaussian: Array
    bernoulli: Array
    poisson: Array
    multinomial: Array
    categorical: Array
    binarize: float | None
    cut: bool
    owner: str = ""

    @classmethod
    def of(cls, columns: Sequence[str], settings: NaiveBayesSettings | None = None) -> DensityPlan:
        settings = settings or NaiveBayesSettings("")
        words = np.array(columns[:1] if len(set(columns)) == 1 else columns)  # texts have very many columns, all alike
        at = {family: np.flatnonzero(np.broadcast_to(words == family, len(columns))) for family in FAMILIES}
        return cls(**at, binarize=settings.binarize, cut=settings.cut, owner=settings.owner)


def _absorb(labels: Labels, plan: DensityPlan, names: Sequence[str] | None, block: Block) -> NaiveBayesStatistics:
    """The statistics of a block."""
    assert block.y is not None
    codes = labels.encode(block.y)
    K = len(labels.classes)

    def part(columns: Array) -> ColumnsOfClasses:
        return ColumnsOfClasses(take(block.X, columns), codes, block.w, K, columns, block.start, names, plan.owner)

    moments, hashes = _no_moments(K), None
    if len(plan.gaussian):
        moments, hashes = gaussian.absorb(part(plan.gaussian))
    if len(plan.gaussian) < block.X.shape[1] or hashes is None:
        mark = fingerprint.leaf_of(block.X, codes, block.w)
    else:
        mark = fingerprint.leaf(hashes, block.X, codes, block.w)
    tables = Tables.empty(K, plan.categorical)
    if len(plan.categorical):
        tables = categorical.absorb(part(plan.categorical), plan.cut)
    return NaiveBayesStatistics(
        np.bincount(codes, weights=block.w, minlength=K).astype(np.float64),
        *moments,
        *(bernoulli.absorb(part(plan.bernoulli), plan.binarize) if len(plan.bernoulli) else _no_sums(K)),
        *(counts.absorb_poisson(part(plan.poisson)) if len(plan.poisson) else _no_sums(K)),
        *(counts.absorb_multinomial(part(plan.multinomial)) if len(plan.multinomial) else _no_sums(K)),
        *tables,
        mark,
    )


def _no_moments(K: int) -> ClassMoments:
    return ClassMoments(np.zeros((K, 0)), np.zeros((K, 0)), np.zeros((K, 0)))


def _no_sums(K: int) -> ValueSums:
    return ValueSums(np.zeros((K, 0)), np.zeros((K, 0)))


def _merge(a: NaiveBayesStatistics, b: NaiveBayesStatistics) -> NaiveBayesStatistics:
    """The statistics of both stretches of rows together."""
    with np.errstate(over="ignore", invalid="ignore"):  # the model refuses what is not finite
        return NaiveBayesStatistics(
            a.class_count + b.class_count,
            *merge_moments(a.gaussian, b.gaussian),
            *(merge_sums(a.bernoulli, b.bernoulli) if a.bernoulli_sum.size else a.bernoulli),
            *(merge_sums(a.poisson, b.poisson) if a.poisson_sum.size else a.poisson),
            *(merge_sums(a.multinomial, b.multinomial) if a.multinomial_sum.size else a.multinomial),
            *(categorical.merge(a.categories, b.categories) if len(a.category_offsets) > 1 else a.categories),
            fingerprint.join(a.mark, b.mark),
        )


class NaiveBayesModel(OneFold, Classifier):
    """What all naive Bayes models share; they differ in their hyper-parameters (`_settings`) and in names only."""

    takes_missing = True
    takes_sparse = True
    scores_are_log_joint = True
    least_classes = 1
    statistics = NaiveBayesStatistics
    coverage = COVERAGE
    layout: ClassVar = {
        "columns_": Fact(str, many=True, doc="the density of each column, as given or as the rule chose it"),
        "class_factor_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight"),
        "class_prior_": Tensor(("K",), low=0, high=1, doc="the probability π of each class"),
        "theta_": Tensor(("K", "dg"), doc="the mean of each class in each gaussian column"),
        "var_": Tensor(("K", "dg"), low=gaussian.SMALLEST, doc="the variance of each class in each gaussian column, epsilon_ added"),
        "epsilon_": Fact(float, low=0, doc="what was added to every variance: var_smoothing times the largest variance of a column"),
        "bernoulli_prob_": Tensor(("K", "db"), low=0, high=1, doc="the probability of a one of each class in each bernoulli column"),
        "poisson_rate_": Tensor(("K", "dp"), low=0, doc="the mean count of each class in each poisson column"),
        "multinomial_prob_": Tensor(("K", "dm"), low=0, high=1, doc="the share of each multinomial column in the counts of each class"),
        "category_prob_": Tensor(("K", "T"), low=0, high=1, doc="the probability of each category of each class, the categories of all categorical columns side by side"),
        "category_offsets_": Tensor(("c",), dtype="<i8", most="T", low=0, doc="where the categories of each categorical column begin in `category_prob_`"),
        "state.class_count": Tensor(("K",), low=0),
        "state.gaussian_count": Tensor(("K", "dg"), low=0),
        "state.gaussian_mean": Tensor(("K", "dg")),
        "state.gaussian_m2": Tensor(("K", "dg"), low=0),
        "state.bernoulli_count": Tensor(("K", "db"), low=0),
        "state.bernoulli_sum": Tensor(("K", "db"), low=0),
        "state.poisson_count": Tensor(("K", "dp"), low=0),
        "state.poisson_sum": Tensor(("K", "dp"), low=0),
        "state.multinomial_count": Tensor(("K", "dm"), low=0),
        "state.multinomial_sum": Tensor(("K", "dm"), low=0),
        "state.category_counts": Tensor(("K", "T0"), low=0),
        "state.category_offsets": Tensor(("c",), dtype="<i8", most="T0", low=0),
    }  # fmt: skip
    class_weight: Any = attribute(default=None)
    discrete: ClassVar[bool] = False  # loses much of what numbers say, as scikit-learn's tag `poor_score` has it
    _merge = staticmethod(_merge)

    def _settings(self) -> NaiveBayesSettings:
        raise NotImplementedError

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """What a comparison should try where the target is a class."""
        return cls._search_space(features) if kind == "classifier" else None

    @classmethod
    def _search_space(cls, features: TableTraits) -> SearchSpace:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.discrete
        tags.input_tags.categorical = self.takes_categories and self.discrete
        return tags

    # --- learning ---------------------------------------------------------------------------------------------------

    def _absorber(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Callable[[Block], Any]:
        labels = self._classes_of(engine, rows, afresh, classes)
        settings = self._settings()
        if afresh:
            self.columns_ = choose(settings.columns, engine, rows, labels)
        return partial(_absorb, labels, DensityPlan.of(self.columns_, settings), rows.names)

    def _check_statistics(self, state: NaiveBayesStatistics, whole: bool) -> None:
        super()._check_statistics(state, whole)
        self._refuse_large_sums(state)
        self._refuse_spread(~np.isfinite(state.gaussian_m2).all(axis=0), "so large", "overflow", "divide")

    def _refuse_large_sums(self, state: NaiveBayesStatistics) -> None:
        sums = (state.class_count, state.bernoulli_sum, state.poisson_sum, state.multinomial_sum, state.category_counts)
        with np.errstate(over="ignore", invalid="ignore"):
            if not all(np.isfinite(s.sum()) for s in sums):
                refuse_heavy(state.class_count)
                raise DataError(
                    "The values are so large that their sums overflow float64: divide them, or the weights, by a constant."
                )

    def _refuse_spread(self, bad: Any, how: str, flow: str, remedy: str) -> None:
        """Raise for the first of the gaussian columns that is marked."""
        if bad.any():
            j = int(DensityPlan.of(self.columns_).gaussian[np.flatnonzero(bad)[0]])
            names = self._column_names()
            raise DataError(
                f"Column {j if names is None else names[j]!r} holds values {how} that their squares, times the weights, "
                f"{flow} float64. Rescale it ({remedy} by a constant)."
            )

    def _finish(self, state: NaiveBayesStatistics) -> None:
        settings = self._settings()
        self.class_factor_ = class_multipliers(self.class_weight, self.classes_, state.class_count)
        s = state.weighted(self.class_factor_)
        self._refuse_large_sums(s)
        self.class_prior_ = _priors(settings, s.class_count)
        found = gaussian.estimate(s.gaussian, settings.var_smoothing)
        self._refuse_spread(~(found.var <= gaussian.LARGEST).all(axis=0), "so large", "overflow", "divide")
        self._refuse_spread(found.lost, "that differ by so little", "underflow", "multiply")
        self.theta_, self.var_, self.epsilon_ = found.theta, found.var, found.epsilon
        plan = DensityPlan.of(self.columns_)
        alpha = _alphas(settings, len(self.columns_))
        self.bernoulli_prob_ = bernoulli.estimate(s.bernoulli, alpha[plan.bernoulli])
        self.poisson_rate_ = counts.estimate_poisson(s.poisson, alpha[plan.poisson])
        urns = counts.of_others(s.multinomial) if settings.complement else s.multinomial
        self.multinomial_prob_ = counts.estimate_multinomial(urns, alpha[plan.multinomial])
        tables = categorical.with_least(s.categories, settings.min_categories)
        self.category_prob_ = categorical.estimate(tables, alpha[plan.categorical])
        self.category_offsets_ = tables.offsets
        self._prepare()

    def _folded_by(self) -> Any:
        settings = self._settings()
        return settings.columns, settings.binarize, settings.cut

    def _make_claims(self) -> tuple[Claim, ...]:
        return make_claims(self, self._settings())

    def complexity(self) -> float:
        """The parameters of the densities, K classes each, and K − 1 priors where they are learnt.

        gaussian 2 a column, bernoulli and poisson 1, multinomial one less than it has columns, categorical one less than a
        column has categories.
        """
        self._check_fitted()
        settings, K = type(self)(**self._fitted_with)._settings(), len(self.classes_)
        tables = np.maximum(np.diff(self.category_offsets_) - 1, 0).sum()
        singles = self.bernoulli_prob_.shape[1] + self.poisson_rate_.shape[1]
        urn = max(0, self.multinomial_prob_.shape[1] - 1)
        learnt = settings.priors is None and settings.fit_prior
        return float(K * (2 * self.theta_.shape[1] + singles + urn + tables) + (K - 1 if learnt else 0))

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        plan = DensityPlan.of(self.columns_)
        given = (plan.gaussian, plan.bernoulli, plan.poisson, plan.multinomial, plan.categorical)
        tables = self.category_offsets_[None, 1:]
        learnt = (self.theta_, self.bernoulli_prob_, self.poisson_rate_, self.multinomial_prob_, tables)
        widths = [a.shape[1] for a in learnt]
        if widths != [len(c) for c in given] or not sum(widths) == len(self.columns_) == self.n_features_in_:
            raise ModelFileError("The model file's densities do not fit its columns.")
        factor = class_multipliers(self.class_weight, self.classes_, self._state.class_count)
        if not np.allclose(self.class_factor_, factor, rtol=1e-9, atol=0):
            raise ModelFileError("The model file's class factors do not follow from its class_weight.")
        if not self.class_prior_.sum() > 0:
            raise ModelFileError("The model file's priors are all zero.")
        for offsets, table in (
            (self.category_offsets_, self.category_prob_),
            (self._state.category_offsets, self._state.category_counts),
        ):
            if not len(offsets) or offsets[0] != 0 or offsets[-1] != table.shape[1] or np.any(np.diff(offsets) < 0):
                raise ModelFileError("The model file's tables of categories do not fit together.")
        self._prepare()

    # --- answering --------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """The densities, ready to be evaluated, each with the columns that it reads."""
        settings = self._settings()
        self._plan = DensityPlan.of(self.columns_, settings)
        self._log_prior: Floats = safe_log(self.class_prior_)
        self._gaussian = gaussian.Gaussian.of(self.theta_, self.var_)
        self._bernoulli = bernoulli.density(self.bernoulli_prob_, settings.binarize)
        self._poisson = counts.poisson_density(self.poisson_rate_)
        if settings.complement:
            self._log_prior = np.zeros(len(self.classes_))
            self._multinomial = counts.complement_density(self.multinomial_prob_, settings.norm)
        else:
            self._multinomial = counts.multinomial_density(self.multinomial_prob_)
        self._categorical = categorical.Categorical.of(self.category_prob_, self.category_offsets_)

    def _scores(self, X: Any) -> Floats:
        Z: Floats = np.tile(self._log_prior[:, None], (1, len(X))).T
        plan = self._plan
        if len(plan.gaussian):
            Z += self._gaussian.log_density(take(X, plan.gaussian))
        if len(plan.bernoulli):
            Z += self._bernoulli.log_density(bernoulli.binarized(take(X, plan.bernoulli), plan.binarize))
        if len(plan.poisson):
            Z += self._poisson.log_density(take(X, plan.poisson))
        if len(plan.multinomial):
            Z += self._multinomial.log_density(take(X, plan.multinomial))
        if len(plan.categorical):
            Z += self._categorical.log_density(categorical.whole(take(X, plan.categorical), plan.cut))
        return Z

    def _explain_scores(self, block: Block, Z: Floats) -> None:
        """Raise for values that no density can have; a row that is impossible in every class is left to the priors."""
        plan, names = self._plan, self._column_names()
        codes = np.zeros(len(block.X), dtype=np.int64)

        def part(columns: Array, X: Any = None) -> ColumnsOfClasses:
            X = take(block.X, columns) if X is None else X
            return ColumnsOfClasses(X, codes, None, len(Z.T), columns, block.start, names, plan.owner)

        if len(plan.bernoulli):
            bernoulli.refuse(part(plan.bernoulli, bernoulli.binarized(take(block.X, plan.bernoulli), plan.binarize)))
        if len(plan.poisson):
            counts.refuse_fractions(part(plan.poisson))
        if len(plan.multinomial):
            counts.refuse_negative(part(plan.multinomial))
        if len(plan.categorical):
            categorical.refuse(part(plan.categorical, categorical.whole(take(block.X, plan.categorical), plan.cut)))
        lost = ~np.isfinite(Z.max(axis=1))
        if (
            len(plan.gaussian)
            and np.isneginf(self._gaussian.log_density(take(block.X[lost], plan.gaussian))).all(axis=1).any()
        ):
            part(plan.gaussian).refuse_overflow()
        Z[lost] = self._log_prior

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(x, k) for each row and class, without terms that are the same for every class (log x! of counts)."""
        return self._answer(X, self._checked_scores)

    # --- what was learnt, under scikit-learn's names ----------------------------------------------------------------

    @property
    def class_count_(self) -> Floats:
        """The weight of the rows of each class, (K,)."""
        count: Floats = self.class_factor_ * self._state.class_count
        return count

    @property
    def class_log_prior_(self) -> Floats:
        """The logarithm of the priors, (K,)."""
        log_prior: Floats = safe_log(self.class_prior_)
        return log_prior


def _priors(settings: NaiveBayesSettings, class_count: Floats) -> Floats:
    K, given = len(class_count), settings.priors
    if given is not None:
        priors = np.array(given, dtype=np.float64)
        if len(priors) != K:
            raise ParameterError(
                f"Number of priors must match number of classes: {len(priors)} priors were given for {K} classes."
            )
        if abs(priors.sum() - 1) > 1e-8:
            raise ParameterError(f"The sum of the priors should be 1, but it is {priors.sum():g}.")
        return np.minimum(priors, 1.0)
    if not settings.fit_prior:
        return np.full(K, 1 / K)
    if class_count.sum() == 0:
        raise ParameterError("class_weight gives every class that has rows the weight zero.")
    shares: Floats = class_count / class_count.sum()
    return shares


def _alphas(settings: NaiveBayesSettings, d: int) -> Floats:
    """α for each column."""
    alpha = np.asarray(settings.alpha, dtype=np.float64)
    if alpha.ndim and len(alpha) != d:
        raise ParameterError(
            f"alpha has {len(alpha)} values, but there are {d} columns: give one number, or one a column."
        )
    if alpha.max() > LARGEST_ALPHA:
        raise ParameterError(
            f"alpha={alpha.max():g} is so large that sums of it overflow: give at most {LARGEST_ALPHA:g}."
        )
    if not settings.force_alpha and alpha.min() < LEAST_ALPHA:
        warnings.warn(
            f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e} in the place of {alpha.min():g}; "
            "force_alpha=True keeps it as it is.",
            stacklevel=2,
        )
        alpha = np.maximum(alpha, LEAST_ALPHA)
    spread: Floats = np.broadcast_to(alpha, (d,))
    return spread
