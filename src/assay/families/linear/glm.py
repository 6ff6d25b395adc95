"""Generalised linear models of numbers that are not negative: Poisson, gamma and Tweedie regression. Shape: repeated fold.

    min_{w, b}  1/(2n) Σ_i d_p(y_i, μ_i) + ½·alpha·‖w‖²,        μ = e^(w·x + b)

    ½ d_1 = y log(y/μ) − y + μ,     ½ d_2 = log(μ/y) + y/μ − 1,     ½ d_p = μ^(2−p)/(2−p) + y μ^(1−p)/(p−1) − y^(2−p)/((p−1)(2−p))

For 1 ≤ p ≤ 2 the deviance is convex in w·x + b, so Newton's method finds the minimum and its slopes prove it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Engine, Rows
from assay.errors import DataError, ParameterError
from assay.estimator.params import N_JOBS, Choice, Range, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.linear.claims import penalty_text, within_tolerance
from assay.families.linear.elastic_net import FIT_INTERCEPT, WARM_START
from assay.families.linear.fit import LinearTask
from assay.families.linear.problem import Objective
from assay.families.linear.regressor import LinearRegressor
from assay.families.linear.rounding import SEEN
from assay.numerics import Array, Floats
from assay.risk.custom_surrogate import CODE, CustomSurrogate, Function
from assay.risk.terms import REGRESSION, SQUARED
from assay.solvers.problem import BOX, Iterate

EPS = float(np.finfo(np.float64).eps)
ROUNDINGS = 16  # of the terms of a deviance, which cancel where the prediction is right
STRENGTHS = tuple({"alpha": 10.0**power} for power in range(1, -6, -1))
ALPHA = param("strength of the penalty ½·‖w‖² against the mean of half the deviance; 0: none", default=1.0, check=Range(low=0, open_high=True))  # fmt: skip
SOLVER = param("accepted for scikit-learn's sake; the minimum is the same", default="lbfgs", check=Choice(("lbfgs", "newton-cholesky", "auto")))  # fmt: skip
MAX_ITER = param("most iterations of the solver; a fit that ends there warns", default=100, check=Range(int, low=1))
TOL = param("relative duality gap at which the fit is done", default=1e-4, check=Range(low=0, high=1))
VERBOSE = param("accepted for scikit-learn's sake; it changes nothing", default=0, check=Range(int, low=0))
COVERAGE = Coverage(
    proof={
        "deviance_gap duality_gap boxed_duality_gap small_slope": "coef_ intercept_",
        "deviance_gap duality_gap boxed_duality_gap": "objective_",
    },
    nothing="multipliers_ weight_ gap_ width_ freedom_ n_iter_ converged_ solver_ step_",
    but="coefficients are tied up to the stated gap",
)


@dataclass(frozen=True)
class HalfDeviance:
    """½ d_p of a score z where the truth is t, or its first or second derivative in z."""

    power: float
    order: int = 0

    def __call__(self, z: Any, t: Any) -> Floats:
        p = self.power
        up, down = np.exp((2.0 - p) * z), t * np.exp((1.0 - p) * z)
        if self.order == 1:
            return np.asarray(up - down)
        if self.order == 2:
            return np.asarray((2.0 - p) * up + (p - 1.0) * down)
        if p == 1.0:
            value = up - t * z + _x_log_x(t) - t
        elif p == 2.0:
            value = z + down - np.log(t) - 1.0
        else:
            value = up / (2.0 - p) + down / (p - 1.0) - t ** (2.0 - p) / ((p - 1.0) * (2.0 - p))
        return np.asarray(np.maximum(value, 0.0))  # a perfect prediction is free, but for rounding


def _size_of_terms(mean: float, p: float) -> float:
    """How large the terms are that cancel in half a deviance where truth and prediction are about the mean."""
    with np.errstate(over="ignore"):
        unit = 1.0 + (abs(np.log(mean)) if mean > 0 else 0.0)
        return float(unit * (mean ** (2.0 - p) if mean > 0 else 1.0) / ((2.0 - p) * (p - 1.0) if 1 < p < 2 else 1.0))


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.inf


def _x_log_x(t: Any) -> Floats:
    return np.where(t > 0, t * np.log(np.where(t > 0, t, 1.0)), 0.0)


@dataclass(frozen=True, repr=False)
class Deviance(CustomSurrogate):
    """Half the deviance as a loss; its derivatives are known to be right, so no row is asked."""

    def check_slope(self, z: Floats, t: Floats) -> None:
        """Nothing to ask."""


def deviance_of(power: float) -> Deviance:
    """The loss of a power from 1 to 2."""
    parts = zip(("value", "slope", "curvature"), range(3))
    value, slope, curvature = (Function(HalfDeviance(power, order), what) for what, order in parts)
    return Deviance("custom with curvature", REGRESSION, CODE, value, slope, curvature, None, label="half the deviance")


class GeneralizedLinear(LinearRegressor):
    """What Poisson, gamma and Tweedie regression share; `_power` says which of them it is."""

    coverage = COVERAGE

    def _power(self) -> float:
        raise NotImplementedError

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, where somebody names it: a table does not say that its target counts something."""
        return SearchSpace(search=STRENGTHS, scaled=True, when_named=True) if kind == "regressor" else None

    def _objective(self, n_classes: int) -> Objective:
        power = self._power()
        loss = SQUARED if power == 0 else deviance_of(power)
        alpha, limits = float(self.alpha), (float(self.tol), int(self.max_iter))  # type: ignore[attr-defined]
        fitted = bool(self.fit_intercept)  # type: ignore[attr-defined]
        return Objective(loss, 0.0, alpha, fitted, "auto", *limits, per_weight=True)

    def _task(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> LinearTask:
        task = super()._task(engine, rows, afresh, classes)
        if self._power() == 0:
            return task
        mean = self._mean_target(task)
        if not (task.objective.fit_intercept and mean > 0):
            return task
        start = np.append(np.log(mean), np.zeros(rows.n_columns))  # Newton's steps from far below would be far too long
        return task._replace(objective=replace(task.objective, init=start))

    def _mean_target(self, task: LinearTask) -> float:
        """The mean of the target, the same bits however it is read; raises where it holds numbers that its deviance does not take."""
        terms: list[float] = []
        for part in task.prepared.rows.targets():
            block = part.load()
            y = np.asarray(block.y, dtype=np.float64)
            c = np.ones(len(y)) if block.w is None else block.w
            bad = (y <= 0 if self._power() == 2.0 else y < 0) & (c > 0)
            if bad.any():
                least = "> 0" if self._power() == 2.0 else "≥ 0"
                raise DataError(
                    f"{type(self).__name__}: y holds {y[bad][0]:g} in row {block.start + int(np.argmax(bad))}, and some value(s) of y are out of "
                    f"the valid range: they must be {least}."
                )
            if task.statistics.gram is None:
                terms.extend((c * y).tolist())
        gram = task.statistics.gram
        return fsum(terms) / task.statistics.n if gram is None else float(gram.target_mean[0])

    def _finish(self, task: LinearTask, solver: str, answers: list[Iterate], w: Floats) -> None:
        if self._power() > 0:
            size = task.statistics.n * _size_of_terms(self._mean_target(task), self._power())
            lost = [_share(ROUNDINGS * EPS * size, at.objective) for at in answers]
            seen = SEEN * task.objective.tol
            answers = [at._replace(gap=at.gap + (off if off > seen else 0.0)) for at, off in zip(answers, lost)]
        super()._finish(task, solver, answers, w)

    def _make_claims(self) -> tuple[Claim, ...]:
        if self._power() == 0:
            return super()._make_claims()
        return (deviance_claim(self._objective(0), self, self._power()),)

    def _values(self, X: Array) -> Floats:
        z = self._linear(X)
        return z if self._power() == 0 else np.exp(z)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """D²: the share of the deviance that is explained; 1 − d(y, ŷ) / d(y, ȳ)."""
        answers = self.predict(X)
        target, weights = self._truth(X, y, sample_weight, len(answers))
        target = np.asarray(target, dtype=np.float64)
        mean = np.full(len(target), np.average(target, weights=weights))
        ours, theirs = (float(np.average(self._deviances(target, at), weights=weights)) for at in (answers, mean))
        return 1.0 - ours / theirs if theirs > 0 else float(ours == 0)

    def _deviances(self, y: Floats, mu: Floats) -> Floats:
        if self._power() == 0:
            return (y - mu) ** 2 / 2
        return HalfDeviance(self._power())(np.log(mu), y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._power() > 0
        return tags


class PoissonRegressor(GeneralizedLinear):
    """Counts by a linear model of the logarithm of their mean. Shape: repeated fold.

        min_{w, b}  1/n Σ_i [y_i log(y_i/μ_i) − y_i + μ_i] + ½·alpha·‖w‖²,    μ = e^(w·x + b)

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by its slopes and convexity, for an intercept within 1000
    of this one.

    See Also
    --------
    GammaRegressor : for numbers > 0 whose spread grows with their mean.
    TweedieRegressor : between both, and others.

    Examples
    --------
    >>> model = PoissonRegressor(alpha=0.0, tol=1e-9).fit([[0.0], [0.0], [1.0], [1.0]], [1, 3, 5, 7])
    >>> model.predict([[0.0], [1.0]]).round(4)
    array([2., 6.])
    """

    title = "Poisson regression"
    name = "poisson-regressor"
    alpha: float = ALPHA
    fit_intercept: bool = FIT_INTERCEPT
    solver: str = SOLVER
    max_iter: int = MAX_ITER
    tol: float = TOL
    warm_start: bool = WARM_START
    verbose: int = VERBOSE
    n_jobs: int | None = N_JOBS

    def _power(self) -> float:
        return 1.0


class GammaRegressor(GeneralizedLinear):
    """Numbers > 0 by a linear model of the logarithm of their mean. Shape: repeated fold.

        min_{w, b}  1/n Σ_i [log(μ_i/y_i) + y_i/μ_i − 1] + ½·alpha·‖w‖²,    μ = e^(w·x + b)

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by its slopes and convexity, for an intercept within 1000
    of this one.

    See Also
    --------
    PoissonRegressor : for counts.
    TweedieRegressor : between both, and others.

    Examples
    --------
    >>> model = GammaRegressor(alpha=0.0, tol=1e-9).fit([[0.0], [0.0], [1.0], [1.0]], [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[0.0], [1.0]]).round(4)
    array([2., 6.])
    """

    title = "Gamma regression"
    name = "gamma-regressor"
    alpha: float = ALPHA
    fit_intercept: bool = FIT_INTERCEPT
    solver: str = SOLVER
    max_iter: int = MAX_ITER
    tol: float = TOL
    warm_start: bool = WARM_START
    verbose: int = VERBOSE
    n_jobs: int | None = N_JOBS

    def _power(self) -> float:
        return 2.0


class TweedieRegressor(GeneralizedLinear):
    """Numbers ≥ 0, many of them zero, by a linear model of the logarithm of their mean; of power 0 least squares. Shape: repeated fold.

        min_{w, b}  1/(2n) Σ_i d_p(y_i, μ_i) + ½·alpha·‖w‖²,    μ = e^(w·x + b)  (p = 0: μ = w·x + b and d_0 = (y − μ)²)

    Powers between 1 (Poisson) and 2 (gamma) are sums of a Poisson number of gamma numbers. Beyond 2, and with another link, the deviance
    is not convex, and no minimum can be proved: they are refused.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by its slopes and convexity, for an intercept within 1000
    of this one.

    See Also
    --------
    PoissonRegressor : power 1.
    GammaRegressor : power 2.

    Examples
    --------
    >>> model = TweedieRegressor(power=1.5, alpha=0.0, tol=1e-9).fit([[0.0], [0.0], [1.0], [1.0]], [0.0, 4.0, 5.0, 7.0])
    >>> model.predict([[0.0], [1.0]]).round(4)
    array([2., 6.])
    """

    title = "Tweedie regression"
    name = "tweedie-regressor"
    power: float = param("p of the deviance: the variance grows like the mean to this power; 0, or from 1 to 2", default=0.0, check=Range(low=0, high=2))  # fmt: skip
    alpha: float = ALPHA
    fit_intercept: bool = FIT_INTERCEPT
    link: str = param("how the mean follows from w·x + b; 'auto': e to that power, of power=0 itself", default="auto", check=Choice(("auto", "identity", "log")))  # fmt: skip
    solver: str = SOLVER
    max_iter: int = MAX_ITER
    tol: float = TOL
    warm_start: bool = WARM_START
    verbose: int = VERBOSE
    n_jobs: int | None = N_JOBS

    def _power(self) -> float:
        power, usual = float(self.power), "identity" if self.power == 0 else "log"
        if 0 < power < 1:
            raise ParameterError(
                f"TweedieRegressor: power={power:g} is not possible: there is no such distribution between 0 and 1."
            )
        if self.link not in ("auto", usual):
            raise ParameterError(
                f"TweedieRegressor: link={self.link!r} with power={power:g} is not supported: the deviance is not convex then, and no minimum can be "
                f"proved. Use link='auto', which is {usual!r} here."
            )
        return power


def deviance_claim(objective: Objective, model: Any, power: float) -> Claim:
    """How far half a deviance and its penalty are from their least value, by slopes and convexity."""
    statement = (
        f"sum of half the deviances of power {power:g} + {penalty_text(objective, model.weight_)} = {float(model.objective_.sum()):.10g}: at most a "
        f"share of {objective.tol:g} above the least value for weights that are penalised or within {BOX:g} of these (in units of 1 / scale of the column)"
    )
    more: dict[str, Any] = {"loss": "deviance", "power": power, "box": BOX}
    return within_tolerance(objective, model, "duality gap", "deviance_gap", statement, **more)
