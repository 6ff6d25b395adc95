"""Linear models learnt by making a loss and a penalty small: what all of them share, and what those of classes do.

    min_{w, b}  Σ_i c_i ℓ(t_i, w·x_i + b) + l1·‖w‖₁ + ½·l2·‖w‖²          Shape: repeated fold

Two classes are one such problem; more are softmax (one problem with a weight vector a class) or, for margin losses, each
class against the rest. The way of a fit, `_learn`:

    problem.py      one fold: targets, means and products of the columns; with the objective (from the hyper-parameters) these make a problem
    solvers/        the solver, found by its name, evaluates the problem by folds until the gap is small
    fit.py          what was learnt is set, and claims.py says what is proved about it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.engines.csr import SparseMatrix
from assay.engines.engine import Threads, one_thread_blas
from assay.errors import ConvergenceWarning, DataError, ModelFileError, as_seen_by_sklearn, warn
from assay.estimator.callbacks import telling
from assay.estimator.classifier import Classifier
from assay.estimator.estimator import Estimator, fresh_and_rows
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import attribute
from assay.estimator.shown import Coefficients, densify, kept, sparsify
from assay.estimator.steps import Measure, Step, answering, measures, some_of
from assay.families.linear.claims import COVERAGE, gap_claim, unshifted
from assay.families.linear.problem import (
    MOST_PRODUCTS,
    Objective,
    PosedProblem,
    RowStatistics,
    TargetedRows,
    TargetMaker,
    about_zero,
    class_counts,
    gram_about,
    pose,
    prepare,
    row_statistics,
)
from assay.families.linear.rounding import as_saved, clear_of_margin, with_rounding
from assay.families.linear.warm_start import StartingPoint, WarmStart
from assay.inputs.labels import class_multipliers, plain_labels
from assay.numerics import Array, Floats
from assay.risk.terms import MARGIN
from assay.solvers.needs import check, choose
from assay.solvers.preconditioner import CURVATURE
from assay.solvers.problem import Iterate, MarginRows, last
from assay.store import Record

MOST_EIGENVALUES = 512  # columns beyond which eigenvalues cost too much of a fit; all weights ≠ 0 are counted then
SOFTMAX_CURVATURE = 0.5
LASSO_PRODUCTS = 200  # columns: a product of all costs as much as some passes over the rows
TILE = 1 << 16  # numbers that are made float64 at a time

PENALTY_WORDS = {"l1": "L1", "elasticnet": "elastic net"}  # the square of the weights goes without saying
LAYOUT: Layout = {
    "coef_": Tensor(("m", "d"), doc="the weights w of the columns: one row for two classes or a number, else one a class"),
    "intercept_": Tensor(("m",), doc="the constant b of each row of `coef_`"),
    "multipliers_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight; ones for a number"),
    "weight_": Fact(float, low=0, doc="the total weight of the rows of the fit"),
    "objective_": Tensor(("p",), low=0, doc="the objective at the weights, one of each problem: softmax is one, each class against the rest is one each"),
    "gap_": Tensor(("p",), low=0, finite=False, doc="the relative duality gap of each objective: it is at most this share above the least there is"),
    "width_": Tensor(("p",), doc="where a loss with a corner was smoothed: the width of the smoothing at the end; else 0"),
    "dual_problem_": Tensor(("q",), dtype="<i8", index="p", low=0, optional=True, doc="of a hinge loss: the problem that each multiplier below belongs to; absent where none are needed as a proof"),
    "dual_rows_": Tensor(("q",), dtype="<i8", low=0, optional=True, doc="of a hinge loss: the numbers of the rows near the margin, whose multipliers prove the gap"),
    "dual_values_": Tensor(("q",), low=0, optional=True, doc="of a hinge loss: the multipliers of these rows"),
    "freedom_": Fact(float, low=0, optional=True, doc="the effective number of free weights, for Occam's rule; absent where the weights ≠ 0 are counted"),
    "n_iter_": Fact(int, low=0, doc="the iterations that the solver took"),
    "converged_": Fact(bool, doc="whether the gap reached tol"),
    "solver_": Fact(str, doc="the solver that was used, which 'auto' chose"),
}  # fmt: skip


class LinearTask(NamedTuple):
    """What a fit works on: the objective, rows with their targets, statistics of them, and its problems.

    Of each problem the class with t = 1; None: softmax, or regression.
    """

    engine: Engine
    objective: Objective
    prepared: TargetedRows
    statistics: RowStatistics
    problems: list[int | None]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of each problem, the shape of its weight vectors: () for one, (K,) for softmax."""
        return [() if self.objective.loss is not None else (len(self.statistics.weight),) for _ in self.problems]

    def solver(self) -> str:
        """The name of the solver, which the objective may leave open; one that cannot work here is refused by name."""
        rows, objective = self.prepared.rows, self.objective
        penalty = objective.penalty(rows.n_columns, self.statistics.n)
        if objective.solver != "auto":
            check(objective.solver, objective.loss, penalty, rows.n_columns, rows.sparse)
            return objective.solver
        classes = max(2, len(self.statistics.weight))
        return choose(objective.loss, penalty, rows.n_columns, sparse=rows.sparse, classes=classes)

    def posed(self, positive: int | None) -> PosedProblem:
        return pose(self.engine, self.prepared, self.statistics, self.objective, positive)


class LinearModel(Estimator):
    """What is learnt by making a loss and a penalty small, of classes or of a number. Subclasses give `_objective`, and with it the targets."""

    coverage = COVERAGE
    layout = LAYOUT
    takes_sparse = True
    step_word = "iteration"

    warm_start: bool = attribute(default=False)
    class_weight: Any = attribute(default=None)
    _warm_start_from: WarmStart | None = attribute(default=None)
    coef_: Floats = attribute()
    intercept_: Floats = attribute()
    objective_: Floats = attribute()
    gap_: Floats = attribute()
    width_: Floats = attribute()
    converged_: bool = attribute()
    n_iter_: Any = attribute()
    solver_: str = attribute()
    weight_: float = attribute()
    multipliers_: Floats = attribute()

    def _objective(self, n_classes: int) -> Objective:
        """What is made small, and how; `n_classes` is 0 for regression."""
        raise NotImplementedError

    def _unit(self, n: float) -> float:
        """What the objective's sums are multiplied by where the model states it, for rows of weight n."""
        return 1.0

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        task = self._task(engine, rows, afresh, classes)
        solver = task.solver()
        answers: list[Iterate] = []
        weights: list[Floats] = []
        for positive, start in zip(task.problems, self._starts(task, solver), strict=True):
            posed = task.posed(positive)
            begin = (None, None) if start is None else start.of(posed, task.objective)
            states = posed.iterates(task.objective, solver, *begin)
            told = telling(self, states, partial(self._learnt_at, task, posed, list(weights), []), f"{solver}-iter")
            at = self._settle(task, posed, last(told))
            at = clear_of_margin(posed, at, task.objective.tol)
            weights.append(_about_zero(task.objective, posed, at))
            saved = as_saved(posed, at, weights[-1])
            answers.append(with_rounding(posed, saved, weights[-1], task.objective.tol, task.statistics.rows))
        self._finish(task, solver, answers, np.concatenate([np.atleast_2d(w) for w in weights]))
        if self._warm_start_from is not None:
            self._warm_start_from.remember(self, task, solver, weights, answers)

    def _task(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> LinearTask:
        before = None if self._warm_start_from is None else self._warm_start_from.task_of(self, engine)
        if before is not None:
            return before
        rows = engine.keep(rows)
        targets = self._targets(engine, rows, afresh, classes)
        objective, problems = self._problems(targets)
        statistics = row_statistics(engine, rows, targets, most_products(objective))
        self._check_statistics(statistics)
        return LinearTask(engine, objective, prepare(rows, targets), statistics, problems)

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> TargetMaker:
        """How labels (or numbers) become targets and weights."""
        raise NotImplementedError

    def _problems(self, targets: TargetMaker) -> tuple[Objective, list[int | None]]:
        """The objective, and the problems as `LinearTask` has them."""
        K = 0 if targets.labels is None else len(targets.multipliers)
        objective = self._objective(K)
        if objective.loss is None or objective.loss.kind != MARGIN:
            return objective, [None]
        return objective, [1] if K == 2 else list(range(K))

    def _check_statistics(self, statistics: RowStatistics) -> None:
        """Raise where no model can come of the rows."""

    def _settle(self, task: LinearTask, posed: PosedProblem, at: Iterate) -> Iterate:
        """What becomes of a problem's last state; where its minimum does not exist, that may be other weights."""
        return at

    def _finish(self, task: LinearTask, solver: str, answers: list[Iterate], w: Floats) -> None:
        """Set what was learnt."""
        vars(self).update(self._learnt(w))
        self.multipliers_ = task.prepared.targets.multipliers
        self.weight_ = task.statistics.n
        self.objective_ = np.array([a.objective for a in answers])
        self.gap_ = np.array([a.gap for a in answers])
        self.width_ = np.array([a.width for a in answers])
        self._keep_support([a.support for a in answers])
        self.n_iter_ = max(a.number for a in answers)
        self.converged_ = bool(np.all(self.gap_ <= task.objective.tol))
        self.solver_ = solver
        freedom = effective_freedom(task.statistics, task.objective, w[:, :-1])
        if freedom is not None:
            self.freedom_ = freedom
        self._provenance = {"fingerprint": task.statistics.mark.hex()}
        if not self.converged_:
            self._warn(task.objective)
        self._state_claims()

    def _learnt_at(
        self, task: LinearTask, posed: PosedProblem, before: list[Floats], best: list[Iterate], at: Iterate
    ) -> dict[str, Any]:
        """What a fit that ended at a state would have learnt, of the least gap so far; the problems after this one have weights of zero."""
        best[:] = [at if not best or at.gap <= best[0].gap else best[0]]
        w = [np.atleast_2d(found) for found in (*before, _about_zero(task.objective, posed, best[0]))]
        return self._learnt(np.concatenate([*w, *[np.zeros_like(w[0])] * (len(task.problems) - len(w))]))

    def _learnt(self, w: Floats) -> dict[str, Any]:
        """Weights (m, d + 1) under the names by which the model has them."""
        return {"coef_": np.ascontiguousarray(w[:, :-1]), "intercept_": np.ascontiguousarray(w[:, -1])}

    def _weights(self) -> Floats:
        """The weights (m, d + 1), intercepts last."""
        return np.column_stack([np.atleast_2d(kept(self, "coef_")), np.atleast_1d(self.intercept_)])

    def _keep_support(self, supports: list[MarginRows | None]) -> None:
        """The multipliers of rows near the margin, which prove the gap of a hinge loss; those of other rows are clear."""
        found = [(k, s) for k, s in enumerate(supports) if s is not None]
        if len(found) == len(supports):
            self.dual_problem_ = np.concatenate([np.full(len(s.rows), k, dtype=np.int64) for k, s in found])
            self.dual_rows_ = np.concatenate([s.rows for _, s in found])
            self.dual_values_ = np.concatenate([s.values for _, s in found])

    def _warn(self, objective: Objective) -> None:
        enough = vars(self)["n_iter_"] >= objective.max_iter
        warn(
            (self._ended_early() if enough else "")
            + f"{type(self).__name__}: solver {self.solver_!r} stopped after {vars(self)['n_iter_']} iterations at a relative gap of "
            f"{self.gap_.max():.3g} (tol={objective.tol:g}). "
            + ("Raise max_iter, or " if enough else "No further fall can be seen: standardise the columns, or ")
            + ("allow a larger tol." if objective.solver == "auto" else "allow a larger tol or use solver='auto'."),
            as_seen_by_sklearn(ConvergenceWarning),
        )

    def _ended_early(self) -> str:
        """What scikit-learn's users know the warning by, where max_iter was reached."""
        return ""

    def _make_claims(self) -> tuple[Claim, ...]:
        K = len(self.classes_) if hasattr(self, "classes_") else 0
        return (gap_claim(self._objective(K), self),)

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        m, K = len(self._weights()), len(getattr(self, "classes_", ()))
        if m not in {0: (1,), 2: (1, 2)}.get(K, (K,)):
            raise ModelFileError(f"The model file has weights of {m} scores where its {K} classes need others.")
        if len(self.objective_) not in (1, m):
            raise ModelFileError(f"The model file states {len(self.objective_)} problems for {m} scores.")

    def complexity(self) -> float:
        """With ½‖w‖² in the penalty the effective number of weights (`effective_freedom`), else the weights ≠ 0; and the intercepts.

        A softmax of K classes counts K − 1 of its vectors: adding one vector to all of them changes nothing.
        """
        self._check_fitted()
        w = self._weights()
        counted = count_free(w[:, :-1], w[:, -1], len(self.objective_) == 1 < len(w))
        return min(counted, getattr(self, "freedom_", counted))

    # --- beginning where another fit ended, and the states on the way -------------------------------------------------

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings: the statistics are taken once, and each fit begins at the weights of the one before."""
        warm_start_from = WarmStart()
        for changed in settings:
            model = type(self)(**{**self.get_params(), **changed})
            model._warm_start_from = warm_start_from
            model._fit(X, None, None)
            del model._warm_start_from
            yield model

    def _starts(self, task: LinearTask, solver: str) -> Sequence[StartingPoint | None]:
        """Where each problem begins; None: where the objective says."""
        if self._warm_start_from is not None:
            start = self._warm_start_from.start(task, solver)
        else:
            start = None if self._before is None else [StartingPoint(w) for w in self._before]
        expected = [(*shape, task.prepared.rows.n_columns + 1) for shape in task.shapes]
        if start is None or [np.shape(s.w) for s in start] != expected:  # other classes or columns than before
            return [None] * len(task.problems)
        return start

    def _forget(self) -> None:
        self._before: list[Floats] | None = None
        if self.warm_start and hasattr(self, "coef_"):
            w = self._weights()
            softmax = len(self.objective_) == 1 < len(w)
            self._before = [w] if softmax else list(w)
        super()._forget()

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The weights after each iteration (of each problem in turn): coef_, intercept_, objective and relative gap."""

        return some_of(steps_of(self, X, y, sample_weight), every)


class LinearClassifier(LinearModel, Classifier):
    """Coefficients `coef_` (m, d) and intercepts `intercept_` (m,): m = 1 for two classes, else one a class.

    The sign of w·x + b for two classes, else the class with the greatest w_k·x + b_k. Subclasses give `_objective`.
    """

    coef_ = Coefficients()  # type: ignore[assignment]
    sparsify, densify = sparsify, densify

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> TargetMaker:
        labels = self._classes_of(engine, rows, afresh, classes)
        if self.class_weight is None:
            return TargetMaker(labels, np.ones(len(labels.classes)))
        counts = class_counts(engine, rows, labels)
        return TargetMaker(labels, class_multipliers(self.class_weight, self.classes_, counts))

    def _check_statistics(self, statistics: RowStatistics) -> None:
        present = np.flatnonzero(statistics.weight > 0)
        if len(present) < 2:
            raise DataError(
                f"Only one class, {plain_labels(self.classes_)[present[0]]!r}, has rows of positive weight: a classifier needs at least two "
                "classes to tell apart."
            )
        if len(present) < len(statistics.weight):
            absent = plain_labels(self.classes_)[np.flatnonzero(statistics.weight <= 0)[0]]
            raise DataError(
                f"Class {absent!r} has no rows of positive weight: drop its rows, or give some of them (or the class) a weight."
            )

    # --- answering --------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """w·x + b: (n,) for two classes (positive: the greater class), (n, K) for more."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 1] - Z[:, 0] if len(self.classes_) == 2 else Z

    def _scores(self, X: Array) -> Floats:
        Z = linear_scores(X, kept(self, "coef_"), self.intercept_)
        return np.concatenate([np.zeros_like(Z), Z], axis=1) if Z.shape[1] == 1 else Z


def most_products(objective: Objective) -> int:
    """Columns up to which all their products pay: where l1 leaves few weights, those of a working set cost less beyond."""
    lasso = objective.l1 > 0 and objective.loss is not None and objective.loss.name == "squared"
    return LASSO_PRODUCTS if lasso else MOST_PRODUCTS


def _about_zero(objective: Objective, posed: PosedProblem, at: Iterate) -> Floats:
    """The weights as the model has them."""
    w = about_zero(at.w, posed.problem.centre)
    return unshifted(objective, w) if objective.loss is None and objective.init is None and objective.l1 == 0 else w


def linear_scores(X: Array | SparseMatrix, coef: Floats, intercept: Floats) -> Floats:
    """w·x + b, (n, m) for rows X (n, d), coef (m, d), intercept (m,): by NumPy alone, as answering must not wait for a compiler."""
    if isinstance(X, SparseMatrix):
        return _sparse_scores(X, coef) + intercept
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


def _sparse_scores(X: SparseMatrix, coef: Floats) -> Floats:
    rows, data = X.row_numbers(), X.data.astype(np.float64, copy=False)
    columns = [np.bincount(rows, weights=data * w[X.indices], minlength=len(X)) for w in coef]
    return np.stack(columns, axis=1)


def count_free(coef: Floats, intercept: Floats, shared: bool) -> float:
    """The weights and intercepts ≠ 0 of m vectors; `shared`: adding one vector to all changes nothing, so at most m − 1 a column."""
    used = np.column_stack([coef, intercept]) != 0
    a_column = used.sum(axis=0)
    return float((np.minimum(a_column, len(used) - 1) if shared else a_column).sum())


def effective_freedom(statistics: RowStatistics, objective: Objective, coef: Floats) -> float | None:
    """How many numbers of a penalised fit with weight vectors coef (m, d) are free; None: the weights ≠ 0 are to be counted.

        one vector of weights:   tr κG_A (κG_A + l2·I)⁻¹ + 1        A: the columns of weight ≠ 0,  κ ≥ ℓ''

    G = Σ c (x − x̄)(x − x̄)ᵀ (about zero where no intercept is fitted). As κG bounds the Hessian of the loss, this bounds the
    effective number of parameters of a ridge fit (Hastie, Tibshirani and Friedman, section 7.6) from above; without l2 it is
    the number of weights ≠ 0. Softmax has K − 1 free vectors, as adding one vector to all classes changes nothing; there
    κ = ½ (Böhning, 1992).
    """
    l2 = objective.strengths(statistics.n)[1]
    kappa = SOFTMAX_CURVATURE if objective.loss is None else CURVATURE.get(objective.loss.name)
    if statistics.gram is None or l2 == 0 or kappa is None or len(statistics.gram.mean) > MOST_EIGENVALUES:
        return None
    G = statistics.gram.scatter
    if not objective.fit_intercept:
        about_zero = gram_about(statistics, np.zeros(len(G)))
        assert about_zero is not None
        G = about_zero[:-1, :-1]
    free, known = 0.0, {}
    for w in coef:
        used = w != 0
        key = used.tobytes()
        if key not in known:
            known[key] = _trace(kappa * G[np.ix_(used, used)], l2)
        free += known[key] + float(objective.fit_intercept)
    return free * (len(coef) - 1) / len(coef) if objective.loss is None else free


def _trace(H: Floats, l2: float) -> float:
    """tr H (H + l2·I)⁻¹."""
    values = np.maximum(np.linalg.eigvalsh(H), 0.0) if len(H) else np.zeros(0)
    return float((values / (values + l2)).sum())


def steps_of(model: LinearModel, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """The states of all problems; those whose turn has not come have weights of zero."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    with one_thread_blas():
        task = fresh._task(Threads(1), rows, True, None)
        solver = task.solver()
        number, before = count(1), np.zeros((0, rows.n_columns + 1))
        for k, positive in enumerate(task.problems):
            posed = task.posed(positive)
            for at in _states(fresh, task, posed, solver):
                w = np.atleast_2d(about_zero(at.w, posed.problem.centre))
                later = np.zeros((len(task.problems) - k - 1, w.shape[1]))
                W = np.concatenate([before, w, later])
                learnt = fresh._learnt(W)
                told = {"objective": at.objective, "gap": at.gap, "problem": positive, "width": at.width}
                yield Step(next(number), len(rows.X), {**learnt, **told}, _measures(task, at), answering(fresh, learnt))
            before = np.concatenate([before, w])


def _states(model: LinearModel, task: LinearTask, posed: PosedProblem, solver: str) -> Iterator[Iterate]:
    """Those of the solver, and what becomes of the last one where its minimum does not exist."""
    for at in posed.iterates(task.objective, solver):
        yield at
    settled = model._settle(task, posed, at)
    if settled.w is not at.w:
        yield settled


def _measures(task: LinearTask, at: Iterate) -> tuple[Measure, ...]:
    tol = task.objective.tol
    return measures(
        Measure("duality gap", at.gap, tol, f"relative duality gap {at.gap:.3g}, done at {tol:g}", scale="log"),
        Measure("objective", at.objective, None, f"loss and penalty {at.objective:.6g}"),
    )
