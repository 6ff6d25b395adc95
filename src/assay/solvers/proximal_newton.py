"""Newton's method for a smooth loss and any penalty, l1 included. Shape: repeated fold.

    v = argmin  g·(v − w) + ½(v − w)ᵀH(v − w) + Σ_j l1_j|v_j| + ½ l2_j v_j²,        w ← w + s·(v − w)

One fold brings g and H; the model's least point costs no fold, so there are about as many folds as without l1. Close to
the end the Hessian hardly changes and the last one is kept.

Of many columns only a set of them has a Hessian, and an evaluation of all finds which are missing. A weight that is zero stays zero at the minimum
as long as |g_j| ≤ l1_j. The set holds the weights that are not zero and the columns that break this most, counted by the fall they promise in
their own scale, (|g_j| − l1_j) / scale_j. Where it outgrows what a Hessian is good for, other solvers take over from the weights found so far:
blocks of columns in turn for sparse rows, proximal gradients for dense ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from assay.engines import Block
from assay.engines.csr import SparseMatrix
from assay.engines.engine import one_thread_blas, scipy_linalg
from assay.numerics import Array, Floats, log_softmax
from assay.risk.terms import LOG, Penalty, Surrogate
from assay.solvers.gradient_descent import proximal_gradient
from assay.solvers.newton import advance, smooth_objective
from assay.solvers.problem import (
    NONE,
    WIDE_SPARSE,
    Evaluation,
    Iterate,
    Problem,
    evaluate_block,
    last,
    merge_evaluations,
    without_intercept,
)
from assay.solvers.softmax_problem import SoftmaxProblem, absorb_softmax

SETTLED = 1e-6  # a fall promised below this share of F leaves the Hessian as it is
SLOW = 0.01  # a gap that stays above this share of the one before asks for a new Hessian after all
UNSEEN = 1e-12  # a fall below this share of F is lost among the rounding of F: steps are judged by the gap alone
CARE = 1e-4  # how well the model is solved where the gap is 1 or more
MOST_COLUMNS = 500  # of a Hessian over all columns
MOST_CHOSEN = 2000
FIRST_CHOSEN = 64
SHARE = 0.1  # of the gap over all columns: how well a set is solved before the next evaluation of all


def proximal_newton(
    problem: Problem | SoftmaxProblem, start: Floats, tol: float, max_iter: int, first: Evaluation | None = None
) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … until the gap is at most `tol`; `first` is the evaluation at the start where it is known already."""
    if isinstance(problem, SoftmaxProblem):
        return softmax_newton(problem, start, tol, max_iter)
    if len(problem.centre) > (WIDE_SPARSE if problem.rows.sparse else MOST_COLUMNS):
        return by_column_sets(problem, start, tol, max_iter)
    return proximal_newton_on_all(problem, start, tol, max_iter, first)


def proximal_newton_on_all(
    problem: Problem, start: Floats, tol: float, max_iter: int, first: Evaluation | None = None
) -> Iterator[Iterate]:
    """As `proximal_newton`, with a Hessian over all columns whatever their number."""
    w, before = start, np.inf
    evaluation = problem.evaluate(w, hessian=True) if first is None else first
    for number in range(max_iter + 1):
        gap = problem.gap(evaluation, w)
        v, promised = proximal_step(problem, evaluation, w, share_for(problem, gap)) if gap > tol else (w, 0.0)
        value = smooth_objective(problem, evaluation, w)
        stuck = promised <= 1e-15 * value and not gap < 0.5 * before
        done = bool(gap <= tol or stuck or not promised > 0)
        kept = evaluation if done else None
        yield Iterate(
            number, w, problem.objective(evaluation, w), gap, _width(problem), evaluation.least, done, evaluation=kept
        )
        if done or number == max_iter:
            return
        anew = promised > SETTLED * value or gap > SLOW * before
        w, evaluation = _advance(problem, evaluation, w, v, promised, anew)
        before = min(gap, before)


def proximal_step(
    problem: Problem, evaluation: Evaluation, w: Floats, share: float | None = None
) -> tuple[Floats, float]:
    """v − w for the least point v of the model at w, and the fall it promises: −(g·(v − w) + penalty(v) − penalty(w)).

    It takes the place of `newton_step` where a penalty has an l1 part; `evaluation` holds the Hessian. `share` says how well the
    model is solved (l1_model.py); unless given, as well as the gap asks for.
    """
    assert evaluation.hessian is not None
    l1, l2 = problem.penalty
    if share is None:
        share = share_for(problem, problem.gap(evaluation, w))
    v = minimise_model(evaluation.hessian, evaluation.gradient, w, problem.penalty, share)
    step = v - w
    rise = step * (evaluation.gradient + 0.5 * l2 * (v + w)) + l1 * (np.abs(v) - np.abs(w))
    return step, -float(rise.sum())


def share_for(problem: Problem, gap: float) -> float:
    """How well the model is to be solved where the gap is this: a step leaves about the gap squared."""
    exact = problem.loss.name == "squared"  # the model is the loss itself
    return 0.0 if exact else CARE * min(1.0, gap) ** 2


def _advance(
    problem: Problem, evaluation: Evaluation, w: Floats, step: Floats, promised: float, anew: bool
) -> tuple[Floats, Evaluation]:
    """w + s·step and the evaluation there, its Hessian made `anew` or the old one."""
    value = smooth_objective(problem, evaluation, w)
    if promised > UNSEEN * value:
        there, found = advance(problem, evaluation, w, step, promised, hessian=anew)
    else:
        there = w + step
        found = problem.evaluate(there, hessian=anew)
        if problem.gap(found, there) > problem.gap(evaluation, w):
            return w, evaluation
    return there, found if found.hessian is not None else found._replace(hessian=evaluation.hessian)


def _width(problem: Problem) -> float:
    return problem.loss.width if problem.loss.name == "hinge" else 0.0


# The least point of a quadratic with l1 and l2 penalties: coordinate descent, then Newton on the weights that are not zero.
#
#     m(v) = g·(v − w) + ½(v − w)ᵀH(v − w) + Σ_j l1_j|v_j| + ½ l2_j v_j²
#
# Coordinate descent finds quickly which weights are zero, but crawls where columns are alike; with the signs known, what is
# left is a linear system. The two take turns until a pass over all weights gains nothing more.

ROUNDS = 40
TURNS = 8  # times that weights may become zero before coordinate descent is asked again
PASSES = 4  # over all weights, before the linear system is tried
LEAST_SHARE = 1e-13
ROUGH = 1e-7  # a share that coordinate descent alone is good for


def minimise_model(H: Floats, g: Floats, w: Floats, penalty: Penalty, share: float = LEAST_SHARE) -> Floats:
    """v (P,) from H (P, P), symmetric and positive semidefinite, g (P,) and w (P,).

    It is good enough when a pass over all weights gains no more than `share` of all that was gained.
    """
    from assay.solvers.loops.coordinate import descend

    share = max(share, LEAST_SHARE)
    H, v = np.ascontiguousarray(H), w.copy()
    bends = np.diag(H) + penalty.l2
    total = 0.0
    with one_thread_blas():
        for _ in range(ROUNDS):
            q = g + H @ (v - w)
            gained, last = descend(H, penalty.l1, penalty.l2, v, q, PASSES, share)
            total += gained
            enough = last <= max(share * total, 1e-31 * float(np.sum(bends * v * v)))  # the second: rounding of v
            if not enough or share < ROUGH:
                _solve_for_signs(H, q, v, penalty)
            if enough:
                break
    return v


def _solve_for_signs(H: Floats, q: Floats, v: Floats, penalty: Penalty) -> None:
    """Move v to the least point with the signs it has, or as far as these hold, a few times; q is kept at g + H(v − w)."""
    for _ in range(TURNS):
        live = np.flatnonzero((v != 0) | (penalty.l1 == 0))
        l1, l2, at = penalty.l1[live], penalty.l2[live], v[live]
        A = H[np.ix_(live, live)] + np.diag(l2)
        slope = q[live] + l2 * at + l1 * np.sign(at)
        step = -_solve_with_ridge(A, slope)
        turns = (l1 > 0) & (at * (at + step) < 0)
        move = np.where(turns, -at, step)
        if turns.any() and _rise(A, slope, move) > 0:  # then the first weight that would turn stops the whole step
            reach = -at[turns] / step[turns]
            move = float(reach.min()) * step
            first = np.flatnonzero(turns)[reach == reach.min()]
            move[first] = -at[first]
        if not _rise(A, slope, move) < 0:
            return
        v[live] = at + move
        q += H[:, live] @ move
        if not turns.any():
            return


def _solve_with_ridge(A: Floats, b: Floats) -> Floats:
    """A⁻¹b for a positive semidefinite A, with the least ridge, in its own scale, that lets it be factored.

    A direction without curvature that promises a fall is thus followed far, until a weight becomes zero.
    """
    linalg = scipy_linalg()
    root = np.sqrt(np.diag(A))
    unit = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    scaled = A * unit * unit[:, None]
    ridge = 1e-15 * len(A)
    while True:
        np.fill_diagonal(scaled, 1.0 + ridge)
        try:
            solved: Floats = unit * linalg.cho_solve(
                linalg.cho_factor(scaled, lower=True, check_finite=False), unit * b
            )
            return solved
        except np.linalg.LinAlgError:
            ridge *= 10


def _rise(A: Floats, slope: Floats, move: Floats) -> float:
    """How far m rises where no weight changes its sign; `slope` is that of m with the signs there are."""
    return float(slope @ move + 0.5 * move @ (A @ move))


# Proximal Newton for softmax regression with an l1 part: all K·(d + 1) weights in one vector. Shape: repeated fold.
#
#     H = Σ_i c_i (diag p_i − p_i p_iᵀ) ⊗ a_i a_iᵀ,        a = (x − p, 1),  p_i = softmax(z_i)
#
# The loss is blind to a vector added to all classes. There the model is given a little curvature, ε·(11ᵀ/K) ⊗ Σ_k H_kk: the gradient,
# and so the minimum, stay what they are.

MOST_WEIGHTS = 1500  # of a Hessian
TILE = 512
BLIND = 1e-5  # ε


def softmax_newton(problem: SoftmaxProblem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """As `proximal_newton`, for weights (K, d + 1); too many for a Hessian are left to proximal gradients."""
    wide = problem.rows.sparse and len(problem.centre) > WIDE_SPARSE
    if wide or start.size > MOST_WEIGHTS:
        yield from proximal_gradient(problem, start, tol, max_iter)
        return
    flat = cast(Problem, FlatSoftmax(problem))  # it has all that the solver asks of a problem
    for at in proximal_newton_on_all(flat, start.reshape(-1), tol, max_iter):
        yield at._replace(w=at.w.reshape(problem.shape))


@dataclass(frozen=True)
class FlatSoftmax:
    """A softmax problem whose weights (K·(d + 1),) lie one class after the other, with its Hessian."""

    problem: SoftmaxProblem
    loss: Surrogate = LOG

    @property
    def penalty(self) -> Penalty:
        K = self.problem.n_classes
        return Penalty(np.tile(self.problem.penalty.l1, K), np.tile(self.problem.penalty.l2, K))

    def evaluate(self, w: Floats, *, hessian: int = 0) -> Evaluation:
        """The loss at w with its gradient and, where wanted, its Hessian: one fold."""
        W = w.reshape(self.problem.shape)
        if not hessian:
            evaluation = self.problem.evaluate(W)
            return evaluation._replace(gradient=evaluation.gradient.reshape(-1))
        found = self.problem.fold(partial(absorb_softmax_hessian, W, self.problem.centre), merge_evaluations)
        return found if self.problem.intercept else _without_intercepts(found, len(self.problem.scale))

    def objective(self, evaluation: Evaluation, w: Floats) -> float:
        """F at w."""
        return evaluation.loss + self.penalty.value(w)

    def gap(self, evaluation: Evaluation, w: Floats) -> float:
        """The relative duality gap."""
        shape = self.problem.shape
        return self.problem.gap(evaluation._replace(gradient=evaluation.gradient.reshape(shape)), w.reshape(shape))


def _without_intercepts(evaluation: Evaluation, D: int) -> Evaluation:
    """The same evaluation where no intercept is to move: every D-th weight."""
    assert evaluation.hessian is not None
    evaluation.gradient[D - 1 :: D] = 0.0
    evaluation.hessian[D - 1 :: D] = 0.0
    evaluation.hessian[:, D - 1 :: D] = 0.0
    return evaluation


def absorb_softmax_hessian(W: Floats, centre: Floats, block: Block) -> Evaluation:
    """The sums of one block at W (K, d + 1); gradient and Hessian of the weights in one vector."""
    evaluation = absorb_softmax(np.ascontiguousarray(W.T), centre, block)
    K, D = W.shape
    H = np.zeros((K * D, K * D))
    for a in range(0, len(block.X), TILE):
        rows = block.X[a : a + TILE]
        A = np.ones((len(rows), D))
        np.subtract(rows.toarray() if isinstance(rows, SparseMatrix) else rows, centre, out=A[:, :-1])
        p = np.exp(log_softmax(A @ W.T))
        if block.w is not None:
            A *= np.sqrt(block.w[a : a + TILE])[:, None]
        B = (p[:, :, None] * A[:, None, :]).reshape(len(A), K * D)
        H -= B.T @ B
        for k in range(K):
            B = np.sqrt(p[:, k, None]) * A
            H[k * D : (k + 1) * D, k * D : (k + 1) * D] += B.T @ B
    blocks = H.reshape(K, D, K, D)
    blocks += BLIND / K * np.einsum("kikj->ij", blocks)[:, None, :]
    return evaluation._replace(gradient=np.ascontiguousarray(evaluation.gradient.T).reshape(-1), hessian=H)


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
