"""Newton's method for a smooth loss and a quadratic penalty. Shape: repeated fold.

    (H + diag l2)·v = −(g + l2·w),    w ← w + v

H is factored in the columns' own scale, so that units do not matter. A step that does not bring the fall that the slope
promises is halved. The lecture notes train logistic regression so; squared hinge, Huber and squared loss follow the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block
from assay.engines.engine import scipy_linalg
from assay.numerics import Floats
from assay.risk.terms import MARGIN, Surrogate
from assay.solvers.problem import Evaluation, Iterate, Problem, last, relative_gap, rows_back, rows_times

ARMIJO = 1e-4
HALVINGS = 60
ROUNDING = 1e-14  # of a sum over very many rows
SETTLED = 1e-6  # of the objective: where less is promised, the Hessian at hand serves to the end
SHARP = 1e-12  # without a penalty people read the digits of the weights: one more step is cheap
HIDDEN = 1e-9  # of the objective: a fall below this is near what rounding hides
PATIENCE = 3  # such steps without half the gap, after which rounding allows no more
RIDGE = 1e-13  # of the unit diagonal: what a direction without curvature is given


def newton(
    problem: Problem, start: Floats, tol: float, max_iter: int, first: Evaluation | None = None
) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … until the gap is at most `tol`; `first` is the evaluation at the start where it is known already.

    Without a penalty the gap is that within a box (`boxed_gap`), and a w that puts every row of a margin loss on its right
    side is the end: longer and longer multiples of it would do ever better.
    """
    w = start
    boxed = bool(problem.penalty.free[:-1].any()) and problem.loss.conjugate is not None
    every = 1 if boxed else problem.sample
    evaluation = problem.evaluate(w, hessian=every) if first is None else first
    best, since = np.inf, 0
    for number in range(max_iter + 1):
        value = smooth_objective(problem, evaluation, w)
        gap = np.inf if boxed else problem.gap(evaluation, w)
        gap = 0.0 if boxed and value <= problem.floor > 0 else gap
        v = newton_step(problem, evaluation, w) if gap > tol else np.zeros_like(w)
        promised = -float(v @ slope(problem, evaluation, w))
        if boxed and promised <= max(tol, HIDDEN) * value:
            gap = boxed_gap(problem, w, v)
        since = since + 1 if promised <= HIDDEN * value and gap > 0.5 * best else 0
        best = min(best, gap)
        separated = boxed and problem.loss.kind == MARGIN and evaluation.least > 0
        done = gap <= (min(tol, SHARP) if boxed else tol) or separated or not promised > 0 or since == PATIENCE
        kept = evaluation if done else None
        here = Iterate(
            number, w, problem.objective(evaluation, w), gap, least=evaluation.least, done=done, evaluation=kept
        )
        yield here._replace(step=v if boxed else None)
        if done or number == max_iter:
            return
        settled = not boxed and promised < SETTLED * value and not since
        before = evaluation.hessian
        w, evaluation = advance(problem, evaluation, w, v, promised, hessian=0 if settled else 1 if since else every)
        evaluation = evaluation if evaluation.hessian is not None else evaluation._replace(hessian=before)


def smooth_objective(problem: Problem, evaluation: Evaluation, w: Floats) -> float:
    """The function that is made small: the smoothed loss and the penalty."""
    return evaluation.smooth + problem.penalty.value(w)


def slope(problem: Problem, evaluation: Evaluation, w: Floats) -> Floats:
    """Its gradient."""
    out: Floats = evaluation.gradient + problem.penalty.l2 * w
    return out


def newton_step(problem: Problem, evaluation: Evaluation, w: Floats) -> Floats:
    """−(H + diag l2)⁻¹·(g + l2·w), by Cholesky of the matrix with unit diagonal and, where that fails, by its eigenvectors."""
    assert evaluation.hessian is not None
    return -solve_scaled(evaluation.hessian + np.diag(problem.penalty.l2), slope(problem, evaluation, w))


def solve_scaled(A: Floats, b: Floats) -> Floats:
    """A⁻¹b in the scale of A's diagonal; what has none is left alone."""
    d = np.sqrt(np.diag(A))
    unit = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
    scaled = A * unit * unit[:, None]
    np.fill_diagonal(scaled, 1.0)
    out: Floats = unit * solve_unit(scaled, unit * b)
    return out


def solve_unit(A: Floats, b: Floats) -> Floats:
    """A⁻¹b for a positive semidefinite A with unit diagonal; directions without curvature are left where they are."""
    linalg = scipy_linalg()
    try:
        factor = linalg.cho_factor(A, lower=True, check_finite=False)
        if float(np.diag(factor[0]).min()) ** 2 > RIDGE * len(A):
            solved: Floats = linalg.cho_solve(factor, b, check_finite=False)
            return solved
    except np.linalg.LinAlgError:
        pass
    values, V = np.linalg.eigh(A)
    live = values > RIDGE * len(A) * values[-1]
    out: Floats = V[:, live] @ ((V[:, live].T @ b) / values[live])
    return out


def advance(
    problem: Problem, evaluation: Evaluation, w: Floats, v: Floats, promised: float, *, hessian: int
) -> tuple[Floats, Evaluation]:
    """w + s·v for the first s = 1, ½, ¼, … that brings its share of the promised fall, with the evaluation there.

    A fall that rounding hides is judged by the slope along v instead, which must at least be halved (Hager and Zhang 2005).
    """
    before = smooth_objective(problem, evaluation, w)
    s = 1.0
    for _ in range(HALVINGS):
        there = w + s * v
        found = problem.evaluate(there, hessian=hessian)
        after = smooth_objective(problem, found, there)
        if after <= before - ARMIJO * s * promised + ROUNDING * abs(before):
            return there, found
        hidden = promised <= HIDDEN * abs(before) and after <= before + HIDDEN * abs(before)
        if hidden and abs(float(v @ slope(problem, found, there))) <= 0.5 * promised:
            return there, found
        s *= 0.5
    return w, evaluation


# --- a duality gap where there is no penalty: against all weights in a box around the ones found ---------------------
#
# The slopes after Newton's step v, u' = ℓ'(z) + ℓ''(z)·dz with dz = (x − p)·v, satisfy Σ c u' (x − p, 1) = g + Hv = 0 up to
# rounding. Moved into the domain of ℓ*, where they are not in it, they give the lower bound −Σcℓ*(u'), less what is then left
# of that sum times the box.

BOX = 1e3  # in units of one over a column's scale


def boxed_gap(problem: Problem, w: Floats, v: Floats) -> float:
    """The relative gap at w by the dual point after the step v: one fold."""
    sums = problem.fold(partial(absorb_bounds, problem.loss, w, v, problem.centre), merge_bounds)
    g = sums.gradient if problem.intercept else np.append(sums.gradient[:-1], 0.0)
    bound = -sums.conjugate + float(w @ g) - BOX * float(np.abs(g) @ (1.0 / problem.scale))
    return relative_gap(sums.loss, bound)


class BoxedSums(NamedTuple):
    """Σcℓ(z), Σcℓ*(u') and Σ c u' (x − p, 1)."""

    loss: float
    conjugate: float
    gradient: Floats


def absorb_bounds(loss: Surrogate, w: Floats, v: Floats, centre: Floats, block: Block) -> BoxedSums:
    """The sums of one block, at weights w about the centre."""
    assert block.y is not None
    assert loss.curvature is not None
    assert loss.conjugate is not None
    t, h = block.y, loss.width
    c = np.ones(len(t)) if block.w is None else block.w
    z, dz = (rows_times(block.X, a, centre) for a in (w, v))
    u = loss.into_domain(loss.slope(z, t, h) + loss.curvature(z, t, h) * dz, t, h)
    return BoxedSums(
        float(c @ loss.value(z, t, h)), float(c @ loss.conjugate(u, t, h)), rows_back(block.X, c * u, centre)
    )


def merge_bounds(a: BoxedSums, b: BoxedSums) -> BoxedSums:
    """The sums of both stretches of rows together."""
    return BoxedSums(a.loss + b.loss, a.conjugate + b.conjugate, a.gradient + b.gradient)


# --- Huber's loss from far away: the width δ' at which it turns straight is narrowed step by step to δ.
#
# Where all residuals are beyond δ the loss has no curvature, and Newton's method no step. With δ' as wide as the residuals it is the
# squared loss, and each minimum is a good start for the next, narrower width. Shape: repeated fold.

SHRINK = 4.0
LEAST = 1.1
WIDE = 8.0  # times the mean residual
ROUGH = 1e-3  # the gap at which a width has served

Solve = Callable[[Problem, Floats, float, int], Iterator[Iterate]]


def narrowing(solve: Solve, problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """`solve(problem, w, tol, max_iter)` from the minima of wider losses; those steps count, but are not shown."""
    w, spent = start, 0
    width, shrink = widest(problem, start), 1.0  # a shrink of 1: the widest itself comes first
    while width > problem.loss.width and spent < max_iter and shrink >= 1.0:
        next_width = width / shrink
        if next_width <= problem.loss.width:
            break
        wide = replace(problem, loss=replace(problem.loss, width=next_width))
        at = last(solve(wide, w, ROUGH, max_iter - spent))
        spent += at.number
        if at.gap <= ROUGH:
            w, width, shrink = at.w, next_width, SHRINK
        else:  # too few rows are left between −δ' and δ': go there more slowly
            shrink = float(np.sqrt(shrink)) if shrink > LEAST else 0.0
    for at in solve(problem, w, tol, max(1, max_iter - spent)):
        yield at._replace(number=at.number + spent)


def widest(problem: Problem, start: Floats) -> float:
    """Some mean residuals: there Huber's loss is the squared one for nearly all rows."""
    mean_loss = problem.evaluate(start).loss / float(sum(problem.reach.weights))
    return WIDE * mean_loss / problem.loss.width
