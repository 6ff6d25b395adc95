"""Solving the dual problems of one fit: its rows in memory and float64, which solver, how long, and what is kept of its states.

Several classes are problems of two: one against one, or one against the rest. One against one, problem (i, j), i < j: y = +1 for class i, so
f_ij > 0 votes for i. As libsvm, coefficients of all problems lie in an array (K − 1, m): of a support row of class i, row j − 1 of the array
is its part in (i, j) with i < j, and row j its part in (j, i) with j < i.

A long fit tells of its progress: iteration, gap, support rows, and how long it may still take. The gap of a working-set method falls about
exponentially: log gap is extrapolated along its later half, on its lower envelope.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Engine, Rows, fold
from assay.engines.derived import keys_of
from assay.engines.engine import Threads
from assay.errors import DataConversionWarning, DataError, as_seen_by_sklearn, warn
from assay.estimator.progress import EVERY, Say, Stopping, time_left, to_stderr
from assay.families.kernel.expansion import Expansion
from assay.families.kernel.functions import Kernel, check_own_kernel, check_precomputed
from assay.families.kernel.svm.dual import (
    EXTENDED,
    DualProblem,
    DualState,
    Measures,
    balanced,
    best_intercept,
    classes_problem,
    extended_values,
    measure,
    with_rounding,
)
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.statistics.targets import merge_surveys, some, survey_block

FEW = 3  # states from which on anything is foretold
APART = 1e3  # times the least spread of a column: from there on the kernel hardly sees that column
NAMED = 5  # columns that a warning names
OF_DISTANCES = ("rbf", "laplacian", "poly", "sigmoid")  # kernels in which the widest columns drown the others
SOLVERS = ("smo", "sqp")
NO_LIMIT = 10**9  # iterations
CLOSER = 0.9  # of tol: solvers may count on kernel values in float32, and the gap shall hold without


def seconds_left(times: list[float], gaps: list[float], tol: float) -> float:
    """How long until the gap is ≤ tol; infinity where it does not fall, NaN where nothing can be said yet.

    >>> round(seconds_left([0.0, 1.0, 2.0, 3.0], [1.0, 0.1, 0.01, 0.001], 1e-5), 6)
    2.0
    """
    usable = [(t, g) for t, g in zip(times, gaps) if 0 < g < math.inf]
    if len(usable) < FEW:
        return math.nan
    t = np.array([u[0] for u in usable])
    lowest = np.minimum.accumulate(np.log([u[1] for u in usable]))
    if lowest[-1] <= math.log(tol):
        return 0.0
    half = int(np.searchsorted(t, 0.5 * (t[0] + t[-1])))
    half = min(half, len(t) - 2)
    fall, spent = lowest[half] - lowest[-1], t[-1] - t[half]
    return float((lowest[-1] - math.log(tol)) * spent / fall) if fall > 0 else math.inf


class SolverProgress:
    """Records every state of every problem, and emits a line a second."""

    def __init__(self, problems: int, tol: float, say: Say | None = None, clock: Callable[[], float] = time.monotonic):
        self.problems, self.tol, self.clock = problems, tol, clock
        self.emit: Say = say or to_stderr
        self.done = 0
        self.began = self.last = clock()
        self.gaps: dict[int, tuple[list[float], list[float]]] = {}
        self.lock = threading.Lock()

    def record(self, problem: int, state: DualState) -> None:
        """A solver passed through a state."""
        with self.lock:
            now = self.clock()
            times, gaps = self.gaps.setdefault(problem, ([], []))
            times.append(now)
            gaps.append(state.gap)
            if now - self.last >= EVERY:
                self.last = now
                self.emit(self._line(problem, state))

    def ended(self, problem: int) -> None:
        """A problem is solved, or given up."""
        with self.lock:
            self.done += 1
            self.gaps.pop(problem, None)

    def _line(self, problem: int, state: DualState) -> str:
        which = f"problem {problem + 1} of {self.problems}, " if self.problems > 1 else ""
        support = int(np.count_nonzero(state.alpha))
        return f"{which}iteration {state.number}: gap {state.gap:.2e} (tol {self.tol:g}), {support} support rows, {self._left(problem)}"

    def _left(self, problem: int) -> str:
        """Of one problem by its gap, of many by those that are done."""
        if self.problems > 1:
            spent = self.clock() - self.began
            left = spent * (self.problems - self.done) / self.done if self.done else math.nan
        else:
            left = seconds_left(*self.gaps[problem], self.tol)
        return time_left(left)


class DualTask(NamedTuple):
    """A dual problem, the places of its rows among those of the fit, (n,), their numbers in the table, and a feasible α to begin at."""

    problem: DualProblem
    rows: Array
    numbers: Array | None = None
    start: Floats | None = None


class SolverPlan(NamedTuple):
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
    """The solver of that name, imported at its first use."""
    if name == "sqp":
        from assay.families.kernel.svm.sqp import sqp

        return sqp
    from assay.families.kernel.svm.smo import smo

    return smo


def states_of(task: DualTask, plan: SolverPlan, side_by_side: int = 1) -> Iterator[DualState]:
    """The states that the solver of a task passes through."""
    more: dict[str, Any] = {} if plan.solver == "sqp" else {"cache_bytes": plan.cache_bytes // side_by_side}
    solve = solver_of(plan.solver)
    return solve(task.problem, CLOSER * plan.tol, start=task.start, workers=plan.workers, most=plan.most, **more)


class BestState:
    """The state of least gap among those of all variables, and the last one."""

    state: DualState | None = None
    last: DualState
    states = 0

    def update(self, state: DualState) -> None:
        if state.share == 1.0 and (self.state is None or state.gap <= self.state.gap):
            self.state = state
        self.last = state
        self.states += 1

    @property
    def gap(self) -> float:
        return math.inf if self.state is None else self.state.gap

    def solved(self, problem: DualProblem, tol: float) -> Solved:
        """The best state. Of a run that ended early the last one is measured anew: its gap may be that of some variables alone."""
        number, state = int(self.last.number), self.state
        if self.gap > tol or state is None:
            again = measured_anew(problem, self.last.alpha, tol)
            if state is None or again.gap < state.gap:
                return again._replace(last=number)
        told = Measures(state.primal, state.dual, state.gap, state.bound)
        if (
            with_rounding(problem, state.alpha, told, state.intercept, tol) > state.gap
        ):  # rounding may show: look closely
            return measured_anew(problem, state.alpha, tol)._replace(last=number)
        return Solved(state.alpha, state.intercept, state.primal, state.dual, state.gap, number)


def measured_anew(problem: DualProblem, alpha: Floats, tol: float) -> Solved:
    """How far α is from the optimum, by kernel values of all rows; in extended precision where rounding shows."""
    alpha = balanced(problem, alpha) if problem.kernel.is_about_centre else alpha
    beta = problem.coefficients(alpha)
    support = np.flatnonzero(beta)
    rows = support if problem.kernel.name == "precomputed" else problem.X[support]
    f = Expansion(problem.kernel, rows, beta[None, support], np.zeros(1)).values(problem.X)[:, 0]
    b = best_intercept(problem, f)
    found = measure(problem, alpha, f, b)
    gap = with_rounding(problem, alpha, found, b, tol, f)
    closer = extended_values(problem, beta) if gap > found.gap else None
    if closer is not None:
        found = measure(problem, alpha, closer, b)
        gap = with_rounding(problem, alpha, found, b, tol, closer, EXTENDED)
    return Solved(alpha, b, found.primal, found.dual, gap, 0)


class PlainRun:
    """Solves tasks as they are."""

    def states(self, number: int, task: DualTask, plan: SolverPlan, side_by_side: int = 1) -> Iterator[DualState]:
        """The states that the solver of a task passes through."""
        return states_of(task, plan, side_by_side)

    def solved(self, task: DualTask, best: BestState, plan: SolverPlan, stopped: bool) -> Solved:
        """What became of it; `stopped`: before its end."""
        if not stopped:
            refuse_inseparable(task, best, plan)
        return best.solved(task.problem, plan.tol)


def solve_all(
    tasks: Sequence[DualTask],
    plan: SolverPlan,
    stopping: Stopping,
    progress: SolverProgress | None = None,
    run: Any = None,
) -> list[Solved]:
    """Every task solved, several side by side; each problem on one thread where there are many."""
    run = run or PlainRun()
    together = min(len(tasks), plan.workers.workers)

    def solve(number: int) -> Solved:
        found = _solve(run, tasks[number], plan, together, stopping, progress, number)
        if progress is not None:
            progress.ended(number)
        return found

    return list(plan.workers.map(solve, range(len(tasks))))


def _solve(
    run: Any,
    task: DualTask,
    plan: SolverPlan,
    together: int,
    stopping: Stopping,
    progress: SolverProgress | None,
    number: int,
) -> Solved:
    until, best, stopped = stopping.begin(), BestState(), False
    try:
        for state in run.states(number, task, plan, together):
            best.update(state)
            if progress is not None:
                progress.record(number, state)
            if state.gap > plan.tol and stopping.over(until, best.states):
                stopped = True
                break
    except KeyboardInterrupt:
        if not best.states:
            raise
        stopping.interrupted = stopped = True
    found: Solved = run.solved(task, best, plan, stopped)
    return found


def refuse_inseparable(task: DualTask, best: BestState, plan: SolverPlan) -> None:
    """Raise where a hard margin was asked for and the solver ended without any."""
    if task.problem.hard and math.isinf(best.gap) and best.last.number < plan.most:
        from assay.families.kernel.svm.dual import why_not_separable

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


def pairs_of(K: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), …, (K − 2, K − 1)."""
    return list(combinations(range(K), 2))


def problem_count(K: int, one_vs_one: bool) -> int:
    """How many problems of two classes K classes make."""
    return 1 if K == 2 else K * (K - 1) // 2 if one_vs_one else K


def sides_of(codes: Array, K: int, one_vs_one: bool) -> Iterator[tuple[Array, Floats]]:
    """Of each problem its rows and their sides ±1; of two classes the greater one is +1."""
    every = np.arange(len(codes))
    if K == 2:
        yield every, np.where(codes == 1, 1.0, -1.0)
    elif not one_vs_one:
        for k in range(K):
            yield every, np.where(codes == k, 1.0, -1.0)
    else:
        members = [np.flatnonzero(codes == k) for k in range(K)]
        for i, j in pairs_of(K):
            rows = np.sort(np.concatenate([members[i], members[j]]))
            yield rows, np.where(codes[rows] == i, 1.0, -1.0)


def class_tasks(kernel: Kernel, X: Floats, codes: Array, upper: Floats, K: int, one_vs_one: bool) -> list[DualTask]:
    """One task a problem; upper (n,)."""
    found = []
    for rows, y in sides_of(codes, K, one_vs_one):
        whole = len(rows) == len(X)
        part = X if whole else X[np.ix_(rows, rows)] if kernel.name == "precomputed" else X[rows]
        found.append(DualTask(classes_problem(kernel, part, y, upper if whole else upper[rows]), rows))
    return found


def _places(rows: Array, codes: Array, K: int, one_vs_one: bool, number: int) -> Array:
    """In which row of the array of coefficients those of one problem lie."""
    if K == 2 or not one_vs_one:
        return np.full(len(rows), 0 if K == 2 else number)
    i, j = pairs_of(K)[number]
    return np.where(codes[rows] == i, j - 1, i)


def coefficients(tasks: Sequence[DualTask], solved: Sequence[Solved], codes: Array, K: int, one_vs_one: bool) -> Floats:
    """s·α of all problems and rows: (1, n), (K − 1, n) or (K, n)."""
    height = 1 if K == 2 else K - 1 if one_vs_one else K
    D = np.zeros((height, len(codes)))
    for number, (task, found) in enumerate(zip(tasks, solved)):
        D[_places(task.rows, codes, K, one_vs_one, number), task.rows] = task.problem.sign * found.alpha
    return D


def multipliers(D: Floats, task: DualTask, codes: Array, K: int, one_vs_one: bool, number: int) -> Floats:
    """α of one problem from the coefficients of all, (·, n)."""
    return np.abs(D[_places(task.rows, codes, K, one_vs_one, number), task.rows])


class DecisionFunctions(NamedTuple):
    """Answers from support rows: one expansion, or of many classes one against one an expansion a class."""

    parts: tuple[Expansion, ...]
    intercept: Floats

    def values(self, Z: Array) -> Floats:
        """f (n, P): a number for each row and problem."""
        found = [part.values(Z) for part in self.parts]
        if len(found) == 1:
            return found[0]
        pairs = pairs_of(len(found))
        F = np.empty((len(Z), len(pairs)))
        for p, (i, j) in enumerate(pairs):
            F[:, p] = found[i][:, j - 1] + found[j][:, i] + self.intercept[p]
        return F

    def signed(self, Z: Array) -> Floats:
        """f, or of a single problem other numbers of the same signs, where those are had sooner."""
        return self.parts[0].signed(Z) if len(self.intercept) == 1 else self.values(Z)


def machine_of(
    kernel: Kernel, rows: Array, D: Floats, intercept: Floats, counts: Array, one_vs_one: bool
) -> DecisionFunctions:
    """`rows`: the support rows class after class, counts (K,) of each; of a precomputed kernel their numbers."""
    if len(counts) == 2 or not one_vs_one:
        return DecisionFunctions((Expansion(kernel, rows, D, intercept),), intercept)
    ends = np.concatenate([[0], np.cumsum(counts)])
    none = np.zeros(len(D))
    parts = [Expansion(kernel, rows[a:b], np.ascontiguousarray(D[:, a:b]), none) for a, b in pairwise(ends)]
    return DecisionFunctions(tuple(parts), intercept)


def votes(F: Floats, K: int) -> Floats:
    """(n, K): how many of its problems each class wins; f > 0 is a win of the first of the two."""
    total = np.zeros((len(F), K))
    for p, (i, j) in enumerate(pairs_of(K)):
        first = F[:, p] > 0
        total[:, i] += first
        total[:, j] += ~first
    return total


def vote_scores(F: Floats, K: int) -> Floats:
    """(n, K): votes, and between classes of equally many the sum c of their decision values, as c / (3 (|c| + 1)) which no vote is less than."""
    c = np.zeros((len(F), K))
    for p, (i, j) in enumerate(pairs_of(K)):
        c[:, i] += F[:, p]
        c[:, j] -= F[:, p]
    return votes(F, K) + c / (3.0 * (np.abs(c) + 1.0))


class MachineRows(NamedTuple):
    """The n rows of weight > 0: X (n, d) (of a precomputed kernel (n, n)), y (n,) codes or numbers, w (n,) or None, their numbers among
    all rows of the fit; how many those are, and the fingerprint of all of them."""

    X: Floats
    y: Array
    w: Floats | None
    numbers: Array
    total: int
    mark: bytes

    @property
    def weight(self) -> Floats:
        """(n,), ones where no weights were given."""
        return np.ones(len(self.X)) if self.w is None else self.w


def rows_in_memory(engine: Engine, rows: Rows, labels: Labels | None, precomputed: bool) -> MachineRows:
    """The rows of a fit; without labels the target is a number."""
    kept = rows.in_memory()
    if precomputed:
        check_precomputed(kept.X)
    survey = some(fold(engine, kept.blocks(), partial(survey_block, labels, rows.names), merge_surveys))
    X = np.require(kept.X, np.float64, ["C_CONTIGUOUS", "ALIGNED"])
    numbers = np.arange(len(X))
    if survey.w is None or survey.kept == len(X):
        return MachineRows(X, survey.y, survey.w, numbers, len(X), survey.mark)
    numbers = np.flatnonzero(survey.w > 0)
    there = X[np.ix_(numbers, numbers)] if precomputed else X[numbers]
    return MachineRows(there, survey.y[numbers], survey.w[numbers], numbers, len(X), survey.mark)


def check_kernel(kernel: Kernel, rows: MachineRows, names: Any) -> None:
    """Raise where a user's function is no kernel or values overflow; warn where columns of other units drown the rest."""
    kernel.diagonal(rows.X)  # by which the other values are bounded
    if kernel.own is not None:
        check_own_kernel(kernel, rows.X)
    elif kernel.name in OF_DISTANCES:
        _warn_unscaled(kernel, rows, names)


def _warn_unscaled(kernel: Kernel, rows: MachineRows, names: Any) -> None:
    spread = np.ptp(rows.X, axis=0)
    some_spread = spread[spread > 0]
    if not len(some_spread) or some_spread.max() <= APART * some_spread.min():
        return
    called = [f"column {j}" for j in range(len(spread))] if names is None else [repr(str(name)) for name in names]
    wide = [j for j in np.argsort(-spread, kind="stable") if spread[j] > APART * some_spread.min()]
    shown = ", ".join(f"{called[j]} (over {spread[j]:.3g})" for j in wide[:NAMED]) + (
        ", …" if len(wide) > NAMED else ""
    )
    least = int(np.flatnonzero(spread == some_spread.min())[0])
    warn(
        f"The columns are in very different units: {shown} spread more than {APART:g} times as far as {called[least]} (over "
        f"{spread[least]:.3g}), which the {kernel.name} kernel hardly sees beside them. Standardise the columns, e.g. divide each by its "
        "deviation.",
        as_seen_by_sklearn(DataConversionWarning),
    )


def content_keys(X: Floats) -> Array:
    """A key of each row that depends on its numbers alone, to the digits of float32: equal rows have equal keys, in either precision."""
    with np.errstate(over="ignore"):
        bits = (np.asarray(X).astype(np.float32) + np.float32(0.0)).view(np.uint32).astype(np.uint64)  # −0 is 0
    keys = np.zeros(len(X), dtype=np.uint64)
    for j in range(bits.shape[1]):
        keys = keys_of(keys ^ bits[:, j], j + 1)
    return keys


def refuse_overflowing_bounds(C: float, upper: Floats) -> None:
    """Bounds of zero or infinity that no weight of the user's can have meant."""
    if np.any(np.isnan(upper)) or (np.isfinite(C) and not np.all(np.isfinite(upper))):
        raise DataError(f"C={C:g} times the weights overflows float64: divide the weights, or C, by a constant.")
