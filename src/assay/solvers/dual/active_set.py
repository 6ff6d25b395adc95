"""Active-set steps: which variables are at a bound is guessed, the others are solved for, and the guess is mended.

    [K_ff  s_f] [Δα_f]     [−(s f + p)_f]
    [s_fᵀ   0 ] [  b ]  =  [   −Σ s α    ]        in the signs of s

A step that would leave the box ends at its wall, and what hit the wall stays there; once a whole step fits, variables that would
gain by leaving their bound are let go. Directions without curvature (equal rows, a linear kernel) are left where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.numerics import Array, Floats
from assay.solvers.dual.interior_dual import Interior, factored, netted, scale_of
from assay.solvers.dual.problem import DualProblem

RIDGE = 1e-12  # of the diagonal
REFINEMENTS = 4
NOISE = 1e-11  # a slope at a bound less than this share of its terms is rounding
LET_GO = 0.5  # of the worst slope: what gains more leaves its bound in the same step


class Guess(NamedTuple):
    """α (l,) and where each variable is: −1 at zero, 0 between, +1 at its upper bound."""

    alpha: Floats
    side: Array


def guess_of(problem: DualProblem, K: Floats, at: Interior) -> Guess:
    """Of α and its multiplier one tends to zero, the other does not: the smaller one is taken for zero."""
    unit = scale_of(K)
    side = np.zeros(len(at.alpha), dtype=np.int64)
    side[at.alpha * unit < at.z] = -1
    ends = np.isfinite(problem.upper)
    side[ends & ((np.where(ends, problem.upper, 0.0) - at.alpha) * unit < at.u)] = 1
    alpha = netted(problem, _pinned(problem, at.alpha, side))
    return Guess(alpha, np.where(alpha <= 0.0, -1, side))


def _pinned(problem: DualProblem, alpha: Floats, side: Array) -> Floats:
    return np.where(side < 0, 0.0, np.where(side > 0, problem.upper, alpha))


def active_set(problem: DualProblem, K: Floats, guess: Guess, most: int) -> Iterator[Guess]:
    """At most `most` steps from the guess; ends earlier where no variable wants to leave its bound."""
    alpha, side = guess.alpha.copy(), guess.side.copy()
    for _ in range(most):
        free = np.flatnonzero(side == 0)
        if not len(free):
            yield Guess(alpha, side)
            return
        change, b = _equality_step(problem, K, alpha, free)
        share, walls = _room(alpha[free], problem.upper[free], change)
        alpha = alpha.copy()
        alpha[free] += share * change
        side = side.copy()
        side[free[walls]] = np.where(change[walls] < 0, -1, 1)
        alpha = _pinned(problem, alpha, side)
        if share < 1.0:
            continue
        alpha = _evened(problem, alpha, side)
        yield Guess(alpha, side)
        wants = _leaving(problem, K, alpha, side, b)
        if not len(wants):
            return
        side[wants] = 0


def _equality_step(problem: DualProblem, K: Floats, alpha: Floats, free: Array) -> tuple[Floats, float]:
    s, rows = problem.sign[free], problem.rows[free]
    slope = s * (K @ problem.coefficients(alpha))[rows] + problem.linear[free]
    unit = scale_of(K)
    Q = (
        (K[np.ix_(rows, rows)] + unit) * s * s[:, None]
    )  # + s sᵀ, which Σ s Δα = const does not notice, while a singular K does
    solve = factored(Q, np.full(len(free), RIDGE * unit))

    def refined(x: Floats) -> Floats:
        y = solve(x)
        for _ in range(REFINEMENTS):
            y = y + solve(x - Q @ y)
        return y

    along, with_s = refined(-slope), refined(s)
    due = -float(problem.sign @ alpha)
    b = float(np.divide(s @ along - due, s @ with_s))
    return along - b * with_s, b


def _room(alpha: Floats, upper: Floats, change: Floats) -> tuple[float, Array]:
    """The share of a step that fits into the box, at most 1, and which variables then are at a wall."""
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(change < 0, -alpha / change, np.where(change > 0, (upper - alpha) / change, np.inf))
    share = min(1.0, float(reach.min()))
    return share, np.flatnonzero(reach <= share) if share < 1.0 else np.empty(0, dtype=np.int64)


def _evened(problem: DualProblem, alpha: Floats, side: Array) -> Floats:
    """Put what rounding left of Σ s α on the free variable with most room."""
    free = np.flatnonzero(side == 0)
    room = np.minimum(alpha[free], problem.upper[free] - alpha[free])
    k = free[int(room.argmax())]
    left = float(problem.sign @ alpha)
    if abs(left) < room.max():
        alpha[k] -= problem.sign[k] * left
    return alpha


def _leaving(problem: DualProblem, K: Floats, alpha: Floats, side: Array, b: float) -> Array:
    """The variables at a bound that would gain most by leaving it."""
    beta = problem.coefficients(alpha)
    f, size = K @ beta, np.abs(K) @ np.abs(beta)
    slope = problem.sign * (f[problem.rows] + b) + problem.linear
    gain = np.where(side < 0, -slope, np.where(side > 0, slope, 0.0))
    noise = NOISE * (size[problem.rows] + np.abs(problem.linear) + abs(b))
    gain = np.where(gain > noise, gain, 0.0)
    return np.flatnonzero((gain > 0) & (gain >= LET_GO * gain.max()))
