"""Regularisation paths of linear models: the same problem for many strengths, each solved from the weights of the next stronger one.

Strong penalties are quickly solved from zero, and neighbours are alike, so the whole path costs little more than its last fit; the
statistics of the rows are taken once. Strengths are worked off from strong to weak whatever their order; results come in the
order that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.engines import engine_for
from assay.engines.engine import one_thread_blas
from assay.errors import ParameterError
from assay.estimator.params import check_params
from assay.families.linear.fit import LinearClassifier, LinearTask
from assay.families.linear.problem import Objective, PosedProblem, about_zero
from assay.inputs import as_rows
from assay.numerics import Floats
from assay.risk.terms import Penalty
from assay.solvers.problem import Iterate, last

NUMBER = 50  # strengths of a path where none are given
WEAKEST = 1e-3  # of the strongest, of an L1 part
FIRM = 1e150  # an l1 that no gradient overcomes
Solve = Callable[[Any, Any], Any]  # (problem, start) -> an iterator of Iterate


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
class PenaltyScale:
    """How a model calls the strength of its penalty: `name`, `strength(value)` (growing: stronger) and its inverse, usual values."""

    name: str
    strength: Callable[[Any], Any]
    value: Callable[[Any], Any]
    usual: Floats


OVER_C = PenaltyScale("C", lambda C: 1.0 / C, lambda s: 1.0 / s, np.logspace(-4, 4, NUMBER))
OVER_LAM = PenaltyScale("lam", lambda lam: lam, lambda s: s, np.logspace(1, -6, NUMBER))


def path_over_C(model: LinearClassifier, X: Any, y: Any = None, sample_weight: Any = None, *, Cs: Any = None) -> Path:
    """The fits for many C, each started from the one before; the model itself stays as it is.

    Without `Cs`, 50 from strong to weak: 1e-4 … 1e4, or with an L1 part from the greatest that leaves all weights zero.
    """
    return regularisation_path(model, OVER_C, Cs, X, y, sample_weight)


def regularisation_path(
    model: LinearClassifier, scale: PenaltyScale, values: Any, X: Any, y: Any, sample_weight: Any
) -> Path:
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
        if task.objective.unpenalised:
            raise ParameterError(f"{type(model).__name__}.path needs a penalty: it goes through its strengths.")
        solver = task.solver()
        values = _checked(values, scale) if values is not None else _usual(probe, task, solver, scale)
        found = [_follow(probe, task, solver, scale, values, positive) for positive in task.problems]
    return _stack(values, found, probe._unit(task.statistics.n))


def _checked(values: Any, scale: PenaltyScale) -> Floats:
    try:
        out = np.array(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        out = np.empty(0)
    if not len(out) or not np.all((out > 0) & np.isfinite(out)):
        raise ParameterError(f"{scale.name}s={values!r} must be one or more finite numbers > 0.")
    return out


def _objective_at(model: LinearClassifier, task: LinearTask, scale: PenaltyScale, value: float) -> Objective:
    """The objective of the model with another strength."""
    other = copy(model)
    setattr(other, scale.name, value)
    return other._objective(len(task.statistics.weight) if task.prepared.targets.labels is not None else 0)


def _usual(model: LinearClassifier, task: LinearTask, solver: str, scale: PenaltyScale) -> Floats:
    """Strengths from strong to weak; with an L1 part from the least that leaves all weights zero."""
    if task.objective.l1 == 0:
        return scale.usual
    tops = []
    for positive in task.problems:
        posed = task.posed(positive)

        def solve(problem: Any, w: Floats, gram: Floats | None = posed.gram) -> Iterator[Iterate]:
            return PosedProblem(problem, gram, None).iterates(task.objective, solver, w)

        tops.append(strongest(posed.problem, solve, np.zeros(posed.problem.shape)))
    top = max(tops) * float(scale.strength(getattr(model, scale.name)))
    return np.asarray(scale.value(grid(top, NUMBER, WEAKEST)), dtype=np.float64)


def _follow(
    model: LinearClassifier, task: LinearTask, solver: str, scale: PenaltyScale, values: Floats, positive: int | None
) -> list[Iterate]:
    """The last iterates of one problem, with their weights about zero."""

    def pose(strength: float) -> tuple[Objective, PosedProblem]:
        objective = _objective_at(model, task, scale, float(scale.value(strength)))
        return objective, task._replace(objective=objective).posed(positive)

    def solve(posed: tuple[Objective, PosedProblem], w: Floats | None) -> Iterator[Iterate]:
        return posed[1].iterates(posed[0], solver, w)

    found = path(pose, [float(s) for s in scale.strength(values)], solve, None)
    centre = task.posed(positive).problem.centre
    return [at._replace(w=np.atleast_2d(about_zero(at.w, centre))) for at in found]


def _stack(values: Floats, found: list[list[Iterate]], unit: float) -> Path:
    """One row a strength of the iterates of all problems."""
    W = np.stack([np.concatenate([at.w for at in fits]) for fits in zip(*found)])
    sums = [(sum(at.objective for at in f), max(at.gap for at in f), sum(at.number for at in f)) for f in zip(*found)]
    objectives, gaps, n_iters = (np.array(column) for column in zip(*sums))
    return Path(values, W[:, :, :-1], W[:, :, -1], objectives * unit, gaps, n_iters)


def path(
    make_problem: Callable[[float], Any], strengths: Sequence[float], solve: Solve, start: Floats | None
) -> list[Iterate]:
    """The last iterate for every strength λ: solve(make_problem(λ), warm start)."""
    if len(strengths) == 0:
        raise ParameterError("A path needs at least one strength.")
    wrong = [s for s in strengths if not 0 <= s < np.inf]
    if wrong:
        raise ParameterError(f"A strength of {wrong[0]!r} is not possible: give numbers ≥ 0.")
    w, found = start, {}
    for strength in sorted(set(strengths), reverse=True):
        found[strength] = last(solve(make_problem(strength), w))._replace(evaluation=None)  # a Hessian for each is much
        w = found[strength].w
    return [found[s] for s in strengths]


def strongest(problem: Any, solve: Solve, start: Floats) -> float:
    """λ_max: the least factor of the problem's l1 strengths at which every weight under l1 is zero.

        λ_max = max_j |∂_j Σcℓ| / l1_j    at the minimum over the weights without l1 (a free intercept), the others zero

    That minimum is found by the same solver under an l1 that holds the others at zero whatever they promise.
    """
    l1, l2 = problem.penalty
    held = l1 > 0
    if not held.any():
        raise ParameterError(
            "Only an L1 part has a strongest useful penalty: give the strengths of the path themselves."
        )
    firm = replace(problem, penalty=Penalty(np.where(held, FIRM, 0.0), l2))
    w = last(solve(firm, np.where(held, 0.0, start))).w
    g = np.abs(problem.evaluate(w).gradient)
    return float(np.max(g[..., held] / l1[held]))


def grid(strongest: float, n_strengths: int = 100, eps: float = 1e-3) -> Floats:
    """n strengths from the strongest down to its eps-th part, each the same fraction of the one before.

    >>> grid(8.0, 4, 1 / 8)
    array([8., 4., 2., 1.])
    """
    if n_strengths < 1 or not 0 < eps < 1:
        raise ParameterError(f"n_strengths={n_strengths!r} must be ≥ 1 and eps={eps!r} between 0 and 1.")
    out: Floats = strongest * eps ** (np.arange(n_strengths) / max(1, n_strengths - 1))
    return out
