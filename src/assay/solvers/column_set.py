"""l1 problems with many columns: Newton on a few of them, an evaluation of all to find which are missing. Shape: repeated fold.

A weight that is zero stays zero at the minimum as long as |g_j| ≤ l1_j. The set holds the weights that are not zero and
the columns that break this most, counted by the fall they promise in their own scale, (|g_j| − l1_j) / scale_j.
Where the set outgrows what a Hessian is good for, other solvers take over from the weights found so far: blocks of
columns in turn for sparse rows, proximal gradients for dense ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from assay.engines import Block
from assay.engines.csr import SparseMatrix
from assay.numerics import Array, Floats
from assay.risk.penalties import Penalty
from assay.solvers.newton import advance
from assay.solvers.problem import (
    NONE,
    Evaluation,
    Iterate,
    Problem,
    evaluate_block,
    last,
    merge_evaluations,
    without_intercept,
)
from assay.solvers.proximal_gradient import proximal_gradient
from assay.solvers.proximal_newton import proximal_newton_on_all, proximal_step

MOST_CHOSEN = 2000
FIRST_CHOSEN = 64
SHARE = 0.1  # of the gap over all columns: how well a set is solved before the next evaluation of all


def by_column_sets(problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … one for each set, until the gap is at most `tol`; `number` counts the Newton steps."""
    w, evaluation, number, before = start, problem.evaluate(start), 0, np.inf
    while True:
        gap = problem.gap(evaluation, w)
        chosen = column_set(problem, evaluation, w)
        nothing_left = gap >= before and bool(np.all(w[chosen] != 0))
        done = bool(gap <= tol or nothing_left)
        yield Iterate(number, w, problem.objective(evaluation, w), gap, least=evaluation.least, done=done)
        if done or number >= max_iter:
            return
        if len(chosen) > MOST_CHOSEN:
            solve = by_column_blocks if problem.rows.sparse else proximal_gradient
            for at in solve(problem, w, tol, max_iter - number):
                yield at._replace(number=number + at.number)
            return
        w, steps = _solve_on(problem, w, chosen, max(0.3 * tol, SHARE * min(gap, 1.0)), max_iter - number)
        evaluation, number, before = problem.evaluate(w), number + max(1, steps), min(gap, before)


def column_set(problem: Problem, evaluation: Evaluation, w: Floats) -> Array:
    """The numbers, rising, of the columns whose weight is not zero, is free, or should leave zero; of these the foremost."""
    d = len(problem.centre)
    l1, g, scale = problem.penalty.l1[:d], np.abs(evaluation.gradient[:d]), problem.scale[:d]
    live = (w[:d] != 0) | ((l1 == 0) & (scale > 0))
    fall = np.divide(np.maximum(g - l1, 0.0), scale, out=np.zeros(d), where=scale > 0)
    fall[live] = 0.0
    newcomers = np.argsort(-fall, kind="stable")[: max(FIRST_CHOSEN, int(live.sum()))]
    live[newcomers[fall[newcomers] > 0]] = True
    return np.flatnonzero(live)


def _solve_on(problem: Problem, w: Floats, chosen: Array, tol: float, max_iter: int) -> tuple[Floats, int]:
    """The weights after Newton steps on the chosen columns alone, and how many steps these were."""
    few = choose_columns(problem, chosen, np.zeros_like(w))
    found = last(proximal_newton_on_all(few, np.append(w[chosen], w[-1]), tol, max_iter))
    return few.everywhere(found.w), found.number


# l1 problems of sparse rows with many weights other than zero: a Newton step on one block of columns after the other.
#
# The columns that are there most, which bear on all others, form the first block; rare columns seldom meet, so that the
# blocks hardly depend on each other and few rounds suffice. Shape: repeated fold, two a block and one a round.

BLOCK = 512
WELL = 1e-6  # how well the model of a block is solved


def by_column_blocks(problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … one for each round over the blocks, until the gap is at most `tol` or no block can gain anything."""
    w, evaluation = start, problem.evaluate(start)
    gained = True
    for number in range(max_iter + 1):
        gap = problem.gap(evaluation, w)
        done = bool(gap <= tol or not gained)
        yield Iterate(number, w, problem.objective(evaluation, w), gap, least=evaluation.least, done=done)
        if done or number == max_iter:
            return
        gained = False
        for block in blocks_of(problem, evaluation, w):
            after = _step_on(problem, w, block)
            gained |= not np.array_equal(after, w)
            w = after
        evaluation = problem.evaluate(w)


def blocks_of(problem: Problem, evaluation: Evaluation, w: Floats) -> list[Array]:
    """The columns whose weight is not zero, or should not be, in blocks by falling scale; in each their numbers rise."""
    d = len(problem.centre)
    l1, scale = problem.penalty.l1[:d], problem.scale[:d]
    live = np.flatnonzero((w[:d] != 0) | (np.abs(evaluation.gradient[:d]) > l1) | ((l1 == 0) & (scale > 0)))
    order = live[np.argsort(-scale[live], kind="stable")]
    return [np.sort(order[a : a + BLOCK]) for a in range(0, len(order), BLOCK)]


def _step_on(problem: Problem, w: Floats, block: Array) -> Floats:
    """The weights after one Newton step on the columns of the block."""
    few = choose_columns(problem, block, w)
    at = np.append(w[block], w[-1])
    evaluation = few.evaluate(at, hessian=True)
    step, promised = proximal_step(few, evaluation, at, WELL)
    if not promised > 1e-16 * evaluation.smooth:
        return w
    return few.everywhere(advance(few, evaluation, at, step, promised, hessian=False)[0])


# A problem in a few of its weights: all others stay as they are.
#
# Of dense rows the chosen columns are taken out block by block, and all other weights must be zero; of sparse rows a pass
# looks each entry's place up. Nothing of the rows is kept between folds, so streams and clusters run the same text.


@dataclass(frozen=True, kw_only=True)
class ChosenColumns(Problem):
    """A problem in the weights (k + 1,) of the columns `chosen` (k,), rising, and the intercept.

    `all_weights` and `all_centres` (d + 1,) and (d,) are those of every column; where weights that are not chosen are
    other than zero, gap and dual have no meaning.
    """

    chosen: Array
    all_weights: Floats
    all_centres: Floats

    def evaluate(self, w: Floats, *, hessian: int = 0) -> Evaluation:
        """As `Problem.evaluate`."""
        everything = self.everywhere(w)
        if not self.rows.sparse and np.any(np.delete(everything[:-1], self.chosen)):
            raise AssertionError("of dense rows only the chosen columns are read: all other weights must be zero")
        loss, at = self.loss, (everything, self.all_centres, self.chosen)
        found = self.fold(partial(absorb_chosen, loss.code, loss.width, *at, bool(hessian)), merge_evaluations)
        return found if self.intercept else without_intercept(found)

    def everywhere(self, w: Floats) -> Floats:
        """The weights (d + 1,) of all columns where those of the chosen are w."""
        out = self.all_weights.copy()
        out[self.chosen], out[-1] = w[:-1], w[-1]
        return out


def choose_columns(problem: Problem, chosen: Array, w: Floats) -> ChosenColumns:
    """The problem in the weights of `chosen` (k,), column numbers, rising; w (d + 1,) are those of all columns."""
    places = np.append(chosen, len(problem.centre))
    first, second = (mean[chosen] if len(mean) else mean for mean in problem.reach.means)
    return ChosenColumns(
        engine=problem.engine,
        rows=problem.rows,
        loss=problem.loss,
        penalty=Penalty(problem.penalty.l1[places], problem.penalty.l2[places]),
        centre=problem.centre[chosen],
        scale=problem.scale[places],
        reach=problem.reach._replace(means=(first, second)),
        prepare=problem.prepare,
        intercept=problem.intercept,
        chosen=chosen,
        all_weights=w,
        all_centres=problem.centre,
    )


def absorb_chosen(
    code: int, width: float, w: Floats, centre: Floats, chosen: Array, hessian: bool, block: Block
) -> Evaluation:
    """The sums of one block at w (d + 1,), gradient and Hessian in the chosen columns and the intercept."""
    if not isinstance(block.X, SparseMatrix):
        picked = block._replace(X=np.ascontiguousarray(block.X[:, chosen]))
        return evaluate_block(code, width, np.append(w[chosen], w[-1]), centre[chosen], hessian, picked)
    from assay.solvers.loops.sparse import sweep_columns

    assert block.y is not None
    k = len(chosen) + 1
    g, sums = np.zeros(k), np.array([0.0, 0.0, 0.0, np.inf])
    H = np.zeros((k, k) if hessian else (0, 0))
    X, c = block.X, NONE if block.w is None else block.w
    sweep_columns(code, width, X.data, X.indices, X.indptr, block.y, c, w, centre, chosen, g, H, sums)
    return Evaluation(float(sums[0]), float(sums[1]), float(sums[2]), float(sums[3]), g, H if hessian else None)
