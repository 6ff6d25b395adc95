"""Hinge losses by dual coordinate descent: α a row, changed one at a time. Shape: ordered stream.

    F(w) = Σ c max(0, 1 − tz)  ≥  Σα − ½ Σ l2_j w_j²                 w_j = Σ α t x_j / l2_j,   0 ≤ α ≤ c
    F(w) = Σ c max(0, 1 − tz)² ≥  Σα − ½ Σ l2_j w_j² − ¼ Σ α²/c      0 ≤ α

The rows are brought into memory and visited one after the other, in an order drawn from a fixed seed: block by block instead,
even at random within a block, it stagnates. Rows rest as in the loop until those that work agree, then all are asked
again. A free intercept demands Σαt = 0, which is met by multipliers: b is penalised by its distance from where it was,
and that place follows it (Hestenes 1969). Every α is a dual point, so the gap needs only F(w): one fold. For rows with many columns, where Newton's method
is out of reach, this is the fastest way to the hinge's minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block
from assay.engines.csr import SparseMatrix, stack
from assay.engines.rows import Part
from assay.errors import ParameterError
from assay.numerics import Array, Floats
from assay.risk.terms import slack
from assay.solvers.problem import Iterate, MarginRows, Problem, relative_gap, rows_back, rows_times

CLOSER = 0.03  # how much less the pushes must differ before the gap is looked at again
NO_LIMITS = np.inf, -np.inf
SEED = 20080705
LEAN = 1e-13  # of Σα: what rounding leaves of Σαt
STALL = 1e-14  # a pass that pushes no α harder than this has nothing more to gain


class _Dual(NamedTuple):
    """All rows, their u, s and curvatures (n,), as the loop takes them; what changes: α (n,), who rests (n,), w (d + 1,)."""

    entries: tuple[Array, Array, Array]
    t: Floats
    upper: Floats
    soft: Floats
    square: Floats
    alpha: Floats
    resting: Array
    w: Floats
    steps: tuple[float, float]  # 1/l2 of the weights and of the intercept, 0 where there is none


def dual_coordinate(problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """α = 0 and w = 0 at first (`start` gives the shape), then after each evaluation; `max_iter` counts passes over the rows."""
    _check(problem)
    dual = _pose(problem, len(start))
    rng = np.random.Generator(np.random.PCG64(SEED))
    limits, spread, target = NO_LIMITS, np.inf, np.inf
    yield _iterate(problem, dual, 0, tol, False)
    for number in range(1, max_iter + 1):
        pushes = _pass(dual, rng, limits)
        limits = (pushes[0] if pushes[0] > 0 else np.inf, pushes[1] if pushes[1] < 0 else -np.inf)
        whole, spread = not dual.resting.any(), pushes[0] - pushes[1]
        if spread > target and number < max_iter:
            continue
        if whole or number == max_iter:
            at = _iterate(problem, dual, number, tol, spread < STALL and not _leans(problem, dual))
            yield at
            if at.done:
                return
            target = max(min(target, spread) * CLOSER, STALL)
            if problem.intercept and problem.penalty.free[-1]:
                dual.w[-1] += dual.steps[1] * float((dual.alpha * dual.t).sum())
        dual.resting[:] = False
        limits = NO_LIMITS


def _leans(problem: Problem, dual: _Dual) -> bool:
    """Whether a free intercept still has somewhere to go: Σαt should be zero."""
    left = abs(float((dual.alpha * dual.t).sum()))
    return bool(problem.intercept and problem.penalty.free[-1] and left > LEAN * float(dual.alpha.sum()))


def _check(problem: Problem) -> None:
    if problem.loss.name not in ("hinge", "squared hinge"):
        raise ParameterError(
            f"Dual coordinate descent takes hinge losses, not {problem.loss.name}: choose another solver."
        )
    l1, l2 = problem.penalty.l1, problem.penalty.l2
    if l1.any() or not np.all(l2[:-1] == l2[0]) or l2[0] <= 0 or np.any(problem.centre):
        raise ParameterError(
            "Dual coordinate descent needs penalty='l2', the same for all weights: choose another solver."
        )


def _load(prepare: Callable[[Block], Block] | None, part: Part) -> Block:
    block = part.load()
    return block if prepare is None else prepare(block)


def _pose(problem: Problem, size: int) -> _Dual:
    """Bring the rows into memory, in their order."""
    from assay.solvers.loops.sparse import row_squares

    blocks = list(problem.engine.map(partial(_load, problem.prepare), problem.rows.blocks()))
    rows = problem.rows
    X = rows.X if rows.sparse and rows.resident else stack([as_sparse(block.X) for block in blocks])
    t = np.concatenate([block.y for block in blocks if block.y is not None])
    c = np.concatenate([np.ones(len(block.X)) if block.w is None else block.w for block in blocks])
    hinge, l2 = problem.loss.name == "hinge", problem.penalty.l2
    steps = 1.0 / float(l2[0]), 1.0 / float(l2[-1] or l2[0]) if problem.intercept else 0.0
    upper = c if hinge else np.where(c > 0, np.inf, 0.0)
    soft = np.zeros(len(c)) if hinge else np.divide(0.5, c, out=np.zeros(len(c)), where=c > 0)
    square = steps[0] * row_squares(X.data, X.indptr) + steps[1] + soft
    entries = X.data, X.indices, X.indptr
    return _Dual(entries, t, upper, soft, square, np.zeros(len(c)), np.zeros(len(c), dtype=bool), np.zeros(size), steps)


def as_sparse(X: Array | SparseMatrix) -> SparseMatrix:
    """The rows of a block by their entries; all of them are kept where it is dense."""
    if isinstance(X, SparseMatrix):
        return X
    m, d = X.shape
    return SparseMatrix(
        X.reshape(-1), np.tile(np.arange(d, dtype=np.int32), m), np.arange(m + 1, dtype=np.int64) * d, d
    )


def _pass(dual: _Dual, rng: np.random.Generator, limits: tuple[float, float]) -> Floats:
    from assay.solvers.loops.sparse import dual_pass

    order = rng.permutation(np.flatnonzero(~dual.resting))
    pushes = np.array([-np.inf, np.inf])
    constants = *dual.entries, dual.t, dual.upper, dual.soft, dual.square
    dual_pass(*constants, order, dual.alpha, dual.resting, dual.w, *dual.steps, np.array(limits), pushes)
    return pushes


def _iterate(problem: Problem, state: _Dual, passes: int, tol: float, stalled: bool) -> Iterate:
    """The gap between F at w and the dual at α."""
    sharp = replace(problem, loss=replace(problem.loss, width=1e-12)) if problem.loss.name == "hinge" else problem
    evaluation = sharp.evaluate(state.w)
    value = evaluation.loss + problem.penalty.value(state.w)
    dual = float(state.alpha.sum()) - problem.penalty.value(state.w) - 0.5 * float((state.soft * state.alpha**2).sum())
    if problem.intercept and problem.penalty.free[-1]:
        far = problem.intercept_bound(state.w, value)
        dual -= slack(abs(float((state.alpha * state.t).sum())), value - dual, value, far)
    gap = relative_gap(value, dual)
    return Iterate(passes, state.w.copy(), value, gap, 0.0, evaluation.least, gap <= tol or stalled, state.alpha.copy())


# Dual coordinate descent on a centred problem: it runs on the raw columns, and its last α is turned into what proves the gap.
#
# Of a hinge that is the multiplier of every row which does not have its whole weight or none by its side of the margin; of a
# squared hinge the slopes at w, as for every smooth loss. One fold.

CAREFUL = 0.1  # of tol: the gap is measured about another centre afterwards
NEAR = 1e-9  # of the margin: which side such a row is on may be rounding


class DualWitness(NamedTuple):
    """Rows with multipliers of their own, and Σcℓ, Σα, Σ α t (x − p, 1) of all."""

    rows: Array
    values: Floats
    loss: float
    alpha: float
    pull: Floats


def dual_coordinate_answer(problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """As `dual_coordinate`, for a problem with any centre; weights are about that centre."""
    p = problem.centre
    means = (problem.reach.means[0] + p, problem.reach.means[1] + p)
    raw = replace(problem, centre=np.zeros_like(p), reach=problem.reach._replace(means=means))
    at = None
    for found in dual_coordinate(raw, start, CAREFUL * tol, max_iter):
        if at is not None:
            yield at
        w = found.w.copy()
        w[-1] += p @ w[:-1]
        at = found._replace(w=w)
    assert at is not None
    yield _proved(problem, at, tol)


def _proved(problem: Problem, at: Iterate, tol: float) -> Iterate:
    """The last iterate with its gap as a checker finds it."""
    if problem.loss.name != "hinge":
        gap = problem.gap(problem.evaluate(at.w), at.w)
        return at._replace(gap=gap, done=gap <= tol)
    assert at.alpha is not None
    sums = problem.fold(partial(absorb_proof, at.alpha, at.w, problem.centre), merge_proofs)
    pull = sums.pull if problem.intercept else np.append(sums.pull[:-1], 0.0)
    value = sums.loss + problem.penalty.value(at.w)
    gap = relative_gap(value, problem.bound(at.w, value, sums.alpha, -pull))
    return at._replace(objective=value, gap=gap, done=gap <= tol, support=MarginRows(sums.rows, sums.values))


def absorb_proof(alpha: Floats, w: Floats, centre: Floats, block: Block) -> DualWitness:
    """The part of one block."""
    assert block.y is not None
    t = block.y
    c = np.ones(len(t)) if block.w is None else block.w
    a = np.clip(alpha[block.start : block.start + len(t)], 0.0, c)
    short = 1.0 - t * rows_times(block.X, w, centre)
    own = np.flatnonzero((a != np.where(short > 0, c, 0.0)) | (np.abs(short) < NEAR))
    loss = float(c @ np.maximum(short, 0.0))
    return DualWitness(own + block.start, a[own], loss, float(a.sum()), rows_back(block.X, a * t, centre))


def merge_proofs(a: DualWitness, b: DualWitness) -> DualWitness:
    """Both stretches of rows together."""
    rows, values = np.concatenate([a.rows, b.rows]), np.concatenate([a.values, b.values])
    return DualWitness(rows, values, a.loss + b.loss, a.alpha + b.alpha, a.pull + b.pull)
