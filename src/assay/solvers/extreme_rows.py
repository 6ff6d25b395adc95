"""Folds over all rows that the search for a separator needs: ranges of the columns, rows furthest on the wrong side, proof.

s is +1 for rows of one class, −1 for the others, 0 for rows of no weight, which do not count.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, SparseMatrix, fold
from assay.engines.csr import stack
from assay.inputs import refuse_non_finite
from assay.labels import Labels
from assay.numerics import Array, Floats

EPS = float(np.finfo(np.float64).eps)
LEAST = float(np.finfo(np.float64).smallest_subnormal)
TO_CHECK = 256  # rows whose sign may be left to exact arithmetic


class Sides(NamedTuple):
    """Which rows are +1: those of the class with code `positive`."""

    labels: Labels
    positive: int
    names: tuple[str, ...] | None

    def of(self, block: Block) -> Array:
        assert block.y is not None
        s = np.where(self.labels.encode(block.y) == self.positive, 1, -1)
        return s if block.w is None else np.where(block.w > 0, s, 0)


def times(X: Array | SparseMatrix, w: Floats) -> Floats:
    """X w in float64."""
    if isinstance(X, SparseMatrix):
        return np.bincount(X.row_numbers(), X.data.astype(np.float64) * w[X.indices], minlength=len(X))
    z: Floats = X.astype(np.float64, copy=False) @ w
    return z


def power_of_two(size: Any) -> Any:
    """The power of two that brings sizes to ½ … 1 (1 for zero): multiplying by it is exact."""
    return np.where(np.asarray(size) > 0, np.ldexp(1.0, np.clip(-np.frexp(size)[1], -1000, 1000)), 1.0)


class Ranges(NamedTuple):
    """low, high (d,) of the columns over rows that count; counts (2,) and sums (2, d) of the sides +1 and −1."""

    low: Floats
    high: Floats
    counts: Array
    sums: Floats


def _range(sides: Sides, block: Block) -> Ranges:
    s, X = sides.of(block), block.X
    if (s == 0).any():
        X, s = X[s != 0], s[s != 0]
    d = block.X.shape[1]
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    if isinstance(X, SparseMatrix):
        low[:], high[:] = 0.0, 0.0  # a column has zeros, or might as well
        np.minimum.at(low, X.indices, X.data)
        np.maximum.at(high, X.indices, X.data)
    elif len(X):
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    if len(X) and not (np.isfinite(low).all() and np.isfinite(high).all()):
        refuse_non_finite(block.X, block.start, sides.names)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.stack([_sum(X, s == side) for side in (1, -1)])
    return Ranges(low, high, np.array([(s == 1).sum(), (s == -1).sum()]), sums)


def _sum(X: Array | SparseMatrix, mask: Array) -> Floats:
    if isinstance(X, SparseMatrix):
        return np.bincount(X.indices, X.data * mask[X.row_numbers()], minlength=X.n_columns)
    total: Floats = mask.astype(np.float64) @ X.astype(np.float64, copy=False)
    return total


def _join_ranges(a: Ranges, b: Ranges) -> Ranges:
    return Ranges(np.minimum(a.low, b.low), np.maximum(a.high, b.high), a.counts + b.counts, a.sums + b.sums)


def ranges(engine: Engine, rows: Rows, sides: Sides) -> Ranges:
    """The columns' ranges, and each side's rows and sums: one fold."""
    found = fold(engine, rows.blocks(), partial(_range, sides), _join_ranges)
    assert found is not None
    return found


class Picks(NamedTuple):
    """Some rows in order of side and value: global numbers, sides, s·(w·x), and the rows themselves."""

    numbers: Array
    sides: Array
    values: Floats
    X: Any

    def take(self, at: Array) -> Picks:
        return Picks(self.numbers[at], self.sides[at], self.values[at], self.X[at])


def join(a: Picks, b: Picks) -> Picks:
    """Both, one after the other."""
    X = stack([a.X, b.X]) if isinstance(a.X, SparseMatrix) else np.concatenate([a.X, b.X])
    numbers, sides, values = (np.concatenate([getattr(a, f), getattr(b, f)]) for f in ("numbers", "sides", "values"))
    return Picks(numbers, sides, values, X)


def _lowest(q: int, values: Floats, at: Array) -> Array:
    """The q of the rows `at` with the least values, in their order; equal values by number."""
    if len(at) > q:
        at = at[values[at] <= np.partition(values[at], q - 1)[q - 1]]
    return at[np.lexsort((at, values[at]))][:q]


def _price(w: Floats, q: int, sides: Sides, block: Block) -> Picks:
    s = sides.of(block)
    values = s * times(block.X, w)
    at = np.concatenate([_lowest(q, values, np.flatnonzero(s == side)) for side in (1, -1)])
    X = block.X[at]
    return Picks(at + block.start, s[at], values[at], X if isinstance(X, SparseMatrix) else X.astype(np.float64))


def _join_picks(q: int, a: Picks, b: Picks) -> Picks:
    both = join(a, b)
    return both.take(np.concatenate([_lowest(q, both.values, np.flatnonzero(both.sides == side)) for side in (1, -1)]))


def furthest_wrong(engine: Engine, rows: Rows, sides: Sides, w: Floats, q: int) -> Picks:
    """The q rows of each side with the least s·(w·x): one fold."""
    found: Picks | None = fold(engine, rows.blocks(), partial(_price, w, q, sides), partial(_join_picks, q))
    assert found is not None
    return found


class Doubt(NamedTuple):
    """Rows whose sign rounding may hide (at most TO_CHECK of them, and how many in all), and the least s·(w·x + b)."""

    total: int
    picks: Picks
    least: float


def _doubt(w: Floats, b: float, sides: Sides, block: Block) -> Doubt:
    s, X = sides.of(block), block.X
    values = s * (times(X, w) + b)
    if isinstance(X, SparseMatrix):
        size, terms = times(X.with_data(np.abs(X.data)), np.abs(w)), int(np.diff(X.indptr).max(initial=0))
    else:
        size, terms = np.abs(X).astype(np.float64, copy=False) @ np.abs(w), X.shape[1]
    bound = (terms + 3) * (EPS * (size + abs(b)) + LEAST)
    at = np.flatnonzero((s != 0) & ~(values > bound))
    few = at[:TO_CHECK]
    kept = X[few] if isinstance(X, SparseMatrix) else X[few].astype(np.float64)
    least = float(values[s != 0].min(initial=np.inf))
    return Doubt(len(at), Picks(few + block.start, s[few], values[few], kept), least)


def _join_doubts(a: Doubt, b: Doubt) -> Doubt:
    both = join(a.picks, b.picks)
    return Doubt(a.total + b.total, both.take(np.arange(min(TO_CHECK, len(both.numbers)))), min(a.least, b.least))


def doubtful(engine: Engine, rows: Rows, sides: Sides, w: Floats, b: float) -> Doubt:
    """The rows for which |s·(w·x + b)| in floating point proves nothing: |error| ≤ (d + 3)·eps·(Σ|x_j w_j| + |b|)."""
    found = fold(engine, rows.blocks(), partial(_doubt, w, b, sides), _join_doubts)
    assert found is not None
    return found


def _longest(unit: float, sides: Sides, block: Block) -> float:
    s, X = sides.of(block), block.X
    if isinstance(X, SparseMatrix):
        squares = np.bincount(X.row_numbers(), (X.data.astype(np.float64) * unit) ** 2, minlength=len(X))
    else:
        scaled = X.astype(np.float64, copy=False) if unit == 1.0 else X * unit
        squares = np.einsum("ij,ij->i", scaled, scaled)
    return float(squares[s != 0].max(initial=0.0))


def _larger(a: float, b: float) -> float:
    return max(a, b)


def longest(engine: Engine, rows: Rows, sides: Sides, largest: float) -> float:
    """max ‖x‖ over the rows that count, where |x_j| ≤ `largest`: one fold."""
    unit = 1.0 if 1e-100 < largest < 1e100 else float(power_of_two(largest))
    squared: float | None = fold(engine, rows.blocks(), partial(_longest, unit, sides), _larger)
    return float(np.sqrt(squared or 0.0) / unit)
