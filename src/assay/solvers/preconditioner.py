"""Preconditioners: a matrix M near the Hessian of Σcℓ + ½Σ l2_j w_j², whose inverse is cheap to apply.

    M = κ·Σ c (x − p, 1)(x − p, 1)ᵀ + diag l2

κ is the loss's curvature at score zero (log ¼) or the greatest it has. With M the scale of the columns and their correlations
no longer matter. Of rows with very many columns only variances and means are taken.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from assay.engines.blas import one_thread_blas
from assay.numerics import Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.surrogates import Surrogate
from assay.solvers.class_preconditioner import class_preconditioner, class_scatter, rounding_of
from assay.solvers.inverse_root import root_of_inverse
from assay.solvers.problem import WIDE_SPARSE, Problem
from assay.solvers.softmax_problem import SoftmaxProblem

LEAST_SPREAD = 1e-3  # of a column's square: what is left of it once its mean is taken off
CURVATURE = {"log": 0.25, "squared hinge": 2.0, "squared": 1.0, "huber": 1.0}
MOST_COLUMNS = 2000  # beyond, all products of columns cost more than the sweeps that they save


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
