"""Running the dual problems of one fit: which solver, how long, and what is kept of its states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.engines.threads import Threads
from assay.errors import DataError
from assay.hypotheses.kernel_svm.progress import Progress
from assay.kernels import Expansion
from assay.learner.stopping import Stopping
from assay.numerics import Array, Floats
from assay.solvers.dual.problem import DualProblem, DualState, best_intercept, measure

SOLVERS = ("smo", "sqp")
NO_LIMIT = 10**9  # iterations
CLOSER = 0.9  # of tol: solvers may count on kernel values in float32, and the gap shall hold without


class Task(NamedTuple):
    """A dual problem, the places of its rows among those of the fit, (n,), their numbers in the table, and a feasible α to begin at."""

    problem: DualProblem
    rows: Array
    numbers: Array | None = None
    start: Floats | None = None


class Plan(NamedTuple):
    """How problems are solved; the memory for kernel values is that of all problems that are solved at the same time."""

    solver: str
    tol: float
    most: int
    cache_bytes: int
    workers: Threads


class Solved(NamedTuple):
    """The state of least gap of one problem. `last` is the number of its last state."""

    alpha: Floats
    intercept: float
    primal: float
    dual: float
    gap: float
    last: int


def solver_of(name: str) -> Callable[..., Iterator[DualState]]:
    """The solver of that name, imported when it is first asked for."""
    if name == "sqp":
        from assay.solvers.dual.sqp import sqp

        return sqp
    from assay.solvers.dual.smo import smo

    return smo


def states_of(task: Task, plan: Plan, side_by_side: int = 1) -> Iterator[DualState]:
    """The states that the solver of a task passes through."""
    more: dict[str, Any] = {} if plan.solver == "sqp" else {"cache_bytes": plan.cache_bytes // side_by_side}
    solve = solver_of(plan.solver)
    return solve(task.problem, CLOSER * plan.tol, start=task.start, workers=plan.workers, most=plan.most, **more)


class Best:
    """The state of least gap among those that look at all variables, and the last one."""

    state: DualState | None = None
    last: DualState
    seen = 0

    def see(self, state: DualState) -> None:
        if state.share == 1.0 and (self.state is None or state.gap <= self.state.gap):
            self.state = state
        self.last = state
        self.seen += 1

    @property
    def gap(self) -> float:
        return math.inf if self.state is None else self.state.gap

    def solved(self, problem: DualProblem, tol: float) -> Solved:
        """The best state. Of a run that ended early the last one is measured anew: its gap may be that of some variables alone."""
        number, state = int(self.last.number), self.state
        if self.gap > tol or state is None:
            again = measured_anew(problem, self.last.alpha)
            if state is None or again.gap < state.gap:
                return again._replace(last=number)
        return Solved(state.alpha, state.intercept, state.primal, state.dual, state.gap, number)


def measured_anew(problem: DualProblem, alpha: Floats) -> Solved:
    """How far α is from the optimum, by kernel values of all rows."""
    beta = problem.coefficients(alpha)
    support = np.flatnonzero(beta)
    rows = support if problem.kernel.name == "precomputed" else problem.X[support]
    f = Expansion(problem.kernel, rows, beta[None, support], np.zeros(1)).values(problem.X)[:, 0]
    b = best_intercept(problem, f)
    found = measure(problem, alpha, f, b)
    return Solved(alpha, b, found.primal, found.dual, found.gap, 0)


def solve_all(tasks: Sequence[Task], plan: Plan, stopping: Stopping, progress: Progress | None = None) -> list[Solved]:
    """Every task solved, several side by side; each problem on one thread where there are many."""
    together = min(len(tasks), plan.workers.workers)

    def solve(number: int) -> Solved:
        found = _solve(tasks[number], plan, together, stopping, progress, number)
        if progress is not None:
            progress.ended(number)
        return found

    return list(plan.workers.map(solve, range(len(tasks))))


def _solve(task: Task, plan: Plan, together: int, stopping: Stopping, progress: Progress | None, number: int) -> Solved:
    until, best, stopped = stopping.begin(), Best(), False
    try:
        for state in states_of(task, plan, together):
            best.see(state)
            if progress is not None:
                progress.heard(number, state)
            if state.gap > plan.tol and stopping.over(until, best.seen):
                stopped = True
                break
    except KeyboardInterrupt:
        if not best.seen:
            raise
        stopping.interrupted = stopped = True
    if not stopped:
        refuse_inseparable(task, best, plan)
    return best.solved(task.problem, plan.tol)


def refuse_inseparable(task: Task, best: Best, plan: Plan) -> None:
    """Raise where a hard margin was asked for and the solver ended without any."""
    if task.problem.hard and math.isinf(best.gap) and best.last.number < plan.most:
        from assay.solvers.dual.hard import why_not_separable

        why = why_not_separable(task.problem, best.last, task.numbers)
        raise DataError(f"C=inf asks for a hard margin, and none was found: {why}. Give a finite C, or another kernel.")


def feasible(alpha: Floats, sign: Floats, upper: Floats) -> Floats | None:
    """α pulled into 0 ≤ α ≤ U with Σ s α = 0, by making the heavier side lighter; None where nothing is left."""
    alpha = np.clip(alpha, 0.0, upper)
    up, down = float(alpha[sign > 0].sum()), float(alpha[sign < 0].sum())
    if not (0 < up < np.inf and 0 < down < np.inf):
        return None
    side = sign > 0 if up > down else sign < 0
    return np.where(side, alpha * (min(up, down) / max(up, down)), alpha)
