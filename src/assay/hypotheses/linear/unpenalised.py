"""Fits without a penalty: the witness of their gap, the covariance of their weights, and whether a minimum exists at all."""

from __future__ import annotations

from functools import partial

import numpy as np

from assay.engines import Block
from assay.hypotheses.likelihood import pseudo_inverse
from assay.hypotheses.linear.posing import Posed
from assay.numerics import Floats
from assay.solvers.boxed import boxed_gap
from assay.solvers.class_preconditioner import rounding_of
from assay.solvers.inverse_root import root_of_inverse
from assay.solvers.iterate import Iterate
from assay.solvers.newton import newton_step
from assay.solvers.problem import Look, Problem
from assay.solvers.rows_times import rows_times
from assay.solvers.softmax_problem import SoftmaxProblem

FLAT = 1e-6  # a curvature below this, where the columns' products have 1, makes one ask whether the weights run away


def with_step(problem: Problem, look: Look, at: Iterate) -> Iterate:
    """The answer of any solver with Newton's next step and the gap that it proves; `look` is that with the Hessian there."""
    if at.step is not None:
        return at
    v = newton_step(problem, look, at.w)
    return at._replace(step=v, gap=boxed_gap(problem, at.w, v))


def runs_away(posed: Posed, look: Look) -> bool:
    """Whether some direction is nearly flat: along it the weights may grow for ever.

    The least eigenvalue of H against G = Σ c x̃x̃ᵀ: where rows lie ever further on their side, their curvature vanishes.
    """
    problem = posed.problem
    assert isinstance(problem, Problem)
    assert posed.gram is not None
    assert look.hessian is not None
    root = root_of_inverse(posed.gram, rounding_of(problem, float(sum(problem.reach.weights))), problem.intercept)
    values = np.linalg.eigvalsh(root.T @ look.hessian @ root)
    rank = int((np.abs(root).sum(axis=0) > 0).sum())
    return bool(rank > 0 and values[len(values) - rank] < FLAT)


def covariance_about_zero(problem: Problem, look: Look) -> Floats:
    """The inverse of the loss's Hessian, (d + 1, d + 1), for the weights (w, b) of the user's coordinates."""
    H, d = look.hessian, len(problem.centre)
    assert H is not None
    size = d + 1 if problem.intercept else d
    T = np.eye(d + 1)
    T[d, :d] = -problem.centre
    covariance = np.zeros((d + 1, d + 1))
    covariance[:size, :size] = pseudo_inverse(H[:size, :size])
    out: Floats = T @ covariance @ T.T
    return out


def least_class_margin(problem: SoftmaxProblem, W: Floats) -> float:
    """min_i z_{i,y_i} − max_{k ≠ y_i} z_ik over the rows of positive weight: above zero, W separates all classes."""
    return problem.fold(partial(_absorb_least, W, problem.centre), min)


def _absorb_least(W: Floats, centre: Floats, block: Block) -> float:
    assert block.y is not None
    z = np.stack([rows_times(block.X, w, centre) for w in W], axis=1)
    own = np.asarray(block.y, dtype=np.int64)[:, None] == np.arange(len(W))
    margins = z[own] - np.where(own, -np.inf, z).max(axis=1)
    return float(np.min(margins if block.w is None else margins[block.w > 0], initial=np.inf))
