"""Least squares with weights that are not negative (`positive=True`), by the active-set method of Lawson and Hanson (1974, chapter 23):

    min_{w ≥ 0, b}  Σ (y − b − w·x)² + alpha·‖w‖²

w is the minimum exactly where the gradient g = Xᵀ(y − b − Xw) − alpha·w vanishes wherever w_j > 0 and is nowhere above zero
(Karush, Kuhn and Tucker). Columns join the set P of those that may be positive one at a time, the steepest first; a column that the solution
on P would make negative leaves it. The solution on P is then refined from the rows as any other.
"""

from __future__ import annotations

import numpy as np

from assay.families.least_squares.normal_equations import (
    LeastSquaresFit,
    NormalSystem,
    RowPasses,
    SingularFactor,
    digits_lost,
    factor_of_gram,
    refine,
)
from assay.numerics import Array, Floats

STEEP = 1e-11  # a gradient below this share of the scale of the normal equations is rounding


def solve_nonnegative(
    system: NormalSystem, passes: RowPasses | None, tile: int
) -> tuple[SingularFactor, LeastSquaresFit]:
    """The solution among all w ≥ 0, and the factor of the whole system."""
    w, rounds = active_set(system)
    inside = w > 0
    factor, b = _factor_on(system, inside), 0.0
    squares = max(system.yy - float(w @ (2 * system.c - system.S @ w)), 0.0)
    g = system.c - system.matrix @ w
    if passes is not None and inside.any() and digits_lost(system, factor, squares, one_sided(g, w)):
        refined = refine(system, passes, factor, w, tile)
        if (refined.w >= 0).all():
            w, b, squares, g = refined.w, refined.b, refined.squares, refined.g
    intercept = b + system.target_mean - float(system.mean @ w) if system.intercept else 0.0
    off = system.off_by(one_sided(g, w))
    return factor_of_gram(system), LeastSquaresFit(w, intercept, squares, off, max(1, rounds), True)


def one_sided(g: Floats, w: Floats) -> Floats:
    """The gradient without what the bound w ≥ 0 holds back; a last component, of the intercept, stays."""
    out = g.copy()
    at_zero = np.flatnonzero(w == 0)
    out[at_zero] = np.maximum(out[at_zero], 0.0)
    return out


def active_set(system: NormalSystem) -> tuple[Floats, int]:
    """w ≥ 0 that minimises ½wᵀAw − cᵀw with A = S + alpha·I, and how many sets P were tried."""
    lengths = np.sqrt(system.matrix.diagonal())
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    A, c = system.matrix * np.outer(scale, scale), system.c * scale
    least = STEEP * float(np.sqrt(system.yy))
    u, inside = np.zeros(len(c)), np.zeros(len(c), dtype=bool)
    banned = scale == 0  # columns without length, and one that left in the round it came in: its gradient was rounding
    tried = 0
    for _ in range(3 * len(c) + 10):
        g = np.where(inside | banned, -np.inf, c - A @ u)
        if not g.max(initial=-np.inf) > least:
            break
        new = int(g.argmax())
        inside[new] = True
        while True:
            tried += 1
            z = np.zeros(len(c))
            z[inside] = _solved(A[np.ix_(inside, inside)], c[inside])
            if (z[inside] > 0).all():
                u = z
                break
            blocking = inside & (z <= 0)
            step = float(np.min(u[blocking] / (u[blocking] - z[blocking])))
            u = u + step * (z - u)
            u[inside & (u <= 1e-15 * u.max(initial=0.0))] = 0.0
            left = inside & (u == 0)
            left = left if left.any() else blocking & (u == u[blocking].min())
            u[left], inside = 0.0, inside & ~left
            if not inside[new]:
                banned = banned | (np.arange(len(c)) == new)
            if not inside.any():
                break
    return u * scale, tried


def _solved(A: Floats, c: Floats) -> Floats:
    try:
        z: Floats = np.linalg.solve(A, c)
    except np.linalg.LinAlgError:
        z = np.linalg.lstsq(A, c, rcond=None)[0]
    return z if np.isfinite(z).all() else np.linalg.lstsq(A, c, rcond=None)[0]


def _factor_on(system: NormalSystem, inside: Array) -> SingularFactor:
    """The factor of some columns, with zeros in the places of the others."""
    at = np.flatnonzero(inside)
    some = system._replace(mean=system.mean[at], S=system.S[np.ix_(at, at)], c=system.c[at])
    factor = factor_of_gram(some)
    V, scale = np.zeros((len(system.c), len(factor.s))), np.zeros(len(system.c))
    V[at], scale[at] = factor.V, factor.scale
    return factor._replace(V=V, scale=scale)
