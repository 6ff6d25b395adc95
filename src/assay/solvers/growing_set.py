"""The working set: a few rows whose hulls stand for those of all, and the rounds in which it grows.

S is solved (hulls.py), one fold over all rows finds those furthest on the wrong side of the solution, they join S; and so
on until S's hulls meet, or no row lies deeper than S's own. Rows with weight never leave S and its hulls' distance falls in
each round, so that no set comes twice and the rounds end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from assay import exact
from assay.engines import Engine, Rows, SparseMatrix
from assay.numerics import Array, Floats
from assay.solvers.extreme_rows import Picks, Ranges, Sides, doubtful, furthest_wrong, join, power_of_two, times
from assay.solvers.hulls import MOST_ACTIVE, nearest_points

NOTHING = 1e-15  # a weight up to this is rounding
LARGEST_SET = 3000  # rows of the working set beyond which only those with weight stay


class Lens(NamedTuple):
    """How rows become points p = s·((x − centre)·scale, lift) of `groups` groups (2: a side each; 1: all together)."""

    centre: Floats
    scale: Floats
    lift: float
    groups: int

    def points(self, picks: Picks) -> tuple[Floats, Array]:
        """The points, and the columns in which they may differ from zero."""
        if isinstance(picks.X, SparseMatrix):
            columns = np.unique(picks.X.indices)
            X = picks.X.columns(columns).toarray().astype(np.float64)
        else:
            columns = np.arange(picks.X.shape[1])
            X = picks.X
        points = (X - self.centre[columns]) * self.scale[columns]
        if self.lift:
            points = np.column_stack([points, np.full(len(points), self.lift)])
        return points * picks.sides[:, None], columns

    def plane(self, v: Floats, columns: Array) -> tuple[Floats, float]:
        """The hyperplane (w, b) of length 1 with the normal v; with two groups b is still open, and 0."""
        w, b = np.zeros(len(self.scale)), 0.0
        w[columns] = v[: len(columns)] * self.scale[columns]
        if self.lift:
            b = float(v[-1]) * self.lift
        size = float(power_of_two(max(float(np.abs(w).max()), abs(b))))  # so that squares neither over- nor underflow
        w, b = w * size, b * size
        norm = float(np.sqrt(w @ w + b * b)) or 1.0
        return w / norm, b / norm


class Plane(NamedTuple):
    """A hyperplane and its least s(w·x + b) over all rows."""

    w: Floats
    b: float
    least: float


@dataclass
class Search:
    """The rows, the working set S with its weights, and the passes made so far."""

    engine: Engine
    rows: Rows
    sides: Sides
    seen: Ranges
    q: int
    max_passes: int
    S: Picks = field(init=False)
    weights: Floats = field(init=False)
    passes: int = 1

    def price(self, w: Floats) -> Picks:
        self.passes += 1
        return furthest_wrong(self.engine, self.rows, self.sides, w, self.q)

    def begin(self, w: Floats) -> None:
        self.S = self.price(w)
        self.weights = np.zeros(len(self.S.numbers))

    def add(self, picks: Picks, w: Floats) -> bool:
        """Rows that are below those of S on their side join it; False where there are none."""
        values = _values(self.S, w)
        level = {side: values[self.S.sides == side].min() for side in (1, -1)}
        lower = picks.values < np.where(picks.sides == 1, level[1], level[-1])
        new = picks.take(np.flatnonzero(lower & ~np.isin(picks.numbers, self.S.numbers)))
        if len(new.numbers) == 0:
            return False
        if len(self.S.numbers) > LARGEST_SET:
            kept = np.flatnonzero(self.weights > 0)
            self.S, self.weights = self.S.take(kept), self.weights[kept]
        self.S = join(self.S, new)
        self.weights = np.append(self.weights, np.zeros(len(new.numbers)))
        return True

    @property
    def full(self) -> bool:
        """Whether more rows have weight than can be dealt with."""
        return int((self.weights > 0).sum()) > MOST_ACTIVE

    def support(self) -> tuple[Picks, Floats]:
        """The rows with weight, in order of their numbers."""
        at = np.flatnonzero(self.weights > NOTHING)
        at = at[np.argsort(self.S.numbers[at])]
        return self.S.take(at), np.minimum(self.weights[at], 1.0)


def _values(S: Picks, w: Floats) -> Floats:
    values: Floats = S.sides * times(S.X, w)
    return values


def cut(search: Search, lens: Lens, tol: float, first: bool) -> tuple[bool, Plane]:
    """Whether the hulls of S came to meet, and the best hyperplane found; `first`: the first that separates will do."""
    best = Plane(np.zeros(len(lens.scale)), 0.0, -np.inf)
    for _ in range(search.max_passes):
        A, columns = lens.points(search.S)
        group = (search.S.sides < 0).astype(np.int64) * (lens.groups - 1)
        start = search.weights / max(1.0, search.weights.sum() / lens.groups)
        few = _few_columns(A)
        near = nearest_points(few, group, lens.groups, start, 0.1 * tol)
        search.weights = near.weights
        if near.meets:
            return True, best
        if search.full:
            return False, best
        v = near.weights @ A
        w, b = lens.plane(near.v if few is A else v, columns)
        picks = search.price(w)
        low = [float(picks.values[picks.sides == side].min()) for side in (1, -1)]
        if lens.groups == 2:
            b = (low[1] - low[0]) / 2
        least = min(low[0] + b, low[1] - b)
        if least > best.least:
            best = Plane(w, b, least)
        upper = float(np.linalg.norm(v)) / float(lens.scale.max()) / lens.groups
        if (first and least > 0) or upper - least <= tol * upper or not search.add(picks, w):
            return False, best
    return False, best


def _few_columns(A: Floats) -> Floats:
    """The points in coordinates of their own span, where they have many more columns than there are points."""
    if A.shape[1] <= 2 * A.shape[0]:
        return A
    R: Any = np.linalg.qr(A.T, mode="r")
    return np.ascontiguousarray(R.T)


def proved(search: Search, plane: Plane) -> bool:
    """Whether every row that counts lies strictly on its side, whatever the rounding."""
    if not plane.least > 0:
        return False
    search.passes += 1
    doubt = doubtful(search.engine, search.rows, search.sides, plane.w, plane.b)
    if doubt.total > len(doubt.picks.numbers):
        return False
    X = doubt.picks.X.toarray() if isinstance(doubt.picks.X, SparseMatrix) else doubt.picks.X
    return all(s * exact.value_at(x, plane.w, plane.b) > 0 for s, x in zip(doubt.picks.sides.tolist(), X))


def dense(picks: Picks, all_columns: bool = False) -> Floats:
    """The rows, of sparse ones only the columns that occur in them."""
    if isinstance(picks.X, SparseMatrix):
        X = picks.X if all_columns else picks.X.columns(np.unique(picks.X.indices))
        return X.toarray().astype(np.float64)
    dense: Floats = picks.X
    return dense
