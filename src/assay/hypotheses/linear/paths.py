"""Regularisation paths of linear models: rows are surveyed once, and every fit starts from the next stronger one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.engines import engine_for
from assay.engines.blas import one_thread_blas
from assay.errors import ParameterError
from assay.hypotheses.linear.model import LinearModel, Task
from assay.hypotheses.linear.plan import Plan, about_zero
from assay.hypotheses.linear.posing import Posed
from assay.hypotheses.linear.solving import iterates
from assay.inputs import as_rows
from assay.numerics import Floats
from assay.params import check_params
from assay.solvers.iterate import Iterate
from assay.solvers.path import grid, path, strongest

NUMBER = 50  # strengths of a path where none are given
WEAKEST = 1e-3  # of the strongest, of an L1 part


@dataclass(frozen=True)
class Path:
    """What a path found, in the order of its s strengths, of m weight vectors (m > 1: one a class)."""

    strengths: Floats  # (s,): C or lam, as the model calls it
    coefs: Floats  # (s, m, d)
    intercepts: Floats  # (s, m)
    objectives: Floats  # (s,): what is made small, as the model writes it
    gaps: Floats  # (s,): the largest relative gap of a problem
    n_iters: Floats  # (s,): iterations of all problems together

    def __len__(self) -> int:
        return len(self.strengths)


@dataclass(frozen=True)
class Scale:
    """How a model calls the strength of its penalty: `name`, `strength(value)` (growing: stronger) and its inverse, usual values."""

    name: str
    strength: Callable[[Any], Any]
    value: Callable[[Any], Any]
    usual: Floats


OVER_C = Scale("C", lambda C: 1.0 / C, lambda s: 1.0 / s, np.logspace(-4, 4, NUMBER))
OVER_LAM = Scale("lam", lambda lam: lam, lambda s: s, np.logspace(1, -6, NUMBER))


class PathOverC(LinearModel):
    """Models whose penalty is one over C."""

    def path(self, X: Any, y: Any = None, sample_weight: Any = None, *, Cs: Any = None) -> Path:
        """The fits for many C, each started from the one before; the model itself stays as it is.

        Without `Cs`, 50 from strong to weak: 1e-4 … 1e4, or with an L1 part from the greatest that leaves all weights zero.
        """
        return regularisation_path(self, OVER_C, Cs, X, y, sample_weight)


def regularisation_path(model: LinearModel, scale: Scale, values: Any, X: Any, y: Any, sample_weight: Any) -> Path:
    """The path of a model over the values of its strength (None: 50 usual ones)."""
    check_params(model)
    probe = type(model)(**model.get_params())
    rows = as_rows(X, y, sample_weight, sparse=probe.takes_sparse)
    probe._forget()
    probe._remember_columns(rows)
    engine = engine_for(rows, model.n_jobs)
    rows = engine.open(rows)
    with one_thread_blas():
        task = probe._task(engine, rows, True, None)
        if task.plan.unpenalised:
            raise ParameterError(f"{type(model).__name__}.path needs a penalty: it goes through its strengths.")
        solver = probe._solver(task, rows)
        values = _checked(values, scale) if values is not None else _usual(probe, task, solver, scale)
        found = [_follow(probe, task, solver, scale, values, positive) for positive in task.problems]
    return _stack(values, found, probe._unit(task.survey.n))


def _checked(values: Any, scale: Scale) -> Floats:
    try:
        out = np.array(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        out = np.empty(0)
    if not len(out) or not np.all((out > 0) & np.isfinite(out)):
        raise ParameterError(f"{scale.name}s={values!r} must be one or more finite numbers > 0.")
    return out


def _plan_at(model: LinearModel, task: Task, scale: Scale, value: float) -> Plan:
    """The plan of the model with another strength."""
    other = copy(model)
    setattr(other, scale.name, value)
    return other._plan(len(task.survey.weight) if task.prepared.targets.labels is not None else 0)


def _usual(model: LinearModel, task: Task, solver: str, scale: Scale) -> Floats:
    """Strengths from strong to weak; with an L1 part from the least that leaves all weights zero."""
    if task.plan.l1 == 0:
        return scale.usual
    tops = []
    for positive in task.problems:
        posed = task.posed(positive)

        def solve(problem: Any, w: Floats, gram: Floats | None = posed.gram) -> Iterator[Iterate]:
            return iterates(Posed(problem, gram, None), task.plan, solver, w)

        tops.append(strongest(posed.problem, solve, np.zeros(posed.problem.shape)))
    top = max(tops) * float(scale.strength(getattr(model, scale.name)))
    return np.asarray(scale.value(grid(top, NUMBER, WEAKEST)), dtype=np.float64)


def _follow(
    model: LinearModel, task: Task, solver: str, scale: Scale, values: Floats, positive: int | None
) -> list[Iterate]:
    """The last iterates of one problem, with their weights about zero."""

    def pose(strength: float) -> tuple[Plan, Posed]:
        plan = _plan_at(model, task, scale, float(scale.value(strength)))
        return plan, task._replace(plan=plan).posed(positive)

    def solve(posed: tuple[Plan, Posed], w: Floats | None) -> Iterator[Iterate]:
        return iterates(posed[1], posed[0], solver, w)

    found = path(pose, [float(s) for s in scale.strength(values)], solve, None)
    centre = task.posed(positive).problem.centre
    return [at._replace(w=np.atleast_2d(about_zero(at.w, centre))) for at in found]


def _stack(values: Floats, found: list[list[Iterate]], unit: float) -> Path:
    """One row a strength of the iterates of all problems."""
    W = np.stack([np.concatenate([at.w for at in fits]) for fits in zip(*found)])
    sums = [(sum(at.objective for at in f), max(at.gap for at in f), sum(at.number for at in f)) for f in zip(*found)]
    objectives, gaps, n_iters = (np.array(column) for column in zip(*sums))
    return Path(values, W[:, :, :-1], W[:, :, -1], objectives * unit, gaps, n_iters)
