"""A linear model learnt by making a loss and a penalty small: what logistic regression, the linear SVM and ERM share.

    min_{w, b}  Σ_i c_i ℓ(t_i, w·x_i + b) + l1·‖w‖₁ + ½·l2·‖w‖²          Shape: repeated fold

Two classes are one such problem; more are softmax (one problem with a weight vector a class) or, for margin losses, each
class against the rest. A subclass gives `_plan`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.errors import ConvergenceWarning, as_seen_by_sklearn, warn
from assay.hypotheses.linear.claims import gap_claim
from assay.hypotheses.linear.freedom import count_free, effective_freedom
from assay.hypotheses.linear.plan import Plan, about_centre, about_zero
from assay.hypotheses.linear.posing import Posed, pose
from assay.hypotheses.linear.solving import iterates
from assay.hypotheses.linear.survey import Survey, survey
from assay.hypotheses.linear.targets import Prepared, Targets, prepare
from assay.hypotheses.linear.trail import Start, Trail
from assay.layout import Layout
from assay.learner import Fact, Learner, Step, Tensor, attribute
from assay.learner.step import some_of
from assay.numerics import Floats
from assay.risk.surrogates import MARGIN
from assay.solvers.iterate import Iterate, Support, last
from assay.solvers.needs import check, choose

LAYOUT: Layout = {
    "coef_": Tensor(("m", "d"), doc="the weights w of the columns: one row for two classes or a number, else one a class"),
    "intercept_": Tensor(("m",), doc="the constant b of each row of `coef_`"),
    "multipliers_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight; ones for a number"),
    "weight_": Fact(float, low=0, doc="the total weight of the rows of the fit"),
    "objective_": Tensor(("p",), low=0, doc="the objective at the weights, one of each problem: softmax is one, each class against the rest is one each"),
    "gap_": Tensor(("p",), low=0, finite=False, doc="the relative duality gap of each objective: it is at most this share above the least there is"),
    "width_": Tensor(("p",), doc="where a loss with a corner was smoothed: the width of the smoothing at the end; else 0"),
    "dual_problem_": Tensor(("q",), dtype="<i8", low=0, optional=True, doc="of a hinge loss: the problem that each multiplier below belongs to; absent where none are needed as a proof"),
    "dual_rows_": Tensor(("q",), dtype="<i8", low=0, optional=True, doc="of a hinge loss: the numbers of the rows near the margin, whose multipliers prove the gap"),
    "dual_values_": Tensor(("q",), low=0, optional=True, doc="of a hinge loss: the multipliers of these rows"),
    "freedom_": Fact(float, low=0, optional=True, doc="the effective number of free weights, for Occam's rule; absent where the weights ≠ 0 are counted"),
    "n_iter_": Fact(int, low=0, doc="the iterations that the solver took"),
    "converged_": Fact(bool, doc="whether the gap reached tol"),
    "solver_": Fact(str, doc="the solver that was used, which 'auto' chose"),
}  # fmt: skip


class Task(NamedTuple):
    """Everything that a fit works on, once the rows were surveyed."""

    engine: Engine
    plan: Plan
    prepared: Prepared
    survey: Survey
    problems: list[int | None]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of each problem, the shape of its weight vectors: () for one, (K,) for softmax."""
        return [() if self.plan.loss is not None else (len(self.survey.weight),) for _ in self.problems]

    def posed(self, positive: int | None) -> Posed:
        return pose(self.engine, self.prepared, self.survey, self.plan, positive)


class LinearModel(Learner):
    """Coefficients `coef_` (m, d) and intercepts `intercept_` (m,): m = 1 for two classes or a number, else one a class."""

    layout = LAYOUT
    takes_sparse = True

    warm_start: bool = attribute(default=False)
    class_weight: Any = attribute(default=None)
    _trail: Trail | None = attribute(default=None)
    coef_: Floats = attribute()
    intercept_: Floats = attribute()
    objective_: Floats = attribute()
    gap_: Floats = attribute()
    width_: Floats = attribute()
    converged_: bool = attribute()
    n_iter_: int = attribute()
    solver_: str = attribute()
    weight_: float = attribute()
    multipliers_: Floats = attribute()

    def _plan(self, n_classes: int) -> Plan:
        """What is made small, and how; `n_classes` is 0 for regression."""
        raise NotImplementedError

    def _unit(self, n: float) -> float:
        """What the plan's sums are multiplied by where the model states its objective, for rows of weight n."""
        return 1.0

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Targets:
        """How labels become targets and weights."""
        raise NotImplementedError

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _task(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Task:
        before = None if self._trail is None else self._again(self._trail, engine)
        if before is not None:
            return before
        rows = engine.keep(rows)
        targets = self._targets(engine, rows, afresh, classes)
        plan, problems = self._posing(0 if targets.labels is None else len(targets.multipliers))
        found = survey(engine, rows, targets)
        self._check_survey(found)
        return Task(engine, plan, prepare(rows, targets), found, problems)

    def _posing(self, K: int) -> tuple[Plan, list[int | None]]:
        """The plan, and the class with t = 1 of each of its problems (None: softmax, or regression)."""
        plan = self._plan(K)
        if plan.loss is None or plan.loss.kind != MARGIN:
            return plan, [None]
        return plan, [1] if K == 2 else list(range(K))

    def _again(self, trail: Trail, engine: Engine) -> Task | None:
        """The task of the fit before with this one's plan, where the survey is the same."""
        if trail.task is None or trail.surveyed_by != self._surveyed_by():
            return None
        if trail.classes is not None:
            self.classes_ = trail.classes
        targets = trail.task.prepared.targets
        plan, problems = self._posing(0 if targets.labels is None else len(targets.multipliers))
        return trail.task._replace(engine=engine, plan=plan, problems=problems)

    def _surveyed_by(self) -> Any:
        """What of the hyper-parameters a survey of the rows depends on, for `==`."""
        return self.class_weight, self.kind_of(self.get_params())

    def _check_survey(self, found: Survey) -> None:
        """Raise where no model can come of the rows."""

    def _solver(self, task: Task, rows: Rows) -> str:
        """The name of the solver, which the plan may leave open; one that cannot work here is refused by name."""
        penalty = task.plan.penalty(rows.n_columns, task.survey.n)
        if task.plan.solver == "auto":
            return choose(
                task.plan.loss, penalty, rows.n_columns, sparse=rows.sparse, classes=max(2, len(task.survey.weight))
            )
        check(task.plan.solver, task.plan.loss, penalty, rows.n_columns, rows.sparse)
        return task.plan.solver

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        start = self._warm(rows) if self.warm_start else None
        task = self._task(engine, rows, afresh, classes)
        solver = self._solver(task, rows)
        if self._trail is not None:
            start = self._trail.start(task, solver)
        if start is not None and [np.shape(s.w)[:-1] for s in start] != task.shapes:
            start = None  # other classes than those of the fit before
        answers, weights = [], []
        for number, positive in enumerate(task.problems):
            posed = task.posed(positive)
            at = self._solve(task, posed, solver, None if start is None else start[number])
            at = self._settle(task, posed, at)
            answers.append(at)
            weights.append(about_zero(at.w, posed.problem.centre))
        self._finish(task, solver, answers, np.concatenate([np.atleast_2d(w) for w in weights]))
        if self._trail is not None:
            self._trail.classes, self._trail.surveyed_by = getattr(self, "classes_", None), self._surveyed_by()
            self._trail.remember(task, solver, weights, answers)

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings: the rows are surveyed once, and each fit begins at the weights of the one before."""
        trail = Trail()
        for changed in settings:
            model = type(self)(**{**self.get_params(), **changed})
            model._trail = trail
            model._fit(X, None, None)
            del model._trail
            yield model

    def _solve(self, task: Task, posed: Posed, solver: str, start: Start | None) -> Iterate:
        if start is None:
            return last(iterates(posed, task.plan, solver))
        if start.at is not None:
            return last(iterates(posed, task.plan, solver, start.at.w, start.at.look))
        w = start.w.copy()
        w[..., -1] *= task.plan.fit_intercept  # an intercept that is not fitted stays where it begins
        return last(iterates(posed, task.plan, solver, about_centre(w, posed.problem.centre)))

    def _settle(self, task: Task, posed: Posed, at: Iterate) -> Iterate:
        """What becomes of a problem's last state; where its minimum does not exist, that may be other weights."""
        return at

    def _finish(self, task: Task, solver: str, answers: list[Iterate], w: Floats) -> None:
        """Set what was learnt."""
        self.coef_, self.intercept_ = np.ascontiguousarray(w[:, :-1]), np.ascontiguousarray(w[:, -1])
        self.multipliers_ = task.prepared.targets.multipliers
        self.weight_ = task.survey.n
        self.objective_ = np.array([a.objective for a in answers])
        self.gap_ = np.array([a.gap for a in answers])
        self.width_ = np.array([a.width for a in answers])
        self._keep_support([a.support for a in answers])
        self.n_iter_ = max(a.number for a in answers)
        self.converged_ = bool(np.all(self.gap_ <= task.plan.tol))
        self.solver_ = solver
        freedom = effective_freedom(task.survey, task.plan, self.coef_)
        if freedom is not None:
            self.freedom_ = freedom
        self._provenance = {"fingerprint": task.survey.mark.hex()}
        if not self.converged_:
            self._warn(task.plan)
        self._claims = self._make_claims()

    def _keep_support(self, supports: list[Support | None]) -> None:
        """The multipliers of rows near the margin, which prove the gap of a hinge loss; those of other rows are clear."""
        found = [(k, s) for k, s in enumerate(supports) if s is not None]
        if len(found) == len(supports):
            self.dual_problem_ = np.concatenate([np.full(len(s.rows), k, dtype=np.int64) for k, s in found])
            self.dual_rows_ = np.concatenate([s.rows for _, s in found])
            self.dual_values_ = np.concatenate([s.values for _, s in found])

    def _warn(self, plan: Plan) -> None:
        warn(
            f"{type(self).__name__}: solver {self.solver_!r} stopped after {self.n_iter_} iterations at a relative gap of "
            f"{self.gap_.max():.3g} (tol={plan.tol:g}). "
            + ("Raise max_iter, or " if self.n_iter_ >= plan.max_iter else "No further fall can be seen: ")
            + ("allow a larger tol." if plan.solver == "auto" else "allow a larger tol or use solver='auto'."),
            as_seen_by_sklearn(ConvergenceWarning),
        )

    def _warm(self, rows: Rows) -> list[Start] | None:
        """The weights of the fit before, one array a problem, where they fit these rows."""
        before = getattr(self, "_before", None)
        fits = before is not None and before[0].shape[-1] == rows.n_columns + 1
        return [Start(w) for w in before] if before is not None and fits else None

    def _forget(self) -> None:
        if self.warm_start and hasattr(self, "coef_"):
            w = np.column_stack([self.coef_, self.intercept_])
            softmax = len(self.objective_) == 1 < len(w)
            self._before: list[Floats] | None = [w] if softmax else list(w)
        else:
            self._before = None
        super()._forget()

    def _make_claims(self) -> tuple[Claim, ...]:
        K = len(self.classes_) if hasattr(self, "classes_") else 0
        return (gap_claim(self._plan(K), self),)

    def complexity(self) -> float:
        """With ½‖w‖² in the penalty the effective number of weights (linear/freedom.py), else the weights ≠ 0; and the intercepts.

        A softmax of K classes counts K − 1 of its vectors: adding one vector to all of them changes nothing.
        """
        self._check_fitted()
        softmax = len(self.objective_) == 1 < len(self.coef_)
        counted = count_free(self.coef_, self.intercept_, softmax)
        return min(counted, getattr(self, "freedom_", counted))

    # --- states on the way --------------------------------------------------------------------------------------------

    step_word = "iteration"

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The weights after each iteration (of each problem in turn): coef_, intercept_, objective and relative gap."""
        from assay.hypotheses.linear.steps import steps_of

        return some_of(steps_of(self, X, y, sample_weight), every)
