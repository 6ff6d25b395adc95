"""The rows near the margin of given weights, gathered with what all the others contribute. One fold.

A row with a = 1 − tz beyond δ > 0 has the multiplier c, one below −δ none; only those between are open. The others enter a
small problem by their sums alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.engines import Block
from assay.engines.sparse import SparseMatrix
from assay.numerics import Array, Floats
from assay.risk.penalties import Penalty
from assay.solvers.interior_point import Margins
from assay.solvers.rows_times import rows_back, rows_times


class Zone(NamedTuple):
    """Row numbers (m,), A = t·(x − p, 1) (m, d + 1) and costs c (m,) of open rows; Σc and Σ c t (x − p, 1) of those beyond.

    `full`: more rows are open than were asked for; then none are kept.
    """

    rows: Array
    A: Floats
    c: Floats
    beyond: float
    pull: Floats
    full: bool

    def margins(self, penalty: Penalty, intercept: bool) -> Margins:
        """The small problem of the open rows, to which each |w_j| adds two; without an intercept b is held at zero."""
        l2, pull, A = penalty.l2, self.pull, self.A
        if not intercept:
            l2, pull, A = np.append(l2[:-1], 1.0), np.append(pull[:-1], 0.0), A * np.append(np.ones(len(l2) - 1), 0.0)
        bent = np.flatnonzero(penalty.l1)
        sides = np.eye(len(l2))[bent]
        A = np.concatenate([A, sides, -sides])
        o = np.concatenate([np.ones(len(self.c)), np.zeros(2 * len(bent))])
        return Margins(A, o, np.concatenate([self.c, penalty.l1[bent], penalty.l1[bent]]), l2, -pull)


def absorb_zone(w: Floats, centre: Floats, delta: float, most: int, block: Block) -> Zone:
    """The open rows of one block at the weights w about the centre; at most `most`."""
    assert block.y is not None
    d = len(centre)
    if not np.isfinite(delta) and len(block.y) > most:
        return _too_many(d)
    t = block.y
    c = np.ones(len(t)) if block.w is None else block.w
    a = 1.0 - t * rows_times(block.X, w, centre)
    open_ = np.flatnonzero((np.abs(a) <= delta) & (c > 0))
    if len(open_) > most:
        return _too_many(d)
    X = block.X[open_]
    X = X.toarray() if isinstance(X, SparseMatrix) else X
    A = np.column_stack([X.astype(np.float64) - centre, np.ones(len(open_))]) * t[open_, None]
    over = np.where(a > delta, c, 0.0)
    return Zone(open_ + block.start, A, c[open_], float(over.sum()), rows_back(block.X, over * t, centre), False)


def _too_many(d: int) -> Zone:
    return Zone(np.empty(0, dtype=np.int64), np.empty((0, d + 1)), np.empty(0), 0.0, np.zeros(d + 1), True)


def merge_zones(most: int, a: Zone, b: Zone) -> Zone:
    """The zone of both stretches of rows together."""
    if a.full or b.full or len(a.rows) + len(b.rows) > most:
        return _too_many(len(a.pull) - 1)
    rows, A, c = (np.concatenate(pair) for pair in ((a.rows, b.rows), (a.A, b.A), (a.c, b.c)))
    return Zone(rows, A, c, a.beyond + b.beyond, a.pull + b.pull, False)


class Seen(NamedTuple):
    """Σ c max(0, a) and min tz at new weights, and how far, at the least, rows outside the zone are from changing sides."""

    loss: float
    least: float
    safe: float


def absorb_seen(before: Floats, w: Floats, centre: Floats, delta: float, block: Block) -> Seen:
    """One block at the weights w; the zone was that of the weights `before`."""
    assert block.y is not None
    t = block.y
    c = np.ones(len(t)) if block.w is None else block.w
    was, a = (1.0 - t * rows_times(block.X, u, centre) for u in (before, w))
    outside = (np.abs(was) > delta) & (c > 0)
    safe = float(np.min((np.sign(was) * a)[outside], initial=np.inf))
    return Seen(float(c @ np.maximum(a, 0.0)), float(np.min((1.0 - a)[c > 0], initial=np.inf)), safe)


def merge_seen(a: Seen, b: Seen) -> Seen:
    """Both stretches of rows together."""
    return Seen(a.loss + b.loss, min(a.least, b.least), min(a.safe, b.safe))


class Room(NamedTuple):
    """By how much b can rise and fall before a row reaches the margin."""

    up: float
    down: float


def absorb_room(w: Floats, centre: Floats, block: Block) -> Room:
    """One block: raising b by δ takes t·δ from a = 1 − tz."""
    assert block.y is not None
    t = block.y
    a = 1.0 - t * rows_times(block.X, w, centre)
    rising = np.where(a > 0, t > 0, t < 0)  # rows whose |a| shrinks when b rises
    counts = np.ones(len(t), dtype=bool) if block.w is None else block.w > 0
    up, down = (float(np.min(np.abs(a)[side & counts], initial=np.inf)) for side in (rising, ~rising))
    return Room(up, down)


def merge_rooms(a: Room, b: Room) -> Room:
    """Both stretches of rows together."""
    return Room(min(a.up, b.up), min(a.down, b.down))
