"""A support vector machine in the making, for teaching: multipliers, working sets and margins, problem by problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import ArrayRows, engine_for
from assay.engines.blas import one_thread_blas
from assay.hypotheses.kernel_svm.gathered import Gathered
from assay.hypotheses.kernel_svm.solving import Best, Solved, Task, refuse_inseparable, states_of
from assay.inputs import as_rows
from assay.learner import Step
from assay.learner.stopping import Stopping
from assay.params import check_params
from assay.solvers.dual.problem import DualState

if TYPE_CHECKING:
    from assay.hypotheses.kernel_svm.model import KernelMachine

MOST_ROWS = 5000  # rows up to which every step has the decision values of all of them


def steps_of(model: KernelMachine, X: Any, y: Any, sample_weight: Any, every: int) -> Iterator[Step]:
    """Every `every`-th state of each problem, and the fitted model as the last step."""
    fresh = type(model)(**model.get_params())
    check_params(fresh)
    rows = as_rows(X, y, sample_weight).in_memory()
    assert isinstance(rows, ArrayRows)
    fresh._forget()
    fresh._remember_columns(rows)
    workers = fresh._workers(engine_for(rows, fresh.n_jobs))
    with one_thread_blas():
        kernel, given, tasks = fresh._posed(workers, rows, True, None)
    plan, number, seen = fresh._plan(workers), 0, 0
    solved: list[Solved] = []
    for problem, task in enumerate(tasks):
        best = Best()
        for state in states_of(task, plan):
            best.see(state)
            seen += 1
            if seen % every == 0:
                number += 1
                yield Step(number, len(rows.X), {"problem": problem, **_values(task, given, state)})
        refuse_inseparable(task, best, plan)
        solved.append(best.solved(task.problem, plan.tol))
    fresh._finish(kernel, given, tasks, solved, plan, Stopping(None))
    learnt = {name: getattr(fresh, name) for name in fresh.layout if getattr(fresh, name, None) is not None}
    yield Step(number + 1, len(rows.X), learnt)


def _values(task: Task, given: Gathered, state: DualState) -> dict[str, Any]:
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
