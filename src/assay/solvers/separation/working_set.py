"""The working set: a few rows whose hulls stand for those of all, and the rounds in which it grows.

S is solved (hulls.py), one fold over all rows finds those furthest on the wrong side of the solution, they join S; and so
on until S's hulls meet, or no row lies deeper than S's own. Rows with weight never leave S and its hulls' distance falls in
each round, so that no set comes twice and the rounds end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, SparseMatrix, fold
from assay.engines.csr import stack
from assay.inputs import refuse_non_finite
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.solvers.separation import exact
from assay.solvers.separation.hulls import MOST_ACTIVE, nearest_points

NOTHING = 1e-15  # a weight up to this is rounding
LARGEST_SET = 3000  # rows of the working set beyond which only those with weight stay


class SignedPoints(NamedTuple):
    """How rows become points p = s·((x − centre)·scale, lift) of `groups` groups (2: a side each; 1: all together)."""

    centre: Floats
    scale: Floats
    lift: float
    groups: int

    def points(self, picks: ExtremeRows) -> tuple[Floats, Array]:
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


class Hyperplane(NamedTuple):
    """A hyperplane and its least s(w·x + b) over all rows."""

    w: Floats
    b: float
    least: float


@dataclass
class SeparationSearch:
    """The rows, the working set S with its weights, and the passes made so far."""

    engine: Engine
    rows: Rows
    sides: PositiveClass
    columns: ColumnRanges
    q: int
    max_passes: int
    S: ExtremeRows = field(init=False)
    weights: Floats = field(init=False)
    passes: int = 1

    def price(self, w: Floats) -> ExtremeRows:
        self.passes += 1
        return furthest_wrong(self.engine, self.rows, self.sides, w, self.q)

    def begin(self, w: Floats) -> None:
        self.S = self.price(w)
        self.weights = np.zeros(len(self.S.numbers))

    def add(self, picks: ExtremeRows, w: Floats) -> bool:
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

    def support(self) -> tuple[ExtremeRows, Floats]:
        """The rows with weight, in order of their numbers."""
        at = np.flatnonzero(self.weights > NOTHING)
        at = at[np.argsort(self.S.numbers[at])]
        return self.S.take(at), np.minimum(self.weights[at], 1.0)


def _values(S: ExtremeRows, w: Floats) -> Floats:
    values: Floats = S.sides * times(S.X, w)
    return values


def cut(search: SeparationSearch, lens: SignedPoints, tol: float, first: bool) -> tuple[bool, Hyperplane]:
    """Whether the hulls of S came to meet, and the best hyperplane found; `first`: the first that separates will do."""
    best = Hyperplane(np.zeros(len(lens.scale)), 0.0, -np.inf)
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
            best = Hyperplane(w, b, least)
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


def proved(search: SeparationSearch, plane: Hyperplane) -> bool:
    """Whether every row that counts lies strictly on its side, whatever the rounding."""
    return sure_margin(search, plane) > 0


def sure_margin(search: SeparationSearch, plane: Hyperplane) -> float:
    """The least s·(w·x + b), taken without rounding where that might hide its sign; 0 where not every row is surely on its side."""
    if not plane.least > 0:
        return 0.0
    search.passes += 1
    doubt = doubtful(search.engine, search.rows, search.sides, plane.w, plane.b)
    if doubt.total > len(doubt.picks.numbers):
        return 0.0
    X = doubt.picks.X.toarray() if isinstance(doubt.picks.X, SparseMatrix) else doubt.picks.X
    values = [s * exact.value_at(x, plane.w, plane.b) for s, x in zip(doubt.picks.sides.tolist(), X)]
    return max(0.0, min(float(min(values)), doubt.least)) if values else plane.least


def dense(picks: ExtremeRows, all_columns: bool = False) -> Floats:
    """The rows, of sparse ones only the columns that occur in them."""
    if isinstance(picks.X, SparseMatrix):
        X = picks.X if all_columns else picks.X.columns(np.unique(picks.X.indices))
        return X.toarray().astype(np.float64)
    dense: Floats = picks.X
    return dense


# Folds over all rows that the search for a separator needs: ranges of the columns, rows furthest on the wrong side, proof.
#
# s is +1 for rows of one class, −1 for the others, 0 for rows of no weight, which do not count.

EPS = float(np.finfo(np.float64).eps)
LEAST = float(np.finfo(np.float64).smallest_subnormal)
TO_CHECK = 256  # rows whose sign may be left to exact arithmetic


class PositiveClass(NamedTuple):
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


class ColumnRanges(NamedTuple):
    """low, high (d,) of the columns over rows that count; counts (2,) and sums (2, d) of the sides +1 and −1."""

    low: Floats
    high: Floats
    counts: Array
    sums: Floats


def _range(sides: PositiveClass, block: Block) -> ColumnRanges:
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
    return ColumnRanges(low, high, np.array([(s == 1).sum(), (s == -1).sum()]), sums)


def _sum(X: Array | SparseMatrix, mask: Array) -> Floats:
    if isinstance(X, SparseMatrix):
        return np.bincount(X.indices, X.data * mask[X.row_numbers()], minlength=X.n_columns)
    total: Floats = mask.astype(np.float64) @ X.astype(np.float64, copy=False)
    return total


def _join_ranges(a: ColumnRanges, b: ColumnRanges) -> ColumnRanges:
    return ColumnRanges(np.minimum(a.low, b.low), np.maximum(a.high, b.high), a.counts + b.counts, a.sums + b.sums)


def ranges(engine: Engine, rows: Rows, sides: PositiveClass) -> ColumnRanges:
    """The columns' ranges, and each side's rows and sums: one fold."""
    found = fold(engine, rows.blocks(), partial(_range, sides), _join_ranges)
    assert found is not None
    return found


class ExtremeRows(NamedTuple):
    """Some rows in order of side and value: global numbers, sides, s·(w·x), and the rows themselves."""

    numbers: Array
    sides: Array
    values: Floats
    X: Any

    def take(self, at: Array) -> ExtremeRows:
        return ExtremeRows(self.numbers[at], self.sides[at], self.values[at], self.X[at])


def join(a: ExtremeRows, b: ExtremeRows) -> ExtremeRows:
    """Both, one after the other."""
    X = stack([a.X, b.X]) if isinstance(a.X, SparseMatrix) else np.concatenate([a.X, b.X])
    numbers, sides, values = (np.concatenate([getattr(a, f), getattr(b, f)]) for f in ("numbers", "sides", "values"))
    return ExtremeRows(numbers, sides, values, X)


def _lowest(q: int, values: Floats, at: Array) -> Array:
    """The q of the rows `at` with the least values, in their order; equal values by number."""
    if len(at) > q:
        at = at[values[at] <= np.partition(values[at], q - 1)[q - 1]]
    return at[np.lexsort((at, values[at]))][:q]


def _price(w: Floats, q: int, sides: PositiveClass, block: Block) -> ExtremeRows:
    s = sides.of(block)
    values = s * times(block.X, w)
    at = np.concatenate([_lowest(q, values, np.flatnonzero(s == side)) for side in (1, -1)])
    X = block.X[at]
    return ExtremeRows(at + block.start, s[at], values[at], X if isinstance(X, SparseMatrix) else X.astype(np.float64))


def _join_picks(q: int, a: ExtremeRows, b: ExtremeRows) -> ExtremeRows:
    both = join(a, b)
    return both.take(np.concatenate([_lowest(q, both.values, np.flatnonzero(both.sides == side)) for side in (1, -1)]))


def furthest_wrong(engine: Engine, rows: Rows, sides: PositiveClass, w: Floats, q: int) -> ExtremeRows:
    """The q rows of each side with the least s·(w·x): one fold."""
    found: ExtremeRows | None = fold(engine, rows.blocks(), partial(_price, w, q, sides), partial(_join_picks, q))
    assert found is not None
    return found


class DoubtfulRows(NamedTuple):
    """Rows whose sign rounding may hide (at most TO_CHECK of them, and how many in all), and the least s·(w·x + b) of the others."""

    total: int
    picks: ExtremeRows
    least: float


def _doubt(w: Floats, b: float, sides: PositiveClass, block: Block) -> DoubtfulRows:
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
    least = float(values[(s != 0) & (values > bound)].min(initial=np.inf))
    return DoubtfulRows(len(at), ExtremeRows(few + block.start, s[few], values[few], kept), least)


def _join_doubts(a: DoubtfulRows, b: DoubtfulRows) -> DoubtfulRows:
    both = join(a.picks, b.picks)
    return DoubtfulRows(
        a.total + b.total, both.take(np.arange(min(TO_CHECK, len(both.numbers)))), min(a.least, b.least)
    )


def doubtful(engine: Engine, rows: Rows, sides: PositiveClass, w: Floats, b: float) -> DoubtfulRows:
    """The rows for which |s·(w·x + b)| in floating point proves nothing: |error| ≤ (d + 3)·eps·(Σ|x_j w_j| + |b|)."""
    found = fold(engine, rows.blocks(), partial(_doubt, w, b, sides), _join_doubts)
    assert found is not None
    return found


def _longest(unit: float, sides: PositiveClass, block: Block) -> float:
    s, X = sides.of(block), block.X
    if isinstance(X, SparseMatrix):
        squares = np.bincount(X.row_numbers(), (X.data.astype(np.float64) * unit) ** 2, minlength=len(X))
    else:
        scaled = X.astype(np.float64, copy=False) if unit == 1.0 else X * unit
        squares = np.einsum("ij,ij->i", scaled, scaled)
    return float(squares[s != 0].max(initial=0.0))


def _larger(a: float, b: float) -> float:
    return max(a, b)


def longest(engine: Engine, rows: Rows, sides: PositiveClass, largest: float) -> float:
    """max ‖x‖ over the rows that count, where |x_j| ≤ `largest`: one fold."""
    unit = 1.0 if 1e-100 < largest < 1e100 else float(power_of_two(largest))
    squared: float | None = fold(engine, rows.blocks(), partial(_longest, unit, sides), _larger)
    return float(np.sqrt(squared or 0.0) / unit)
