"""A support vector machine in the making, for teaching: multipliers, working sets and margins, problem by problem."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import engine_for
from assay.engines.engine import one_thread_blas
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.progress import Stopping
from assay.estimator.steps import Measure, Step, answering, measures
from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.dual import DualState
from assay.families.kernel.svm.solve import BestState, DualTask, MachineRows, Solved
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.kernel.svm.fit import KernelMachine

MOST_ROWS = 5000  # rows up to which every step has the decision values of all of them


def steps_of(model: KernelMachine, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """The states of each problem, and the fitted model as the last step."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    workers = fresh._workers(engine_for(rows, fresh.n_jobs))
    with one_thread_blas():
        kernel, given, tasks = fresh._dual_problems(workers, rows, True, None)
    plan, number, solved = fresh._plan(workers), count(1), [_unsolved(task) for task in tasks]
    run = fresh._run()
    for problem, task in enumerate(tasks):
        best = BestState()
        for state in run.states(problem, task, plan):
            best.update(state)
            partly = PartialMachine(copy(fresh), kernel, given, tasks, [*solved], problem)
            yield Step(
                next(number),
                len(rows.X),
                {"problem": problem, **_values(task, given, state)},
                (*_gap(state.gap, plan.tol), *_dual(state.dual, problem + 1, len(tasks))),
                answering(fresh, partial(partly.parts, sparse_of(state.alpha), state.intercept)),
            )
        solved[problem] = run.solved(task, best, plan, False)
    fresh._finish(kernel, given, tasks, solved, plan, Stopping(None))
    learnt = {name: getattr(fresh, name) for name in fresh.layout if getattr(fresh, name, None) is not None}
    progress = _gap(float(fresh.gap_.max()), plan.tol)
    yield Step(next(number), len(rows.X), learnt, progress, answering(fresh, {"_machine": fresh._machine}))


def _unsolved(task: DualTask) -> Solved:
    return Solved(np.zeros(len(task.problem.sign)), 0.0, np.inf, -np.inf, np.inf, 0)


def sparse_of(alpha: Floats) -> tuple[Array, Floats, int]:
    """Where multipliers are not zero, these, and how many there are in all."""
    there = np.flatnonzero(alpha)
    return there, alpha[there], len(alpha)


class PartialMachine(NamedTuple):
    """A fit under way: problems before `problem` are solved, later ones have no support rows yet."""

    model: KernelMachine
    kernel: Kernel
    given: MachineRows
    tasks: list[DualTask]
    solved: list[Solved]
    problem: int

    def parts(self, alpha: tuple[Array, Floats, int], intercept: float) -> dict[str, Any]:
        """The learnt parts with these multipliers of the problem; probabilities have slopes of 1 until the fit ends."""
        there, values, size = alpha
        whole = np.zeros(size)
        whole[there] = values
        solved = list(self.solved)
        solved[self.problem] = solved[self.problem]._replace(alpha=whole, intercept=intercept)
        model = copy(self.model)
        model.gamma_, model.rows_, model.n_rows_ = self.kernel.gamma, self.given.total, len(self.given.X)
        model._keep(self.kernel, self.given, self.tasks, solved)
        model._keep_intercept(self.kernel, solved)
        model._keep_uncalibrated()
        model._machine = model._make_machine()
        return vars(model)


def _gap(gap: float, tol: float) -> tuple[Measure, ...]:
    return measures(Measure("duality gap", gap, tol, f"relative duality gap {gap:.3g}, done at {tol:g}", scale="log"))


def _dual(dual: float, problem: int, problems: int) -> tuple[Measure, ...]:
    text = f"dual objective {dual:.6g}" + (f" of problem {problem} of {problems}" if problems > 1 else "")
    return measures(Measure("dual objective", dual, None, text, better="up"))


def _values(task: DualTask, given: MachineRows, state: DualState) -> dict[str, Any]:
    """What can be drawn of a state; rows are numbered as in the table."""
    numbers = given.numbers[task.rows]
    there = np.flatnonzero(state.alpha)
    values = {
        "rows": numbers[task.problem.rows[there]],
        "side": task.problem.sign[there],
        "alpha": state.alpha[there],
        "working": numbers[task.problem.rows[state.working]],
        "intercept": state.intercept,
        "gap": state.gap,
        "objective": state.primal,
        "dual": state.dual,
    }
    if len(numbers) <= MOST_ROWS:
        values |= {"of": numbers, "decision": state.values + state.intercept}
    return values
