"""Gradient descent for least squares, as the lecture notes write it. Shape: repeated fold.

    E(w) = ½ Σ_k (w·x̃_k − f_k)²,    ∇E(w) = Σ_k (w·x̃_k − f_k)·x̃_k,    w ← w − ε·∇E(w),    x̃ = (1, x)

The weights start at random close to zero; for 0 < ε < 2/λ (λ the largest eigenvalue of Σ x̃x̃ᵀ) they converge to the
minimum. With a penalty, alpha·w is added to the gradient (but not for the intercept w₀).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block, fold
from assay.families.least_squares.normal_equations import (
    LeastSquaresFit,
    NormalSystem,
    RowPasses,
    absorb_residual,
    merge_residuals,
)
from assay.inputs import as_regression_target
from assay.numerics import Floats

LARGEST = 2.0**500  # errors beyond leave no room to square or divide them


class Slope(NamedTuple):
    """E(w) and its gradient (d + 1,), the intercept's component first."""

    error: float
    gradient: Floats


def absorb_slope(w: Floats, tile: int, block: Block) -> Slope:
    """E and ∇E of one block at w (d + 1,), tile by tile; each row counts by its weight."""
    assert block.y is not None
    f = as_regression_target(block.y, block.start)
    error, gradient = 0.0, np.zeros(len(w))
    with np.errstate(over="ignore", invalid="ignore"):
        for a in range(0, len(f), tile):
            x = block.X[a : a + tile].astype(np.float64, copy=False)
            off = w[0] + x @ w[1:] - f[a : a + tile]
            weighted = off if block.w is None else off * block.w[a : a + tile]
            error += 0.5 * float(weighted @ off)
            gradient[0] += weighted.sum()
            gradient[1:] += weighted @ x
    return Slope(error, gradient)


def merge_slopes(a: Slope, b: Slope) -> Slope:
    """E and ∇E of both stretches of rows together."""
    return Slope(a.error + b.error, a.gradient + b.gradient)


def slope_of_rows(passes: RowPasses, tile: int, w: Floats) -> Slope:
    """E and ∇E of all rows: one fold."""
    slope = fold(passes.engine, passes.rows.blocks(), partial(absorb_slope, w, tile), merge_slopes)
    assert slope is not None
    return slope


def slope_of_sums(G: Floats, c: Floats, yy: float, w: Floats) -> Slope:
    """The same from G = Σ x̃x̃ᵀ, c = Σ x̃f and Σ f², for rows that are no longer there."""
    with np.errstate(over="ignore", invalid="ignore"):
        Gw = G @ w
        return Slope(0.5 * max(yy + float(w @ (Gw - 2 * c)), 0.0), Gw - c)


def sums_about_zero(system: NormalSystem) -> tuple[Floats, Floats, float]:
    """Σ x̃x̃ᵀ, Σ x̃f and Σ f² of x̃ = (1, x), or of (0, x) where no intercept is fitted."""
    n, first = (system.n, 1.0) if system.intercept else (0.0, 0.0)
    mean = np.append(first, system.mean)
    G, c = n * np.outer(mean, mean), n * system.target_mean * mean
    G[1:, 1:] += system.S
    c[1:] += system.c
    return G, c, system.yy + n * system.target_mean**2


def stable_step(system: NormalSystem) -> float:
    """1/λ: half of the step beyond which descent diverges."""
    G = sums_about_zero(system)[0]
    G[1:, 1:] += system.alpha * np.eye(len(system.S))
    top = float(np.linalg.eigvalsh(G)[-1])
    return 1.0 / top if top > 0 else 1.0


class Descent(NamedTuple):
    """w at time t, E there (with the penalty ½·alpha·‖w‖²), and how far the normal equations are off."""

    t: int
    w: Floats
    error: float
    off: float


def descend(slope: Callable[[Floats], Slope], system: NormalSystem, start: Floats, eta: float) -> Iterator[Descent]:
    """w⁽⁰⁾, w⁽¹⁾, w⁽²⁾, …; ends before the numbers overflow."""
    w, t = start, 0
    while True:
        error, gradient = slope(w)
        with np.errstate(over="ignore", invalid="ignore"):
            error += 0.5 * system.alpha * float(w[1:] @ w[1:])
            gradient[1:] += system.alpha * w[1:]
        if not system.intercept:
            gradient[0] = 0.0
        if not (error <= LARGEST and np.isfinite(gradient).all()):
            return
        yield Descent(t, w, error, _off(system, gradient))
        with np.errstate(over="ignore", invalid="ignore"):
            w = w - eta * gradient
        t += 1


def _off(system: NormalSystem, gradient: Floats) -> float:
    """The gradient in w and b where x is counted from its mean, against the scale of the normal equations."""
    if not system.intercept:
        return system.off_by(gradient[1:])
    return system.off_by(np.append(gradient[1:] - system.mean * gradient[0], gradient[0]))


def until(descent: Iterator[Descent], tol: float, max_iter: int) -> Iterator[Descent]:
    """The descent up to the first w where the normal equations are off by at most `tol`, or `max_iter` steps."""
    for at in descent:
        yield at
        if at.off <= tol or at.t == max_iter:
            return


def as_fit(last: Descent, alpha: float, tol: float) -> LeastSquaresFit:
    """The last iterate as a solver's answer."""
    w = last.w[1:].copy()
    squares = max(2 * last.error - alpha * float(w @ w), 0.0)
    return LeastSquaresFit(w, float(last.w[0]), squares, last.off, max(1, last.t), bool(last.off <= tol))


def measured(fit: LeastSquaresFit, system: NormalSystem, passes: RowPasses, tile: int) -> LeastSquaresFit:
    """The same with squares and slope taken about the means, as the certificate states them: fewer digits cancel there."""
    b = fit.intercept + float(system.shift @ fit.coef)
    absorb = partial(absorb_residual, system.shift, 0.0, b, fit.coef, tile)
    residual = fold(passes.engine, passes.rows.blocks(), absorb, merge_residuals)
    assert residual is not None
    slope = residual.slope - system.alpha * fit.coef
    g = np.append(slope, residual.total) if system.intercept else slope
    return fit._replace(squares=residual.squares, off=system.off_by(g))
