"""Ridge regression of classes, and with a strength chosen by leave-one-out or cross-validation. Shape: repeated fold.

min_{w, b}  Σ_i c_i (t_i − w·x_i − b)² + alpha·‖w‖²,        t = ±1 for a class against the rest, or a number
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Engine, Rows, targets_of
from assay.errors import ParameterError
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Range, Several, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.linear.claims import COVERAGE, cross_validation_claim
from assay.families.linear.cross_validated import (
    CV,
    CV_LAYOUT,
    SURE,
    folds_asked,
    has_digits,
    stratified_folds_asked,
    weights_of_folds,
    with_folds,
)
from assay.families.linear.elastic_net import COPY_X, FIT_INTERCEPT, RANDOM, ElasticNet
from assay.families.linear.fit import LAYOUT, LinearClassifier, LinearTask
from assay.families.linear.leave_one_out import leave_one_out_claim, left_out_errors
from assay.families.linear.problem import Objective, RowStatistics, TargetMaker
from assay.families.linear.regressor import NUMBER_LAYOUT, LinearRegressor
from assay.numerics import Array, Floats
from assay.risk.terms import SQUARED
from assay.statistics.folds import fold_pair
from assay.store import Record

EXACT = 1e-8  # the gap of a fit by the products of columns
STEPS = 100
SPREAD = 1e-8  # the least variance of a target as a share of its mean square
WORDS = (
    "auto",
    "svd",
    "cholesky",
    "lsqr",
    "sparse_cg",
    "sag",
    "saga",
    "lbfgs",
)  # scikit-learn's solvers: the minimum is the same
ALPHAS = param("the strengths to choose from", default=(0.1, 1.0, 10.0), kw_only=False, check=Several("a number > 0, or several", each=Range(low=0, open_low=True, open_high=True)))  # fmt: skip
SCORING = param("None: the mean square error on the row left out; nothing else is supported", default=None, check=Choice((), words=(None,)))  # fmt: skip
LEAVE_ONE_OUT = param("None: leave-one-out, in closed form; or how many folds, a splitter, or pairs of rows to fit on and rows held out", default=None, check=CV)  # fmt: skip
STORE = param("not supported: the errors of single rows are not kept", default=False)
CHOSEN: Layout = {
    "alpha_": Fact(float, low=0, doc="the strength of the penalty that was chosen"),
    "sure_": SURE,
    "strengths_": Tensor(("a",), low=0, doc="the strengths that were tried"),
    "left_out_": Tensor(
        ("a",), low=0, optional=True, doc="without cv: the mean square error on the row left out, of each strength"
    ),
    **{
        name: replace(field, optional=True)
        for name, field in CV_LAYOUT.items()
        if name in ("fold_errors_", "folds_", "cv_error_")
    },
    "fold_weights_": Tensor(
        ("f", "m", "e"),
        optional=True,
        doc="with cv: the weights (w_1, …, w_d, b) of the fit without each fold, at the choice",
    ),
}
CHOICE = Coverage(
    proof={
        **COVERAGE.proof,
        "ridge_leave_one_out duality_gap": "alpha_",
        "ridge_leave_one_out": "strengths_ left_out_",
    },
    estimate={"cross_validation": "fold_weights_"},
    nothing=COVERAGE.nothing + " fold_errors_ folds_ cv_error_ sure_",
    but=COVERAGE.but,
).within({**LAYOUT, **NUMBER_LAYOUT, **CHOSEN})


def squares(model: Any, alpha: float) -> Objective:
    """Half the squared errors with ½·alpha·‖w‖²."""
    return Objective(SQUARED, 0.0, alpha, bool(model.fit_intercept), "auto", EXACT, STEPS)


def choose(model: Any, task: LinearTask, rows: Rows, folds_of: Callable[[Rows], tuple[Array, int]]) -> LinearTask:
    """The task with the strength whose error on the rows left out is least, the first of those alike."""
    if model.store_cv_results:
        raise ParameterError(
            f"{type(model).__name__}: store_cv_results=True is not supported: the errors of single rows are not kept."
        )
    alphas = np.atleast_1d(np.asarray(model.alphas, dtype=np.float64))
    model.strengths_ = alphas
    if model.cv is not None:
        _choose_by_folds(model, task, rows, *folds_of(rows))
        return task._replace(objective=squares(model, model.alpha_))
    given = task.engine, task.prepared, task.statistics, task.problems
    errors, model.sure_ = left_out_errors(*given, alphas, bool(model.fit_intercept))
    model.left_out_, model.alpha_ = errors, float(alphas[int(np.argmin(errors))])
    return task._replace(objective=squares(model, model.alpha_))


def _choose_by_folds(model: Any, task: LinearTask, rows: Rows, folds: Array, k: int) -> None:
    """Set the strength of the best mean score over the folds: R² of a number, the share of rows predicted rightly of classes."""
    alphas, kept = model.strengths_, {}
    errors, gaps = np.empty((1, len(alphas), k)), np.empty((len(alphas), k))
    spread = True
    for f in range(k):
        fit_on, held_out = fold_pair(rows, folds, f)
        spread = spread and (model._kind != "regressor" or _spreads(*targets_of(held_out)))
        y, w = targets_of(fit_on)
        n = float(len(y) if w is None else w.sum())
        numbers = model._kind == "regressor"
        plain: Any = ElasticNet(l1_ratio=0.0) if numbers else RidgeClassifier(class_weight=model.class_weight)
        plain.set_params(tol=EXACT, fit_intercept=model.fit_intercept, n_jobs=model.n_jobs)
        settings = [{"alpha": float(alpha) / (n if numbers else 1.0)} for alpha in alphas]
        for a, fit in enumerate(plain.fit_each(fit_on, settings)):
            errors[0, a, f] = 1.0 - fit.score(held_out)
            kept[a, f] = fit._weights()
            gaps[a, f] = fit.gap_.max()
    mean = errors[0].mean(axis=1)
    a = int(np.argmin(mean))
    model.alpha_, model.cv_error_, model.fold_errors_ = float(alphas[a]), float(mean[a]), errors
    model.sure_ = bool(gaps[a].max() <= EXACT and spread)
    model.fold_weights_ = weights_of_folds(model, [kept[a, f] for f in range(k)])
    if model._kind == "regressor":
        squares = mean[a] * _variance(task.statistics)
        model.sure_ = model.sure_ and has_digits(task.statistics, model.fold_weights_[:, 0], np.full(k, squares))


def _variance(statistics: RowStatistics) -> float:
    """The variance of the target; none is known of very many columns."""
    return 0.0 if statistics.gram is None else float(statistics.gram.target_scatter[0]) / statistics.n


def _spreads(y: Floats, w: Floats | None) -> bool:
    """Whether targets differ by more than the rounding of their squares, so that R² has digits."""
    mean = float(np.average(y, weights=w))
    return bool(np.average((y - mean) ** 2, weights=w) > SPREAD * float(np.average(y**2, weights=w)))


def choice_claim(model: Any, objective: Objective) -> Claim:
    """What is claimed of the chosen strength."""
    if hasattr(model, "left_out_"):
        return leave_one_out_claim(objective, model)
    return cross_validation_claim(
        objective, model, "alpha", "1 - R2" if model._kind == "regressor" else "share of errors"
    )


def against_the_rest(targets: TargetMaker) -> list[int | None]:
    """One problem for two classes, one a class for more."""
    K = len(targets.multipliers)
    return [1] if K == 2 else list(range(K))


class RidgeCV(LinearRegressor):
    """Ridge regression whose strength is chosen by leave-one-out, in closed form. Shape: repeated fold.

        alpha = argmin_a 1/n Σ_i c_i ((y_i − h_a(x_i)) / (1 − H_ii(a)))²,    then  min_{w, b} Σ_i c_i (y_i − w·x_i − b)² + alpha·‖w‖²

    H is the matrix that makes answers of targets; a row of weight c is left out whole.

    Certificate
    -----------
    The objective is at most a share of 1e-8 above the least value there is, by a dual bound; the errors on the row left out are as
    stated, and that of alpha is the least.

    See Also
    --------
    Ridge : for a given strength.
    LassoCV : with weights of zero.

    Examples
    --------
    >>> model = RidgeCV([0.01, 1.0, 100.0]).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.1, 1.9, 3.1])
    >>> model.alpha_, model.coef_.round(3)
    (0.01, array([1.008]))
    """

    title = "Ridge, one row out"
    name = "ridge-cv"
    layout: ClassVar[Layout] = {**NUMBER_LAYOUT, **CHOSEN}
    coverage = CHOICE
    depends_on_order: ClassVar[bool] = True  # a row of weight two is left out whole, one of two equal rows alone
    alphas: Any = ALPHAS
    fit_intercept: bool = FIT_INTERCEPT
    scoring: Any = SCORING
    cv: Any = LEAVE_ONE_OUT
    gcv_mode: str | None = param("accepted for scikit-learn's sake; the errors are the same", default=None, check=Choice(("auto", "svd", "eigen"), words=(None,)))  # fmt: skip
    store_cv_results: bool = STORE
    alpha_per_target: bool = param("accepted for scikit-learn's sake; there is one target", default=False)
    n_jobs: int | None = N_JOBS

    alpha_: float = attribute()
    left_out_: Floats = attribute()
    cv_error_: float = attribute()
    fit_each = Estimator.fit_each

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Where somebody names it: a comparison searches strengths itself."""
        return SearchSpace(scaled=True, when_named=True) if cls._kind == kind else None

    @property
    def best_score_(self) -> float:
        """Less the mean square error on the row left out, of the chosen strength; with cv the mean score over the folds."""
        self._check_fitted()
        return -float(self.left_out_.min()) if hasattr(self, "left_out_") else 1.0 - self.cv_error_

    def _objective(self, n_classes: int) -> Objective:
        return squares(self, getattr(self, "alpha_", 1.0))

    def _task(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> LinearTask:
        rows = engine.keep(rows)
        return choose(self, super()._task(engine, rows, afresh, classes), rows, partial(folds_asked, self))

    def _make_claims(self) -> tuple[Claim, ...]:
        return (*super()._make_claims(), choice_claim(self, self._objective(0)))

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        return with_folds(self, super().to_record())


class RidgeClassifier(LinearClassifier):
    """Classes by ridge regression of ±1, each against the rest. Shape: repeated fold.

        min_{w_k, b_k}  Σ_i c_i (t_ik − w_k·x_i − b_k)² + alpha·‖w_k‖²,    t_ik = 1 where y_i = k, else −1;    h(x) = argmax_k w_k·x + b_k

    Certificate
    -----------
    The objective of each class is at most a share of tol above the least value there is, by a dual bound.

    See Also
    --------
    Ridge : the same of a number.
    RidgeClassifierCV : chooses alpha by leave-one-out.
    LogisticRegression : with probabilities.

    Examples
    --------
    >>> model = RidgeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [2.5]]).tolist(), model.coef_.round(4)
    (['a', 'b'], array([[0.6667]]))
    """

    title = "Ridge classifier"
    name = "ridge-classifier"
    alpha: float = param("strength of the penalty on the length of the weights", default=1.0, kw_only=False, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
    fit_intercept: bool = FIT_INTERCEPT
    copy_X: bool = COPY_X
    max_iter: int | None = param("most iterations of the solver; None: 100", default=None, check=Range(int, low=1, words=(None,)))  # fmt: skip
    tol: float = param("relative duality gap at which the fit is done", default=1e-4, check=Range(low=0, high=1))
    class_weight: Any = CLASS_WEIGHT
    solver: str = param("accepted for scikit-learn's sake; the minimum is the same", default="auto", check=Choice(WORDS))  # fmt: skip
    positive: bool = param("not supported: weights of either sign are fitted", default=False)
    random_state: Any = RANDOM
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, which weigh all columns alike."""
        if kind != "classifier":
            return None
        alphas = tuple({"alpha": 10.0**power} for power in range(3, -4, -1))
        return SearchSpace(search=alphas, scaled=True, when_named=True)

    def _objective(self, n_classes: int) -> Objective:
        if self.positive:
            raise ParameterError("RidgeClassifier: positive=True is not supported: weights of either sign are fitted. Use positive=False.")  # fmt: skip
        steps = STEPS if self.max_iter is None else int(self.max_iter)
        return Objective(SQUARED, 0.0, float(self.alpha), bool(self.fit_intercept), "auto", float(self.tol), steps)

    def _problems(self, targets: TargetMaker) -> tuple[Objective, list[int | None]]:
        return self._objective(len(targets.multipliers)), against_the_rest(targets)


class RidgeClassifierCV(LinearClassifier):
    """Classes by ridge regression of ±1, with a strength chosen by leave-one-out in closed form. Shape: repeated fold.

        alpha = argmin_a Σ_k Σ_i c_i ((t_ik − h_ak(x_i)) / (1 − H_ii(a)))²,    then ridge regression of t_k = ±1 for each class

    Certificate
    -----------
    The objective of each class is at most a share of 1e-8 above the least value there is, by a dual bound; the errors on the row left
    out are as stated, and that of alpha is the least.

    See Also
    --------
    RidgeClassifier : for a given strength.
    LogisticRegression : with probabilities.

    Examples
    --------
    >>> model = RidgeClassifierCV([0.01, 1.0, 100.0]).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.alpha_, model.predict([[0.5], [2.5]]).tolist()
    (1.0, ['a', 'b'])
    """

    title = "Ridge classifier, one row out"
    name = "ridge-classifier-cv"
    layout: ClassVar[Layout] = {**LAYOUT, **CHOSEN}
    coverage = CHOICE
    depends_on_order: ClassVar[bool] = True  # as of RidgeCV
    alphas: Any = ALPHAS
    fit_intercept: bool = FIT_INTERCEPT
    scoring: Any = SCORING
    cv: Any = LEAVE_ONE_OUT
    class_weight: Any = CLASS_WEIGHT
    store_cv_results: bool = STORE
    n_jobs: int | None = N_JOBS

    alpha_: float = attribute()
    left_out_: Floats = attribute()
    cv_error_: float = attribute()
    fit_each = Estimator.fit_each
    search_space: Any = classmethod(RidgeCV.search_space.__func__)  # type: ignore[attr-defined]
    best_score_: Any = RidgeCV.best_score_

    def _objective(self, n_classes: int) -> Objective:
        return squares(self, getattr(self, "alpha_", 1.0))

    def _problems(self, targets: TargetMaker) -> tuple[Objective, list[int | None]]:
        return self._objective(len(targets.multipliers)), against_the_rest(targets)

    def _task(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> LinearTask:
        rows = engine.keep(rows)
        return choose(self, super()._task(engine, rows, afresh, classes), rows, partial(stratified_folds_asked, self))

    def _make_claims(self) -> tuple[Claim, ...]:
        return (*super()._make_claims(), choice_claim(self, self._objective(len(self.classes_))))

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        return with_folds(self, super().to_record())
