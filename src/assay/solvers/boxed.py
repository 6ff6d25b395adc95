"""A duality gap where there is no penalty: against all weights in a box around the ones found.

The slopes after Newton's step v, u' = ℓ'(z) + ℓ''(z)·dz with dz = (x − p)·v, satisfy Σ c u' (x − p, 1) = g + Hv = 0 up to
rounding. Moved into the domain of ℓ*, where they are not in it, they give the lower bound −Σcℓ*(u'), less what is then left
of that sum times the box.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block
from assay.numerics import Floats
from assay.risk.surrogates import Surrogate
from assay.solvers.problem import Problem, relative_gap, rows_back, rows_times

BOX = 1e3  # in units of one over a column's scale


class BoxedSums(NamedTuple):
    """Σcℓ(z), Σcℓ*(u') and Σ c u' (x − p, 1)."""

    loss: float
    conjugate: float
    gradient: Floats


def absorb_bounds(loss: Surrogate, w: Floats, v: Floats, centre: Floats, block: Block) -> BoxedSums:
    """The sums of one block, at weights w about the centre."""
    assert block.y is not None
    assert loss.curvature is not None
    assert loss.conjugate is not None
    t, h = block.y, loss.width
    c = np.ones(len(t)) if block.w is None else block.w
    z, dz = (rows_times(block.X, a, centre) for a in (w, v))
    u = loss.into_domain(loss.slope(z, t, h) + loss.curvature(z, t, h) * dz, t, h)
    return BoxedSums(
        float(c @ loss.value(z, t, h)), float(c @ loss.conjugate(u, t, h)), rows_back(block.X, c * u, centre)
    )


def merge_bounds(a: BoxedSums, b: BoxedSums) -> BoxedSums:
    """The sums of both stretches of rows together."""
    return BoxedSums(a.loss + b.loss, a.conjugate + b.conjugate, a.gradient + b.gradient)


def boxed_gap(problem: Problem, w: Floats, v: Floats) -> float:
    """The relative gap at w by the dual point after the step v: one fold."""
    seen = problem.fold(partial(absorb_bounds, problem.loss, w, v, problem.centre), merge_bounds)
    g = seen.gradient if problem.intercept else np.append(seen.gradient[:-1], 0.0)
    bound = -seen.conjugate + float(w @ g) - BOX * float(np.abs(g) @ (1.0 / problem.scale))
    return relative_gap(seen.loss, bound)
