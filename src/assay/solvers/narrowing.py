"""Huber's loss by Newton's method from far away: the width δ' at which it turns straight is narrowed step by step to δ.

Where all residuals are beyond δ the loss has no curvature, and Newton's method no step. With δ' as wide as the residuals it is the
squared loss, and each minimum is a good start for the next, narrower width. Shape: repeated fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from assay.numerics import Floats
from assay.solvers.iterate import Iterate, last
from assay.solvers.problem import Problem

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
    mean_loss = problem.look(start).loss / float(sum(problem.reach.weights))
    return WIDE * mean_loss / problem.loss.width
