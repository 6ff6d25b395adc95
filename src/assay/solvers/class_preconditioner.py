"""The preconditioner of softmax regression: for each class the Hessian of F in its own weights, from some of the rows.

    M_k = Σ c p_k(1 − p_k) (x − p, 1)(x − p, 1)ᵀ + diag l2        on weights that add up to zero over the classes

What couples two classes is left out: that costs K² products of columns instead of K and gains little (eigenvalues of M⁻¹H
lie in 0.7 … 1.5 for 100 000×100, K = 10, against 0.04 … 1.1 for the common bound XᵀX/K). At weights of zero all M_k are alike. They
are made anew after a few steps, where the shares p_k have taken shape. In the direction that adds the same to all
classes, the loss is constant and the Hessian is diag l2.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block
from assay.engines.blas import one_thread_blas
from assay.numerics import Floats
from assay.risk.surrogates import SQUARED
from assay.solvers.gram_rows import every, row_stride
from assay.solvers.inverse_root import EPS, root_of_inverse
from assay.solvers.problem import NONE, Problem, absorb_look, accessor
from assay.solvers.softmax_problem import SoftmaxProblem, rooms

FIRST, EVERY = 3, 12  # M is made anew before this step, and then before every so many
DAMPING = (
    1e-3  # of M at zero: rows that are sure now, and bend nothing, may not be so after a step; it fades with each M
)
MOST_NUMBERS = 2e7  # of all M_k together
MOST_SWEEPS, LITTLE_WORK = 8, 2e9  # what making M may cost: so many sweeps, or so many products whatever a sweep costs


class ClassPreconditioner(NamedTuple):
    """M_k⁻¹ = root_k·root_kᵀ, roots (K or 1, d + 1, d + 1); `common` (d + 1,) is 1/l2, or 0 where that is 0.

    `at_zero` (d + 1, d + 1) is the part of M_k from the loss at weights of zero.
    """

    problem: SoftmaxProblem
    at_zero: Floats
    roots: Floats
    common: Floats

    def solve(self, g: Floats) -> Floats:
        """M⁻¹g for g (K, d + 1)."""
        mean = g.mean(axis=0)
        with one_thread_blas():
            v: Floats = ((g - mean)[:, None, :] @ self.roots @ self.roots.transpose(0, 2, 1))[:, 0]
        out: Floats = v - v.mean(axis=0) + mean * self.common
        return out

    def renewed(self, number: int, w: Floats) -> ClassPreconditioner:
        """M at w, where it is time for that."""
        if (number != FIRST and (number == 0 or number % EVERY)) or not _worth(self.problem):
            return self
        products = class_scatter(self.problem, w) + DAMPING * 0.1 ** (number // EVERY) * self.at_zero
        return self._replace(roots=_roots(self.problem, products))


def class_preconditioner(problem: SoftmaxProblem, gram: Floats | None = None) -> ClassPreconditioner:
    """M at weights of zero: one pass over some of the rows, unless `gram` = Σ c x̃x̃ᵀ (d + 1, d + 1) is known."""
    K, l2 = problem.n_classes, problem.penalty.l2
    at_zero = (1 / K - 1 / K**2) * (class_scatter(problem)[0] if gram is None else gram)
    common = np.divide(1.0, l2, out=np.zeros_like(l2), where=l2 > 0)
    return ClassPreconditioner(problem, at_zero, _roots(problem, at_zero[None]), common)


def _roots(problem: SoftmaxProblem, products: Floats) -> Floats:
    rounding = rounding_of(problem, float(problem.reach.weights.sum()) / problem.n_classes)
    l2 = np.diag(problem.penalty.l2)
    return np.stack([root_of_inverse(G + l2, rounding, problem.intercept) for G in products])


def class_scatter(problem: Problem | SoftmaxProblem, W: Floats | None = None) -> Floats:
    """Σ c p_k(1 − p_k) x̃x̃ᵀ (K, d + 1, d + 1) at W, or Σ c x̃x̃ᵀ (1, d + 1, d + 1): of some rows, for all."""
    absorb = partial(absorb_scatter, W, problem.centre, row_stride(problem.rows.n_rows, len(problem.centre)))
    seen, products = problem.fold(absorb, merge_scatter)
    total = float(np.sum(problem.reach.weights))
    return products * (total / seen) if seen > 0 else products


def rounding_of(problem: Problem | SoftmaxProblem, weight: float) -> Floats:
    """The squares (d + 1,) that rounding alone would give a constant column."""
    return np.append(64 * EPS * problem.centre, 0.0) ** 2 * weight


def _worth(problem: SoftmaxProblem) -> bool:
    """Whether K products of all columns cost less than the sweeps that they save."""
    d, n, K = len(problem.centre), problem.rows.n_rows, problem.n_classes
    stride = row_stride(n, d)
    sweeps = (d + 1) / (4.0 * stride)
    work = np.inf if n is None else 0.5 * K * (n / stride) * (d + 1) ** 2
    return (sweeps <= MOST_SWEEPS or work <= LITTLE_WORK) and K * (d + 1) ** 2 <= MOST_NUMBERS


def absorb_scatter(W: Floats | None, centre: Floats, stride: int, block: Block) -> tuple[float, Floats]:
    """Σc and Σ c p_k(1 − p_k) x̃x̃ᵀ (K, d + 1, d + 1) over some of the rows; W None: Σ c x̃x̃ᵀ (1, d + 1, d + 1)."""
    from assay.loops.softmax import class_products

    some = every(block, stride)
    if W is None:
        look = absorb_look(SQUARED.code, 1.0, np.zeros(len(centre) + 1), centre, True, some)
        assert look.hessian is not None
        return float(look.hessian[-1, -1]), look.hessian[None]
    d, K = len(centre), len(W)
    weights, T, Z, _ = rooms(W.T, d)
    H = np.zeros((K, *weights.shape[:1], *weights.shape[:1]))
    c = NONE if some.w is None else some.w
    class_products(*accessor(some.X), c, K, weights, centre, T, Z, np.zeros_like(T), H)
    upper = np.triu(H[:, : d + 1, : d + 1])
    return float(len(some.X) if some.w is None else some.w.sum()), upper + np.triu(upper, 1).transpose(0, 2, 1)


def merge_scatter(a: tuple[float, Floats], b: tuple[float, Floats]) -> tuple[float, Floats]:
    """The sums of both stretches of rows together."""
    return a[0] + b[0], a[1] + b[1]
