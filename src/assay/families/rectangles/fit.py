"""Which rectangles a fit finds, and by which method: those of great gain, for rows in memory.

The gain is Σ weight of rows of the class inside − Σ weight of other rows inside. An optimal rectangle's sides may be taken at rows of the
class: shrinking it to the box of those it holds loses none of them. So a column is cut into slots, the values of the class (even) and the
gaps between them (odd).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Engine, Rows
from assay.engines.engine import Threads
from assay.families.rectangles.rows import Boxes, WholeWeights, covered_by
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.rectangles.estimators import RectangleClassifier

UNENDING = 1 << 62
TRIMMED = 3  # columns that a random start trims, about
DEEPEST_STACK = 256  # sets of rectangles: one a halving, and no column has more than 2^32 slots
DEEPEST = 0.5  # of the class's weight that a random start may trim from a side
EXACT_ROWS = (
    10_000  # rows of two columns up to which "auto" searches for the least error: half a second where all is noise
)


@dataclass
class SharedRectangles:
    """What models share that differ in the number of rectangles alone: the rectangles of the greatest number."""

    most: int = 1
    found: list[list[ScoredRectangle]] | None = None
    methods: tuple[str, ...] = ()


def find(
    model: RectangleClassifier, engine: Engine, rows: Rows, weighing: WholeWeights, boxes: Boxes
) -> list[list[ScoredRectangle]]:
    """The rectangles of each class that has them; `methods_` says how they were found."""
    shared = model._shared
    if shared is not None and shared.found is not None:
        model.methods_ = list(shared.methods)
        return shared.found
    tight = tightest(model, boxes)
    model.methods_ = methods_for(model, engine, rows, weighing, tight)
    found = [list(box) for box in tight]
    slow = [p for p, method in enumerate(model.methods_) if method != "tightest"]
    if slow:
        table, places = ranked_rows(rows, weighing, model.n_jobs), model._places().tolist()
        most = int(model.n_rectangles) if shared is None else shared.most

        def solve(p: int) -> list[ScoredRectangle]:
            return deque(greedy(table, places[p], most, plan_of(model, model.methods_[p])), maxlen=1)[0]

        for p, rectangles in zip(slow, Threads(model.n_jobs).map(solve, slow)):
            found[p] = rectangles
    if shared is not None:
        shared.found, shared.methods = found, tuple(model.methods_)
    return found


def tightest(model: RectangleClassifier, boxes: Boxes) -> list[list[ScoredRectangle]]:
    """The box of each class that has rectangles, where it has rows."""
    return [
        [ScoredRectangle(boxes.low[k], boxes.high[k], 0)] if model.class_rows_[k] else []
        for k in model._places().tolist()
    ]


def methods_for(
    model: RectangleClassifier, engine: Engine, rows: Rows, weighing: WholeWeights, tight: list[list[ScoredRectangle]]
) -> list[str]:
    """The method of each class: as given; "auto": the tightest where that is right on all rows."""
    if model.method != "auto":
        return [model.method] * len(tight)
    model._keep(tight, rows.n_columns)
    covered = covered_by(engine, rows, weighing, model.lower_, model.upper_, model.owner_)
    wrong = set(model.owner_[covered.lost_rows > 0].tolist())
    small = rows.n_columns == 1 or (rows.n_columns == 2 and model.rows_ <= EXACT_ROWS)
    return [("exact" if small else "search") if k in wrong else "tightest" for k in model._places().tolist()]


def plan_of(model: RectangleClassifier, method: str, slowly: bool = False) -> RectangleSearchPlan:
    """How the rectangles of a class are searched."""
    return RectangleSearchPlan(method == "exact", int(model.n_init), int(model.random_state or 0), model.n_jobs, slowly)


class RankedRows(NamedTuple):
    """The rows that count: ranks (d, n) of their values, the distinct values of each column, codes (n,), whole weights (n,)."""

    ranks: Array
    values: list[Floats]
    codes: Array
    weights: Array


class UncoveredRows(NamedTuple):
    """The rows not yet covered that lie in the box of those of one class: numbers at (m,), slots R (d, m), gains g (m,);
    and the values of the class in each column."""

    at: Array
    R: Array
    g: Array
    levels: list[Floats]

    @property
    def slots(self) -> Array:
        return np.array([2 * len(level) - 1 for level in self.levels])


class Box(NamedTuple):
    """Slots low, high (d,) of a rectangle, and its gain."""

    low: Array
    high: Array
    gain: int


class ScoredRectangle(NamedTuple):
    """A rectangle: lower, upper (d,), and its gain in whole weights."""

    lower: Floats
    upper: Floats
    gain: int


def ranked_rows(rows: Rows, weighing: WholeWeights, workers: int | None) -> RankedRows:
    """Bring the rows into memory and rank every column."""
    rows = rows.in_memory()
    X, y, w = rows.X, rows.y, rows.w
    codes = weighing.codes(y)
    weights, _ = weighing.weigh(codes, w)
    keep = None if weights.all() else np.flatnonzero(weights)
    if keep is not None:
        codes, weights = codes[keep], weights[keep]
    ranks = np.empty((X.shape[1], len(codes)), dtype=np.int32)

    def rank(j: int) -> Floats:
        x = np.asarray(X[:, j] if keep is None else X[keep, j], dtype=np.float64) + 0.0
        values, ranks[j] = np.unique(x, return_inverse=True)
        return values

    return RankedRows(ranks, list(Threads(workers).map(rank, range(X.shape[1]))), codes, weights)


def uncovered_rows(table: RankedRows, k: int, left: Array) -> UncoveredRows | None:
    """What the search for a rectangle of class k needs of the rows that are `left` (n,); None where the class has none."""
    own = np.flatnonzero(left & (table.codes == k))
    if not len(own):
        return None
    at = np.flatnonzero(left)
    ranges = []
    for ranks in table.ranks:
        mine = ranks[own]
        low, high = int(mine.min()), int(mine.max())
        theirs = ranks[at]
        at = at[(theirs >= low) & (theirs <= high)]
        there = np.zeros(high - low + 1, dtype=bool)
        there[mine - low] = True
        ranges.append((low, there))
    R, levels = np.empty((len(table.ranks), len(at)), dtype=np.int32), []
    for j, (low, there) in enumerate(ranges):
        slot = (2 * np.cumsum(there) - there - 1).astype(np.int32)
        R[j] = slot[table.ranks[j][at] - low]
        levels.append(table.values[j][low : low + len(there)][there])
    g = np.where(table.codes[at] == k, table.weights[at], -table.weights[at])
    return UncoveredRows(at, R, g, levels)


class RectangleSearchPlan(NamedTuple):
    """How the rectangles of a class are searched: by search from `starts` starts drawn by `seed`; if `exact`, until no better one exists.

    `slowly`: every improvement is shown, which takes longer and ends at the same rectangles.
    """

    exact: bool
    starts: int
    seed: int
    workers: int | None = None
    slowly: bool = False


def greedy(table: RankedRows, k: int, most: int, plan: RectangleSearchPlan) -> Iterator[list[ScoredRectangle]]:
    """Up to `most` rectangles of class k, each of great gain on the rows that those before do not cover; every better state is yielded.

    The last state yielded is the result; it ends early where no rectangle is found that gains anything.
    """
    done: list[ScoredRectangle] = []
    left = np.ones(len(table.codes), dtype=bool)
    yield []
    for step in range(most):
        uncovered = uncovered_rows(table, k, left)
        if uncovered is None:
            return
        box = None
        for box in _better(uncovered, plan, (plan.seed, k, step)):
            yield [*done, _found(uncovered, box)]
        if box is None:
            return
        done.append(_found(uncovered, box))
        outside = np.empty(len(uncovered.at), dtype=np.int32)
        _loops().count_outside(uncovered.R, box.low, box.high, outside)
        left[uncovered.at[outside == 0]] = False


def _found(uncovered: UncoveredRows, box: Box) -> ScoredRectangle:
    """The rectangle of the values in a box: a limit in a gap moves in to the next value."""
    lower = np.array([level[(s + 1) // 2] for level, s in zip(uncovered.levels, box.low)])
    upper = np.array([level[s // 2] for level, s in zip(uncovered.levels, box.high)])
    return ScoredRectangle(lower, upper, box.gain)


def _better(uncovered: UncoveredRows, plan: RectangleSearchPlan, key: tuple[int, ...]) -> Iterator[Box]:
    """Rectangles of positive and ever greater gain; the last one is the best there is (exact), or a local optimum."""
    best, gain = None, 0
    for box in _climbs(uncovered, plan, key):
        if box.gain > gain:
            best, gain = box, box.gain
            yield box
    if plan.exact:
        for box in _exactly(uncovered, gain):
            best = box
            yield box
    if best is not None:
        yield _shrunk(uncovered, best)


def _loops() -> Any:
    from assay.families.rectangles import loops

    return loops


def _climbs(uncovered: UncoveredRows, plan: RectangleSearchPlan, key: tuple[int, ...]) -> Iterator[Box]:
    """The climb of each start: first from the box of all rows of the class, then from random ones."""
    slots, loops, most = uncovered.slots, _loops(), 1 if plan.slowly else UNENDING

    def climb(start: int) -> list[Box]:
        low, high, order = np.zeros_like(slots), slots - 1, np.arange(len(slots))
        if start:
            low, high, order = _random_start(uncovered, np.random.default_rng([*key, start]))
        state, boxes, done = np.zeros(3, dtype=np.int64), [], most
        while done == most:
            done = loops.climb(uncovered.R, uncovered.g, slots, low, high, order, state, most)
            boxes.append(Box(low.copy(), high.copy(), int(state[0])))
        return boxes

    for boxes in Threads(plan.workers).map(climb, range(plan.starts)):
        yield from boxes


def _random_start(uncovered: UncoveredRows, rng: Any) -> tuple[Array, Array, Array]:
    """A box that trims some of the class's weight from both sides of a few columns, and a random order of the columns."""
    d = len(uncovered.R)
    low, high = np.zeros(d, dtype=np.int64), uncovered.slots - 1
    own = uncovered.g > 0
    for j in np.flatnonzero(rng.random(d) < TRIMMED / d):
        weight = np.zeros(len(uncovered.levels[j]), dtype=np.int64)
        np.add.at(weight, uncovered.R[j][own] // 2, uncovered.g[own])
        sums = np.cumsum(weight).astype(np.float64)
        trim = DEEPEST * rng.random(2) * sums[-1]
        a, b = int(np.searchsorted(sums, trim[0])), int(np.searchsorted(sums, sums[-1] - trim[1]))
        low[j], high[j] = 2 * min(a, b), 2 * max(a, b)
    return low, high, rng.permutation(d)


def _exactly(uncovered: UncoveredRows, gain: int) -> Iterator[Box]:
    """Rectangles of ever greater gain than `gain`, until no rectangle gains more: one or two columns."""
    if len(uncovered.R) == 1:
        yield from _best_interval(uncovered, gain)
    else:
        yield from _best_rectangle(uncovered, gain)


def _best_interval(uncovered: UncoveredRows, gain: int) -> Iterator[Box]:
    sums = np.zeros(uncovered.slots[0], dtype=np.int64)
    np.add.at(sums, uncovered.R[0], uncovered.g)
    low, high, best = _loops().best_run(sums, len(sums))
    if best > gain:
        yield Box(np.array([low]), np.array([high]), int(best))


def _best_rectangle(uncovered: UncoveredRows, gain: int) -> Iterator[Box]:
    """By branch and bound on the limits of the column with fewer values; the best run of the other one follows."""
    b = int(np.argmin(uncovered.slots))
    order = np.argsort(uncovered.R[1 - b], kind="stable")
    x, y, g = uncovered.R[1 - b][order], uncovered.R[b][order], uncovered.g[order]
    last, loops = int(uncovered.slots[b]) - 1, _loops()
    stack = np.zeros((DEEPEST_STACK, 4), dtype=np.int64)
    stack[0] = 0, last, 0, last
    state = np.array([gain, 1, 0])
    while True:
        bottom, top = loops.next_better(x, y, g, stack, state)
        if bottom < 0:
            return
        sums = np.zeros(uncovered.slots[1 - b], dtype=np.int64)
        inside = (y >= bottom) & (y <= top)
        np.add.at(sums, x[inside], g[inside])
        left, right, best = loops.best_run(sums, len(sums))
        low, high = np.array([left, bottom]), np.array([right, top])
        yield Box(low[::-1].copy(), high[::-1].copy(), int(best)) if b == 0 else Box(low, high, int(best))


def _shrunk(uncovered: UncoveredRows, box: Box) -> Box:
    """The box of the rows of the class inside: of an optimum the gain stays the same."""
    low, high, outside = box.low.copy(), box.high.copy(), np.empty(len(uncovered.at), dtype=np.int32)
    _loops().count_outside(uncovered.R, low, high, outside)
    _loops().shrink(uncovered.R, uncovered.g, low, high, outside)
    return Box(low, high, box.gain)
