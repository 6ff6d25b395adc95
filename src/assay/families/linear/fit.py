"""w·x + b for each row and weight vector, by NumPy alone: answering must not wait for a compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.engines.csr import SparseMatrix
from assay.errors import ConvergenceWarning, DataError, as_seen_by_sklearn, warn
from assay.estimator.classifier import Classifier
from assay.estimator.docstrings import attribute
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.regressor import Regressor
from assay.estimator.steps import Step, some_of
from assay.families.linear.claims import gap_claim
from assay.families.linear.degrees_of_freedom import count_free, effective_freedom
from assay.families.linear.problem import Objective, PosedProblem, about_centre, about_zero, pose
from assay.families.linear.solve import iterates
from assay.families.linear.survey import LinearSurvey, TargetedRows, TargetMaker, class_counts, prepare, survey
from assay.families.linear.warm_start import StartingPoint, WarmStart
from assay.inputs.labels import class_multipliers, plain_labels
from assay.numerics import Array, Floats
from assay.risk.surrogates import MARGIN
from assay.solvers.iterate import Iterate, MarginRows, last
from assay.solvers.needs import check, choose

TILE = 1 << 16  # numbers that are made float64 at a time


def linear_scores(X: Array | SparseMatrix, coef: Floats, intercept: Floats) -> Floats:
    """(n, m) for rows X (n, d), coef (m, d), intercept (m,)."""
    if isinstance(X, SparseMatrix):
        return _sparse(X, coef) + intercept
    if X.dtype == np.float64:
        Z: Floats = X @ coef.T
        Z += intercept
        return Z
    Z = np.empty((len(X), len(coef)))
    step = max(1, TILE // max(1, X.shape[1]))
    for a in range(0, len(X), step):
        np.dot(X[a : a + step].astype(np.float64), coef.T, out=Z[a : a + step])
    Z += intercept
    return Z


def _sparse(X: SparseMatrix, coef: Floats) -> Floats:
    rows, data = X.row_numbers(), X.data.astype(np.float64, copy=False)
    columns = [np.bincount(rows, weights=data * w[X.indices], minlength=len(X)) for w in coef]
    return np.stack(columns, axis=1)


# A linear model learnt by making a loss and a penalty small: what logistic regression, the linear SVM and ERM share.
#
#     min_{w, b}  Σ_i c_i ℓ(t_i, w·x_i + b) + l1·‖w‖₁ + ½·l2·‖w‖²          Shape: repeated fold
#
# Two classes are one such problem; more are softmax (one problem with a weight vector a class) or, for margin losses, each
# class against the rest. A subclass gives `_plan`.

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


class LinearTask(NamedTuple):
    """Everything that a fit works on, once the rows were surveyed."""

    engine: Engine
    plan: Objective
    prepared: TargetedRows
    survey: LinearSurvey
    problems: list[int | None]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of each problem, the shape of its weight vectors: () for one, (K,) for softmax."""
        return [() if self.plan.loss is not None else (len(self.survey.weight),) for _ in self.problems]

    def posed(self, positive: int | None) -> PosedProblem:
        return pose(self.engine, self.prepared, self.survey, self.plan, positive)


class LinearModel(Estimator):
    """Coefficients `coef_` (m, d) and intercepts `intercept_` (m,): m = 1 for two classes or a number, else one a class."""

    layout = LAYOUT
    takes_sparse = True

    warm_start: bool = attribute(default=False)
    class_weight: Any = attribute(default=None)
    _warm_start_from: WarmStart | None = attribute(default=None)
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

    def _plan(self, n_classes: int) -> Objective:
        """What is made small, and how; `n_classes` is 0 for regression."""
        raise NotImplementedError

    def _unit(self, n: float) -> float:
        """What the plan's sums are multiplied by where the model states its objective, for rows of weight n."""
        return 1.0

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> TargetMaker:
        """How labels become targets and weights."""
        raise NotImplementedError

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _task(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> LinearTask:
        before = None if self._warm_start_from is None else self._again(self._warm_start_from, engine)
        if before is not None:
            return before
        rows = engine.keep(rows)
        targets = self._targets(engine, rows, afresh, classes)
        plan, problems = self._posing(0 if targets.labels is None else len(targets.multipliers))
        found = survey(engine, rows, targets)
        self._check_survey(found)
        return LinearTask(engine, plan, prepare(rows, targets), found, problems)

    def _posing(self, K: int) -> tuple[Objective, list[int | None]]:
        """The plan, and the class with t = 1 of each of its problems (None: softmax, or regression)."""
        plan = self._plan(K)
        if plan.loss is None or plan.loss.kind != MARGIN:
            return plan, [None]
        return plan, [1] if K == 2 else list(range(K))

    def _again(self, warm_start_from: WarmStart, engine: Engine) -> LinearTask | None:
        """The task of the fit before with this one's plan, where the survey is the same."""
        if warm_start_from.task is None or warm_start_from.surveyed_by != self._surveyed_by():
            return None
        if warm_start_from.classes is not None:
            self.classes_ = warm_start_from.classes
        targets = warm_start_from.task.prepared.targets
        plan, problems = self._posing(0 if targets.labels is None else len(targets.multipliers))
        return warm_start_from.task._replace(engine=engine, plan=plan, problems=problems)

    def _surveyed_by(self) -> Any:
        """What of the hyper-parameters a survey of the rows depends on, for `==`."""
        return self.class_weight, self.kind_of(self.get_params())

    def _check_survey(self, found: LinearSurvey) -> None:
        """Raise where no model can come of the rows."""

    def _solver(self, task: LinearTask, rows: Rows) -> str:
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
        if self._warm_start_from is not None:
            start = self._warm_start_from.start(task, solver)
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
        if self._warm_start_from is not None:
            self._warm_start_from.classes, self._warm_start_from.surveyed_by = (
                getattr(self, "classes_", None),
                self._surveyed_by(),
            )
            self._warm_start_from.remember(task, solver, weights, answers)

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings: the rows are surveyed once, and each fit begins at the weights of the one before."""
        warm_start_from = WarmStart()
        for changed in settings:
            model = type(self)(**{**self.get_params(), **changed})
            model._warm_start_from = warm_start_from
            model._fit(X, None, None)
            del model._warm_start_from
            yield model

    def _solve(self, task: LinearTask, posed: PosedProblem, solver: str, start: StartingPoint | None) -> Iterate:
        if start is None:
            return last(iterates(posed, task.plan, solver))
        if start.at is not None:
            return last(iterates(posed, task.plan, solver, start.at.w, start.at.evaluation))
        w = start.w.copy()
        w[..., -1] *= task.plan.fit_intercept  # an intercept that is not fitted stays where it begins
        return last(iterates(posed, task.plan, solver, about_centre(w, posed.problem.centre)))

    def _settle(self, task: LinearTask, posed: PosedProblem, at: Iterate) -> Iterate:
        """What becomes of a problem's last state; where its minimum does not exist, that may be other weights."""
        return at

    def _finish(self, task: LinearTask, solver: str, answers: list[Iterate], w: Floats) -> None:
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

    def _keep_support(self, supports: list[MarginRows | None]) -> None:
        """The multipliers of rows near the margin, which prove the gap of a hinge loss; those of other rows are clear."""
        found = [(k, s) for k, s in enumerate(supports) if s is not None]
        if len(found) == len(supports):
            self.dual_problem_ = np.concatenate([np.full(len(s.rows), k, dtype=np.int64) for k, s in found])
            self.dual_rows_ = np.concatenate([s.rows for _, s in found])
            self.dual_values_ = np.concatenate([s.values for _, s in found])

    def _warn(self, plan: Objective) -> None:
        warn(
            f"{type(self).__name__}: solver {self.solver_!r} stopped after {self.n_iter_} iterations at a relative gap of "
            f"{self.gap_.max():.3g} (tol={plan.tol:g}). "
            + ("Raise max_iter, or " if self.n_iter_ >= plan.max_iter else "No further fall can be seen: ")
            + ("allow a larger tol." if plan.solver == "auto" else "allow a larger tol or use solver='auto'."),
            as_seen_by_sklearn(ConvergenceWarning),
        )

    def _warm(self, rows: Rows) -> list[StartingPoint] | None:
        """The weights of the fit before, one array a problem, where they fit these rows."""
        before = getattr(self, "_before", None)
        fits = before is not None and before[0].shape[-1] == rows.n_columns + 1
        return [StartingPoint(w) for w in before] if before is not None and fits else None

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
        from assay.families.linear.steps import steps_of

        return some_of(steps_of(self, X, y, sample_weight), every)


# Linear models of classes: labels, class weights, decision values.


class LinearClassifier(LinearModel, Classifier):
    """The sign of w·x + b for two classes, else the class with the greatest w_k·x + b_k."""

    class_weight: Any = attribute()

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> TargetMaker:
        labels = self._classes_of(engine, rows, afresh, classes)
        if self.class_weight is None:
            return TargetMaker(labels, np.ones(len(labels.classes)))
        counts = class_counts(engine, rows, labels)
        return TargetMaker(labels, class_multipliers(self.class_weight, self.classes_, counts))

    def _check_survey(self, found: LinearSurvey) -> None:
        present = np.flatnonzero(found.weight > 0)
        if len(present) < 2:
            raise DataError(
                f"Only one class, {plain_labels(self.classes_)[present[0]]!r}, has rows of positive weight: a classifier needs at least two "
                "classes to tell apart."
            )
        if len(present) < len(found.weight):
            absent = plain_labels(self.classes_)[np.flatnonzero(found.weight <= 0)[0]]
            raise DataError(
                f"Class {absent!r} has no rows of positive weight: drop its rows, or give some of them (or the class) a weight."
            )

    def decision_function(self, X: Any) -> Floats:
        """w·x + b: (n,) for two classes (positive: the greater class), (n, K) for more."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 1] - Z[:, 0] if len(self.classes_) == 2 else Z

    def _scores(self, X: Array) -> Floats:
        Z = linear_scores(X, self.coef_, self.intercept_)
        return np.concatenate([np.zeros_like(Z), Z], axis=1) if Z.shape[1] == 1 else Z


# Linear models of a number.


class LinearRegressor(LinearModel, Regressor):
    """w·x + b; `coef_` is (1, d) and `intercept_` (1,)."""

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> TargetMaker:
        return TargetMaker(None, np.ones(1))

    def _values(self, X: Array) -> Floats:
        return linear_scores(X, self.coef_, self.intercept_)[:, 0]
