"""Sequential quadratic programming on the dual, as the lecture notes train kernel SVMs, with the whole kernel matrix in memory.

    maximise  J(α) = Σ α_i − ½ Σ_ij α_i α_j y_i y_j K(x_i, x_j)       Σ α_i y_i = 0,  α ≥ 0
    w₀ = y_i − Σ_j α_j y_j K(x_j, x_i)                                for an i with α_i ≠ 0 (and α_i below its bound)

Where K is positive semidefinite J is its own quadratic model, so every step is one of a single quadratic program: interior points
(interior_point.py) until it is plain which variables are at a bound, then active sets, which make the zeros exact. A hard margin that does
not exist shows by α that grow without end, while the two classes' means under α come together: `bound` tends to zero.

A kernel that is not (sigmoid, or a given matrix) makes a sequence of programs: K = K₊ − K₋ by the signs of its eigenvalues, and each program
has K₊ and, in place of K₋, its slope at the α before. J rises with each, to a point where the first-order conditions hold.

An active-set step guesses which variables are at a bound, solves for the others, and mends the guess:

    [K_ff  s_f] [Δα_f]     [−(s f + p)_f]
    [s_fᵀ   0 ] [  b ]  =  [   −Σ s α    ]        in the signs of s

A step that would leave the box ends at its wall, and what hit the wall stays there; once a whole step fits, variables that would
gain by leaving their bound are let go. Directions without curvature (equal rows, a linear kernel) are left where they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.engines.engine import one_thread_blas, scipy_linalg
from assay.errors import DataError
from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.dual import DualProblem, DualState, best_intercept, measure
from assay.families.kernel.svm.interior_point import (
    Interior,
    balanced,
    factored,
    first_point,
    netted,
    next_point,
    scale_of,
)
from assay.numerics import Array, Floats

RIDGE = 1e-12  # of the diagonal
REFINEMENTS = 4
NOISE = 1e-11  # a slope at a bound less than this share of its terms is rounding
LET_GO = 0.5  # of the worst slope: what gains more leaves its bound in the same step
MOST_ROWS = 2000
STEPS = 300
PLAIN = 1e-4  # a gap at which it may be plain which variables are at a bound
SHARPER = 1e-2  # of the gap, after which that is tried again
TRIES = 60  # steps of an active set
PATIENCE = 8  # steps without a smaller gap after which rounding is to blame
NOTHING = 1e-7  # of the longest φ(x): two means closer than this are the same for all that rounding lets us see
ZERO = 1e-9  # of the greatest α: what counts as zero where active sets did not settle it
ABOUT = 10.0  # times the least gap: exact zeros are worth that
MODEL_GAP = 1e-9  # of each program of a sequence
NEGATIVE = 1e-12  # of the mean of K(x, x) a row: an eigenvalue above minus that is rounding
EVEN = 1e-13  # of Σ α: what rounding leaves of Σ s α


def sqp(
    problem: DualProblem, tol: float, *, start: Floats | None = None, workers: Any = None, most: int = 10**9
) -> Iterator[DualState]:
    """States until the relative gap is at most `tol`, a hard margin is seen not to exist, or rounding allows no more.

    `workers` is there for the other solver's sake: these steps are products of one matrix.
    """
    if len(problem.X) > MOST_ROWS:
        raise DataError(
            f"solver='sqp' keeps the kernel values of all pairs of rows, as the lecture notes do: it takes at most {MOST_ROWS} rows, and "
            f"these are {len(problem.X)}. Use solver='smo', which finds the same answer."
        )
    with one_thread_blas():
        search = _Search(problem, tol)
    states = search.states(start, min(most, STEPS))
    while True:
        with one_thread_blas():
            state = next(states, None)
        if state is None:
            return
        yield state


class _Search:
    """The problem without variables that must be zero, its kernel matrix, and the states counted so far."""

    def __init__(self, problem: DualProblem, tol: float) -> None:
        columns = np.arange(len(problem.X)) if problem.kernel.name == "precomputed" else problem.X
        K = problem.kernel.block(problem.X, columns)
        self.whole_K = 0.5 * (K + K.T)
        self.whole, self.tol, self.number = problem, tol, 0
        self.best: DualState | None = None
        self.exact: DualState | None = None  # the best whose zeros are exact
        self.live = np.flatnonzero(problem.upper > 0)
        used, rows = np.unique(problem.rows[self.live], return_inverse=True)
        parts = (part[self.live] for part in (problem.sign, problem.linear, problem.upper))
        self.problem = DualProblem(problem.kernel, problem.X[used], rows, *parts)
        self.K = self.whole_K[np.ix_(used, used)]
        self.positive = positive_part(self.K)
        self.nothing = NOTHING * math.sqrt(float(np.abs(self.K.diagonal()).max(initial=0.0)))

    def states(self, start: Floats | None, most: int) -> Iterator[DualState]:
        if self.positive is None:
            return self.program(start, most)
        return self.programs(self.positive, most)

    def programs(self, positive: Floats, most: int) -> Iterator[DualState]:
        """One state a program; the active set of each is tried on the kernel matrix itself."""
        problem, negative, alpha = self.problem, positive - self.K, np.zeros(len(self.live))
        while self.number < most:
            slope = problem.sign * (negative @ problem.coefficients(alpha))[problem.rows]
            model = DualProblem(
                Kernel("precomputed"), positive, problem.rows, problem.sign, problem.linear - slope, problem.upper
            )
            *_, best = _Search(model, MODEL_GAP).program(None, STEPS)
            change, alpha = float(np.abs(best.alpha - alpha).max()), best.alpha
            state = self.state(alpha, np.arange(len(self.live)))
            yield state
            if self.is_done(state) or change <= EVEN * float(alpha.max()):
                return
            side = np.where(alpha <= 0.0, -1, np.where(alpha >= problem.upper, 1, 0))
            for state in self.settled(ActiveSetGuess(alpha, side), most):
                if self.is_done(state):
                    yield state
                    return

    def program(self, start: Floats | None, most: int) -> Iterator[DualState]:
        problem = self.problem
        if not ((problem.sign > 0).any() and (problem.sign < 0).any()):
            yield self.state(np.zeros(len(self.live)), np.arange(len(self.live)))
            return
        first = np.zeros(len(self.live)) if start is None else start[self.live]
        state = self.state(balanced(problem, np.clip(first, 0.0, problem.upper)), np.arange(len(self.live)))
        yield state
        if self.is_done(state):
            return
        at, since, tried = first_point(problem, self.K, None if start is None else first), 0, PLAIN
        while self.number < most and since < PATIENCE:
            with np.errstate(all="ignore"):
                there = next_point(problem, self.K, at)
            if not np.isfinite(there.alpha).all():
                break
            at = there
            inside = netted(problem, np.clip(at.alpha, 0.0, problem.upper))
            state = self.state(balanced(problem, inside), np.arange(len(self.live)))
            yield state
            if self.shows_nothing(state):
                return
            since = 0 if state is self.best or state.gap >= 1.0 else since + 1
            if state.gap <= tried:
                tried = SHARPER * state.gap
                for state in self.settled(guess_of(problem, self.K, at), most):
                    yield state
                    if self.is_done(state):
                        return
        cleared = self.state(self.cleared(at.alpha), np.arange(len(self.live)))
        self.number = min(self.number, max(1, most))  # making zeros exact is no iteration beyond those allowed
        found = [self.exact, cleared, self.best]
        yield self.preferred([state for state in found if state is not None])

    def settled(self, guess: ActiveSetGuess, most: int) -> Iterator[DualState]:
        for found in active_set(self.problem, self.K, guess, min(TRIES, most - self.number)):
            alpha = netted(self.problem, found.alpha)
            if abs(float(self.problem.sign @ alpha)) > EVEN * float(alpha.sum()):
                alpha = balanced(self.problem, alpha)
            state = self.state(alpha, np.flatnonzero(found.side == 0))
            self.exact = _better(self.exact, state)
            yield state

    def cleared(self, alpha: Floats) -> Floats:
        """α with all but zeros and all but upper bounds made exact."""
        upper, alpha = self.problem.upper, netted(self.problem, alpha)
        alpha = np.where(alpha <= ZERO * alpha.max(), 0.0, alpha)
        return balanced(self.problem, np.where(alpha >= (1.0 - ZERO) * upper, upper, alpha))

    def is_done(self, state: DualState) -> bool:
        return state.gap <= self.tol or self.shows_nothing(state)

    def shows_nothing(self, state: DualState) -> bool:
        return state.bound <= self.nothing

    def state(self, alpha: Floats, working: Array) -> DualState:
        """The state of α (of the live variables), with the intercept of the notes where that is as good as the best."""
        whole = np.zeros(len(self.whole.upper))
        whole[self.live] = alpha
        f = self.whole_K @ self.whole.coefficients(whole)
        b = best_intercept(self.whole, f)
        found = measure(self.whole, whole, f, b)
        noted = noted_intercept(self.whole, whole, f)
        if noted is not None:
            other = measure(self.whole, whole, f, noted)
            if other.gap <= max(self.tol, found.gap):
                b, found = noted, other
        if found.bound <= self.nothing:  # whatever side rows seem to be on is rounding
            found = found._replace(primal=math.inf, gap=math.inf)
        self.number += 1
        working = self.live[working]
        state = DualState(self.number, whole, f, b, *found[:3], working, len(working), found.bound)
        self.best = _better(self.best, state)
        return state

    def preferred(self, states: list[DualState]) -> DualState:
        """The first that is about as good as the best, as the last state."""
        least = min(state.gap for state in states)
        return next(state for state in states if state.gap <= ABOUT * least)._replace(number=self.number)


def positive_part(K: Floats) -> Floats | None:
    """K without its negative eigenvalues; None where it has none."""
    linalg, shift = scipy_linalg(), NEGATIVE * len(K) * scale_of(K)
    try:
        linalg.cholesky(K + shift * np.eye(len(K)), lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        values, V = np.linalg.eigh(K)
        if values[0] < -shift:
            part: Floats = (V * np.maximum(values, 0.0)) @ V.T
            return 0.5 * (part + part.T)
    return None


def _better(a: DualState | None, b: DualState) -> DualState:
    return b if a is None or b.gap < a.gap else a


def noted_intercept(problem: DualProblem, alpha: Floats, f: Floats) -> float | None:
    """w₀ by one variable between its bounds, that with most room to both; None where there is no such variable."""
    room = np.minimum(alpha, problem.upper - alpha)
    if not len(room) or room.max() <= 0:
        return None
    t = int(room.argmax())
    return float(-problem.sign[t] * problem.linear[t] - f[problem.rows[t]])


class ActiveSetGuess(NamedTuple):
    """α (l,) and where each variable is: −1 at zero, 0 between, +1 at its upper bound."""

    alpha: Floats
    side: Array


def guess_of(problem: DualProblem, K: Floats, at: Interior) -> ActiveSetGuess:
    """Of α and its multiplier one tends to zero, the other does not: the smaller one is taken for zero."""
    unit = scale_of(K)
    side = np.zeros(len(at.alpha), dtype=np.int64)
    side[at.alpha * unit < at.z] = -1
    ends = np.isfinite(problem.upper)
    side[ends & ((np.where(ends, problem.upper, 0.0) - at.alpha) * unit < at.u)] = 1
    alpha = netted(problem, _pinned(problem, at.alpha, side))
    return ActiveSetGuess(alpha, np.where(alpha <= 0.0, -1, side))


def _pinned(problem: DualProblem, alpha: Floats, side: Array) -> Floats:
    return np.where(side < 0, 0.0, np.where(side > 0, problem.upper, alpha))


def active_set(problem: DualProblem, K: Floats, guess: ActiveSetGuess, most: int) -> Iterator[ActiveSetGuess]:
    """At most `most` steps from the guess; ends earlier where no variable wants to leave its bound."""
    alpha, side = guess.alpha.copy(), guess.side.copy()
    for _ in range(most):
        free = np.flatnonzero(side == 0)
        if not len(free):
            yield ActiveSetGuess(alpha, side)
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
        yield ActiveSetGuess(alpha, side)
        encoding_spec = _leaving(problem, K, alpha, side, b)
        if not len(encoding_spec):
            return
        side[encoding_spec] = 0


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
