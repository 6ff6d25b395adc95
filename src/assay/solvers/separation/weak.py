"""Weak separation of rows that no hyperplane separates: s(w·x + b) ≥ 0 for all of them and > 0 for some.

Then logistic regression has no maximum-likelihood solution either (quasi-complete separation; Albert and Anderson, 1984).
Rows P with positive weights whose hulls meet force s(w·x + b) = 0 on P, hence on the span L of their x̃ = (1, x). So look at
the other rows' parts outside L: if a hyperplane through the origin separates those, it is the direction; if rows of them
meet at the origin, L grows by their span; if nothing is left outside L, there is no such direction. What lies in L is
decided up to OUTSIDE, in scaled columns.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, SparseMatrix, fold
from assay.numerics import Array, Floats
from assay.solvers.separation.hulls import nearest_points
from assay.solvers.separation.working_set import PositiveClass

OUTSIDE = 1e-9  # how far from L a row lies outside it; rows are of length 1 or so
MOST_COLUMNS = 2000  # beyond, the complement of L is too large to keep
TILE = 4096
EXACTLY = 1000  # rows of a block that are left to fractions
EPS = float(np.finfo(np.float64).eps)
KEPT = 64


class ComplementDirections(NamedTuple):
    """The directions outside L: z = x·W + offset, W (d, k)."""

    W: Floats
    offset: Floats

    def of(self, X: Array | SparseMatrix) -> Floats:
        """z for each row (m, k), zero for the rows in L."""
        tiles = [X[a : a + TILE] for a in range(0, len(X), TILE)]
        dense = [t.toarray() if isinstance(t, SparseMatrix) else t for t in tiles]
        Z = np.concatenate([t.astype(np.float64, copy=False) @ self.W + self.offset for t in dense])
        Z[np.abs(Z).max(axis=1) <= OUTSIDE] = 0.0
        return Z


class LowestRows(NamedTuple):
    """Of the rows outside L: how many, and the KEPT with the least s·(z·u): values, s·z, numbers."""

    number: int
    values: Floats
    points: Floats
    numbers: Array


def _absorb(beyond: ComplementDirections, u: Floats, sides: PositiveClass, block: Block) -> LowestRows:
    s = sides.of(block)
    points = beyond.of(block.X) * s[:, None]
    at = np.flatnonzero(points.any(axis=1))
    values = points @ u
    at = at[np.lexsort((at, values[at]))]
    few = at[:KEPT]
    return LowestRows(len(at), values[few], points[few], few + block.start)


def _merge(a: LowestRows, b: LowestRows) -> LowestRows:
    values, points, numbers = (np.concatenate([getattr(a, f), getattr(b, f)]) for f in ("values", "points", "numbers"))
    few = np.lexsort((numbers, values))[:KEPT]
    return LowestRows(a.number + b.number, values[few], points[few], numbers[few])


class ScaledCoordinates(NamedTuple):
    """Scaled coordinates ((x − centre)·scale, 1), without the 1 where the hyperplane goes through the origin."""

    centre: Floats
    scale: Floats
    lifted: bool

    def of(self, X: Floats) -> Floats:
        scaled: Floats = (X - self.centre) * self.scale
        return np.column_stack([scaled, np.ones(len(X))]) if self.lifted else scaled

    def beyond(self, spanning: Floats) -> ComplementDirections:
        """The complement of the span of rows in these coordinates; a column without scale has no part in it."""
        _, sizes, Vt = np.linalg.svd(spanning, full_matrices=True)
        N = Vt[int((sizes > OUTSIDE * sizes[0]).sum()) :]
        d = len(self.scale)
        N = N[
            np.abs(N[:, :d] @ np.diag(self.scale > 0)).max(axis=1, initial=0.0) + np.abs(N[:, d:]).sum(axis=1) > OUTSIDE
        ]
        W = (N[:, :d] * self.scale).T
        offset = (N[:, d] if self.lifted else np.zeros(len(N))) - self.centre @ W
        return ComplementDirections(W, offset)


def weak_direction(
    engine: Engine, rows: Rows, sides: PositiveClass, frame: ScaledCoordinates, meeting: Floats
) -> tuple[bool | None, Floats, float]:
    """Whether there is such a direction (None: not decided), and it: w (d,) and b. `meeting` (a, d): the rows P."""
    nothing = np.zeros(rows.n_columns)
    if rows.n_columns > MOST_COLUMNS:
        return None, nothing, 0.0
    spanning = frame.of(meeting)
    while True:
        beyond = frame.beyond(spanning)
        if beyond.W.shape[1] == 0:
            return False, nothing, 0.0
        meets, points = _separate_beyond(engine, rows, sides, beyond)
        if meets is None or points is None:
            return (None if meets is None else False), nothing, 0.0
        if not meets:
            w, b = beyond.W @ points, float(beyond.offset @ points)
            return _seen(engine, rows, sides, w, b), w, b
        # rows that meet beyond L join it: back to the frame's coordinates by the orthonormal complement
        spanning = np.concatenate([spanning, _back(frame, beyond, points)])


def _seen(engine: Engine, rows: Rows, sides: PositiveClass, w: Floats, b: float) -> bool | None:
    """True where no row is on the wrong side of w·x + b but for rounding; None where rounding is all that is left of it."""
    found = fold(engine, rows.blocks(), partial(_ends, w, b, sides), _outer)
    return True if found is not None and found[0] >= -OUTSIDE * found[1] and found[1] > 0 else None


def _outer(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return min(a[0], b[0]), max(a[1], b[1])


def _ends(w: Floats, b: float, sides: PositiveClass, block: Block) -> tuple[float, float]:
    """The least s(w·x + b) of a block's rows, and the greatest size."""
    s = sides.of(block)
    X = block.X.toarray() if isinstance(block.X, SparseMatrix) else block.X
    X, s = X[s != 0].astype(np.float64, copy=False), s[s != 0]
    values = s * (X @ w + b)
    room = (X.shape[1] + 3) * EPS * (np.abs(X) @ np.abs(w) + abs(b))
    doubt = np.flatnonzero(values < room)
    if room.max(initial=0.0) > OUTSIDE * np.abs(values).max(initial=0.0):  # rounding would show: such rows in fractions
        values[doubt[EXACTLY:]] -= room[doubt[EXACTLY:]]
        for i in doubt[:EXACTLY].tolist():
            exact = sum((Fraction(x) * Fraction(v) for x, v in zip(X[i].tolist(), w.tolist())), Fraction(b))
            values[i] = float(int(s[i]) * exact)
    return float(values.min(initial=0.0)), float(np.abs(values).max(initial=0.0))


def _back(frame: ScaledCoordinates, beyond: ComplementDirections, points: Floats) -> Floats:
    """Points outside L in the frame's coordinates (their parts in L do not matter: it is in the span already)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        N = np.where(frame.scale > 0, beyond.W.T / frame.scale, 0.0)
    if frame.lifted:
        N = np.column_stack([N, beyond.offset + frame.centre @ beyond.W])
    out: Floats = points @ N
    return out


def _separate_beyond(
    engine: Engine, rows: Rows, sides: PositiveClass, beyond: ComplementDirections
) -> tuple[bool | None, Floats | None]:
    """(True, points that meet at the origin), (False, the direction that separates), (False, None): nothing is outside L."""
    u = np.zeros(beyond.W.shape[1])
    found = fold(engine, rows.blocks(), partial(_absorb, beyond, u, sides), _merge)
    assert found is not None
    if found.number == 0:
        return False, None
    S, numbers, weights = found.points, found.numbers, None
    while True:
        near = nearest_points(S, np.zeros(len(S), dtype=np.int64), 1, weights)
        if near.meets:
            return True, S[near.weights > OUTSIDE]  # less is rounding, and such a row need not be in L
        u = near.v / np.linalg.norm(near.v)
        found = fold(engine, rows.blocks(), partial(_absorb, beyond, u, sides), _merge)
        assert found is not None
        if found.values[0] > OUTSIDE * np.linalg.norm(near.v):
            return False, u
        new = ~np.isin(found.numbers, numbers) & (found.values <= 0.5 * np.linalg.norm(near.v))
        if not new.any():
            return None, None
        S, numbers = np.concatenate([S, found.points[new]]), np.append(numbers, found.numbers[new])
        weights = np.append(near.weights, np.zeros(int(new.sum())))
