"""Proximal Newton for softmax regression with an l1 part: all K·(d + 1) weights in one vector. Shape: repeated fold.

    H = Σ_i c_i (diag p_i − p_i p_iᵀ) ⊗ a_i a_iᵀ,        a = (x − p, 1),  p_i = softmax(z_i)

The loss is blind to a vector added to all classes. There the model is given a little curvature, ε·(11ᵀ/K) ⊗ Σ_k H_kk: the gradient,
and so the minimum, stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from assay.engines import Block
from assay.engines.sparse import SparseMatrix
from assay.numerics import Floats, log_softmax
from assay.risk.penalties import Penalty
from assay.risk.surrogates import LOG, Surrogate
from assay.solvers.iterate import Iterate
from assay.solvers.problem import WIDE_SPARSE, Look, Problem, merge_looks
from assay.solvers.proximal_gradient import proximal_gradient
from assay.solvers.proximal_newton import proximal_newton_on_all
from assay.solvers.softmax_problem import SoftmaxProblem, absorb_softmax

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

    def look(self, w: Floats, *, hessian: int = 0) -> Look:
        """The loss at w with its gradient and, where wanted, its Hessian: one fold."""
        W = w.reshape(self.problem.shape)
        if not hessian:
            look = self.problem.look(W)
            return look._replace(gradient=look.gradient.reshape(-1))
        seen = self.problem.fold(partial(absorb_softmax_hessian, W, self.problem.centre), merge_looks)
        return seen if self.problem.intercept else _without_intercepts(seen, len(self.problem.scale))

    def objective(self, look: Look, w: Floats) -> float:
        """F at w."""
        return look.loss + self.penalty.value(w)

    def gap(self, look: Look, w: Floats) -> float:
        """The relative duality gap."""
        shape = self.problem.shape
        return self.problem.gap(look._replace(gradient=look.gradient.reshape(shape)), w.reshape(shape))


def _without_intercepts(look: Look, D: int) -> Look:
    """The same look where no intercept is to move: every D-th weight."""
    assert look.hessian is not None
    look.gradient[D - 1 :: D] = 0.0
    look.hessian[D - 1 :: D] = 0.0
    look.hessian[:, D - 1 :: D] = 0.0
    return look


def absorb_softmax_hessian(W: Floats, centre: Floats, block: Block) -> Look:
    """The sums of one block at W (K, d + 1); gradient and Hessian of the weights in one vector."""
    look = absorb_softmax(np.ascontiguousarray(W.T), centre, block)
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
    return look._replace(gradient=np.ascontiguousarray(look.gradient.T).reshape(-1), hessian=H)
