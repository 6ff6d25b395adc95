"""Machines that are told a share ν in the place of a price, by way of those that are told the price (Schölkopf, Smola, Williamson and Bartlett 2000).

    classes    min ½‖w‖² − ν S ρ + Σ c_i max(0, ρ − t_i (w·φ(x_i) + b)),  S = Σ c_i        divided by ρ: that of SVC with C = 1/ρ
    numbers    min ½‖w‖² + C (ν S ε + Σ c_i max(0, |y_i − w·φ(x_i) − b| − ε))              that of SVR with this ε

A machine of price C (tube ε) whose multipliers add up to ν S C is the one that is looked for, and its duality gap is that of the problem with ν.
Their sum over C falls as C (or ε) grows. Of two machines, one with too much and one with too little, the mixture that has as much as is due is
feasible; the best ρ and b (or ε and b) for its values follow from two weighted quantiles, and are where to look next. The gap of every mixture
is measured, so what is returned is proved whatever the search did.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.families.kernel.expansion import Expansion
from assay.families.kernel.svm.dual import DualProblem, DualState
from assay.families.kernel.svm.solve import BestState, DualTask, Solved, SolverPlan, feasible, measured_anew, states_of
from assay.numerics import Floats

MOST = 40  # machines that are tried
INNER = 0.2  # of tol: what each of them is solved to
GREATEST, LEAST = 1e7, 1e-14  # prices
CLOSE = 1e-6  # relative: machines so near each other are solved closer
CLOSEST = 1e-10
FEW = 0.1  # of tol: what may be missing of the multipliers


class NuProblem(NamedTuple):
    """`problem` with C = 1 (of numbers: ε = 0), what the multipliers must add up to, and of which kind it is."""

    problem: DualProblem
    total: float
    classes: bool

    def at(self, number: float) -> DualProblem:
        """The problem with a price C, or a tube ε."""
        p = self.problem
        return p._replace(upper=number * p.upper) if self.classes else p._replace(linear=p.linear + number)

    def scale(self, number: float) -> float:
        """What multipliers are divided by to be compared."""
        return number if self.classes else 1.0

    def values(self, alpha: Floats) -> Floats:
        """K β of the rows."""
        p, beta = self.problem, self.problem.coefficients(alpha)
        at = np.flatnonzero(beta)
        rows = at if p.kernel.name == "precomputed" else p.X[at]
        return Expansion(p.kernel, rows, beta[None, at], np.zeros(1)).values(p.X)[:, 0]

    def best_number(self, f: Floats) -> float:
        """C = 1/ρ, or ε, of least objective for these values; NaN where ρ is not above zero."""
        p, half = self.problem, 0.5 * self.total
        if self.classes:
            up, down = p.sign > 0, p.sign < 0
            rho = 0.5 * (quantile(f[up], p.upper[up], half) + quantile(-f[down], p.upper[down], half))
            return 1.0 / rho if rho > 0 else math.nan
        n = len(p.X)
        left, upper = -p.linear[:n] - f, p.upper[:n]
        return max(0.0, -0.5 * (quantile(-left, upper, half) + quantile(left, upper, half)))


def quantile(values: Floats, weights: Floats, mass: float) -> float:
    """Between the values below which there is less, and not less, than this mass."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    size = 1e-12 * float(below[-1])
    first, last = (int(np.searchsorted(below, mass + off)) for off in (-size, size))
    first, last = min(first, len(order) - 1), min(last, len(order) - 1)
    return float(0.5 * (values[order[first]] + values[order[last]]))


class _Tried(NamedTuple):
    """A machine: its C or ε, its multipliers over C, and what these add up to."""

    number: float
    unit: Floats
    amount: float


class NuRun:
    """Solves tasks whose price or tube is looked for; `numbers` of the best states, task by task."""

    def __init__(self, nu: float, classes: bool, first: float) -> None:
        self.nu, self.classes, self.first = nu, classes, first
        self.numbers: dict[int, float] = {}

    def states(self, number: int, task: DualTask, plan: SolverPlan, side_by_side: int = 1) -> Iterator[DualState]:
        """The mixtures that the search goes through."""
        p = task.problem
        n = len(p.upper) if self.classes else len(p.X)
        problem = NuProblem(p, self.nu * float(p.upper[:n].sum()), self.classes)
        least, names = math.inf, np.empty(0, dtype=np.int64)
        for count, (found, at, f) in enumerate(self._search(problem, plan, side_by_side), 1):
            if number not in self.numbers or found.gap <= least:
                least, self.numbers[number] = found.gap, at
            yield DualState(
                count, found.alpha, f, found.intercept, found.primal, found.dual, found.gap, names, len(found.alpha)
            )

    def solved(self, task: DualTask, best: BestState, plan: SolverPlan, stopped: bool) -> Solved:
        """The best mixture."""
        state = best.state or best.last
        return Solved(state.alpha, state.intercept, state.primal, state.dual, state.gap, int(best.last.number))

    def _search(self, nu: NuProblem, plan: SolverPlan, side_by_side: int) -> Iterator[tuple[Solved, float, Floats]]:
        low: _Tried | None = None
        high: _Tried | None = None
        number, tol, start, mixed = self.first, INNER * plan.tol, None, False
        for _ in range(MOST):
            tried = self._tried(nu, number, start, plan._replace(tol=tol), side_by_side)
            start = tried.unit
            low, high = (tried, high) if tried.amount >= nu.total else (low, tried)
            unit = _mixed(nu, low, high)
            guess = math.nan
            if unit is not None:
                f = nu.values(unit)
                guess = nu.best_number(f)
                at = guess if guess == guess else tried.number
                at = 0.0 if low is None else at  # no tube is left
                found = measured_anew(nu.at(at), unit * nu.scale(at), plan.tol)
                if not self.classes and found.primal > 0:  # what is missing of the sum costs ε each
                    missing = max(0.0, nu.total - float(np.abs(nu.problem.coefficients(unit)).sum()))
                    short = at * missing / found.primal
                    found = found._replace(
                        gap=max(found.gap + short, 2.0 * plan.tol if short > FEW * plan.tol else 0.0)
                    )
                mixed = True
                yield found, at, f * nu.scale(at)
                if found.gap <= plan.tol:
                    return
            if low is not None and high is not None and high.number - low.number <= CLOSE * high.number:
                if tol <= CLOSEST:
                    return
                tol, low, high = 0.1 * tol, None, None
            after = self._next(number, guess, low, high)
            if after is None:
                break
            number = after
        if not mixed:  # multipliers that never add up to enough prove nothing
            alpha = tried.unit * nu.scale(tried.number)
            found = measured_anew(nu.at(tried.number), alpha, plan.tol)
            yield found._replace(gap=math.inf), tried.number, nu.values(alpha)

    def _tried(self, nu: NuProblem, number: float, start: Floats | None, plan: SolverPlan, side_by_side: int) -> _Tried:
        problem, scale, best = nu.at(number), nu.scale(number), BestState()
        begin = None if start is None else feasible(start * scale, problem.sign, problem.upper)
        for state in states_of(DualTask(problem, np.empty(0), None, begin), plan, side_by_side):
            best.update(state)
        unit = (best.state or best.last).alpha / scale
        return _Tried(number, unit, float(unit.sum()))

    def _next(self, number: float, guess: float, low: _Tried | None, high: _Tried | None) -> float | None:
        """Where to look next; None: nowhere is left."""
        if low is not None and high is not None:
            a, b = low.number, high.number
            if a + 1e-3 * (b - a) < guess < b - 1e-3 * (b - a):
                return guess
            return math.sqrt(a * b) if self.classes else 0.5 * (a + b)
        if low is None and high is None:
            return guess if guess == guess and guess > 0 else number
        if high is None:
            if number >= GREATEST:
                return None
            return min(max(4.0 * number, guess if guess < GREATEST else 0.0), GREATEST)
        if number <= (LEAST if self.classes else 0.0):
            return None
        below = 0.25 * number
        return below if below > (LEAST if self.classes else 1e-9 * self.first) else (LEAST if self.classes else 0.0)


def _mixed(nu: NuProblem, low: _Tried | None, high: _Tried | None) -> Floats | None:
    """Multipliers that add up to what is due, or are as many as can be where no tube is left; None where there are none yet."""
    if low is None:
        return high.unit if high is not None and not nu.classes and high.number == 0.0 else None
    if high is None:
        return low.unit * (nu.total / low.amount)
    share = (nu.total - high.amount) / (low.amount - high.amount)
    mixed: Floats = share * low.unit + (1.0 - share) * high.unit
    return mixed


def most_of_nu(sign: Floats, weight: Floats) -> float:
    """The greatest ν of two classes: twice the lighter one's share."""
    return 2.0 * min(float(weight[sign > 0].sum()), float(weight[sign < 0].sum())) / float(weight.sum())
