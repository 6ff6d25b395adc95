"""A linear model in the making: the weights after each iteration, problem by problem."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines.engine import one_thread_blas
from assay.engines.threads import Threads
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Measure, Step, answering, measures
from assay.families.linear.problem import PosedProblem, about_zero
from assay.solvers.problem import Iterate

if TYPE_CHECKING:
    from assay.families.linear.fit import LinearClassifier, LinearTask


def steps_of(model: LinearClassifier, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """The states of all problems; those whose turn has not come have weights of zero."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    with one_thread_blas():
        task = fresh._task(Threads(1), rows, True, None)
        solver = task.solver()
        number, before = count(1), np.zeros((0, rows.n_columns + 1))
        for k, positive in enumerate(task.problems):
            posed = task.posed(positive)
            for at in _states(fresh, task, posed, solver):
                w = np.atleast_2d(about_zero(at.w, posed.problem.centre))
                later = np.zeros((len(task.problems) - k - 1, w.shape[1]))
                W = np.concatenate([before, w, later])
                learnt = {
                    "coef_": np.ascontiguousarray(W[:, :-1]),
                    "intercept_": np.ascontiguousarray(W[:, -1]),
                }
                told = {"objective": at.objective, "gap": at.gap, "problem": positive, "width": at.width}
                yield Step(next(number), len(rows.X), {**learnt, **told}, _measures(task, at), answering(fresh, learnt))
            before = np.concatenate([before, w])


def _states(model: LinearClassifier, task: LinearTask, posed: PosedProblem, solver: str) -> Iterator[Iterate]:
    """Those of the solver, and what becomes of the last one where its minimum does not exist."""
    for at in posed.iterates(task.objective, solver):
        yield at
    settled = model._settle(task, posed, at)
    if settled.w is not at.w:
        yield settled


def _measures(task: LinearTask, at: Iterate) -> tuple[Measure, ...]:
    tol = task.objective.tol
    return measures(
        Measure("duality gap", at.gap, tol, f"relative duality gap {at.gap:.3g}, done at {tol:g}", scale="log"),
        Measure("objective", at.objective, None, f"loss and penalty {at.objective:.6g}"),
    )
