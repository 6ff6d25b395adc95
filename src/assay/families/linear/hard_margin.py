"""The hard-margin SVM, with its multipliers as proof. Shape: repeated fold.

    min J(w) = ½‖w‖²  subject to  y_i (w·x_i + w₀) ≥ 1

`solve_hard` finds it by the working set of solvers/separation. The lecture notes take gradient steps on J, projected back on the
constraints, which few rows bear:

    w ← Π(w − η ∇J(w)) = Π((1 − η) w),  w₀ stays before Π

Π is the point of the polyhedron nearest to (w, w₀), a least-distance problem solved as one of non-negative least squares
(Lawson and Hanson, 1974, chapter 23).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.engines.engine import Threads
from assay.errors import DataError, ParameterError
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Measure, Step, answering
from assay.inputs.labels import Labels, plain_labels
from assay.numerics import Array, Floats
from assay.solvers.problem import Iterate, MarginRows
from assay.solvers.separation.separation import HardMargin, hard_margin, separate

if TYPE_CHECKING:
    from assay.families.linear.linear_svc import LinearSVC


INFEASIBLE = 1e-12
LOOSEST = 1e-1  # a gap beyond this says little, whatever the user allowed
MOST_ROWS = 2000  # that the lecture notes' projected gradient takes


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
        "coef": model.coef_,
        "intercept": model.intercept_,
        "classes": plain_labels(model.classes_),
        "fit_intercept": bool(model.fit_intercept),
        "dual_problem": model.dual_problem_,
        "dual_rows": model.dual_rows_,
        "dual_values": model.dual_values_,
        "tolerance": float(tol),
    }
    gap = float(model.gap_.max())
    margins = ", ".join(f"{1 / np.linalg.norm(w):.6g}" for w in model.coef_[:5])
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
    if len(model.coef_) == 1:
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
