"""Interior points of the dual of kernel machines: primal–dual steps (Mehrotra 1992) with the whole kernel matrix in memory.

    min ½ βᵀKβ + p·α     sᵀα = 0,  0 ≤ α ≤ U       with  s f + p + b s = z − u,   α z = μ,   (U − α) u = μ,   μ → 0

Newton's step for these equations has, with D = z/α + u/(U − α) and Θ_i = Σ_{t of row i} 1/D_t, a system of one unknown a row:

    (K + Θ⁻¹) Δβ = Θ⁻¹ h

which is positive definite however singular K is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assay.engines.engine import scipy_linalg
from assay.families.kernel.svm.dual import DualProblem
from assay.numerics import Array, Floats

SHORTEN = 0.995  # of the way to the boundary
SHORT = 0.3  # a step blocked before this: some products are far below the others, which a step towards equal ones mends
HALFWAY = 0.5  # of μ, for such a step
RIDGE = 1e-14  # of the unit diagonal: the first that is tried where rounding spoils a factor


class Interior(NamedTuple):
    """α (l,) strictly between its bounds, the multiplier b of sᵀα = 0, and those of the bounds: z > 0, u > 0 (0 where U = ∞)."""

    alpha: Floats
    b: float
    z: Floats
    u: Floats


def scale_of(K: Floats) -> float:
    """The mean K(x, x), which makes α K a pure number."""
    mean = float(np.abs(K.diagonal()).mean()) if len(K) else 1.0
    return mean if mean > 0 else 1.0


def balanced(problem: DualProblem, alpha: Floats) -> Floats:
    """α with Σ s α = 0: the side that weighs more is scaled down, so that no bound is left."""
    up = problem.sign > 0
    rise, fall = float(alpha[up].sum()), float(alpha[~up].sum())
    if rise == fall:
        return alpha
    return np.where(
        up, alpha * (min(rise, fall) / rise if rise else 0.0), alpha * (min(rise, fall) / fall if fall else 0.0)
    )


def netted(problem: DualProblem, alpha: Floats) -> Floats:
    """α of which no row has both a rising and a falling part: their difference is all that f depends on, and each part costs ε."""
    n = len(problem.X)
    rise = np.bincount(problem.rows, weights=np.where(problem.sign > 0, alpha, 0.0), minlength=n)
    fall = np.bincount(problem.rows, weights=np.where(problem.sign < 0, alpha, 0.0), minlength=n)
    return alpha - np.minimum(rise, fall)[problem.rows]


def first_point(problem: DualProblem, K: Floats, start: Floats | None) -> Interior:
    """A point well inside, half way to `start` where that is given."""
    middle = np.minimum(0.5 * problem.upper, 1.0 / scale_of(K))
    alpha = balanced(problem, middle)
    if start is not None:
        alpha = 0.5 * alpha + 0.5 * np.clip(start, 0.0, problem.upper)
    g = problem.sign * (K @ problem.coefficients(alpha))[problem.rows] + problem.linear
    wide = max(1.0, float(np.abs(g).mean()))
    ends = np.isfinite(problem.upper)
    z = np.maximum(g, 0.0) + wide
    return Interior(alpha, 0.0, z, np.where(ends, np.maximum(-g, 0.0) + wide, 0.0))


def next_point(problem: DualProblem, K: Floats, at: Interior) -> Interior:
    """One predictor–corrector step."""
    ends = np.isfinite(problem.upper)
    low = np.where(ends, problem.upper - at.alpha, 1.0)
    many = len(low) + int(ends.sum())
    mu = _products(at, low, ends) / many
    slope = problem.sign * ((K @ problem.coefficients(at.alpha))[problem.rows] + at.b) + problem.linear
    solve = _solver(problem, K, at.z / at.alpha + np.where(ends, at.u / low, 0.0))
    rest = -float(problem.sign @ at.alpha)
    with_s = solve(problem.sign)

    def towards(rz: Floats, ru: Floats) -> Interior:
        """The step after which αz and (U − α)u are greater by rz and ru, to first order."""
        x = -(slope - at.z + at.u) + rz / at.alpha - np.where(ends, ru / low, 0.0)
        free = solve(x)
        db = np.divide(problem.sign @ free - rest, problem.sign @ with_s)  # no number where α is lost below all numbers
        da = free - db * with_s
        return Interior(da, db, (rz - at.z * da) / at.alpha, np.where(ends, (ru + at.u * da) / low, 0.0))

    ahead = towards(-at.alpha * at.z, -low * at.u)
    there = _moved(at, ahead, _longest(at, ahead, low, ends))
    left = _products(there, np.where(ends, problem.upper - there.alpha, 1.0), ends) / many
    centre = (left / mu) ** 3 * mu if mu > 0 else 0.0  # 0: products are lost below all numbers
    step = towards(
        centre - at.alpha * at.z - ahead.alpha * ahead.z,
        np.where(ends, centre - low * at.u + ahead.alpha * ahead.u, 0.0),
    )
    if _longest(at, step, low, ends) < SHORT:
        step = towards(HALFWAY * mu - at.alpha * at.z, np.where(ends, HALFWAY * mu - low * at.u, 0.0))
    return _moved(at, step, min(1.0, SHORTEN * _longest(at, step, low, ends)))


def _products(at: Interior, low: Floats, ends: Array) -> float:
    return float(at.alpha @ at.z + low[ends] @ at.u[ends])


def _solver(problem: DualProblem, K: Floats, D: Floats) -> Callable[[Floats], Floats]:
    """x ↦ (D + A K Aᵀ)⁻¹ x, where A puts variables to rows with their signs."""
    n, rows, sign = len(K), problem.rows, problem.sign
    theta = np.bincount(rows, weights=1.0 / D, minlength=n)
    held = theta > 0
    bend = np.divide(1.0, theta, out=np.ones(n), where=held)
    solve = factored(K, bend)
    pivot = _least(rows, D)

    def solved(x: Floats) -> Floats:
        h = np.bincount(rows, weights=sign * x / D, minlength=n)
        change = solve(bend * h)
        y: Floats = (x - sign * (K @ change)[rows]) / D
        y[pivot] = 0.0  # what is left over after the others: the rounding of a difference is not divided by a small D
        others = np.bincount(rows, weights=sign * y, minlength=n)
        y[pivot] = sign[pivot] * (change - others)[rows[pivot]]
        return y

    return solved


def _least(rows: Array, D: Floats) -> Array:
    """The variable of least D of each row that has variables."""
    order = np.lexsort((D, rows))
    first = np.ones(len(order), dtype=bool)
    first[1:] = rows[order][1:] != rows[order][:-1]
    found: Array = order[first]
    return found


def factored(K: Floats, bend: Floats) -> Callable[[Floats], Floats]:
    """x ↦ (K + diag bend)⁻¹ x, factored in the scale of its diagonal, with one step of refinement."""
    linalg = scipy_linalg()
    diagonal = np.abs(K.diagonal()) + bend
    unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    M = K * unit * unit[:, None]
    M[np.diag_indices_from(M)] += bend * unit * unit
    ridge, held = 0.0, M.diagonal().copy()
    while True:
        try:
            factor = linalg.cho_factor(M, lower=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            ridge = max(RIDGE * len(K), 100.0 * ridge)
            M[np.diag_indices_from(M)] = held + ridge
            if ridge > 1e6:
                raise

    def solve(x: Floats) -> Floats:
        y = unit * linalg.cho_solve(factor, unit * x, check_finite=False)
        off = x - (K @ y + bend * y)
        better: Floats = y + unit * linalg.cho_solve(factor, unit * off, check_finite=False)
        return better

    return solve


def _longest(at: Interior, d: Interior, low: Floats, ends: Array) -> float:
    """The longest step at which everything is still positive (at most 1/SHORTEN)."""
    longest = 1.0 / SHORTEN
    pairs = ((at.alpha, d.alpha), (low[ends], -d.alpha[ends]), (at.z, d.z), (at.u[ends], d.u[ends]))
    for value, change in pairs:
        falls = change < 0
        if falls.any():
            longest = min(longest, float(np.min(-value[falls] / change[falls])))
    return longest


def _moved(at: Interior, d: Interior, step: float) -> Interior:
    return Interior(at.alpha + step * d.alpha, at.b + step * d.b, at.z + step * d.z, at.u + step * d.u)
