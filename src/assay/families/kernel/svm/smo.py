"""The dual of kernel machines by working sets of some hundred variables, each solved two variables at a time.

    choose   half of the set stays (the newest), the rest are the greatest violators: those that can rise and have a steep slope, those that can fall
    solve    the set's own dual by second-order steps on a dense block of the kernel (`families.kernel.loops.working_set`)
    update   values f of all rows, by the rows whose coefficients changed: the kernel is computed as the sums need it
    shrink   variables at a bound that would have to cross all others to move are left out, and come back at the end

P − D is a sum of one term ≥ 0 a variable, which is 0 where a variable is left out rightly; so the gap is known all the time, and is taken over all
variables before the end. Kernel values are float32 at first. They are the same whenever they are taken, and symmetric, so they are those of a
problem very near; where at the end the true values of some rows show that the difference matters for the gap, float64 goes on from there.
The hard margin is float64 throughout: whether a margin is tiny or none is not seen in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.engines.engine import Threads
from assay.families.kernel.loops import gap_of, mark_settled, mark_violators, solve_working_set, take_slopes
from assay.families.kernel.svm.dual import DualProblem, DualState, best_intercept, measure
from assay.families.kernel.svm.kernel_cache import ComputedKernelRows, KernelRows, source_of
from assay.families.kernel.svm.sqp import MOST_ROWS, sqp
from assay.families.kernel.tiles import Tiles, has_float32, has_tiles
from assay.numerics import Array, Floats

SHARE = 0.1  # of its violation that a set is left with
STEPS = 50  # a variable of a set, at most
FLAT = 1e-15  # of the slopes' size: violations that are rounding
SET, LEAST_SET = 768, 256  # variables of a working set, of large problems and small
NEAR = 3.0  # times tol: from there on the best intercept is searched
CHECKED = 32  # sets between checks whether float32 still suffices
EVERY = 8  # sets between attempts to shrink
FEWER = 0.8  # of the variables: with no more than that left it is worth the change
TRUST = 0.1  # of tol that float32 may add to the gap
TRUST_SUM = 0.05  # of tol that it may add to the loss
CONFIDENT = 3.0  # deviations of a mean
FEW = 512  # rows up to which all true values are taken at the end
SAMPLED = 256  # rows whose true values are taken for that
NO_MARGIN = 1e-7  # of the radius: a margin that float64 cannot tell from none
PATIENCE = 200  # sets, after which few rows are left to a solver whose steps do not mind nearly dependent rows
STALLED = 300  # sets without a gap smaller by a tenth, or a dual greater by one


class _LeftOut(NamedTuple):
    """Rows that are shrunk away for now, their values, and the coefficients β of that time."""

    rows: Array
    values: Floats
    beta: Floats


class Smo:
    """A run of the algorithm."""

    def __init__(
        self, problem: DualProblem, tol: float, workers: Threads | None, cache_bytes: int, shrinking: bool
    ) -> None:
        self.problem, self.tol, self.workers, self.cache_bytes, self.shrinking = (
            problem,
            tol,
            workers,
            cache_bytes,
            shrinking,
        )
        self.n, self.l = len(problem.X), len(problem.rows)
        self.u, self.number = np.zeros(self.l), 0
        exact = problem.hard or not has_tiles(problem.kernel) or not has_float32(problem.kernel, problem.X)
        self.dtype: Any = np.float64 if exact else np.float32
        self.dual, self.slow = 0.0, False
        self.least, self.highest, self.since_gain = math.inf, 0.0, 0
        self.patience = PATIENCE if self.n <= MOST_ROWS and problem.kernel.name != "sigmoid" else math.inf
        self.radius = (
            math.sqrt(max(0.0, float(problem.kernel.diagonal(problem.X).max(initial=0.0)))) if problem.hard else 0.0
        )

    def start_at(self, start: Floats | None) -> None:
        self.whole = source_of(
            self.problem.kernel, self.problem.X, np.arange(self.n), self.dtype, self.workers, self.cache_bytes
        )
        if start is not None:
            self.u = self.problem.sign * np.clip(start, 0.0, self.problem.upper)
        self.active = self._all(None)

    def beta(self) -> Floats:
        return np.bincount(self.problem.rows, weights=self.u, minlength=self.n).astype(np.float64)

    def _all(self, values: Floats | None) -> Active:
        """All variables; values that are not known from the coefficients."""
        self.numbers = np.arange(self.n)  # of the active rows
        self.left: list[_LeftOut] = []
        active = Active(self.problem, self.u, np.arange(self.l), self.whole, self.numbers)
        if values is not None:
            active.f[: self.n] = values
        else:
            beta = self.beta()
            support = np.flatnonzero(beta)
            if len(support):
                self.whole.add(active.f, support, beta[support])
        return active

    @property
    def narrows(self) -> bool:
        """Whether variables are left out: kept values of all rows are had for nothing."""
        return self.shrinking and isinstance(self.whole, ComputedKernelRows)

    @property
    def is_whole(self) -> bool:
        return len(self.active.chosen) == self.l

    def state(
        self, b: float, primal: float, dual: float, gap: float, bound: float, working: Array, changed: int
    ) -> DualState:
        self.u[self.active.chosen] = self.active.u
        alpha, share = np.abs(self.u), len(self.active.chosen) / self.l
        return DualState(self.number, alpha, self._values(), b, primal, dual, gap, working, changed, bound, share)

    def _values(self) -> Floats:
        """Of rows that are left out those of some time ago."""
        if self.is_whole:
            return self.active.f[: self.n]
        known = np.empty(self.n)
        known[self.numbers] = self.active.f[: len(self.numbers)]
        for rows, f, _ in self.left:
            known[rows] = f
        return known

    def gap(self, top: float, bottom: float) -> tuple[float, float, float, float, float]:
        """The intercept, primal, dual, relative gap, and the bound on hard margins."""
        A, problem = self.active, self.problem
        b = 0.5 * (top + bottom)
        if problem.hard:
            part = problem._replace(
                rows=A.rows, sign=problem.sign[A.chosen], linear=problem.linear[A.chosen], upper=problem.upper[A.chosen]
            )
            part = part._replace(X=A.f[: A.source.size, None])  # only its length is used
            b = best_intercept(part, A.f)
            return b, *measure(part, np.abs(A.u), A.f[: A.source.size], b)
        if self.is_whole:
            self.dual = float(A.u @ A.base) - 0.5 * float(A.u @ A.f[A.rows])
        gap = float(gap_of(A.v, A.u, A.low, A.high, b))
        if self.is_whole and gap <= NEAR * self.tol * (self.dual + gap):
            other = best_intercept(problem, A.f)
            least = float(gap_of(A.v, A.u, A.low, A.high, other))
            b, gap = (other, least) if least < gap else (b, gap)
        primal = self.dual + gap
        return b, primal, self.dual, gap / primal if primal > 0 else 0.0, math.inf

    def shrink(self, top: float, bottom: float) -> bool:
        """Leave out what is settled; whether there was enough of it."""
        A = self.active
        assert isinstance(A.source, ComputedKernelRows)
        settled = np.empty(len(A.chosen), dtype=bool)
        if len(A.chosen) - mark_settled(A.v, A.u, A.low, A.high, top, bottom, settled) > FEWER * len(A.chosen):
            return False
        self.u[A.chosen] = A.u
        here = np.flatnonzero(~settled)
        used = np.zeros(A.source.size, dtype=bool)
        used[A.rows[here]] = True
        keep = np.flatnonzero(used)
        place = np.cumsum(used) - 1
        inner = np.full(self.n, -1, dtype=np.int64)
        inner[self.problem.rows[A.chosen[here]]] = place[A.rows[here]]
        out = np.flatnonzero(~used)
        self.left.append(_LeftOut(self.numbers[out], A.f[out], self.beta()))
        narrow = Active(self.problem, self.u, A.chosen[here], A.source.narrowed(keep), inner)
        narrow.f[: len(keep)] = A.f[keep]
        self.active, self.numbers = narrow, self.numbers[keep]
        return True

    def widen(self) -> None:
        """Look at all variables again: what was left out learns what changed since."""
        self.u[self.active.chosen] = self.active.u
        values, beta = np.empty(self.n), self.beta()
        values[self.numbers] = self.active.f[: len(self.numbers)]
        assert isinstance(self.whole, ComputedKernelRows)
        for rows, f, before in self.left:
            changed = np.flatnonzero(beta != before)
            values[rows] = self.whole.sums_at(rows, f, changed, (beta - before)[changed])
        self.active = self._all(values)

    def change_to_float64(self) -> None:
        self.dtype = np.float64
        self.start_at(np.abs(self.u))

    def float32_suffices(self, gap: float) -> bool:
        """Whether the true values of some rows show that float32 adds little to such a gap: of free rows every error counts; of rows at their bound,
        whose loss is a sum, what is left of errors up and down."""
        A = self.active
        free = np.flatnonzero((A.u > A.low) & (A.u < A.high))
        bound = np.flatnonzero((A.u != 0) & ((A.u <= A.low) | (A.u >= A.high)))
        free = free if len(free) else np.arange(len(A.u))
        bound = bound if len(bound) else free
        of_free, of_bound = (self._float32_errors(_evenly(rows, SAMPLED // 2)) for rows in (free, bound))
        left = abs(of_bound.mean()) + CONFIDENT * of_bound.std() / math.sqrt(len(of_bound))
        return float(np.abs(of_free).mean()) * len(free) <= TRUST * gap and left * len(bound) <= TRUST_SUM * gap

    def _float32_errors(self, some: Array) -> Floats:
        """Of these active variables, what the values of their rows are off by, times what that costs."""
        A, problem = self.active, self.problem
        beta = problem.coefficients(np.abs(self.u))
        support = np.flatnonzero(beta)
        due = Tiles(problem.kernel, problem.X, problem.rows[A.chosen[some]], np.float64)
        f = due.zeros()
        due.add(f, due.group(problem.X, support), beta[support], self.workers)
        costs: Floats = np.where(A.high[some] > 0, A.high[some], A.low[some])
        return (f[: len(some)] - A.f[A.rows[some]]) * costs

    def stretch(self) -> None:
        """Take α times what makes the dual greatest: of a hard margin, where nothing bounds it, margins are then 1."""
        A = self.active
        square = float(A.u @ A.f[A.rows])
        times = float(np.abs(A.u).sum()) / square if square > 0 else 1.0
        A.u *= times
        A.f *= times

    def is_stalled(self, gap: float) -> bool:
        """Whether many sets in a row gained next to nothing: rounding, columns of very different scales, a hard margin that is next to nothing."""
        gained = self.dual > 1.1 * self.highest and not self.problem.hard
        if gap < 0.9 * self.least or gained:
            self.least, self.highest, self.since_gain = min(gap, self.least), self.dual, self.number
        return self.number - self.since_gain >= STALLED

    def run(self, most: int) -> Iterator[DualState]:
        working, changed, stay = np.empty(0, dtype=np.int64), 0, np.empty(0, dtype=np.int64)
        since, size = 0, min(SET, max(LEAST_SET, self.l // 6))
        while True:
            top, bottom = self.active.violation()
            b, primal, dual, gap, bound = self.gap(top, bottom)
            done = gap <= self.tol or top - bottom <= FLAT
            if self.dtype == np.float32 and not done and self.number % CHECKED == CHECKED - 1:
                self.u[self.active.chosen] = self.active.u
                if not self.float32_suffices(gap * primal):
                    self.change_to_float64()
                    stay, since = stay[:0], 0
                    continue
            if done and not self.is_whole:
                self.widen()
                stay, since = stay[:0], 0
                continue
            if done and self.dtype == np.float32:
                self.u[self.active.chosen] = self.active.u
                if self.n <= FEW or not self.float32_suffices(self.tol * primal):
                    self.change_to_float64()
                    stay, since = stay[:0], 0
                    continue
            if done and self.problem.hard and gap < math.inf:
                self.stretch()
                b, primal, dual, gap, bound = self.gap(*self.active.violation())
            yield self.state(b, primal, dual, gap, bound, working, changed)
            if done or self.number >= most or bound <= NO_MARGIN * self.radius:
                return
            if self.number >= self.patience:
                self.slow = True
                return
            if self.is_stalled(gap):
                return
            self.number += 1
            since += 1
            if self.narrows and since % EVERY == 0 and self.shrink(top, bottom):
                stay = stay[:0]
                top, bottom = self.active.violation()
            new = self.active.choose(stay, top, bottom, size)
            if not len(new) and len(stay):
                stay = stay[:0]
                new = self.active.choose(stay, top, bottom, size)
            chosen = np.concatenate([stay, new])
            changed = len(self.active.solve(chosen))
            working = self.active.chosen[chosen]
            stay = new[: size // 2] if len(new) > size // 2 else chosen[-(size // 2) :]


def smo(
    problem: DualProblem,
    tol: float,
    *,
    start: Floats | None = None,
    workers: Threads | None = None,
    most: int = 10**9,
    cache_bytes: int = 500 << 20,
    shrinking: bool = True,
) -> Iterator[DualState]:
    """The states after each working set, until the relative gap is at most tol, `most` sets, or no margin is left. `start`: α to begin with."""
    run = Smo(problem, tol, workers, cache_bytes, shrinking)
    run.start_at(start)
    yield from run.run(most)
    if run.slow and run.number < most:
        for state in sqp(problem, tol, most=most - run.number):
            yield state._replace(number=run.number + state.number)


class Active:
    """The active variables, and the rows they belong to, numbered afresh."""

    def __init__(self, problem: DualProblem, u: Floats, chosen: Array, source: KernelRows, place: Array) -> None:
        """`place` (n,): the number of each row of the problem in the source."""
        self.chosen, self.source = chosen, source
        self.rows = place[problem.rows[chosen]]
        sign, upper = problem.sign[chosen], problem.upper[chosen]
        self.base = -sign * problem.linear[chosen]
        self.low, self.high = np.where(sign > 0, 0.0, -upper), np.where(sign > 0, upper, 0.0)
        self.u, self.f, self.v = u[chosen], source.zeros(), np.empty(len(chosen))
        self.fresh = np.ones(len(chosen), dtype=bool)
        self.room = np.empty((2, len(chosen)), dtype=np.int64)

    def violation(self) -> tuple[float, float]:
        """The greatest slope that can rise and the least that can fall."""
        top, bottom = take_slopes(self.base, self.f, self.rows, self.u, self.low, self.high, self.v)
        return float(top), float(bottom)

    def choose(self, stay: Array, top: float, bottom: float, size: int) -> Array:
        """New variables for the set, besides those that stay."""
        self.fresh[stay] = False
        rise, fall = self.room
        a, b = mark_violators(self.v, self.u, self.low, self.high, top, bottom, self.fresh, rise, fall)
        wanted = size - len(stay)
        up = _first(-self.v, rise[:a], max(wanted // 2, wanted - b))
        self.fresh[up] = False
        down = fall[:b][self.fresh[fall[:b]]]
        self.fresh[up] = True
        self.fresh[stay] = True
        return np.concatenate([up, _first(self.v, down, wanted - len(up))])

    def solve(self, chosen: Array) -> Array:
        """Make the set's dual great; returns those of it that changed, and brings f up to date."""
        K = self.source.block(self.rows[chosen])
        u, low, high, slope = (np.zeros(K.shape[1]) for _ in range(4))
        for room, whole in ((u, self.u), (low, self.low), (high, self.high), (slope, self.v)):
            room[: len(chosen)] = whole[chosen]
        floor = FLAT * max(1.0, float(np.abs(slope).max(initial=0.0)))
        solve_working_set(K, u, low, high, slope, SHARE, floor, STEPS * K.shape[1])
        step = u[: len(chosen)] - self.u[chosen]
        changed = np.flatnonzero(step)
        self.u[chosen] = u[: len(chosen)]
        if len(changed):
            self.source.add(self.f, self.rows[chosen[changed]], step[changed])
        return chosen[changed]


def _evenly(rows: Array, many: int) -> Array:
    """At most so many of the rows, evenly drawn."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, many).astype(np.int64))]


def _first(key: Floats, among: Array, many: int) -> Array:
    if len(among) <= many:
        return among.copy()
    return among[np.argpartition(key[among], many - 1)[:many]] if many > 0 else among[:0]
