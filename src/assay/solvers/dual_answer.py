"""Dual coordinate descent on a centred problem: it runs on the raw columns, and its last α is turned into what proves the gap.

Of a hinge that is the multiplier of every row which does not have its whole weight or none by its side of the margin; of a
squared hinge the slopes at w, as for every smooth loss. One fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block
from assay.numerics import Array, Floats
from assay.solvers.dual_coordinate import dual_coordinate
from assay.solvers.iterate import Iterate, Support
from assay.solvers.problem import Problem, relative_gap
from assay.solvers.rows_times import rows_back, rows_times

CAREFUL = 0.1  # of tol: the gap is measured about another centre afterwards
NEAR = 1e-9  # of the margin: which side such a row is on may be rounding


class Proof(NamedTuple):
    """Rows with multipliers of their own, and Σcℓ, Σα, Σ α t (x − p, 1) of all."""

    rows: Array
    values: Floats
    loss: float
    alpha: float
    pull: Floats


def dual_coordinate_answer(problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """As `dual_coordinate`, for a problem with any centre; weights are about that centre."""
    p = problem.centre
    means = (problem.reach.means[0] + p, problem.reach.means[1] + p)
    raw = replace(problem, centre=np.zeros_like(p), reach=problem.reach._replace(means=means))
    at = None
    for found in dual_coordinate(raw, start, CAREFUL * tol, max_iter):
        if at is not None:
            yield at
        w = found.w.copy()
        w[-1] += p @ w[:-1]
        at = found._replace(w=w)
    assert at is not None
    yield _proved(problem, at, tol)


def _proved(problem: Problem, at: Iterate, tol: float) -> Iterate:
    """The last iterate with its gap as a checker finds it."""
    if problem.loss.name != "hinge":
        gap = problem.gap(problem.look(at.w), at.w)
        return at._replace(gap=gap, done=gap <= tol)
    assert at.alpha is not None
    seen = problem.fold(partial(absorb_proof, at.alpha, at.w, problem.centre), merge_proofs)
    pull = seen.pull if problem.intercept else np.append(seen.pull[:-1], 0.0)
    value = seen.loss + problem.penalty.value(at.w)
    gap = relative_gap(value, problem.bound(at.w, value, seen.alpha, -pull))
    return at._replace(objective=value, gap=gap, done=gap <= tol, support=Support(seen.rows, seen.values))


def absorb_proof(alpha: Floats, w: Floats, centre: Floats, block: Block) -> Proof:
    """The part of one block."""
    assert block.y is not None
    t = block.y
    c = np.ones(len(t)) if block.w is None else block.w
    a = np.clip(alpha[block.start : block.start + len(t)], 0.0, c)
    short = 1.0 - t * rows_times(block.X, w, centre)
    own = np.flatnonzero((a != np.where(short > 0, c, 0.0)) | (np.abs(short) < NEAR))
    loss = float(c @ np.maximum(short, 0.0))
    return Proof(own + block.start, a[own], loss, float(a.sum()), rows_back(block.X, a * t, centre))


def merge_proofs(a: Proof, b: Proof) -> Proof:
    """Both stretches of rows together."""
    rows, values = np.concatenate([a.rows, b.rows]), np.concatenate([a.values, b.values])
    return Proof(rows, values, a.loss + b.loss, a.alpha + b.alpha, a.pull + b.pull)
