"""Preconditioners: a matrix M near the Hessian of Σcℓ + ½Σ l2_j w_j², whose inverse is cheap to apply.

    M = κ·Σ c (x − p, 1)(x − p, 1)ᵀ + diag l2

κ is the loss's curvature at score zero (log ¼) or the greatest it has. With M the scale of the columns and their correlations
no longer matter. It is made from every s-th row, so many that all products of their columns cost little; of rows with very many
columns only variances and means are taken.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from assay.engines import Block
from assay.engines.engine import one_thread_blas, scipy_linalg
from assay.numerics import Array, Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.terms import SQUARED, Surrogate
from assay.solvers.problem import NONE, WIDE_SPARSE, Problem, accessor, evaluate_block
from assay.solvers.softmax_problem import SoftmaxProblem, rooms

EPS = float(np.finfo(np.float64).eps)
SURE = 1e-5  # a Cholesky pivot below this: the eigenvectors are asked which directions are real
LEAST_SPREAD = 1e-3  # of a column's square: what is left of it once its mean is taken off
CURVATURE = {"log": 0.25, "squared hinge": 2.0, "squared": 1.0, "huber": 1.0, "squared epsilon insensitive": 2.0}
MOST_COLUMNS = 2000  # beyond, all products of columns cost more than the sweeps that they save
ENOUGH = 10_000  # rows that a preconditioner is made from, unless columns are so many or few that
LEAST, MOST = (
    10,
    100,
)  # rows a column are not reached or exceeded: these leave open a third and a tenth of the curvature
FIRST, EVERY = 3, 12  # of softmax: M is made anew before this step, and then before every so many
DAMPING = (
    1e-3  # of M at zero: rows that are sure now, and bend nothing, may not be so after a step; it fades with each M
)
MOST_NUMBERS = 2e7  # of all M_k together
MOST_SWEEPS, LITTLE_WORK = 8, 2e9  # what making M may cost: so many sweeps, or so many products whatever a sweep costs


class Preconditioner(Protocol):
    """Anything that applies M⁻¹, and may change as the solver goes on."""

    def solve(self, g: Floats) -> Floats:
        """M⁻¹g for g of the shape of the weights."""
        ...

    def renewed(self, number: int, w: Floats) -> Preconditioner:
        """What to use from step `number` on, which starts from w."""
        ...


class DiagonalPreconditioner(NamedTuple):
    """M = D + C·m mᵀ by its inverse: D⁻¹ = diag(inverse), m (d + 1,) the mean of (x − p, 1), C = κ·Σc (Sherman and Morrison)."""

    inverse: Floats
    mean: Floats
    weight: float

    def solve(self, g: Floats) -> Floats:
        v = g * self.inverse
        moved = self.inverse * self.mean
        share = (v * self.mean).sum(axis=-1, keepdims=True) / (1.0 / self.weight + float((moved * self.mean).sum()))
        out: Floats = v - share * moved
        return out

    def renewed(self, number: int, w: Floats) -> Preconditioner:
        return self


class GramPreconditioner(NamedTuple):
    """M⁻¹ = root·rootᵀ, root (d + 1, d + 1)."""

    root: Floats

    def solve(self, g: Floats) -> Floats:
        with one_thread_blas():
            out: Floats = (g @ self.root) @ self.root.T
        return out

    def renewed(self, number: int, w: Floats) -> Preconditioner:
        return self


def preconditioner(problem: Problem | SoftmaxProblem, gram: Floats | None = None) -> Preconditioner:
    """With products of columns where these are affordable, else by the columns' scale and mean.

    `gram` is Σ c (x − p, 1)(x − p, 1)ᵀ (d + 1, d + 1), where it is known already.
    """
    d = len(problem.centre)
    if d > MOST_COLUMNS or (problem.rows.sparse and d > WIDE_SPARSE):
        return diagonal_preconditioner(problem)
    if isinstance(problem, SoftmaxProblem):
        return class_preconditioner(problem, gram)
    return gram_preconditioner(problem, gram)


def loss_curvature(loss: Surrogate) -> float:
    """κ of a loss that is not smoothed."""
    return loss.steepest if isinstance(loss, CustomSurrogate) else CURVATURE.get(loss.name, 1.0)


def curvature(problem: Problem | SoftmaxProblem) -> float:
    """κ of the problem's loss."""
    if isinstance(problem, SoftmaxProblem):
        return 1.0 / problem.n_classes
    return 1.0 / problem.loss.width if problem.loss.name == "hinge" else loss_curvature(problem.loss)


def diagonal_preconditioner(problem: Problem | SoftmaxProblem) -> DiagonalPreconditioner:
    """The columns' variances on the diagonal, and their means, which are what sparse rows have most in common: no pass."""
    weights = np.asarray(problem.reach.weights)
    weight = curvature(problem) * float(weights.sum())
    mean = np.append(weights @ np.asarray(problem.reach.means) / weights.sum(), float(problem.intercept))
    variance = np.maximum(problem.scale**2 - mean**2, LEAST_SPREAD * problem.scale**2)
    diagonal = weight * variance + problem.penalty.l2
    return DiagonalPreconditioner(
        np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0), mean, weight
    )


def gram_preconditioner(problem: Problem, gram: Floats | None = None) -> GramPreconditioner:
    """From the products of columns: one pass over some of the rows, where they are not known."""
    total = float(sum(problem.reach.weights))
    products = class_scatter(problem)[0] if gram is None else gram
    M = curvature(problem) * products + np.diag(problem.penalty.l2)
    return GramPreconditioner(root_of_inverse(M, rounding_of(problem, curvature(problem) * total), problem.intercept))


class ClassPreconditioner(NamedTuple):
    """The preconditioner of softmax regression: for each class the Hessian of F in its own weights.

        M_k = Σ c p_k(1 − p_k) (x − p, 1)(x − p, 1)ᵀ + diag l2        on weights that add up to zero over the classes

    What couples two classes is left out: that costs K² products of columns instead of K and gains little (eigenvalues of M⁻¹H
    lie in 0.7 … 1.5 for 100 000×100, K = 10, against 0.04 … 1.1 for the common bound XᵀX/K). At weights of zero all M_k are
    alike. They are made anew after a few steps, where the shares p_k have taken shape. In the direction that adds the same to
    all classes, the loss is constant and the Hessian is diag l2.

    M_k⁻¹ = root_k·root_kᵀ, roots (K or 1, d + 1, d + 1); `common` (d + 1,) is 1/l2, or 0 where that is 0. `at_zero`
    (d + 1, d + 1) is the part of M_k from the loss at weights of zero.
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
    absorb = partial(absorb_scatter, W, problem.centre, row_stride(problem.n_rows, len(problem.centre)))
    weight, products = problem.fold(absorb, merge_scatter)
    total = float(np.sum(problem.reach.weights))
    return products * (total / weight) if weight > 0 else products


def rounding_of(problem: Problem | SoftmaxProblem, weight: float) -> Floats:
    """The squares (d + 1,) that rounding alone would give a constant column."""
    return np.append(64 * EPS * problem.centre, 0.0) ** 2 * weight


def _worth(problem: SoftmaxProblem) -> bool:
    """Whether K products of all columns cost less than the sweeps that they save."""
    d, n, K = len(problem.centre), problem.n_rows, problem.n_classes
    stride = row_stride(n, d)
    sweeps = (d + 1) / (4.0 * stride)
    work = np.inf if n is None else 0.5 * K * (n / stride) * (d + 1) ** 2
    return (sweeps <= MOST_SWEEPS or work <= LITTLE_WORK) and K * (d + 1) ** 2 <= MOST_NUMBERS


def absorb_scatter(W: Floats | None, centre: Floats, stride: int, block: Block) -> tuple[float, Floats]:
    """Σc and Σ c p_k(1 − p_k) x̃x̃ᵀ (K, d + 1, d + 1) over some of the rows; W None: Σ c x̃x̃ᵀ (1, d + 1, d + 1)."""
    from assay.solvers.loops.softmax import class_products

    some = every(block, stride)
    if W is None:
        evaluation = evaluate_block(SQUARED.code, 1.0, np.zeros(len(centre) + 1), centre, True, some)
        assert evaluation.hessian is not None
        return float(evaluation.hessian[-1, -1]), evaluation.hessian[None]
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


def row_stride(n: int | None, d: int) -> int:
    """Every how many rows one is used; it depends on the shape of the table alone.

    >>> row_stride(100_000, 100), row_stride(1000, 100)
    (10, 1)
    """
    return 1 if n is None else max(1, n // min(max(ENOUGH, LEAST * (d + 1)), MOST * (d + 1)))


def every(block: Block, stride: int) -> Block:
    """The rows of a block whose number is a multiple of `stride`."""
    if stride == 1:
        return block
    first = -block.start % stride
    X = block.X[np.arange(first, len(block.X), stride)]
    y, w = (None if a is None else np.ascontiguousarray(a[first::stride]) for a in (block.y, block.w))
    return Block(X, y, w, block.start + first)


def root_of_inverse(M: Floats, rounding: Floats, last: bool = True) -> Floats:
    """root (d, d) with root·rootᵀ = M⁺: in the columns' own scale, on the directions that are more than rounding.

    A column whose diagonal is at most `rounding` (d,) is constant, and left alone; so is the last one unless it is wanted.
    """
    with one_thread_blas():
        return _root(M, np.flatnonzero((np.diag(M) > rounding) & (last | (np.arange(len(M)) < len(M) - 1))))


def _root(M: Floats, live: Array) -> Floats:
    linalg = scipy_linalg()
    root = np.zeros(M.shape)
    if len(live) == 0:
        return root
    u = np.sqrt(np.diag(M)[live])
    R = M[np.ix_(live, live)] / u[:, None] / u
    try:
        L = np.linalg.cholesky(R)
        sure = float(L.diagonal().min()) > SURE
    except np.linalg.LinAlgError:
        sure = False
    if sure:
        inverse = linalg.solve_triangular(L, np.eye(len(live)), lower=True, check_finite=False).T
    else:
        lam, V = np.linalg.eigh(R)
        keep = lam > 8 * len(live) * EPS * lam[-1]
        inverse = np.where(keep, V / np.sqrt(np.where(keep, lam, 1.0)), 0.0)
    root[np.ix_(live, live)] = inverse / u[:, None]
    return root
