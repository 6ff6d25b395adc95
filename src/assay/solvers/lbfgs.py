"""Preconditioned L-BFGS for a smooth loss and a quadratic penalty (Liu and Nocedal 1989). Shape: repeated fold.

    v = −H g,   w ← w + t·v

H is the inverse of a preconditioner M, scaled and then corrected by the last few steps s and changes y of the gradient so that
H y = s. A step of length t = 1 is tried first; it must bring its share of the fall that the slope promises and leave no steep slope
(weak Wolfe), which convexity grants after few looks. Once F no longer changes in floating point, slopes alone are
trusted (Hager and Zhang 2005), as the gap still falls with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.errors import ParameterError
from assay.numerics import Floats
from assay.solvers.preconditioner import Preconditioner
from assay.solvers.problem import Iterate, Problem
from assay.solvers.softmax_problem import SoftmaxProblem

FALL, FLAT = 1e-4, 0.9  # the shares of the slope that a step must use, and may leave
TRIALS = 25
ROUNDING = 1e-14  # of F: differences below are not believed
IDLE = 8  # steps without a smaller gap after which it is at its floor


class LbfgsState(NamedTuple):
    """Where the solver stands: w, the evaluation there, F (of the smoothed loss) and its gradient."""

    w: Floats
    evaluation: Any
    value: float
    gradient: Floats


class Memory:
    """The last steps s and changes y of the gradient, and through them H."""

    def __init__(self, precondition: Preconditioner, size: int) -> None:
        self.precondition = precondition
        self.pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=size)
        self.factor = 1.0

    def remember(self, s: Floats, y: Floats) -> None:
        """Take in a step, where it saw curvature."""
        sy = dot(s, y)
        yy = dot(y, self.precondition.solve(y))
        if sy > 1e-14 * np.sqrt(dot(s, s) * dot(y, y)) and yy > 0:
            self.pairs.append((s, y, sy))
            self.factor = sy / yy

    def direction(self, g: Floats) -> Floats:
        """−H g by the two loops."""
        q = g.copy()
        shares = []
        for s, y, sy in reversed(self.pairs):
            a = dot(s, q) / sy
            q -= a * y
            shares.append(a)
        r = self.factor * self.precondition.solve(q)
        for (s, y, sy), a in zip(self.pairs, reversed(shares)):
            r += (a - dot(y, r) / sy) * s
        return -r

    def forget(self) -> None:
        self.pairs.clear()
        self.factor = 1.0


def dot(a: Floats, b: Floats) -> float:
    """Σ ab; not by BLAS, whose order depends on the number of threads."""
    return float((a * b).sum())


def stand(problem: Problem | SoftmaxProblem, w: Floats) -> LbfgsState:
    """Look at w."""
    evaluation = problem.evaluate(w)
    return LbfgsState(
        w, evaluation, evaluation.smooth + problem.penalty.value(w), evaluation.gradient + problem.penalty.l2 * w
    )


def lbfgs(
    problem: Problem | SoftmaxProblem,
    start: Floats,
    tol: float,
    max_iter: int,
    precondition: Preconditioner,
    memory: int = 10,
) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … until the gap is at most `tol`.

    Where weights are free there is no dual and no gap: ½gᵀHg / F takes its place, by how much of itself F would fall
    were H the inverse of the Hessian. Ends early, `done`, at the least gap that rounding allows.
    """
    if not problem.penalty.quadratic:
        raise ParameterError(
            "L-BFGS needs a smooth penalty: choose solver='proximal-newton' for an L1 part, or penalty='l2'."
        )
    recent = Memory(precondition, memory)
    at = best = stand(problem, start)
    least, idle = np.inf, 0
    estimated = bool(problem.penalty.free[:-1].any())  # then the place with the least F is the best, which is the last
    for number in range(max_iter + 1):
        v = recent.direction(at.gradient)
        gap = measure(problem, at, v, recent.precondition)
        idle = 0 if gap < 0.9 * least else idle + 1
        if gap < least or estimated:
            best, least = at, gap
        if gap <= tol:
            yield _iterate(problem, number, at, gap, True)
            return
        stuck = idle > IDLE and -dot(v, at.gradient) < ROUNDING * abs(at.value)
        following = None if stuck or number == max_iter else step(problem, at, v, recent, number)
        if following is None:
            yield _iterate(problem, number, best, least, number < max_iter)
            return
        yield _iterate(problem, number, at, gap, False)
        recent.remember(following.w - at.w, following.gradient - at.gradient)
        at = following


def _iterate(problem: Problem | SoftmaxProblem, number: int, at: LbfgsState, gap: float, done: bool) -> Iterate:
    width = problem.loss.width if isinstance(problem, Problem) and problem.loss.name == "hinge" else 0.0
    return Iterate(number, at.w, problem.objective(at.evaluation, at.w), gap, width, at.evaluation.least, done)


def measure(problem: Problem | SoftmaxProblem, at: LbfgsState, v: Floats, precondition: Preconditioner) -> float:
    """The relative gap, or where there is none ½gᵀHg / F or ½gᵀM⁻¹g / F, whichever is greater."""
    gap = problem.gap(at.evaluation, at.w)
    if np.isfinite(gap):
        return gap
    fall = max(-dot(v, at.gradient), dot(at.gradient, precondition.solve(at.gradient)))
    return 0.5 * fall / max(abs(at.value), 1e-300)


def step(
    problem: Problem | SoftmaxProblem, at: LbfgsState, v: Floats, recent: Memory, number: int
) -> LbfgsState | None:
    """A step along v or, where that leads nowhere, along −M⁻¹g; None where nothing more is to be gained."""
    renewed = recent.precondition.renewed(number, at.w)
    if renewed is not recent.precondition:
        recent.precondition = renewed
        v = recent.direction(at.gradient)
    return descend(partial(stand, problem), at, v, recent)


def descend(stand: Callable[[Floats], LbfgsState], at: LbfgsState, v: Floats, recent: Memory) -> LbfgsState | None:
    """A step along v or, where that leads nowhere, along −M⁻¹g; `stand(w)` looks at w."""
    found = search(stand, at, v)
    if found is None and recent.pairs:
        recent.forget()
        found = search(stand, at, recent.direction(at.gradient))
    return found


def search(stand: Callable[[Floats], LbfgsState], at: LbfgsState, v: Floats) -> LbfgsState | None:
    """w + t·v for the first t that satisfies the weak Wolfe conditions; None where none is found."""
    slope = dot(v, at.gradient)
    if not slope < 0:
        return None
    t, low, high = 1.0, 0.0, np.inf
    low_slope, short = slope, None  # the longest step so far that is too short
    for _ in range(TRIALS):
        there = stand(at.w + t * v)
        ahead = dot(v, there.gradient)
        if not _falls(at.value, there.value, t * slope, ahead / slope):
            high = t
            t = _between(low, high, low_slope, ahead)
        elif ahead < FLAT * slope:
            low, low_slope, short = t, ahead, there
            t = min(10.0 * t, _between(low, high, low_slope, np.nan))
        else:
            return there
        if not low < t < high:
            break
    return short


def _falls(before: float, after: float, promised: float, left: float) -> bool:
    """Whether F falls enough; `left` is the slope that is left, as a share of the first (below zero: it rises again)."""
    if not np.isfinite(after):
        return False
    if after <= before + FALL * promised:
        return True
    return after <= before + ROUNDING * abs(before) and left >= 2 * FALL - 1


def _between(low: float, high: float, low_slope: float, high_slope: float) -> float:
    """Where the slope would vanish were it a straight line, kept off both ends."""
    if high == np.inf:
        return 4.0 * low
    share = low_slope / (low_slope - high_slope) if high_slope > 0 else 0.5
    return low + min(max(share, 0.1), 0.9) * (high - low) if np.isfinite(share) else low + 0.1 * (high - low)
