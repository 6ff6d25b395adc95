"""l1 problems of sparse rows with many weights other than zero: a Newton step on one block of columns after the other.

The columns that are there most, which bear on all others, form the first block; rare columns seldom meet, so that the
blocks hardly depend on each other and few rounds suffice. Shape: repeated fold, two a block and one a round.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.numerics import Array, Floats
from assay.solvers.chosen_columns import choose_columns
from assay.solvers.iterate import Iterate
from assay.solvers.newton import advance
from assay.solvers.problem import Look, Problem
from assay.solvers.proximal_newton import proximal_step

BLOCK = 512
WELL = 1e-6  # how well the model of a block is solved


def by_column_blocks(problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … one for each round over the blocks, until the gap is at most `tol` or no block can gain anything."""
    w, look = start, problem.look(start)
    gained = True
    for number in range(max_iter + 1):
        gap = problem.gap(look, w)
        done = bool(gap <= tol or not gained)
        yield Iterate(number, w, problem.objective(look, w), gap, least=look.least, done=done)
        if done or number == max_iter:
            return
        gained = False
        for block in blocks_of(problem, look, w):
            after = _step_on(problem, w, block)
            gained |= not np.array_equal(after, w)
            w = after
        look = problem.look(w)


def blocks_of(problem: Problem, look: Look, w: Floats) -> list[Array]:
    """The columns whose weight is not zero, or should not be, in blocks by falling scale; in each their numbers rise."""
    d = len(problem.centre)
    l1, scale = problem.penalty.l1[:d], problem.scale[:d]
    live = np.flatnonzero((w[:d] != 0) | (np.abs(look.gradient[:d]) > l1) | ((l1 == 0) & (scale > 0)))
    order = live[np.argsort(-scale[live], kind="stable")]
    return [np.sort(order[a : a + BLOCK]) for a in range(0, len(order), BLOCK)]


def _step_on(problem: Problem, w: Floats, block: Array) -> Floats:
    """The weights after one Newton step on the columns of the block."""
    seen = choose_columns(problem, block, w)
    at = np.append(w[block], w[-1])
    look = seen.look(at, hessian=True)
    step, promised = proximal_step(seen, look, at, WELL)
    if not promised > 1e-16 * look.smooth:
        return w
    return seen.everywhere(advance(seen, look, at, step, promised, hessian=False)[0])
