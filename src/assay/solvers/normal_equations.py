"""Least squares solved exactly: (XᵀX + alpha·I)w = Xᵀy, refined from the rows where digits were lost.

    r = y − b − Xw,    g = Xᵀr − alpha·w,    w ← w + (XᵀX + alpha·I)⁻¹ g,    b ← b + Σr/n

(Björck 1987). Well-conditioned systems need no refinement and no second look at the rows.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block, fold
from assay.inputs import as_regression_target
from assay.numerics import Array, Floats
from assay.solvers.factor import Factor, factor_of_gram, factor_of_rows
from assay.solvers.system import Fit, Passes, System

WELL_CONDITIONED = 1e2  # below, the normal equations alone give twelve digits
TOO_ILL_FOR_GRAM = 1e5  # above, squaring the condition number leaves too few digits to refine with
CLOSE = 1e-10  # normal equations off by more than this, relative to their scale, are refined
CORRECTIONS = 4


def solve(system: System, passes: Passes | None, tile: int) -> tuple[Factor, Fit]:
    """The solution and the factor it was found with; of several solutions the shortest. Without `passes` unrefined."""
    factor, start = factor_of_gram(system), None
    if passes is not None and (factor.dependent or factor.condition > TOO_ILL_FOR_GRAM):
        factor, start = factor_of_rows(system, passes)
    w = factor.least_norm(factor.solve(system.c) if start is None else start)
    b, rounds = 0.0, 1
    squares = max(system.yy - float(w @ (2 * system.c - system.S @ w)), 0.0)
    g = system.c - system.matrix @ w
    if passes is not None and (start is not None or _digits_lost(system, factor, squares, g)):
        w, b, squares, g, rounds = refine(system, passes, factor, w, tile)
    intercept = b + system.target_mean - float(system.mean @ w) if system.intercept else 0.0
    return factor, Fit(w, intercept, squares, system.off_by(g), rounds, True)


def _digits_lost(system: System, factor: Factor, squares: float, g: Floats) -> bool:
    """Whether digits were lost: to the condition number, or in a sum of squares that is almost nothing."""
    return factor.condition > WELL_CONDITIONED or squares < 1e-6 * system.yy or system.off_by(g) > CLOSE


class Residual(NamedTuple):
    """Σwr, Σwr(x − shift) (d,) and Σwr² of r = y − target_shift − b − (x − shift)·w."""

    total: float
    slope: Floats
    squares: float


def absorb_residual(shift: Floats, target_shift: float, b: float, coef: Floats, tile: int, block: Block) -> Residual:
    """The residuals of one block, tile by tile."""
    assert block.y is not None
    y = as_regression_target(block.y, block.start)
    slope, total, squares = np.zeros(len(coef)), 0.0, 0.0
    for a in range(0, len(y), tile):
        x: Array = np.subtract(block.X[a : a + tile], shift, dtype=np.float64)
        r = (y[a : a + tile] - target_shift) - b - x @ coef
        weighted = r if block.w is None else r * block.w[a : a + tile]
        slope += weighted @ x
        total += float(weighted.sum())
        squares += float(weighted @ r)
    return Residual(total, slope, squares)


def merge_residuals(a: Residual, b: Residual) -> Residual:
    """The residuals of both stretches of rows together."""
    return Residual(a.total + b.total, a.slope + b.slope, a.squares + b.squares)


class Refined(NamedTuple):
    """w and b about the shift, Σr², the gradient that is left in w and b, and the number of solutions tried."""

    w: Floats
    b: float
    squares: float
    g: Floats
    rounds: int


def refine(system: System, passes: Passes, factor: Factor, w: Floats, tile: int) -> Refined:
    """Correct w by the factor as long as that helps, or until corrections move no coefficient's thirteenth digit."""
    b, last, best = 0.0, np.inf, None
    enough = 1e-13 * np.sqrt(system.yy) / factor.condition
    for rounds in range(1, CORRECTIONS + 2):
        absorb = partial(absorb_residual, system.shift, system.target_shift, b, w, tile)
        residual = fold(passes.engine, passes.rows.blocks(), absorb, merge_residuals)
        assert residual is not None
        slope = residual.slope - system.alpha * w
        total = residual.total if system.intercept else 0.0
        step = (factor.V.T @ (factor.scale * slope)) / factor.s
        size = float(np.sqrt(step @ step + total**2 / system.n))  # by how much the correction moves the predictions
        if best is not None and not size < last:
            break
        g = np.append(slope, total) if system.intercept else slope
        best = Refined(w, b, residual.squares, g, rounds)
        if size <= enough or size > last / 4:
            break
        last = size
        w = factor.least_norm(w + factor.solve(slope))
        b += total / system.n
    assert best is not None
    return best
