"""Errors that cost in proportion (epsilon-insensitive, pinball), exactly: of many rows only those near the fit are open. Shape: repeated fold.

A row far above the fit has its whole multiplier, wherever the fit ends nearby, and enters a small problem by a sum (Portnoy and Koenker 1997). Some rows
drawn by their numbers give a first fit, which says which rows are near; an interior-point method solves for these, and a pass over all rows tells
whether any other has changed sides (`smoothing.exactly`). Small tables go to the interior-point method as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block
from assay.engines.csr import SparseMatrix
from assay.errors import ParameterError
from assay.numerics import Array, Floats
from assay.risk.terms import Surrogate, sides_of
from assay.solvers.problem import Iterate, MarginRows, Problem
from assay.solvers.smoothing import (
    PER_COLUMN,
    SmoothingState,
    Zone,
    absorb_zone_evaluation,
    exactly,
    merge_zone_evaluations,
    points,
    zone_at,
)

FEW_NUMBERS = 1 << 18  # of open rows
MOST_NUMBERS = 1 << 25
MOST_COLUMNS = 2000
WIDER = 4
SHARE = 0.8  # of the open rows that are allowed, a first zone is drawn for


def open_rows(problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """As `newton`; `max_iter` counts the steps of the interior-point method."""
    if len(start) > MOST_COLUMNS:
        raise ParameterError(
            f"loss={problem.loss.name!r} is solved exactly, for at most {MOST_COLUMNS} columns; these rows have {len(start) - 1}. Take a loss with a "
            "slope (squared_epsilon_insensitive, huber), or SGDRegressor."
        )
    most = max(64, PER_COLUMN * len(start), FEW_NUMBERS // len(start))
    first = _value(problem, start)
    if first == 0:  # nothing is less
        yield Iterate(0, start, 0.0, 0.0, done=True, support=MarginRows(np.empty(0, dtype=np.int64), np.empty(0)))
        return
    zone = zone_at(problem, start, np.inf, most)
    if not zone.full:
        yield from exactly(problem, SmoothingState(start, np.inf, 0), np.inf, most, zone, tol, max_iter)
        return
    stand, delta = _from_some(problem, start, most, max_iter)
    yield Iterate(stand.number, stand.w, stand.value, 1.0)
    while most * len(start) <= MOST_NUMBERS and stand.number < max_iter:
        zone = zone_at(problem, stand.w, delta, most)
        while zone.full:
            delta *= 0.5
            zone = zone_at(problem, stand.w, delta, most)
        better = yield from exactly(problem, stand, delta, most, zone, tol, max_iter)
        if better is None:
            return
        stand, most, delta = better, most * WIDER, delta * WIDER


class DrawnRows(NamedTuple):
    """Rows drawn by their numbers: keys (m,), rows (x − p, 1) (m, d + 1), targets and weights (m,); how many rows there are, and their weight."""

    keys: Array
    A: Floats
    t: Floats
    c: Floats
    there: int
    weight: float


def _keys(numbers: Array) -> Array:
    """A key of each row's number that looks like chance (the finaliser of splitmix64)."""
    z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def absorb_some(most: int, centre: Floats, block: Block) -> DrawnRows:
    """The rows of a block with the least keys."""
    assert block.y is not None
    n = len(block.y)
    c = np.ones(n) if block.w is None else block.w
    keys = _keys(np.arange(block.start, block.start + n))
    keys[c == 0] = np.iinfo(np.uint64).max
    there = np.sort(np.argsort(keys, kind="stable")[:most])
    X = block.X[there]
    X = X.toarray() if isinstance(X, SparseMatrix) else X
    A = np.column_stack([X.astype(np.float64) - centre, np.ones(len(there))])
    return DrawnRows(keys[there], A, block.y[there], c[there], int(np.count_nonzero(c)), float(c.sum()))


def merge_some(most: int, a: DrawnRows, b: DrawnRows) -> DrawnRows:
    """Those of both stretches with the least keys."""
    keys, A, t, c = (np.concatenate(pair) for pair in zip(a[:4], b[:4]))
    there = np.sort(np.argsort(keys, kind="stable")[:most])
    return DrawnRows(keys[there], A[there], t[there], c[there], a.there + b.there, a.weight + b.weight)


def _from_some(problem: Problem, start: Floats, most: int, max_iter: int) -> tuple[SmoothingState, float]:
    """The fit of some rows, and how near to it a row must be to be open."""
    drawn = most // 2
    some = problem.fold(partial(absorb_some, drawn, problem.centre), partial(merge_some, drawn))
    zone, sides = _zone_of(problem.loss, some)
    w, number = start, 0
    for point, _ in points(problem, zone, start):
        w, number = point.u, number + 1
        if number >= max_iter:
            break
    z = some.A @ w
    near = np.concatenate([np.abs(side.offset - side.sign * z) for side in sides])
    share = min(1.0, SHARE * most / (len(sides) * some.there))
    return SmoothingState(w, _value(problem, w), number), float(np.quantile(near, share))


def _value(problem: Problem, w: Floats) -> float:
    """F at w."""
    found = problem.fold(
        partial(absorb_zone_evaluation, problem.loss, w, w, problem.centre, np.inf), merge_zone_evaluations
    )
    return found.loss + problem.penalty.value(w)


def _zone_of(loss: Surrogate, some: DrawnRows) -> tuple[Zone, tuple]:  # type: ignore[type-arg]
    """All sides of these rows, which stand for all rows."""
    sides = sides_of(loss, some.t, some.c * (some.weight / some.c.sum()))
    o, s, c = (np.concatenate(each) for each in zip(*sides))
    A = np.concatenate([some.A] * len(sides)) * s[:, None]
    return Zone(np.arange(len(o)), A, o, c, 0.0, np.zeros(some.A.shape[1]), False), sides
