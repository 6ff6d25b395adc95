"""Accelerated proximal gradients (FISTA, Beck and Teboulle 2009) for a smooth loss and any penalty. Shape: repeated fold.

    x' = argmin  g(y)·(x − y) + ½L·Σ_j D_j (x_j − y_j)² + penalty(x),        D_j = n·scale_j²
    y' = x' + (θ − 1)/θ'·(x' − x),        θ' = (1 + √(1 + 4θ²))/2

It takes weights (d + 1,) and, for softmax, (K, d + 1). D makes the units of columns irrelevant. L grows where the gradient
turns out to change faster than L allows, and shrinks slowly otherwise; the momentum starts anew where it points uphill
(O'Donoghue and Candès 2015). One fold a step: loss, gradient and gap are those at y.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.numerics import Floats
from assay.risk.penalties import Penalty
from assay.solvers.preconditioner import curvature
from assay.solvers.problem import Evaluation, Iterate, Problem
from assay.solvers.softmax_problem import SoftmaxProblem

EASE = 0.97  # what becomes of L in a step that was allowed
PRESS = 1.5  # and in one that was not
UNSEEN = 1e-13  # a rise of F below this share of it may be rounding
TOO_SHORT = 2.0**10  # times the columns: an L above this, against the first, leaves nothing to gain


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
