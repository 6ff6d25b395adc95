"""A line that some wild targets do not bend: Huber's loss with its scale, both fitted at once. Shape: repeated fold.

    min_{w, b, σ > 0}  F = Σ_i c_i (σ + σ·H(r_i/σ)) + alpha·‖w‖²,      r = y − w·x − b,      H(u) = u² for |u| ≤ epsilon, else 2·epsilon·|u| − epsilon²

F is convex in all of (w, b, σ) (Huber 1981; Owen 2007). One sweep of Huber's loss over rows with the error as one more column, (x, r, 1)·(0, 1/σ, 0) = u, brings
all sums of Newton's step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows
from assay.engines.csr import SparseMatrix
from assay.engines.engine import Threads, one_thread_blas, scipy_linalg
from assay.errors import ParameterError
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.layout import Fact, Layout
from assay.estimator.params import N_JOBS, Range, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Measure, Step, answering, measures, some_of
from assay.families.linear.claims import CLAIM_BOX, penalty_text, within_tolerance
from assay.families.linear.elastic_net import FIT_INTERCEPT, WARM_START
from assay.families.linear.fit import LinearTask
from assay.families.linear.problem import Objective, about_centre, about_zero
from assay.families.linear.regressor import NUMBER_LAYOUT, LinearRegressor
from assay.numerics import Array, Floats
from assay.risk.terms import HUBER, Penalty
from assay.solvers.newton import ARMIJO, HALVINGS, ROUNDING, solve_scaled
from assay.solvers.problem import Iterate, Problem, relative_gap, rows_times

EPS = float(np.finfo(np.float64).eps)
APART = 8.0  # times the root of their number: so far the roundings of many rows add up at most
FLOOR = 1e-7  # of the target's deviation: a scale is not less
MOST_COLUMNS = 2000
KEPT = 0.1  # of the scale: a step leaves so much of it
LENT = 1e-6  # of n/σ: curvature of the scale, which has none where the errors shrink with it
HIDDEN = 1e-12  # of F: a fall that rounding may hide
SETTLED = 1e-18  # of F: a little penalty alone may hold some weights, which such a fall would move no further
LITTLE = 0.1  # of what the scale costs: so little may still be gained at it
NEAR = 1e-3  # of the slope: what a solution of Newton's equations may leave
PATIENCE = 3  # hidden steps that do not promise half of the one before


class Robust(NamedTuple):
    """Weights (w, b) about the centre and the target's mean, the scale, F with its gradient (d + 2,) and Hessian, and a lower bound of F."""

    w: Floats
    scale: float
    value: float
    gradient: Floats
    hessian: Floats
    bound: float


class JointProblem(NamedTuple):
    """The sums over rows (x − p, y − ȳ, 1), the strength alpha, the weight n of the rows, and the mean and deviation of the target."""

    rows: Problem
    alpha: float
    n: float
    target: float
    spread: float

    @property
    def floor(self) -> float:
        """The least scale."""
        return FLOOR * self.spread

    def gap(self, at: Robust) -> float:
        """The relative gap, but for what the least scale costs."""
        return relative_gap(at.value, min(at.value, max(at.bound, 0.0) + self.n * self.floor))

    def at(self, w: Floats, scale: float) -> Robust:
        """F at w (d + 1,) and a scale: one fold."""
        d = len(w) - 1
        errors = partial(with_errors, self.rows.prepare, w, self.rows.centre[:-1], self.target)
        v = np.zeros(d + 2)
        v[d] = 1.0 / scale
        found = replace(self.rows, prepare=errors).evaluate(v, hessian=1)
        g, H = found.gradient, found.hessian
        assert H is not None
        pulled = 2.0 * float(g[d])  # Σ c a r, where a is the slope of a row in r
        order = [*range(d), d + 1, d]
        slopes, bend = -2.0 * g[order][:-1], H[np.ix_(order, order)]
        bend[-1] /= scale
        bend[:, -1] /= scale
        rest = self.n + 2.0 * found.loss - pulled / scale
        strengths = np.append(np.full(d, 2.0 * self.alpha), [0.0, 0.0])
        value = self.n * scale + 2.0 * scale * found.loss + self.alpha * float((w[:-1] ** 2).sum())
        gradient = np.append(slopes, rest) + strengths * np.append(w, scale)
        bound = self._bound(w, scale, value, slopes, rest, pulled)
        return Robust(w, scale, value, gradient, (2.0 / scale) * bend + np.diag(strengths), bound)

    def _bound(self, w: Floats, scale: float, value: float, slopes: Floats, rest: float, pulled: float) -> float:
        """min over (w', b', σ') of Σ c (a·r' + e·σ') + alpha·‖w'‖², as each row's term is at least (a, e)·(r', σ'); Σ c a r' = pulled + slopes·(w' − w).

        No term is less than 2|r'| or σ', so no minimum has |b'| > F/2n (about the means) or σ' > F/n.
        """
        inner, sizes = slopes[:-1], self.rows.scale[:-2]
        most = value / self.n
        reach = abs(float(slopes[-1])) * (most / 2.0 + abs(float(w[-1]))) + max(0.0, -rest) * most
        digit = (len(w) + 3) * EPS * (self.spread + float(np.abs(w[:-1]) @ sizes)) / scale  # of an error in scales
        if self.alpha == 0:
            hidden = APART * np.sqrt(self.n) * digit * len(inner)
            return pulled - reach - float(CLAIM_BOX * self.spread * (np.abs(inner) @ (1.0 / sizes) + hidden))
        rounded = 4.0 * self.n * digit**2 * float((sizes**2).sum())  # of slopes: what they leave where they cancel
        return pulled - reach - float(inner @ w[:-1]) - (float((inner**2).sum()) + rounded) / (4.0 * self.alpha)


def joint_problem(task: LinearTask, epsilon: float, alpha: float) -> JointProblem:
    """The problem of a fit."""
    problem = task.posed(None).problem
    assert isinstance(problem, Problem)
    d = len(problem.centre)
    if d > MOST_COLUMNS:
        raise ParameterError(
            f"HuberRegressor takes at most {MOST_COLUMNS} columns; these rows have {d}. Take ERM(loss='huber'), whose scale is given, or SGDRegressor(loss='huber')."
        )
    target = problem.reach.target if problem.intercept else 0.0
    more: dict[str, Any] = {
        "loss": replace(HUBER, width=epsilon),
        "penalty": Penalty.of(d + 1),
        "centre": np.append(problem.centre, 0.0),
        "scale": np.concatenate([problem.scale[:-1], [problem.spread, 1.0]]),
    }
    return JointProblem(replace(problem, **more), alpha, task.statistics.n, target, problem.spread)


def with_errors(
    prepare: Callable[[Block], Block] | None, w: Floats, centre: Floats, target: float, block: Block
) -> Block:
    """The rows with their errors at w (about the centre and the target's mean) as the last column, and zeros for the target."""
    block = block if prepare is None else prepare(block)
    assert block.y is not None
    errors = (block.y - target) - rows_times(block.X, w, centre)
    X = block.X.toarray() if isinstance(block.X, SparseMatrix) else block.X
    return block._replace(X=np.column_stack([X, errors]), y=np.zeros(len(errors)))


def descend(
    problem: JointProblem, start: Floats, scale: float, tol: float, max_iter: int
) -> Iterator[tuple[int, Robust]]:
    """Newton's steps from weights and a scale, until the gap is at most `tol`, or rounding allows no more."""
    at, best, since = problem.at(start, max(scale, problem.floor)), np.inf, 0
    for number in range(max_iter + 1):
        yield number, at
        gap, step = problem.gap(at), _step(problem, at)
        promised = -float(at.gradient @ step)
        if (gap <= tol and (number == 0 or promised <= SETTLED * at.value)) or since == PATIENCE:
            return
        since = since + 1 if promised <= HIDDEN * at.value and promised > 0.5 * best else 0
        best = min(best, promised)
        s = min(1.0, (1.0 - KEPT) * at.scale / -step[-1]) if step[-1] < 0 else 1.0
        for _ in range(HALVINGS):
            there = problem.at(at.w + s * step[:-1], max(at.scale + s * step[-1], problem.floor))
            if there.value <= at.value - ARMIJO * s * promised + ROUNDING * at.value:
                break
            s *= 0.5
        else:
            return
        at = there


def _step(problem: JointProblem, at: Robust) -> Floats:
    """Newton's step of weights and scale; a scale that can fall no further stays."""
    g, H = at.gradient, at.hessian
    if at.scale <= problem.floor and g[-1] > 0:
        return np.append(-_solve(H[:-1, :-1], g[:-1]), 0.0)
    lent = H.copy()
    lent[-1, -1] += LENT * problem.n / at.scale
    step = -_solve(lent, g)
    if (
        step[-1] < -(1.0 - KEPT) * at.scale
    ):  # a scale that falls far, though the weights are not yet those of this scale, leads into a corner
        still = np.append(-_solve(H[:-1, :-1], g[:-1]), 0.0)
        if -float(g @ still) > LITTLE * problem.n * at.scale:
            return still
    return step


def _solve(H: Floats, g: Floats) -> Floats:
    """H⁻¹g where Cholesky gives it, however little the penalty adds where rows say nothing; else what curvature there is decides."""
    linalg, unit = scipy_linalg(), np.sqrt(np.diag(H))
    unit = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > 0)
    try:
        found: Floats = unit * linalg.cho_solve(linalg.cho_factor(H * unit * unit[:, None]), unit * g)
    except np.linalg.LinAlgError:
        return solve_scaled(H, g)
    near = np.abs(unit * (H @ found - g)).max(initial=0.0) <= NEAR * np.abs(unit * g).max(initial=0.0)
    return found if near else solve_scaled(H, g)


class HuberRegressor(LinearRegressor):
    """A line that wild targets hardly bend: squares of errors up to epsilon scales, beyond in proportion. Shape: repeated fold.

        min_{w, b, σ}  Σ_i c_i (σ + σ·H((y_i − w·x_i − b)/σ)) + alpha·‖w‖²,      H(u) = u² for |u| ≤ epsilon, else 2·epsilon·|u| − epsilon²

    The scale σ (`scale_`) is fitted with the weights, so that epsilon does not depend on the target's unit. Newton's method on all of
    them at once. `tol` is the relative duality gap. At most 2000 columns.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by its slopes and convexity (of alpha=0: for weights
    within a box of 1000).

    See Also
    --------
    ERM : Huber's loss with a given width, and any penalty.
    QuantileRegressor : the median, or another quantile.
    LinearRegression : squares of all errors.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.1, 1.0, 1.9, 3.0, 100.0]
    >>> model = HuberRegressor().fit(X, y)
    >>> model.coef_.round(1), model.outliers_
    (array([1.1]), array([False, False, False, False,  True]))
    """

    title = "Huber regression"
    name = "huber"
    layout: ClassVar[Layout] = {
        **NUMBER_LAYOUT,
        "scale_": Fact(float, low=0, doc="the scale σ of the errors"),
    }
    coverage = Coverage(
        proof={"huber_gap": "coef_ intercept_ scale_ objective_"},
        nothing="multipliers_ weight_ gap_ width_ freedom_ n_iter_ converged_ solver_ step_",
        but="coefficients and scale are tied up to the stated gap",
    )
    epsilon: float = param("errors up to so many scales cost their square", default=1.35, check=Range(low=1, open_high=True))  # fmt: skip
    max_iter: int = param("most iterations of the solver; a fit that ends there warns", default=100, check=Range(int, low=0))  # fmt: skip
    alpha: float = param("strength of the penalty ‖w‖²; 0: none", default=1e-4, check=Range(low=0, open_high=True))
    warm_start: bool = WARM_START
    fit_intercept: bool = FIT_INTERCEPT
    tol: float = param("relative duality gap at which the fit is done", default=1e-5, check=Range(low=0, high=1))
    n_jobs: int | None = N_JOBS

    scale_: float = attribute()
    outliers_: Array = attribute("(n,): which rows of the fit have an error beyond epsilon scales; not kept in a file")

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Nearer and nearer to absolute errors, where somebody names it."""
        searched = tuple({"epsilon": epsilon} for epsilon in (3.0, 2.0, 1.35, 1.05))
        return SearchSpace(search=searched, scaled=True, when_named=True) if kind == "regressor" else None

    def _objective(self, n_classes: int) -> Objective:
        loss = replace(HUBER, width=float(self.epsilon))
        limits = float(self.tol), int(self.max_iter)
        return Objective(loss, 0.0, 2.0 * float(self.alpha), bool(self.fit_intercept), "auto", *limits)

    def _states(self, task: LinearTask) -> tuple[JointProblem, Iterator[tuple[int, Robust]]]:
        """The problem, and the states of a fit."""
        problem = joint_problem(task, float(self.epsilon), float(self.alpha))
        start, scale = np.zeros(len(problem.rows.centre)), problem.spread
        if self._before_scale is not None and self._before is not None and len(self._before[0]) == len(start):
            start = about_centre(self._before[0], problem.rows.centre[:-1], problem.target)
            scale = self._before_scale
        return problem, descend(problem, start, scale, task.objective.tol, task.objective.max_iter)

    def _weights_of(self, problem: JointProblem, at: Robust) -> Floats:
        """The weights (w, b) about zero."""
        w = at.w.copy()
        w[-1] += problem.target
        return about_zero(w, problem.rows.centre[:-1])

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        task = self._task(engine, rows, afresh, classes)
        problem, states = self._states(task)
        number, at = deque(states, maxlen=1)[0]
        w = self._weights_of(problem, at)
        at = problem.at(about_centre(w, problem.rows.centre[:-1], problem.target), at.scale)  # as written
        self.scale_ = at.scale
        found = Iterate(number, at.w, at.value, problem.gap(at))
        encoded, prepare = task.prepared.of(None)
        limit = float(self.epsilon) * at.scale
        far = engine.map(partial(_far, prepare, w, limit), encoded.blocks())
        self.outliers_ = np.concatenate(list(far))
        super()._finish(task, "newton", [found], w[None, :])

    def _forget(self) -> None:
        self._before_scale = self.scale_ if self.warm_start and hasattr(self, "scale_") else None
        super()._forget()

    def _make_claims(self) -> tuple[Claim, ...]:
        objective = self._objective(0)
        where = (
            "there is"
            if self.alpha > 0
            else f"for weights within {CLAIM_BOX:g} of these (in deviations of the target over the column's)"
        )
        statement = (
            f"sum of scales and Huber losses + {penalty_text(objective, self.weight_)} = {float(self.objective_.sum()):.10g} at a scale of {self.scale_:.6g}: at most "
            f"a share of {objective.tol:g} (and {FLOOR:g} of the target's deviation a row) above the least value {where}, by slopes and convexity"
        )
        return (
            within_tolerance(objective, self, "duality gap", "huber_gap", statement, scale=self.scale_, box=CLAIM_BOX),
        )

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The weights and the scale after each of Newton's steps."""
        return some_of(_steps_of(self, X, y, sample_weight), every)


def _far(prepare: Callable[[Block], Block] | None, w: Floats, limit: float, part: Any) -> Array:
    block = part.load()
    block = block if prepare is None else prepare(block)
    return np.asarray(np.abs(block.y - rows_times(block.X, w, np.zeros(len(w) - 1))) > limit)


def _steps_of(model: HuberRegressor, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    fresh._before_scale = None
    with one_thread_blas():
        problem, states = fresh._states(task := fresh._task(Threads(1), rows, True, None))
        for number, at in states:
            w, gap, tol = fresh._weights_of(problem, at), problem.gap(at), task.objective.tol
            learnt = {**fresh._learnt(w[None, :]), "scale_": at.scale}
            told = measures(
                Measure("duality gap", gap, tol, f"relative duality gap {gap:.3g}, done at {tol:g}", scale="log"),
                Measure("scale", at.scale, None, f"scale {at.scale:.6g}"),
            )
            yield Step(
                number + 1, len(rows.X), {**learnt, "objective": at.value, "gap": gap}, told, answering(fresh, learnt)
            )
