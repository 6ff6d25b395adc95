"""Regularisation paths: the same problem for many strengths, each solved from the weights of the next stronger one.

Strong penalties are quickly solved from zero, and neighbours are alike, so the whole path costs little more than its
last fit. Strengths are worked off from strong to weak whatever their order; results come in the order that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.numerics import Floats
from assay.risk.penalties import Penalty
from assay.solvers.iterate import Iterate, last

FIRM = 1e150  # an l1 that no gradient overcomes
Solve = Callable[[Any, Any], Any]  # (problem, start) -> an iterator of Iterate


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
        found[strength] = last(solve(make_problem(strength), w))._replace(look=None)  # a Hessian for each is much
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
    g = np.abs(problem.look(w).gradient)
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
