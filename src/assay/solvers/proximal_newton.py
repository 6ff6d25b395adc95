"""Newton's method for a smooth loss and any penalty, l1 included. Shape: repeated fold.

    v = argmin  g·(v − w) + ½(v − w)ᵀH(v − w) + Σ_j l1_j|v_j| + ½ l2_j v_j²,        w ← w + s·(v − w)

One fold brings g and H; the model's least point costs no fold, so there are about as many folds as without l1. Close to
the end the Hessian hardly changes and the last one is kept. Of many columns only a set of them has a Hessian.
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
from assay.numerics import Floats, log_softmax
from assay.risk.penalties import Penalty
from assay.risk.surrogates import LOG, Surrogate
from assay.solvers.newton import advance, smooth_objective
from assay.solvers.problem import WIDE_SPARSE, Evaluation, Iterate, Problem, merge_evaluations
from assay.solvers.proximal_gradient import proximal_gradient
from assay.solvers.softmax_problem import SoftmaxProblem, absorb_softmax

SETTLED = 1e-6  # a fall promised below this share of F leaves the Hessian as it is
SLOW = 0.01  # a gap that stays above this share of the one before asks for a new Hessian after all
UNSEEN = 1e-12  # a fall below this share of F is lost among the rounding of F: steps are judged by the gap alone
CARE = 1e-4  # how well the model is solved where the gap is 1 or more
MOST_COLUMNS = 500  # of a Hessian over all columns


def proximal_newton(
    problem: Problem | SoftmaxProblem, start: Floats, tol: float, max_iter: int, first: Evaluation | None = None
) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … until the gap is at most `tol`; `first` is the evaluation at the start where it is known already."""
    if isinstance(problem, SoftmaxProblem):
        return softmax_newton(problem, start, tol, max_iter)
    if len(problem.centre) > (WIDE_SPARSE if problem.rows.sparse else MOST_COLUMNS):
        from assay.solvers.column_set import by_column_sets

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
