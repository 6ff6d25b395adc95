"""l1 problems with many columns: Newton on a few of them, a look at all to see which are missing. Shape: repeated fold.

A weight that is zero stays zero at the minimum as long as |g_j| ≤ l1_j. The set holds the weights that are not zero and
the columns that break this most, counted by the fall they promise in their own scale, (|g_j| − l1_j) / scale_j.
Where the set outgrows what a Hessian is good for, other solvers take over from the weights found so far: blocks of
columns in turn for sparse rows, proximal gradients for dense ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.numerics import Array, Floats
from assay.solvers.chosen_columns import choose_columns
from assay.solvers.column_blocks import by_column_blocks
from assay.solvers.iterate import Iterate, last
from assay.solvers.problem import Look, Problem
from assay.solvers.proximal_gradient import proximal_gradient
from assay.solvers.proximal_newton import proximal_newton_on_all

MOST_CHOSEN = 2000
FIRST_CHOSEN = 64
SHARE = 0.1  # of the gap over all columns: how well a set is solved before the next look


def by_column_sets(problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … one for each set, until the gap is at most `tol`; `number` counts the Newton steps."""
    w, look, number, before = start, problem.look(start), 0, np.inf
    while True:
        gap = problem.gap(look, w)
        chosen = column_set(problem, look, w)
        nothing_left = gap >= before and bool(np.all(w[chosen] != 0))
        done = bool(gap <= tol or nothing_left)
        yield Iterate(number, w, problem.objective(look, w), gap, least=look.least, done=done)
        if done or number >= max_iter:
            return
        if len(chosen) > MOST_CHOSEN:
            solve = by_column_blocks if problem.rows.sparse else proximal_gradient
            for at in solve(problem, w, tol, max_iter - number):
                yield at._replace(number=number + at.number)
            return
        w, steps = _solve_on(problem, w, chosen, max(0.3 * tol, SHARE * min(gap, 1.0)), max_iter - number)
        look, number, before = problem.look(w), number + max(1, steps), min(gap, before)


def column_set(problem: Problem, look: Look, w: Floats) -> Array:
    """The numbers, rising, of the columns whose weight is not zero, is free, or should leave zero; of these the foremost."""
    d = len(problem.centre)
    l1, g, scale = problem.penalty.l1[:d], np.abs(look.gradient[:d]), problem.scale[:d]
    live = (w[:d] != 0) | ((l1 == 0) & (scale > 0))
    fall = np.divide(np.maximum(g - l1, 0.0), scale, out=np.zeros(d), where=scale > 0)
    fall[live] = 0.0
    newcomers = np.argsort(-fall, kind="stable")[: max(FIRST_CHOSEN, int(live.sum()))]
    live[newcomers[fall[newcomers] > 0]] = True
    return np.flatnonzero(live)


def _solve_on(problem: Problem, w: Floats, chosen: Array, tol: float, max_iter: int) -> tuple[Floats, int]:
    """The weights after Newton steps on the chosen columns alone, and how many steps these were."""
    seen = choose_columns(problem, chosen, np.zeros_like(w))
    found = last(proximal_newton_on_all(seen, np.append(w[chosen], w[-1]), tol, max_iter))
    return seen.everywhere(found.w), found.number
