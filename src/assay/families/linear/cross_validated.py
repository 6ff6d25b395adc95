"""Elastic net and lasso whose strength is chosen by cross-validation. Shape: repeated fold.

    alpha = argmin_a  1/k Σ_f  1/n_f Σ_{i in fold f} (y_i − h_{a, f}(x_i))²,        h_{a, f}: the fit without fold f

The products of the columns of a fold's rows are added up once. Those of all rows but a fold are a sum of them, the paths over all strengths
follow by coordinate descent without the rows, and so do the errors on a fold: Σ(y − w·x − b)² = S_yy − 2w·S_xy + wᵀS_xx w + n(ȳ − w·x̄ − b)².
Of many columns every fold is fitted from its rows, each strength from the weights of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Engine, Rows, targets_of
from assay.errors import DataError, ParameterError
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import N_JOBS, Free, Range, Several, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.linear.claims import COVERAGE, LOOSEST, cross_validation_claim
from assay.families.linear.elastic_net import (  # fmt: skip
    COPY_X,
    FIT_INTERCEPT,
    MAX_ITER,
    POSITIVE,
    PRECOMPUTE,
    RANDOM,
    SELECTION,
    TOL,
    ElasticNet,
    dual_gap,
    penalised_squares,
)
from assay.families.linear.fit import LinearTask, most_products
from assay.families.linear.problem import (
    Objective,
    RowStatistics,
    TargetMaker,
    about_centre,
    column_mean,
    column_variance,
    gram_about,
    merge_statistics,
    pose,
    prepare,
    row_statistics,
)
from assay.families.linear.regressor import NUMBER_LAYOUT, LinearRegressor
from assay.families.linear.rounding import as_saved, with_rounding
from assay.numerics import Array, Floats
from assay.risk.terms import Penalty
from assay.solvers.problem import Iterate
from assay.solvers.proximal_newton import minimise_model
from assay.statistics.folds import fold_numbers, fold_pair, given_fold_numbers, stratified_fold_numbers
from assay.store import Record

EPS = float(np.finfo(np.float64).eps)
SEEN = 2.5e-7  # of an error, and of the square of the target: so much rounding may change
PASSES = 1000  # of coordinate descent over all weights, at most
ENOUGH = 1e-11  # of the fall so far: a pass that gains less is the last
FOLDS = 5
MOST_TRIED = 1 << 20  # strengths of one share


def says_folds(given: Any) -> bool:
    """Whether this is a number of folds, a splitter, or pairs of rows."""
    if isinstance(given, Integral):
        return not isinstance(given, bool) and int(given) >= 2
    return hasattr(given, "split") or (isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping))


NUMBERS = TargetMaker(None, np.ones(1))
SURE = Fact(
    bool, doc="whether what the choice follows from is known beyond its rounding; else nothing is claimed of it"
)
CV_LAYOUT: Layout = {
    **NUMBER_LAYOUT,
    "alpha_": Fact(float, low=0, doc="the strength of the penalty that was chosen"),
    "l1_ratio_": Fact(float, low=0, doc="the share of ‖w‖₁ in the penalty that was chosen"),
    "ratios_": Tensor(("r",), low=0, high=1, doc="the shares of ‖w‖₁ that were tried"),
    "strengths_": Tensor(("r", "a"), low=0, doc="the strengths that were tried, falling, of each share"),
    "fold_errors_": Tensor(("r", "a", "f"), low=0, doc="the mean square error on each fold of the fits without it"),
    "folds_": Tensor(
        ("n",),
        dtype="<i8",
        low=-1,
        optional=True,
        doc="the fold of each row, where cv did not just say how many; -1: weight zero",
    ),
    "cv_error_": Fact(float, low=0, doc="the mean square error over all folds, at the choice"),
    "sure_": SURE,
    "fold_weights_": Tensor(("f", "e"), doc="the weights (w_1, …, w_d, b) of the fit without each fold, at the choice"),
}
CV_COVERAGE = Coverage(
    proof={**COVERAGE.proof, "duality_gap": "alpha_"},
    estimate={"cross_validation": "fold_weights_ l1_ratio_"},
    nothing=COVERAGE.nothing + " ratios_ strengths_ fold_errors_ cv_error_ folds_ sure_",
    but=COVERAGE.but
    + "; of the errors on folds those of the choice are added up again, and those of other strengths are stated",
).within(CV_LAYOUT)
CV_ALPHAS = param("how many strengths are tried, or the strengths themselves", default=100, check=Several("a whole number > 0, or numbers ≥ 0", each=Range(low=0, open_high=True), alone=Range(int, low=1, high=MOST_TRIED)))  # fmt: skip
CV_EPS = param("the weakest strength as a share of the strongest, which leaves all weights zero", default=1e-3, check=Range(low=0, open_low=True, high=1))  # fmt: skip
CV = param("how many folds of consecutive rows the cross-validation has; None: 5; or a splitter, or pairs of rows to fit on and rows held out", default=None, check=Free("a whole number ≥ 2, a splitter such as KFold, or pairs", words=(None,), check=says_folds))  # fmt: skip
VERBOSE = param("accepted for scikit-learn's sake; it changes nothing", default=False)


class Search(NamedTuple):
    """Shares (r,), strengths (r, a), the weight of each fold (f,) and errors (r, a, f); the place of the least mean error."""

    ratios: Floats
    strengths: Floats
    weights: Floats
    errors: Floats

    @property
    def least(self) -> tuple[int, int]:
        """The first of the least mean errors."""
        mean = self.errors @ (self.weights / self.weights.sum())
        at = np.unravel_index(int(np.argmin(mean)), mean.shape)
        return int(at[0]), int(at[1])


class FoldPair(NamedTuple):
    """The statistics of the rows without a fold, and of the fold."""

    fit: RowStatistics
    held_out: RowStatistics


def choose_strength(model: Any, engine: Engine, rows: Rows) -> None:
    """Set what the cross-validation of a model finds; folds count by their weight where rows have weights, as in scikit-learn."""
    folds, k = folds_asked(model, rows)
    ratios = np.atleast_1d(np.asarray(model._ratios(), dtype=np.float64))
    strengths = np.stack([_strengths(model, engine, rows, ratio) for ratio in ratios])
    pairs = _fold_pairs(engine, rows, folds, k, most_products(penalised_squares(model, 1.0, 1.0)))
    given = folds, k, ratios, strengths
    found, weights_of = (
        _from_rows(model, rows, *given) if pairs is None else _from_products(model, engine, rows, pairs, *given)
    )
    found = found if rows.has_weight else found._replace(weights=np.ones(k))
    r, a = found.least
    model.ratios_, model.strengths_, model.fold_errors_ = ratios, strengths, found.errors
    model.l1_ratio_, model.alpha_ = float(ratios[r]), float(strengths[r, a])
    model.fold_weights_, found.errors[r, a], gap = weights_of(r, a)
    statistics = row_statistics(engine, rows, NUMBERS, most_products(penalised_squares(model, 1.0, 1.0)))
    known = has_digits(statistics, model.fold_weights_, found.errors[r, a])
    model.sure_ = bool(gap <= model.tol <= LOOSEST and known)
    model.cv_error_ = float(found.errors[r, a] @ (found.weights / found.weights.sum()))


def has_digits(statistics: RowStatistics, weights: Floats, squares: Floats) -> bool:
    """Whether whoever adds up the mean square errors (k,) of weights (k, d + 1) again finds the same, whatever rounding does to scores."""
    mean = column_mean(statistics)
    far = np.append(np.abs(mean) + np.sqrt(column_variance(statistics, mean)), 1.0)
    off = weights.shape[1] * EPS * (np.abs(weights) @ far)
    gram = statistics.gram
    seen = 0.0 if gram is None else float(gram.target_mean[0]) ** 2 + float(gram.target_scatter[0]) / statistics.n
    return bool(np.all(off * (2 * np.sqrt(squares) + off) <= SEEN * (squares + SEEN * seen)))


def folds_asked(model: Any, rows: Rows) -> tuple[Array, int]:
    """The fold of each row, and how many folds there are; those that a number does not say are kept."""
    if model.cv is None or isinstance(model.cv, int | np.integer):
        k = FOLDS if model.cv is None else int(model.cv)
        return fold_numbers(rows, k), k
    model.folds_ = given_fold_numbers(rows, model.cv)
    return model.folds_, int(model.folds_.max()) + 1


def stratified_folds_asked(model: Any, rows: Rows) -> tuple[Array, int]:
    """The same of a classifier, whose folds have about the same share of each class."""
    if model.cv is not None and not isinstance(model.cv, int | np.integer):
        return folds_asked(model, rows)
    parts = [part.load() for part in rows.targets()]
    codes = np.searchsorted(model.classes_, np.concatenate([np.asarray(block.y) for block in parts]))
    there = np.concatenate([np.ones(len(np.asarray(b.y)), bool) if b.w is None else b.w > 0 for b in parts])
    k = FOLDS if model.cv is None else int(model.cv)
    return stratified_fold_numbers(codes, there, k), k


def weights_of_folds(model: Any, found: list[Floats]) -> Floats:
    """The weights of all folds, (f, m, e); raises where a fit without a fold has seen fewer classes than there are."""
    if len({w.shape for w in found}) > 1 or (hasattr(model, "classes_") and len(found[0]) != _problems_of(model)):
        raise DataError(
            f"{type(model).__name__}: without one of {len(found)} folds the rows hold fewer than all {len(model.classes_)} classes, so that fits cannot be "
            "compared: give fewer folds, or leave out classes of a single row."
        )
    return np.stack(found)


def _problems_of(model: Any) -> int:
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def with_folds(model: Any, record: Record) -> Record:
    """The record of a model whose folds were given: how many they are; which they are is a part of it."""
    return (
        replace(record, params={**record.params, "cv": model.fold_errors_.shape[-1]})
        if hasattr(model, "folds_")
        else record
    )


def _strengths(model: Any, engine: Engine, rows: Rows, ratio: float) -> Floats:
    """The strengths given, falling, or as many from the least that leaves all weights zero to `eps` of it."""
    if np.ndim(model.alphas):
        return np.sort(np.asarray(model.alphas, dtype=np.float64))[::-1]
    if not ratio > 0:
        raise ParameterError(
            f"{type(model).__name__}: without an l1 part (l1_ratio=0) no strength leaves all weights zero, so none can be tried from there: "
            "give alphas=[…]."
        )
    objective = penalised_squares(model, 1.0, 1.0)
    statistics = row_statistics(engine, rows, NUMBERS, most_products(objective))
    posed = pose(engine, prepare(rows, NUMBERS), statistics, objective, None)
    first = posed.problem.evaluate(np.zeros(posed.problem.shape)) if posed.first is None else posed.first
    most = float(np.abs(first.gradient[:-1]).max()) / (statistics.n * ratio)
    tiny = float(np.finfo(np.float64).resolution)
    return np.full(int(model.alphas), tiny) if most <= tiny else np.geomspace(most, most * model.eps, int(model.alphas))


def _fold_pairs(engine: Engine, rows: Rows, folds: Array, k: int, most: int) -> list[FoldPair] | None:
    """The statistics of all folds, and of all rows without each; None where products of all columns do not pay."""
    parts = []
    for f in range(k):
        parts.append(row_statistics(engine, fold_pair(rows, folds, f)[1], NUMBERS, most))
        if parts[0].gram is None:
            return None
    return [FoldPair(reduce(merge_statistics, parts[:f] + parts[f + 1 :]), parts[f]) for f in range(k)]


def _from_products(
    model: Any,
    engine: Engine,
    rows: Rows,
    pairs: list[FoldPair],
    folds: Array,
    k: int,
    ratios: Floats,
    strengths: Floats,
) -> Any:
    """The search by the products of each fold's columns, and what gives the weights, errors and largest gap of a choice."""
    from assay.solvers.loops.coordinate import descend

    fitted = bool(model.fit_intercept)
    errors = np.empty((*strengths.shape, k))
    for f, pair in enumerate(pairs):
        H, g = _quadratic(pair.fit, fitted)
        for r, ratio in enumerate(ratios):
            v, q, W = np.zeros(len(g)), g.copy(), np.empty((strengths.shape[1], len(g)))
            for a, alpha in enumerate(strengths[r]):
                l1, l2 = (np.full(len(g), pair.fit.n * alpha * share) for share in (ratio, 1.0 - ratio))
                descend(H, l1, l2, v, q, PASSES, ENOUGH)
                W[a] = v
            errors[r, :, f] = _held_out(pair, W, fitted)

    def weights_of(r: int, a: int) -> tuple[Floats, Floats, float]:
        out, gap = [], 0.0
        objective = penalised_squares(model, float(strengths[r, a]), float(ratios[r]))
        for f, pair in enumerate(pairs):
            H, g = _quadratic(pair.fit, fitted)
            n, alpha = pair.fit.n, strengths[r, a]
            penalty = Penalty(*(np.full(len(g), n * alpha * share) for share in (ratios[r], 1.0 - ratios[r])))
            v = minimise_model(H, g, np.zeros(len(g)), penalty)
            out.append(np.append(v, _intercept(pair.fit, v, fitted)))
            gap = float(np.maximum(gap, _gap_at(engine, fold_pair(rows, folds, f)[0], pair.fit, objective, out[-1])))
        return np.stack(out), np.array([float(_held_out(p, w[None, :-1], fitted)[0]) for p, w in zip(pairs, out)]), gap

    return Search(ratios, strengths, np.array([pair.held_out.n for pair in pairs]), errors), weights_of


def _gap_at(engine: Engine, rows: Rows, statistics: RowStatistics, objective: Objective, w: Floats) -> float:
    """The relative gap at weights that were found without the rows, with what rounding hides."""
    posed = pose(engine, prepare(rows, NUMBERS), statistics, objective, None)
    there = about_centre(w, posed.problem.centre)
    found = posed.problem.evaluate(there)
    at = Iterate(0, there, posed.problem.objective(found, there), posed.problem.gap(found, there))
    return float(with_rounding(posed, as_saved(posed, at, w), w, objective.tol, statistics.rows).gap)


def _quadratic(statistics: RowStatistics, fitted: bool) -> tuple[Floats, Floats]:
    """½wᵀHw + g·w is half the sum of squared errors, but for a constant; where an intercept is fitted, it is left out."""
    gram = statistics.gram
    assert gram is not None
    if fitted:
        return np.ascontiguousarray(gram.scatter), -gram.cross
    G = gram_about(statistics, np.zeros(len(gram.mean)))
    assert G is not None
    return np.ascontiguousarray(G[:-1, :-1]), -(gram.cross + statistics.n * float(gram.target_mean[0]) * gram.mean)


def _intercept(statistics: RowStatistics, w: Floats, fitted: bool) -> Any:
    gram = statistics.gram
    assert gram is not None
    return (float(gram.target_mean[0]) - w @ gram.mean) if fitted else 0.0 * (w @ gram.mean)


def _held_out(pair: FoldPair, W: Floats, fitted: bool) -> Floats:
    """The mean square error of weights W (a, d) on the fold."""
    gram, n = pair.held_out.gram, pair.held_out.n
    assert gram is not None
    squares = float(gram.target_scatter[0]) - 2 * W @ gram.cross + np.einsum("ad,ad->a", W @ gram.scatter, W)
    lean = float(gram.target_mean[0]) - W @ gram.mean - _intercept(pair.fit, W, fitted)
    return np.asarray(np.maximum(squares, 0.0) / n + lean**2)


def _from_rows(model: Any, rows: Rows, folds: Array, k: int, ratios: Floats, strengths: Floats) -> Any:
    """The same search by fits of the rows without each fold, each strength from the weights of the one before."""
    errors, weights, kept = np.empty((*strengths.shape, k)), np.empty(k), {}
    gaps = np.empty_like(errors)
    names = ("fit_intercept", "max_iter", "tol", "n_jobs")
    plain = ElasticNet(**{name: getattr(model, name) for name in names})
    for f in range(k):
        fit_on, held_out = fold_pair(rows, folds, f)
        y, w = targets_of(held_out)
        weights[f] = float(len(y) if w is None else w.sum())
        for r, ratio in enumerate(ratios):
            settings = [{"alpha": float(alpha), "l1_ratio": float(ratio)} for alpha in strengths[r]]
            for a, fit in enumerate(plain.fit_each(fit_on, settings)):
                errors[r, a, f] = np.average((y - fit.predict(held_out)) ** 2, weights=w)
                kept[r, a, f] = np.append(fit.coef_, fit.intercept_)
                gaps[r, a, f] = fit.gap_.max()

    def weights_of(r: int, a: int) -> tuple[Floats, Floats, float]:
        return np.stack([kept[r, a, f] for f in range(k)]), errors[r, a], float(gaps[r, a].max())

    return Search(ratios, strengths, weights, errors), weights_of


class ChosenStrength(LinearRegressor):
    """An elastic net whose strength its own cross-validation chooses; `_ratios` are the shares of ‖w‖₁ that are tried."""

    layout: ClassVar[Layout] = CV_LAYOUT
    coverage = CV_COVERAGE
    depends_on_order: ClassVar[bool] = True  # folds are made of rows
    fit_each = Estimator.fit_each
    dual_gap_: Any = dual_gap

    alpha_: float = attribute()
    l1_ratio_: float = attribute()
    strengths_: Floats = attribute()
    fold_errors_: Floats = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Where somebody names it: a comparison searches strengths itself."""
        return SearchSpace(scaled=True, when_named=True) if kind == "regressor" else None

    @property
    def alphas_(self) -> Floats:
        """The strengths that were tried, falling: (n_alphas,), of several shares (n_shares, n_alphas)."""
        self._check_fitted()
        return _squeezed(self.strengths_)

    @property
    def mse_path_(self) -> Floats:
        """The mean square error on each fold: (n_alphas, n_folds), of several shares (n_shares, n_alphas, n_folds)."""
        self._check_fitted()
        return _squeezed(self.fold_errors_)

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        return with_folds(self, super().to_record())

    def _ratios(self) -> Any:
        raise NotImplementedError

    def _objective(self, n_classes: int) -> Objective:
        return penalised_squares(self, self.alpha_, self.l1_ratio_)

    def _task(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> LinearTask:
        rows = engine.keep(rows)
        choose_strength(self, engine, rows)
        return super()._task(engine, rows, afresh, classes)

    def _make_claims(self) -> tuple[Claim, ...]:
        return (*super()._make_claims(), cross_validation_claim(self._objective(0), self))


def _squeezed(a: Floats) -> Floats:
    return a[0] if len(a) == 1 else a


class LassoCV(ChosenStrength):
    """Lasso whose strength is chosen by cross-validation. Shape: repeated fold.

        alpha = argmin_a 1/k Σ_f MSE_f(a),    then  min_{w, b}  1/(2n) Σ_i (y_i − w·x_i − b)² + alpha·‖w‖₁

    Folds are stretches of consecutive rows, as scikit-learn cuts them; rows of weight zero are in none.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound; and, as an estimate, that the fits without
    each fold are minima with the mean errors that are stated, of which that of the choice is the least.

    See Also
    --------
    Lasso : for a given strength.
    ElasticNetCV : with ‖w‖² besides.

    Examples
    --------
    >>> X, y = [[i, i % 3] for i in range(12)], [2.0 * i + (i % 2) for i in range(12)]
    >>> model = LassoCV(cv=3).fit(X, y)
    >>> round(model.alpha_, 4), model.coef_.round(3)
    (0.2095, array([2.003, 0.   ]))
    """

    title = "Lasso by folds"
    name = "lasso-cv"
    eps: float = CV_EPS
    alphas: Any = CV_ALPHAS
    fit_intercept: bool = FIT_INTERCEPT
    precompute: Any = PRECOMPUTE
    max_iter: int = MAX_ITER
    tol: float = TOL
    copy_X: bool = COPY_X
    cv: int | None = CV
    verbose: bool = VERBOSE
    positive: bool = POSITIVE
    random_state: Any = RANDOM
    selection: str = SELECTION
    n_jobs: int | None = N_JOBS

    def _ratios(self) -> Any:
        return 1.0


class ElasticNetCV(ChosenStrength):
    """Elastic net whose strength and share of ‖w‖₁ are chosen by cross-validation. Shape: repeated fold.

        alpha, l1_ratio = argmin 1/k Σ_f MSE_f,    then the elastic net with both on all rows

    Folds are stretches of consecutive rows, as scikit-learn cuts them; rows of weight zero are in none.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound; and, as an estimate, that the fits without
    each fold are minima with the mean errors that are stated, of which that of the choice is the least.

    See Also
    --------
    ElasticNet : for a given strength and share.
    LassoCV : ‖w‖₁ alone.

    Examples
    --------
    >>> X, y = [[i, i % 3] for i in range(12)], [2.0 * i + (i % 2) for i in range(12)]
    >>> model = ElasticNetCV(cv=3).fit(X, y)
    >>> round(model.alpha_, 4), model.l1_ratio_, model.coef_.round(3)
    (0.1691, 0.5, array([2., 0.]))
    """

    title = "Elastic net by folds"
    name = "elastic-net-cv"
    l1_ratio: Any = param("share of ‖w‖₁ in the penalty, or several to choose from", default=0.5, check=Several("a number in [0, 1], or several", each=Range(low=0, high=1)))  # fmt: skip
    eps: float = CV_EPS
    alphas: Any = CV_ALPHAS
    fit_intercept: bool = FIT_INTERCEPT
    precompute: Any = PRECOMPUTE
    max_iter: int = MAX_ITER
    tol: float = TOL
    copy_X: bool = COPY_X
    cv: int | None = CV
    verbose: bool = VERBOSE
    positive: bool = POSITIVE
    random_state: Any = RANDOM
    selection: str = SELECTION
    n_jobs: int | None = N_JOBS

    def _ratios(self) -> Any:
        return self.l1_ratio
