"""Newton's method for a smooth loss and any penalty, l1 included. Shape: repeated fold.

    v = argmin  g·(v − w) + ½(v − w)ᵀH(v − w) + Σ_j l1_j|v_j| + ½ l2_j v_j²,        w ← w + s·(v − w)

One fold brings g and H; the model's least point costs no fold, so there are about as many folds as without l1. Close to
the end the Hessian hardly changes and the last one is kept. Of many columns only a set of them has a Hessian.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.numerics import Floats
from assay.solvers.iterate import Iterate
from assay.solvers.l1_model import minimise_model
from assay.solvers.newton import advance, smooth_objective
from assay.solvers.problem import WIDE_SPARSE, Look, Problem
from assay.solvers.softmax_problem import SoftmaxProblem

SETTLED = 1e-6  # a fall promised below this share of F leaves the Hessian as it is
SLOW = 0.01  # a gap that stays above this share of the one before asks for a new Hessian after all
UNSEEN = 1e-12  # a fall below this share of F is lost among the rounding of F: steps are judged by the gap alone
CARE = 1e-4  # how well the model is solved where the gap is 1 or more
MOST_COLUMNS = 500  # of a Hessian over all columns


def proximal_newton(
    problem: Problem | SoftmaxProblem, start: Floats, tol: float, max_iter: int, first: Look | None = None
) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … until the gap is at most `tol`; `first` is the look at the start where it is known already."""
    if isinstance(problem, SoftmaxProblem):
        from assay.solvers.softmax_newton import softmax_newton

        return softmax_newton(problem, start, tol, max_iter)
    if len(problem.centre) > (WIDE_SPARSE if problem.rows.sparse else MOST_COLUMNS):
        from assay.solvers.column_set import by_column_sets

        return by_column_sets(problem, start, tol, max_iter)
    return proximal_newton_on_all(problem, start, tol, max_iter, first)


def proximal_newton_on_all(
    problem: Problem, start: Floats, tol: float, max_iter: int, first: Look | None = None
) -> Iterator[Iterate]:
    """As `proximal_newton`, with a Hessian over all columns whatever their number."""
    w, before = start, np.inf
    look = problem.look(w, hessian=True) if first is None else first
    for number in range(max_iter + 1):
        gap = problem.gap(look, w)
        v, promised = proximal_step(problem, look, w, share_for(problem, gap)) if gap > tol else (w, 0.0)
        value = smooth_objective(problem, look, w)
        stuck = promised <= 1e-15 * value and not gap < 0.5 * before
        done = bool(gap <= tol or stuck or not promised > 0)
        kept = look if done else None
        yield Iterate(number, w, problem.objective(look, w), gap, _width(problem), look.least, done, look=kept)
        if done or number == max_iter:
            return
        anew = promised > SETTLED * value or gap > SLOW * before
        w, look = _advance(problem, look, w, v, promised, anew)
        before = min(gap, before)


def proximal_step(problem: Problem, look: Look, w: Floats, share: float | None = None) -> tuple[Floats, float]:
    """v − w for the least point v of the model at w, and the fall it promises: −(g·(v − w) + penalty(v) − penalty(w)).

    It takes the place of `newton_step` where a penalty has an l1 part; `look` holds the Hessian. `share` says how well the
    model is solved (l1_model.py); unless given, as well as the gap asks for.
    """
    assert look.hessian is not None
    l1, l2 = problem.penalty
    if share is None:
        share = share_for(problem, problem.gap(look, w))
    v = minimise_model(look.hessian, look.gradient, w, problem.penalty, share)
    step = v - w
    rise = step * (look.gradient + 0.5 * l2 * (v + w)) + l1 * (np.abs(v) - np.abs(w))
    return step, -float(rise.sum())


def share_for(problem: Problem, gap: float) -> float:
    """How well the model is to be solved where the gap is this: a step leaves about the gap squared."""
    exact = problem.loss.name == "squared"  # the model is the loss itself
    return 0.0 if exact else CARE * min(1.0, gap) ** 2


def _advance(problem: Problem, look: Look, w: Floats, step: Floats, promised: float, anew: bool) -> tuple[Floats, Look]:
    """w + s·step and the look there, its Hessian made `anew` or the old one."""
    value = smooth_objective(problem, look, w)
    if promised > UNSEEN * value:
        there, seen = advance(problem, look, w, step, promised, hessian=anew)
    else:
        there = w + step
        seen = problem.look(there, hessian=anew)
        if problem.gap(seen, there) > problem.gap(look, w):
            return w, look
    return there, seen if seen.hessian is not None else seen._replace(hessian=look.hessian)


def _width(problem: Problem) -> float:
    return problem.loss.width if problem.loss.name == "hinge" else 0.0
