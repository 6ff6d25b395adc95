"""Gradients alone: descent as the lecture notes write it (002, 003 §5, 004), and accelerated proximal gradients. Shape: repeated fold.

    w_{t+1} = w_t − η·∂L/∂w,        L(w) = Σ_i c_i ℓ(t_i, ⟨w, x̃_i⟩) + penalty(w)

They go over the raw columns x̃ = (x, 1), wherever the problem's centre lies, and know nothing of scale: this is what the
fast solvers are compared with. Where the loss or the penalty has a kink, ∂L is a subgradient; L may then rise, and the best w so far is kept.

Accelerated proximal gradients (FISTA, Beck and Teboulle 2009) take a smooth loss and any penalty:

    x' = argmin  g(y)·(x − y) + ½L·Σ_j D_j (x_j − y_j)² + penalty(x),        D_j = n·scale_j²
    y' = x' + (θ − 1)/θ'·(x' − x),        θ' = (1 + √(1 + 4θ²))/2

They take weights (d + 1,) and, for softmax, (K, d + 1). D makes the units of columns irrelevant. L grows where the gradient
turns out to change faster than L allows, and shrinks slowly otherwise; the momentum starts anew where it points uphill
(O'Donoghue and Candès 2015). One fold a step: loss, gradient and gap are those at y.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from assay.errors import ParameterError
from assay.numerics import Floats
from assay.risk.terms import Penalty
from assay.solvers.preconditioner import curvature, loss_curvature
from assay.solvers.problem import Evaluation, Iterate, Problem
from assay.solvers.softmax_problem import SoftmaxProblem

SOFTMAX_CURVATURE = 0.5  # the greatest eigenvalue of diag p − ppᵀ
SHARP = float(np.finfo(np.float64).tiny)  # the width of a hinge that is not smoothed
EASE = 0.97  # what becomes of L in a step that was allowed
PRESS = 1.5  # and in one that was not
UNSEEN = 1e-13  # a rise of F below this share of it may be rounding
TOO_SHORT = 2.0**10  # times the columns: an L above this, against the first, leaves nothing to gain


def gradient_descent(
    problem: Problem | SoftmaxProblem, start: Floats, tol: float, max_iter: int, eta: float | str = "auto"
) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … with the step η until the gap is at most `tol`; "auto" is 1/L, L a bound of the curvature.

    It ends early, not done, where a step too long makes the numbers overflow.
    """
    eta = safe_step(problem) if eta == "auto" else checked_step(eta)
    w = start
    for number in range(max_iter + 1):
        evaluation = problem.evaluate(w)
        value = problem.objective(evaluation, w)
        if not np.isfinite(value):
            return
        gap = problem.gap(evaluation, w)
        yield Iterate(number, w, value, gap, least=evaluation.least, done=bool(gap <= tol))
        if gap <= tol:
            return
        w = descend(problem, evaluation, w, eta)


def subgradient_descent(
    problem: Problem | SoftmaxProblem,
    start: Floats,
    tol: float,
    max_iter: int,
    eta: float | str = "auto",
    *,
    falling: bool = True,
) -> Iterator[Iterate]:
    """The best of w⁽⁰⁾, …, w⁽ᵗ⁾ after each step t, of length η/√t, or η where not `falling`; for losses with a kink.

    The gap is the least of all so far. A loss of zero ends it: nothing is smaller.
    """
    sharp = _sharp(problem)
    eta = safe_step(sharp) if eta == "auto" else checked_step(eta)
    w, best, bound = start, None, -np.inf
    for number in range(max_iter + 1):
        evaluation = sharp.evaluate(w)
        value = sharp.objective(evaluation, w)
        if not np.isfinite(value):
            return
        bound = max(bound, sharp.dual(evaluation, w))
        if best is None or value < best.objective:
            best = Iterate(number, w, value, np.inf, least=evaluation.least)
        gap = max(0.0, (best.objective - bound) / best.objective) if best.objective > 0 else 0.0
        best = best._replace(number=number, gap=gap, done=bool(gap <= tol))
        yield best
        if best.done:
            return
        step = eta / np.sqrt(number + 1) if falling else eta
        w = descend(sharp, evaluation, w, step)


def _sharp(problem: Problem | SoftmaxProblem) -> Problem | SoftmaxProblem:
    """The problem with the hinge itself where its hinge is smoothed."""
    if isinstance(problem, SoftmaxProblem) or problem.loss.name != "hinge":
        return problem
    return replace(problem, loss=replace(problem.loss, width=SHARP))


def subgradient(problem: Problem | SoftmaxProblem, evaluation: Evaluation, w: Floats) -> Floats:
    """∂L in the weights of x̃ = (x, 1): those of (x − p, 1) move b by p·w. Of |w_j| at zero it is zero."""
    out: Floats = evaluation.gradient + problem.penalty.l2 * w + problem.penalty.l1 * np.sign(w)
    out[..., :-1] += problem.centre * evaluation.gradient[..., -1:]
    return out


def descend(problem: Problem | SoftmaxProblem, evaluation: Evaluation, w: Floats, eta: float) -> Floats:
    """w − η ∂L, written about the problem's centre."""
    with np.errstate(over="ignore", invalid="ignore"):
        move = -eta * subgradient(problem, evaluation, w)
        if problem.intercept:
            move[..., -1] += (move[..., :-1] * problem.centre).sum(axis=-1)
        out: Floats = w + move
    return out


def safe_step(problem: Problem | SoftmaxProblem) -> float:
    """1/L: L = κ·Σ c‖x̃‖² + max l2 bounds the curvature by the lengths of the columns; κ is that of the loss in a score."""
    if isinstance(problem, SoftmaxProblem):
        kappa = SOFTMAX_CURVATURE
    else:
        kappa = loss_curvature(problem.loss)
    n, p = float(sum(problem.reach.weights)), problem.centre
    lean = sum(c * mean for c, mean in zip(*problem.reach[:2])) / n  # the mean of x − p
    squares = float((problem.scale**2).sum() + (p * (p + 2 * lean)).sum())
    return 1.0 / (kappa * n * squares + float(problem.penalty.l2.max()))


def checked_step(eta: float | str) -> float:
    """η as a number > 0."""
    if isinstance(eta, str) or not 0 < eta < np.inf:
        raise ParameterError(f"eta={eta!r} is no step: give a number > 0, or 'auto' for one that is short enough.")
    return float(eta)


# Descent on the perceptron's risk as the lecture notes write it (001, 004): the batch perceptron. Shape: repeated fold.
#
#     w ← w + η Σ_{mistakes} c_i t_i x̃_i,        a mistake: sgn⟨w, x̃_i⟩ ≠ t_i  with  sgn 0 = 1
#
# The loss is zero at w = 0, its trivial minimum; what is sought are weights without mistakes, so it ends at the first clean
# pass: where the subgradient vanishes.


def mistake_descent(problem: Problem, start: Floats, max_iter: int, eta: float | str = "auto") -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … until no mistake is left; "auto" is η = 1/Σc. The gap is 0 where no row is wrong or, without an intercept, on the plane, else 1."""
    step = 1.0 / float(sum(problem.reach.weights)) if eta == "auto" else checked_step(eta)
    w = start
    for number in range(max_iter + 1):
        evaluation = problem.evaluate(w)
        done = not np.any(evaluation.gradient)
        # mistakes on the plane have no loss, and without an intercept their slopes may be zero, or cancel
        seen = problem.intercept or evaluation.least > 0.0
        clean = done and evaluation.loss == 0.0 and seen
        yield Iterate(number, w, evaluation.loss, 0.0 if clean else 1.0, least=evaluation.least, done=done)
        if done:
            return
        w = descend(problem, evaluation, w, step)


class ProximalState(NamedTuple):
    """Where the method stands: y with its evaluation and F; the last x; θ and L."""

    y: Floats
    evaluation: Evaluation
    value: float
    x: Floats
    theta: float
    L: float


def proximal_gradient(problem: Problem | SoftmaxProblem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … until the gap is at most `tol`, or no step is short enough to gain anything."""
    D = float(sum(problem.reach.weights)) * problem.scale**2
    evaluation, first = problem.evaluate(start), curvature(problem)
    at = ProximalState(start, evaluation, problem.objective(evaluation, start), start, 1.0, first)
    for number in range(max_iter + 1):
        gap = problem.gap(at.evaluation, at.y)
        if gap <= tol:
            yield _with_zeros(problem, D, at, tol, gap, number)
            return
        stuck = TOO_SHORT * len(D) * first < at.L
        yield Iterate(number, at.y, at.value, gap, least=at.evaluation.least, done=stuck)
        if stuck or number == max_iter:
            return
        at = _step(problem, D, at)


def shrunk_step(y: Floats, g: Floats, a: Floats, penalty: Penalty) -> Floats:
    """argmin g·(x − y) + ½Σ a_j (x_j − y_j)² + penalty(x); a weight with a_j = 0 stays."""
    u = a * y - g
    size = np.maximum(np.abs(u) - penalty.l1, 0.0)
    moved: Floats = np.divide(np.copysign(size, u), a + penalty.l2, out=y.copy(), where=np.broadcast_to(a > 0, y.shape))
    return moved


def _step(problem: Problem | SoftmaxProblem, D: Floats, at: ProximalState) -> ProximalState:
    """The next place; or the same one with a larger L, where the evaluation there shows that L is too small."""
    x = shrunk_step(at.y, at.evaluation.gradient, at.L * D, problem.penalty)
    uphill = float((D * (at.y - x) * (x - at.x)).sum()) > 0
    theta = 1.0 if uphill else 0.5 + np.sqrt(0.25 + at.theta**2)
    y = x if uphill or at.theta == 1.0 else x + (at.theta - 1.0) / theta * (x - at.x)
    evaluation = problem.evaluate(y)
    value = problem.objective(evaluation, y)
    move = y - at.y
    length = float((D * move * move).sum())
    bend = float(((evaluation.gradient - at.evaluation.gradient) * move).sum()) / length if length > 0 else 0.0
    if bend > (1 + 1e-6) * at.L or (at.theta == 1.0 and value > (1 + UNSEEN) * at.value):
        return at._replace(L=max(PRESS * at.L, bend))
    return ProximalState(y, evaluation, value, x, 1.0 if value > at.value else float(theta), EASE * at.L)


def _with_zeros(
    problem: Problem | SoftmaxProblem, D: Floats, at: ProximalState, tol: float, gap: float, number: int
) -> Iterate:
    """The end: y has weights that the momentum keeps a little off zero; the x that follows y has them at zero."""
    x = shrunk_step(at.y, at.evaluation.gradient, at.L * D, problem.penalty)
    evaluation = problem.evaluate(x)
    better = problem.gap(evaluation, x)
    if better <= tol:
        return Iterate(number, x, problem.objective(evaluation, x), better, least=evaluation.least, done=True)
    return Iterate(number, at.y, at.value, gap, least=at.evaluation.least, done=True)
