"""Fits without a penalty: how sure their coefficients are, the witness of their gap, and whether a minimum exists at all.

The inverse of the loss's Hessian is the covariance of maximum-likelihood coefficients, for many rows:

    se(w_j)² = (H⁻¹)_jj,    z_j = w_j / se(w_j)  is standard normal where w_j is zero
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from assay.engines import Block
from assay.errors import ParameterError
from assay.families.linear.problem import PosedProblem
from assay.numerics import Array, Floats
from assay.solvers.newton import boxed_gap, newton_step
from assay.solvers.preconditioner import root_of_inverse, rounding_of
from assay.solvers.problem import Evaluation, Iterate, Problem, rows_times
from assay.solvers.softmax_problem import SoftmaxProblem

EPS = float(np.finfo(np.float64).eps)

FLAT = 1e-6  # a curvature below this, where the columns' products have 1, makes one ask whether the weights run away


def interval_width(se: Floats, level: float) -> Floats:
    """How far a confidence interval of this level reaches on either side of an estimate with standard error se."""
    out: Floats = _quantile(level) * se
    return out


def coefficient_table(names: list[str], coef: Floats, se: Floats, level: float) -> str:
    """One line a coefficient."""
    z, half = coef / se, interval_width(se, level)
    wide = max(len(n) for n in names)
    lines = [f"{'':<{wide}} {'coef':>12} {'std err':>11} {'z':>9} {'p':>9}   {level:.0%} interval"]
    for name, c, e, v, p, h in zip(names, coef, se, z, p_values(z), half):
        lines.append(f"{name:<{wide}} {c:>12.5g} {e:>11.4g} {v:>9.3f} {p:>9.2g}   [{c - h:.5g}, {c + h:.5g}]")
    return "\n".join(lines)


def p_values(z: Any) -> Floats:
    """The probability of so large a z by chance (two-sided)."""
    from scipy.special import ndtr

    return np.asarray(2 * ndtr(-np.abs(z)))


def _quantile(level: float) -> float:
    if not isinstance(level, float | int | np.number) or not 0 < level < 1:
        raise ParameterError(f"level={level!r} is not possible: it must be a number in (0, 1), such as 0.95.")
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def pseudo_inverse(H: Array) -> Floats:
    """H⁺ of a Hessian, in the columns' own scale: directions without curvature have no variance to state, and give zero."""
    d = np.sqrt(np.diag(H))
    unit = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
    values, V = np.linalg.eigh(H * unit * unit[:, None])
    live = values > 1e-13 * len(H) * values[-1]
    R = unit[:, None] * V[:, live] / np.sqrt(values[live])
    out: Floats = R @ R.T
    return out


def with_step(problem: Problem, evaluation: Evaluation, at: Iterate) -> Iterate:
    """The answer of any solver with Newton's next step and the gap that it proves; `evaluation` has the Hessian there."""
    if at.step is not None:
        return at
    v = newton_step(problem, evaluation, at.w)
    return at._replace(step=v, gap=boxed_gap(problem, at.w, v))


def runs_away(posed: PosedProblem, evaluation: Evaluation) -> bool:
    """Whether some direction is nearly flat: along it the weights may grow for ever.

    The least eigenvalue of H against G = Σ c x̃x̃ᵀ: where rows lie ever further on their side, their curvature vanishes.
    """
    problem = posed.problem
    assert isinstance(problem, Problem)
    assert posed.gram is not None
    assert evaluation.hessian is not None
    root = root_of_inverse(posed.gram, rounding_of(problem, float(sum(problem.reach.weights))), problem.intercept)
    values = np.linalg.eigvalsh(root.T @ evaluation.hessian @ root)
    rank = int((np.abs(root).sum(axis=0) > 0).sum())
    return bool(rank > 0 and values[len(values) - rank] < FLAT)


def covariance_about_zero(problem: Problem, evaluation: Evaluation) -> Floats:
    """The inverse of the loss's Hessian, (d + 1, d + 1), for the weights (w, b) of the user's coordinates."""
    H, d = evaluation.hessian, len(problem.centre)
    assert H is not None
    size = d + 1 if problem.intercept else d
    # a column that varies by the rounding of its mean alone has no direction of its own
    still = np.diag(H)[:d] <= float(sum(problem.reach.weights)) * (16 * EPS * np.abs(problem.centre)) ** 2
    moving = np.append(~still, True)
    H = np.where(moving & moving[:, None], H, 0.0)
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
