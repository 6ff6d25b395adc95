"""The soft margin exactly, for rows that fit in memory: a primal–dual interior-point method (Mehrotra 1992).

    min_{u, ξ}  ½ Σ_j l2_j u_j² + g·u + Σ_i c_i ξ_i     such that  A_i·u ≥ o_i − ξ_i,  ξ_i ≥ 0
    at the minimum:  l2·u + g = Σ_i α_i A_i,   0 ≤ α_i ≤ c_i,   α_i (ξ_i − o_i + A_i·u) = 0,   (c_i − α_i) ξ_i = 0

A row of the table is A = t·x̃ with o = 1; |u_j| is two rows ±e_j with o = 0. Newton's method on these equations with products μ in place of the zeros, μ → 0; each step solves a (d + 1)² system. Unlike
methods that hold rows on the margin it does not care how many there are, nor how nearly the classes are separable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.numerics import Floats
from assay.solvers.newton import solve_scaled

STEPS = 100
SHORTEN = 0.995  # of the way to the boundary
SHORT = 0.3  # a step blocked before this: some products are far below the others, which a step towards equal ones mends
HALFWAY = 0.5  # of μ, for such a step
PATIENCE = 8  # steps without a smaller gap after which rounding is to blame


class Margins(NamedTuple):
    """A (m, d + 1), offsets o (m,) and costs c (m,) of the rows, and the quadratic ½ l2·u² + g·u of everything else."""

    A: Floats
    o: Floats
    c: Floats
    l2: Floats
    g: Floats


class InteriorPoint(NamedTuple):
    """u (d + 1,), multipliers α (m,) in (0, c), ξ > 0 and s = ξ − o + A·u > 0 (m,)."""

    u: Floats
    alpha: Floats
    xi: Floats
    s: Floats

    def complementarity(self, c: Floats) -> float:
        """Σ αs + (c − α)ξ."""
        return float(self.alpha @ self.s + (c - self.alpha) @ self.xi)


class PrimalDual(NamedTuple):
    """The primal value at u, the dual value at α, and the slope left in the weights that have no penalty."""

    primal: float
    dual: float
    left: float


def values(p: Margins, u: Floats, alpha: Floats) -> PrimalDual:
    """Primal and dual; the dual is a lower bound of the primal where `left` is zero."""
    primal = float(p.c @ np.maximum(p.o - p.A @ u, 0.0) + 0.5 * (p.l2 * u) @ u + p.g @ u)
    pull = p.A.T @ alpha - p.g
    held = p.l2 > 0
    dual = float(alpha @ p.o - 0.5 * np.sum(pull[held] ** 2 / p.l2[held]))
    return PrimalDual(primal, dual, float(np.abs(pull[~held]).sum()))


def interior_points(p: Margins, start: Floats) -> Iterator[tuple[InteriorPoint, PrimalDual]]:
    """Points ever closer to the minimum, from u = `start`; ends where rounding allows no more."""
    a = p.o - p.A @ start
    wide = max(1.0, float(np.abs(a).mean())) if len(a) else 1.0
    xi = np.maximum(a, 0.0) + wide
    at = InteriorPoint(start, 0.5 * p.c, xi, xi - a)
    best, since = np.inf, 0
    for _ in range(STEPS):
        if not at.complementarity(p.c) > 0:
            return
        with np.errstate(all="ignore"):
            at = _step(p, at)
            found = values(p, at.u, at.alpha)
        gap = abs(found.primal - found.dual) + found.left
        if not np.isfinite(gap):
            return
        best, since = (gap, 0) if gap < best else (best, since + 1)
        yield at, found
        if since == PATIENCE:
            return


def _step(p: Margins, at: InteriorPoint) -> InteriorPoint:
    c, (u, alpha, xi, s) = p.c, at
    low = c - alpha
    mu = at.complementarity(c) / (2 * len(c))
    r1 = p.l2 * u + p.g - p.A.T @ alpha
    r2 = xi - p.o + p.A @ u - s
    theta = 1.0 / (s / alpha + xi / low)
    H = (p.A * theta[:, None]).T @ p.A + np.diag(p.l2)

    def towards(r3: Floats, r4: Floats) -> InteriorPoint:
        q = r3 / alpha - r4 / low - r2
        du = solve_scaled(H, p.A.T @ (theta * q) - r1)
        dalpha = theta * (q - p.A @ du)
        return InteriorPoint(du, dalpha, (r4 + xi * dalpha) / low, (r3 - s * dalpha) / alpha)

    ahead = towards(-alpha * s, -low * xi)
    reach = _longest(at, ahead, c)
    there = _moved(at, ahead, reach)
    centre = (there.complementarity(c) / (2 * len(c)) / mu) ** 3 * mu
    d = towards(centre - alpha * s - ahead.alpha * ahead.s, centre - low * xi + ahead.alpha * ahead.xi)
    if _longest(at, d, c) < SHORT:
        d = towards(HALFWAY * mu - alpha * s, HALFWAY * mu - low * xi)
    return _moved(at, d, min(1.0, SHORTEN * _longest(at, d, c)))


def _longest(at: InteriorPoint, d: InteriorPoint, c: Floats) -> float:
    """The longest step at which α, c − α, ξ and s are still positive (at most 1/SHORTEN)."""
    longest = 1.0 / SHORTEN
    for value, change in ((at.alpha, d.alpha), (c - at.alpha, -d.alpha), (at.xi, d.xi), (at.s, d.s)):
        falls = change < 0
        if falls.any():
            longest = min(longest, float(np.min(-value[falls] / change[falls])))
    return longest


def _moved(at: InteriorPoint, d: InteriorPoint, step: float) -> InteriorPoint:
    return InteriorPoint(*(a + step * b for a, b in zip(at, d)))
