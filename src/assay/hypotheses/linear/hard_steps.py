"""The hard margin in the making: the lecture notes' projected gradient, and where it must end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines.threads import Threads
from assay.hypotheses.linear.hard_margin import MOST_ROWS, projected_steps, solve_hard
from assay.learner import Measure, Step
from assay.learner.at_step import answering
from assay.learner.beginning import fresh_and_rows
from assay.numerics import Floats
from assay.solvers.projected_gradient import Step as State

if TYPE_CHECKING:
    from assay.hypotheses.linear_svc import LinearSVC


def hard_steps(model: LinearSVC, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """Class by class; with solver="auto", which has no states to show, the answer itself follows the steps of the notes."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    labels = fresh._classes_of(Threads(1), rows, True, None)
    positives, number = fresh._positives(), count(1)
    W = np.zeros((len(positives), rows.n_columns + 1))
    for k, positive in enumerate(positives):
        answer = solve_hard(Threads(1), rows, labels, positive, fresh.fit_intercept)
        dual = answer.primal * (1.0 - answer.gap)
        shown = fresh.solver == "pgd" or (fresh.fit_intercept and not rows.sparse and len(rows.X) <= MOST_ROWS)
        states: Any = (
            projected_steps(rows, labels, positive, fresh.fit_intercept, fresh.eta, fresh.max_iter) if shown else ()
        )
        for at in (*states, *_answered(fresh.solver, answer.w, answer.primal)):
            W[k] = np.append(at.w, at.intercept)
            learnt = {"coef_": W[:, :-1].copy(), "intercept_": W[:, -1].copy()}
            told = {"objective": at.objective, "least": at.least, "problem": positive}
            gap = max(0.0, (at.objective - dual) / at.objective)
            yield Step(
                next(number),
                rows.n_rows or 0,
                {**learnt, **told},
                _measures(at, gap, float(fresh.tol)),
                answering(fresh, learnt),
            )


def _answered(solver: str, w: Floats, primal: float) -> list[State]:
    return [] if solver == "pgd" else [State(0, w[:-1], float(w[-1]), primal, 1.0)]


def _measures(at: State, gap: float, tol: float) -> tuple[Measure, ...]:
    margin = 1.0 / float(np.linalg.norm(at.w))
    return (
        Measure("duality gap", gap, tol, f"relative duality gap {gap:.3g}, done at {tol:g}", scale="log"),
        Measure("margin", margin, None, f"margin 1/‖w‖ = {margin:.6g}", better="up"),
    )
