"""Softmax regression as solvers see it.

    F(W) = Σ_i c_i [log Σ_k e^{z_ik} − z_{i,y_i}] + Σ_k penalty(w_k),        z_ik = (x_i − p)·w_k + b_k

W (K, d + 1) holds the intercepts last. Adding the same vector to all w_k changes no loss; the penalty, where there is
one, settles which is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.engines.csr import SparseMatrix
from assay.numerics import Floats
from assay.risk.terms import Penalty, class_leans, farthest_apart, slack
from assay.solvers.problem import (
    NONE,
    WIDE_SPARSE,
    Evaluation,
    State,
    accessor,
    fold_prepared,
    merge_evaluations,
    relative_gap,
    without_intercept,
)


class ClassReach(NamedTuple):
    """What bounds the intercepts: the weight of the rows of each class (K,) and the mean of their x − p (K, d)."""

    weights: Floats
    means: Floats


@dataclass(frozen=True)
class SoftmaxProblem:
    """Rows whose y are the codes 0 … K − 1 of their classes and whose w are the weights c; every class occurs."""

    engine: Engine
    rows: Rows
    penalty: Penalty
    centre: Floats
    scale: Floats  # (d + 1,): root mean square of x − p, and 1
    reach: ClassReach
    prepare: Callable[[Block], Block] | None = None  # makes codes and weights of a block whose y are still labels
    intercept: bool = True  # otherwise the intercepts stay where they are: their slopes are taken for zero
    counted: int | None = None  # how many rows there are, by who has counted them: a stream does not know

    @property
    def n_rows(self) -> int | None:
        """How many rows there are, the same however they are read; None: nobody has counted them."""
        return self.rows.n_rows if self.counted is None else self.counted

    @property
    def n_classes(self) -> int:
        return len(self.reach.weights)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of W."""
        return self.n_classes, len(self.scale)

    def fold(self, absorb: Callable[[Block], State], merge: Callable[[State, State], State]) -> State:
        """One pass over all rows, whose y are then codes and whose w the weights."""
        return fold_prepared(self.engine, self.rows, self.prepare, absorb, merge)

    def evaluate(self, w: Floats) -> Evaluation:
        """The loss at w (K, d + 1) with its gradient: one fold."""
        sums = self.fold(partial(absorb_softmax, np.ascontiguousarray(w.T), self.centre), merge_evaluations)
        evaluation = sums._replace(gradient=np.ascontiguousarray(sums.gradient.T))
        return evaluation if self.intercept else without_intercept(evaluation)

    def objective(self, evaluation: Evaluation, w: Floats) -> float:
        """F at w."""
        return evaluation.loss + self.penalty.value(w)

    def dual(self, evaluation: Evaluation, w: Floats) -> float:
        """A lower bound of F everywhere, from the residuals u_i = softmax(z_i) − e_{y_i} as a dual point.

        Σcℓ*(u) = Σ c u·z − Σcℓ (Fenchel–Young). The gradient in free intercepts should be zero; what is left of it can
        lower F by at most ½ Σ_k |g_k| times the greatest difference of two intercepts, as the g_k add up to zero.
        """
        g = evaluation.gradient
        free = self.penalty.free
        if free[:-1].any():
            return -np.inf
        rho, value = self.penalty.shrink(g), self.objective(evaluation, w)
        bound = rho * (evaluation.loss - float((w * g).sum())) - self.penalty.conjugate(rho * g)
        if not free[-1]:
            return bound
        left = 0.5 * rho * float(np.abs(g[:, -1] - g[:, -1].mean()).sum())
        return bound - slack(left, value - bound, value, self.intercept_spread(w, value))

    def intercept_spread(self, w: Floats, value: float) -> Callable[[float], float]:
        """far(fall): no minimum has b_k − b_y above this, where F(w) = `value` and F can fall by `fall` at most."""
        leans, weights = class_leans(self.penalty, value, self.reach.means, w), self.reach.weights.tolist()
        return lambda fall: farthest_apart(value, weights, [each.within(fall) for each in leans])

    def gap(self, evaluation: Evaluation, w: Floats) -> float:
        """(F(w) − lower bound) / F(w): by how much of itself F can still fall."""
        return relative_gap(self.objective(evaluation, w), self.dual(evaluation, w))


def absorb_softmax(W: Floats, centre: Floats, block: Block) -> Evaluation:
    """The sums of one block at W (d + 1, K); so is the gradient. Its y are codes, its w weights."""
    assert block.y is not None
    y, c = np.asarray(block.y, dtype=np.int64), NONE if block.w is None else block.w
    if isinstance(block.X, SparseMatrix) and block.X.shape[1] > WIDE_SPARSE:
        from assay.solvers.loops.sparse import sparse_softmax_sweep

        G = np.zeros(W.shape)
        loss = sparse_softmax_sweep(block.X.data, block.X.indices, block.X.indptr, y, c, W, G)
        return Evaluation(loss, loss, 0.0, -np.inf, G, None)
    from assay.solvers.loops.softmax import softmax_sweep

    d, K = len(centre), W.shape[1]
    weights, T, Z, G = rooms(W, d)
    loss = softmax_sweep(*accessor(block.X), y, c, K, weights, centre, T, Z, G)
    return Evaluation(loss, loss, 0.0, -np.inf, np.ascontiguousarray(G[: d + 1, :K]), None)


def rooms(W: Floats, d: int) -> tuple[Floats, Floats, Floats, Floats]:
    """W (d + 1, K) padded to (P, Q) as the loops take it, and room for a tile, its scores and a gradient."""
    from assay.compiled.simd.vectors import LANE
    from assay.solvers.loops.softmax import ABSENT, softmax_tile
    from assay.solvers.loops.sweep import padded

    K = W.shape[1]
    P, Q = padded(d), -(-K // LANE) * LANE
    weights, G = np.zeros((P, Q)), np.zeros((P, Q))
    weights[: d + 1, :K], weights[d, K:] = W, ABSENT
    return weights, np.zeros((softmax_tile(P), P)), np.zeros((softmax_tile(P), Q)), G
