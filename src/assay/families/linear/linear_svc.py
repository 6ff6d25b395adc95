"""The linear support vector machine, soft and hard. Shape: repeated fold.

    min_{w, b}  ½‖w‖² + C·Σ_i c_i ℓ(t_i (w·x_i + b)),      hinge max(0, 1 − m)  or squared hinge max(0, 1 − m)²

`C=inf` is the hard margin: min J = ½‖w‖² such that t_i (w·x_i + b) ≥ 1, which exists where the classes are separable. `solve_hard` finds it by the
working set of solvers/separation, with its multipliers as proof. The lecture notes take gradient steps on J, projected back on the
constraints, which few rows bear:

    w ← Π(w − η ∇J(w)) = Π((1 − η) w),  b stays before Π

Π is the point of the polyhedron nearest to (w, b), a least-distance problem solved as one of non-negative least squares
(Lawson and Hanson, 1974, chapter 23).
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows, fold
from assay.engines.engine import Threads
from assay.errors import DataError, ParameterError
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.layout import Fact, Layout
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Flag, Range, Seed, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Measure, Step, answering, some_of
from assay.families.linear.fit import LAYOUT, PENALTY_WORDS, LinearClassifier
from assay.families.linear.paths import path_over_C
from assay.families.linear.problem import Objective
from assay.inputs.labels import Labels, plain_labels
from assay.numerics import Array, Floats
from assay.risk.terms import surrogate
from assay.solvers.problem import Iterate, MarginRows
from assay.solvers.separation.separation import HardMargin, hard_margin, separate

INFEASIBLE = 1e-12
LOOSEST = 1e-1  # a gap beyond this says little, whatever the user allowed
MOST_ROWS = 2000  # that the lecture notes' projected gradient takes
SOLVERS = (
    "auto",
    "newton",
    "smoothing",
    "lbfgs",
    "proximal-newton",
    "proximal-gradient",
    "dual-coordinate",
    "subgradient",
)


class ProjectedStep(NamedTuple):
    """w (d,) and w₀ at time t, J(w) there, and the least y(w·x + w₀)."""

    t: int
    w: Floats
    intercept: float
    objective: float
    least: float


def project(point: Floats, A: Floats) -> Floats:
    """The u nearest to `point` with A u ≥ 1.

    With h = 1 − A·point, z ≥ 0 that makes r = (Aᵀz, h·z) − (0, 1) shortest has u = point − r/r_last; r = 0: there is no u.
    """
    from scipy.optimize import nnls

    h = 1.0 - A @ point
    E = np.vstack([A.T, h])
    f = np.append(np.zeros(A.shape[1]), 1.0)
    z, length = nnls(E, f)
    r = E @ z - f
    if length <= INFEASIBLE:
        raise DataError(
            "No hyperplane has every row on its side, so the hard margin has no solution: use a soft margin (a finite C), "
            "or see which rows stand in the way with separability(X, y)."
        )
    u: Floats = point - r[:-1] / r[-1]
    return u


def projected_gradient(X: Floats, s: Array, eta: float = 0.5) -> Iterator[ProjectedStep]:
    """The states w⁽⁰⁾ = Π(0), w⁽¹⁾, … for separable rows X (n, d) with sides s = ±1. Take as many as you like."""
    if not 0 < eta < 2:
        raise ParameterError(f"eta={eta!r} is not possible: steps on ½‖w‖² converge for 0 < eta < 2.")
    A = np.column_stack([np.ones(len(X)), X]) * s[:, None]
    u, t = np.zeros(A.shape[1]), 0
    while True:
        u = project(u, A)
        w = u[1:].copy()
        yield ProjectedStep(t, w, float(u[0]), 0.5 * float(w @ w), float((A @ u).min()))
        u = np.append(u[:1], (1 - eta) * w)
        t += 1


def widest(engine: Engine, rows: Rows, labels: Labels, positive: int, intercept: bool) -> tuple[HardMargin, int]:
    """The hard margin of class `positive` against the rest, or an error that names the rows in its way."""
    found = separate(engine, rows, labels, positive=positive, space="affine" if intercept else "linear")
    if found.separable:
        return hard_margin(found), found.passes
    name = plain_labels(labels.classes)[positive]
    if found.separable is None:
        raise DataError(
            f"Whether a hyperplane separates class {name!r} could not be decided: {found.reason}. Use a finite C."
        )
    raise DataError(
        f"No hyperplane separates class {name!r} from the rest (the hulls of rows {found.rows.tolist()[:10]} meet), so the hard "
        "margin C=inf has no solution: use a finite C, or see assay.separability(X, y)."
    )


def solve_hard(engine: Engine, rows: Rows, labels: Labels, positive: int, intercept: bool) -> Iterate:
    """The hard margin of class `positive` against the rest: weights about zero, ½‖w‖², its gap and the multipliers."""
    found, passes = widest(engine, rows, labels, positive, intercept)
    w = np.append(found.coef, found.intercept)
    order = np.argsort(found.rows)
    return Iterate(passes, w, found.primal, found.gap, support=MarginRows(found.rows[order], found.alpha[order]))


def _are_few(rows: Rows) -> bool:
    """Whether the notes' method takes so many rows; no more targets are read than tell."""
    if rows.n_rows is not None:
        return rows.n_rows <= MOST_ROWS
    counted = 0
    for part in rows.targets():
        y = part.load().y
        assert y is not None
        counted += len(y)
        if counted > MOST_ROWS:
            return False
    return True


def projected_steps(
    rows: Rows, labels: Labels, positive: int, intercept: bool, eta: float, most: int
) -> Iterator[ProjectedStep]:
    """Projected gradient descent as the lecture notes write it, until ½‖w‖² no longer falls, or `most` steps."""
    if rows.sparse or not _are_few(rows):
        raise DataError(
            f"solver='pgd' projects on one constraint a row, as the lecture notes do: it takes at most {MOST_ROWS} rows of a dense "
            "table. Use solver='auto', which finds the same answer."
        )
    if not intercept:
        raise DataError(
            "solver='pgd' fits an intercept, as the lecture notes do: use solver='auto' for fit_intercept=False."
        )
    rows = rows.in_memory()
    assert rows.y is not None
    counts = np.ones(len(rows.X), dtype=bool) if rows.w is None else rows.w > 0
    sides = np.where(labels.encode(rows.y) == positive, 1.0, -1.0)[counts]
    before = np.inf
    for step in projected_gradient(rows.X[counts].astype(np.float64), sides, eta):
        yield step
        if step.t >= most or before - step.objective <= 1e-14 * step.objective:
            return
        before = step.objective


def hard_margin_claims(model: Any, tol: float) -> tuple[Claim, ...]:
    """Constraints, duality gap and margin; for two classes the bound on the leave-one-out error as well."""
    witness = {
        "coef": model._part("coef_"),
        "intercept": model.intercept_,
        "classes": plain_labels(model.classes_),
        "fit_intercept": bool(model.fit_intercept),
        "dual_problem": model.dual_problem_,
        "dual_rows": model.dual_rows_,
        "dual_values": model.dual_values_,
        "tolerance": float(tol),
    }
    gap = float(model.gap_.max())
    margins = ", ".join(f"{1 / np.linalg.norm(w):.6g}" for w in model._part("coef_")[:5])
    claims = [
        Claim(
            name="hard margin",
            statement=f"every row has t(w.x + b) >= 1, and |w|^2/2 is at most a share of {tol:g} above the least possible, by the "
            f"multipliers of {len(model.dual_rows_)} support rows: margin 1/|w| = {margins}",
            holds=bool(gap <= tol <= LOOSEST),
            check="hard_margin",
            value=gap,
            bound=float(tol),
            witness=witness,
        )
    ]
    if len(model._part("coef_")) == 1:
        share = len(model.dual_rows_) / float(model.rows_)
        claims.append(
            Claim(
                name="leave-one-out error",
                statement="the share of rows that a fit without them would get wrong is at most that of the support rows: the others "
                "can be left out without change (of the exact solution, to which the gap comes near)",
                holds=bool(gap <= tol <= LOOSEST),
                check="leave_one_out_bound",
                value=share,
                kind="estimate",
                witness=witness,
            )
        )
    return tuple(claims)


def hard_steps(model: LinearSVC, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """The lecture notes' projected gradient, class by class, and where it must end: with solver="auto", which has no states to show, the answer itself follows the steps of the notes."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    labels = fresh._classes_of(Threads(1), rows, True, None)
    positives = [1] if len(labels.classes) == 2 else range(len(labels.classes))
    number = count(1)
    W = np.zeros((len(positives), rows.n_columns + 1))
    for k, positive in enumerate(positives):
        answer = solve_hard(Threads(1), rows, labels, positive, fresh.fit_intercept)
        dual = answer.objective * (1.0 - answer.gap)
        shown = fresh.solver == "pgd" or (fresh.fit_intercept and not rows.sparse and len(rows.X) <= MOST_ROWS)
        states: Any = (
            projected_steps(rows, labels, positive, fresh.fit_intercept, fresh.eta, fresh.max_iter) if shown else ()
        )
        for at in (*states, *_answered(fresh.solver, answer.w, answer.objective)):
            W[k] = np.append(at.w, at.intercept)
            learnt = {"coef_": W[:, :-1].copy(), "intercept_": W[:, -1].copy()}
            told = {"objective": at.objective, "least": at.least, "problem": positive}
            gap = max(0.0, (at.objective - dual) / at.objective)
            yield Step(
                next(number),
                rows.n_rows or 0,
                {**learnt, **told},
                _measures(at, gap, float(fresh.tol)),
                answering(fresh, learnt),
            )


def _answered(solver: str, w: Floats, primal: float) -> list[ProjectedStep]:
    return [] if solver == "pgd" else [ProjectedStep(0, w[:-1], float(w[-1]), primal, 1.0)]


def _measures(at: ProjectedStep, gap: float, tol: float) -> tuple[Measure, ...]:
    margin = 1.0 / float(np.linalg.norm(at.w))
    return (
        Measure("duality gap", gap, tol, f"relative duality gap {gap:.3g}, done at {tol:g}", scale="log"),
        Measure("margin", margin, None, f"margin 1/‖w‖ = {margin:.6g}", better="up"),
    )


class LinearSVC(LinearClassifier):
    """A hyperplane with the widest margin, where rows inside the margin cost C each. Shape: repeated fold.

        min_{w, b}  ½‖w‖² + C·Σ_i c_i ℓ(t_i (w·x_i + b)),      hinge max(0, 1 − m)  or squared hinge max(0, 1 − m)²

    The intercept is free; with a number for `intercept_scaling` it is penalised as liblinear does, ½(b / scaling)². More than
    two classes: each against the rest. `tol` is the relative duality gap.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound; of the hard margin also the margin,
    and the leave-one-out error that the support rows bound.

    See Also
    --------
    SVC : the same with kernels.
    LogisticRegression : a loss with probabilities.
    ERM : any loss with any penalty.

    Examples
    --------
    >>> LinearSVC(C=1.0).fit([[0.0], [1.0], [9.0], [10.0]], [0, 0, 1, 1]).predict([[2.0], [7.0]])
    array([0, 1])
    """

    title = "Linear support vector machine"
    name = "linear-svc"
    layout: ClassVar[Layout] = {
        **LAYOUT,
        "rows_": Fact(int, low=0, optional=True, doc="of C=inf: the number of rows of the fit"),
    }
    penalty: str = param("what keeps the weights small: ½‖w‖², or ‖w‖₁, which sets many of them to zero", default="l2", says=PENALTY_WORDS, kw_only=False, check=Choice(("l2", "l1")))  # fmt: skip
    loss: str = param("what a row inside the margin costs: its distance from the margin, or the square of it", default="squared_hinge", kw_only=False, check=Choice(("squared_hinge", "hinge")))  # fmt: skip
    C: float = param("cost of a row; inf: the hard margin", default=1.0, check=Range(low=0, open_low=True))
    tol: float = param("relative duality gap at which the fit is done", default=1e-6, check=Range(low=0, high=1))
    solver: str = param("how the minimum is found; 'pgd' is projected gradient descent as in the lecture notes (C=inf)", default="auto", check=Choice((*SOLVERS, "pgd")))  # fmt: skip
    dual: bool | str = param("accepted for scikit-learn's sake; the solver chooses", default="auto", check=Flag(words=("auto",)))  # fmt: skip
    multi_class: str = param("more than two classes: each against the rest", default="ovr", check=Choice(("ovr",)))
    fit_intercept: bool = param("fit b as well; otherwise b = 0", default=True)
    intercept_scaling: float | None = param("None: b is free; a number: ½(b / it)² is added", default=None, check=Range(low=0, open_low=True, words=(None,)))  # fmt: skip
    class_weight: Any = CLASS_WEIGHT
    max_iter: int = param("most iterations of the solver; a fit that ends there warns", default=1000, check=Range(int, low=1))  # fmt: skip
    eta: float = param("learning speed of solver='pgd': how far a step goes along the slope", default=0.5, check=Range(low=0, high=2, open_low=True, open_high=True))  # fmt: skip
    warm_start: bool = param("begin at the weights of the fit before", default=False)
    random_state: int | None = param("accepted for scikit-learn's sake; nothing is random", default=None, check=Seed(words=(None,)))  # fmt: skip
    verbose: int = param("accepted for scikit-learn's sake; it changes nothing", default=0, check=Range(int, low=0))
    n_jobs: int | None = N_JOBS

    path = path_over_C

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, which weigh all columns alike."""
        if kind != "classifier":
            return None
        return SearchSpace(search=tuple({"C": 10.0**power} for power in range(-3, 3)), scaled=True, rough={"tol": 1e-2})

    def _objective(self, n_classes: int) -> Objective:
        strength = 1.0 / float(self.C)
        l1, l2 = (strength, 0.0) if self.penalty == "l1" else (0.0, strength)
        scaling = self.intercept_scaling if self.fit_intercept else None
        bias = 0.0 if scaling is None else strength / float(scaling) ** 2
        return Objective(
            surrogate(self.loss),
            l1,
            l2,
            self.fit_intercept,
            self.solver,
            float(self.tol),
            self.max_iter,
            intercept_l2=bias,
        )

    def _ended_early(self) -> str:
        return "Liblinear failed to converge, increase the number of iterations. "

    # --- the hard margin ----------------------------------------------------------------------------------------------

    def _hard(self) -> bool:
        if np.isfinite(self.C):
            if self.solver == "pgd":
                raise ParameterError(
                    "LinearSVC: solver='pgd' is the hard margin of the lecture notes: it needs C=float('inf')."
                )
            return False
        if self.solver not in ("auto", "pgd"):
            raise ParameterError(
                f"LinearSVC: C=inf is the hard margin, which solver={self.solver!r} does not know: use 'auto' or 'pgd'."
            )
        if self.penalty != "l2" or (self.fit_intercept and self.intercept_scaling is not None):
            raise ParameterError(
                "LinearSVC: the hard margin C=inf minimises ½‖w‖² alone: penalty='l2', intercept_scaling=None."
            )
        return True

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        if not self._hard():
            super()._learn(engine, rows, afresh, classes)
            return
        task = self._task(engine, rows, afresh, classes)
        labels = task.prepared.targets.labels
        assert labels is not None
        answers = [self._solve_hard(engine, rows, labels, k) for k in task.problems if k is not None]
        self.rows_ = _count_rows(engine, rows)
        solver = "pgd" if self.solver == "pgd" else "hard-margin"
        self._finish(task, solver, answers, np.stack([a.w for a in answers]))

    def _solve_hard(self, engine: Engine, rows: Rows, labels: Labels, positive: int) -> Iterate:
        found = solve_hard(engine, rows, labels, positive, self.fit_intercept)
        if self.solver != "pgd":
            return found
        last = deque(projected_steps(rows, labels, positive, self.fit_intercept, self.eta, self.max_iter), maxlen=1)[0]
        dual = found.objective * (1.0 - found.gap)
        gap = max(0.0, (last.objective - dual) / last.objective)
        w = np.append(last.w, last.intercept)
        return found._replace(number=last.t, w=w, objective=last.objective, gap=gap)

    def _make_claims(self) -> tuple[Claim, ...]:
        if np.isfinite(self.C):
            return super()._make_claims()
        return hard_margin_claims(self, float(self.tol))

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The weights after each iteration; of C=inf after each projected gradient step of the notes."""
        if not self._hard():
            return super().steps(X, y, sample_weight, every=every)
        return some_of(hard_steps(self, X, y, sample_weight), every)


def _rows_that_count(block: Block) -> int:
    assert block.y is not None
    return len(block.y) if block.w is None else int(np.count_nonzero(block.w))


def _count_rows(engine: Engine, rows: Rows) -> int:
    """How many rows have a positive weight."""
    n = fold(engine, rows.targets(), _rows_that_count, operator.add)
    return int(n or 0)
