"""The variables of a dual problem that are looked at, and working sets of them."""

from __future__ import annotations

import numpy as np

from assay.loops.kernels.slopes import mark_violators, take_slopes
from assay.loops.kernels.working_set import solve_working_set
from assay.numerics import Array, Floats
from assay.solvers.dual.problem import DualProblem
from assay.solvers.dual.source import Source

SHARE = 0.1  # of its violation that a set is left with
STEPS = 50  # a variable of a set, at most
FLAT = 1e-15  # of the slopes' size: violations that are rounding


class Active:
    """The variables that are looked at, and the rows they belong to, numbered afresh."""

    def __init__(self, problem: DualProblem, u: Floats, chosen: Array, source: Source, place: Array) -> None:
        """`place` (n,): the number of each row of the problem in the source."""
        self.chosen, self.source = chosen, source
        self.rows = place[problem.rows[chosen]]
        sign, upper = problem.sign[chosen], problem.upper[chosen]
        self.base = -sign * problem.linear[chosen]
        self.low, self.high = np.where(sign > 0, 0.0, -upper), np.where(sign > 0, upper, 0.0)
        self.u, self.f, self.v = u[chosen], source.room(), np.empty(len(chosen))
        self.fresh = np.ones(len(chosen), dtype=bool)
        self.room = np.empty((2, len(chosen)), dtype=np.int64)

    def look(self) -> tuple[float, float]:
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


def _first(key: Floats, among: Array, many: int) -> Array:
    if len(among) <= many:
        return among.copy()
    return among[np.argpartition(key[among], many - 1)[:many]] if many > 0 else among[:0]
