"""A k-d tree of rows in memory: built once, queried by many threads.

Its boxes are less a centre, times a power of two, so that float32 neither overflows nor loses what is near the centre. The centre is the
middle of each column's values, not of its range: float32 has the most digits near zero, and one outlier must not take them from all the others.

For the norm p, boxes and rows are compared by squares first, and the limit is turned into one of these:

    Σ t_j² ≤ (Σ |t_j|^p)^{2/p} · blow,   blow = 1 for p ≤ 2,  d^{1 − 2/p} for p > 2
    Σ |t_j|^p ≤ r   where   Σ t_j² ≤ r^{2/p} · shrunk,   shrunk = d^{1 − 2/p} for p < 2,  1 for p ≥ 2

Some nodes hold nothing but copies of one row. Copies are equally far from a query, and of equally far rows those with the least numbers are
its neighbours: where k others are known, all copies below a node are left out at once by its least number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from assay.compiled.simd.neighbours import GREATEST, POWERS, SQUARES, SUM
from assay.compiled.simd.vectors import LANE
from assay.engines.engine import Threads
from assay.families.neighbours.loops.kdtree import BLOCKS, LEAF, BoxScale, Nodes, fill_leaves, halve
from assay.families.neighbours.loops.kdtree_query import count_within, gather, homes, nearest, within
from assay.numerics import Array, Floats

ENOUGH = 1024  # leaves of which the middle is found
TURNED = 1e-9  # allowance for powers and their roots
HUGE = 2.0**1000
LEAST = (
    2.0**-900
)  # far more than d errors of 2⁻¹⁰⁷⁴, and no denormal number, with which processors take a hundred times as long
NO_ROW = np.iinfo(np.int64).max
AT_A_TIME = 512  # queries of a task
PARTS = 16  # stretches of leaves that are filled side by side
TOP = 4  # halvings one after another; what is below them is a task each
NUMBER = 0xFFFFFFFF  # the bits of a place that say which query it is of
UNROLLED = 6  # columns at most for which loops are compiled each


class BoxTree:
    """Rows Z (n, d), n ≥ 1, float64 and finite, in the order of their leaves, with the boxes of all nodes; `norm` 2, 1, ∞ or any p ≥ 1."""

    def __init__(self, Z: Floats, workers: Threads, norm: float = 2.0) -> None:
        self.workers, self.norm, (self.n, self.d) = workers, norm, Z.shape
        self.leaves = -(-self.n // LEAF)
        rows, number = self._ordered(np.ascontiguousarray(Z, dtype=np.float64))
        blocks = np.empty((self.leaves, BLOCKS, self.d, LANE))
        low, high = np.empty((self.leaves, self.d)), np.empty((self.leaves, self.d))
        edges = np.unique(np.linspace(0, self.leaves, PARTS + 1).astype(np.int64)).tolist()
        self._all(lambda part: fill_leaves(rows, *part, blocks, low, high), list(pairwise(edges)))
        self.scale = scale_of(low, high, norm)
        start, boxes = self._boxes(*outwards(low, high, self.scale))
        alike, least = alike_below(low, high, number, len(boxes))
        self.nodes = Nodes(len(start) - 2, start, boxes, blocks, number, alike, least)
        self._kind = {2.0: SQUARES, 1.0: SUM, math.inf: GREATEST}.get(norm, POWERS)
        self._dims = (0,) * self.d if self._kind == SQUARES and self.d <= UNROLLED else ()

    def _all(self, work: Callable[[Any], None], items: Iterable[Any]) -> None:
        for _ in self.workers.map(work, items):
            pass

    def _ordered(self, Z: Floats) -> tuple[Floats, Array]:
        """The upper levels one after another, then what is below them side by side."""
        height = (self.leaves - 1).bit_length()
        here, there = (Z.copy(), np.arange(self.n)), (np.empty_like(Z), np.empty(self.n, dtype=np.int64))
        top = min(height, TOP)
        for step in range(top):
            self._all(lambda i: halve(*here, *there, height - step, i, height - step - 1), range(1 << step))  # noqa: B023
            here, there = there, here
        if height > top:
            self._all(lambda i: halve(*here, *there, height - top, i, 0), range(1 << top))
        return there if (height - top) % 2 else here

    def _boxes(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Where each level begins, and the boxes of the children of all nodes above the leaves, level by level upwards."""
        start, parts = [0, 0], []
        while len(low) > 1:
            count = -(-len(low) // LANE)
            padded = np.full((2, count * LANE, self.d), np.nan, dtype=np.float32)
            padded[0, : len(low)], padded[1, : len(low)] = low, high
            box = padded.reshape(2, count, LANE, self.d)
            parts.append(box.transpose(1, 3, 0, 2))
            start.append(start[-1] + count)
            low, high = np.fmin.reduce(box[0], axis=1), np.fmax.reduce(box[1], axis=1)
        boxes = np.ascontiguousarray(np.concatenate(parts)) if parts else np.empty((0, self.d, 2, LANE), np.float32)
        return np.array(start), boxes

    def _places(self, Q: Floats) -> Array:
        """The queries in the order of their homes: the leaf times 2³², and the query's number."""
        place = np.empty(len(Q), dtype=np.int64)

        def part(a: int) -> None:
            b = a + 4 * AT_A_TIME
            homes(self._dims, self._kind, Q[a:b], self.nodes, self.scale, a, place[a:b])

        self._all(part, range(0, len(Q), 4 * AT_A_TIME))
        place.sort()
        return place

    def nearest(self, Q: Floats, k: int, without: Array | None = None) -> tuple[Floats, Array]:
        """The k nearest rows of each query: reduced distances (m, k) and row numbers (m, k). `without` (m,): a row that a query must not
        have, −1: none."""
        Q = np.ascontiguousarray(Q, dtype=np.float64)
        own = np.empty(0, dtype=np.int64) if without is None else without
        best, index = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        place = self._places(Q)
        ask = partial(nearest, self._dims, self._kind, Q, own, self.nodes, self.scale)
        self._all(lambda a: ask(place[a : a + AT_A_TIME], best, index), range(0, len(Q), AT_A_TIME))
        return best, index

    def within(self, Q: Floats, r: Floats) -> tuple[Array, Array, Floats]:
        """All rows whose reduced distance is at most r[i]: start (m + 1,), and row numbers and reduced distances, those of query i from
        start[i] to start[i + 1] − 1, in the order of (r, row)."""
        Q, radius = np.ascontiguousarray(Q, dtype=np.float64), np.ascontiguousarray(r, dtype=np.float64)
        place = self._places(Q)
        parts = [place[a : a + AT_A_TIME] for a in range(0, len(Q), AT_A_TIME)]
        ask = partial(within, self._dims, self._kind, Q, radius, self.nodes, self.scale)
        found = list(self.workers.map(ask, parts))
        counts = np.zeros(len(Q) + 1, dtype=np.int64)
        for part, (stop, _, _) in zip(parts, found):
            counts[(part & NUMBER) + 1] = np.diff(stop, prepend=0)
        start = np.cumsum(counts)
        index, distances = np.empty(start[-1], dtype=np.int64), np.empty(start[-1])
        self._all(lambda i: gather(parts[i] & NUMBER, *found[i], start, index, distances), range(len(parts)))
        return start, index, distances

    def count(self, Q: Floats, r: Floats) -> Array:
        """How many rows have a reduced distance of at most r[i]: (m,)."""
        Q, radius = np.ascontiguousarray(Q, dtype=np.float64), np.ascontiguousarray(r, dtype=np.float64)
        place, counts = self._places(Q), np.empty(len(Q), dtype=np.int64)
        ask = partial(count_within, self._dims, self._kind, self.n, Q, radius, self.nodes, self.scale)
        self._all(lambda a: ask(place[a : a + AT_A_TIME], counts), range(0, len(Q), AT_A_TIME))
        return counts


def scale_of(low: Floats, high: Floats, norm: float) -> BoxScale:
    """low, high (leaves, d): the least and greatest values of the leaves."""
    d = low.shape[1]
    some = low[:: max(1, len(low) // ENOUGH)]
    centre = np.sort(some, axis=0)[len(some) // 2]
    size = float(max((0.5 * high - 0.5 * centre).max(), (0.5 * centre - 0.5 * low).max()))
    half = 0.25 if size > HUGE else 1.0
    rest = math.ldexp(1.0, max(-1000, min(1000, -math.frexp(size)[1]))) / half if size > 0 else 1.0
    grow = 1 + (d + 8) * 2.0**-22
    floor = (d + 4) * 2.0**-126
    p, turn, blow, shrunk = norm, 1.0, 1.0, 1.0
    if norm not in (1.0, 2.0, math.inf):
        turn, factor = 1.0 / norm, float(d) ** (1.0 - 2.0 / norm)
        blow, shrunk = max(1.0, factor) * (1 + TURNED), min(1.0, factor) * (1 - TURNED)
    return BoxScale(centre, half, rest, grow, floor, LEAST, p, turn, blow, shrunk)


def outwards(low: Floats, high: Floats, scale: BoxScale) -> tuple[Array, Array]:
    """The boxes in float32, none of them smaller than before."""
    below = _below((low * scale.half - scale.centre * scale.half) * scale.rest)
    return below, -_below(-((high * scale.half - scale.centre * scale.half) * scale.rest))


def _below(t: Floats) -> Array:
    return (t - (np.abs(t) * 2.0**-23 + 2.0**-148)).astype(np.float32)


def alike_below(low: Floats, high: Floats, number: Array, nodes: int) -> tuple[Array, Array]:
    """alike (nodes,): bits of the children whose rows are all equal; least (nodes, 8): the least row numbers of the children, of which nothing is kept where no
    leaf has equal rows. low, high (leaves, d): the leaves' least and greatest values.

    >>> alike, least = alike_below(np.array([[1.0], [1.0], [2.0]]), np.array([[1.0], [1.0], [3.0]]), np.arange(48)[::-1], 1)
    >>> alike, least[0, :3]
    (array([3], dtype=uint64), array([32, 16,  0]))
    """
    alike = np.zeros(nodes, dtype=np.uint64)
    if nodes == 0 or not np.any(np.all(low == high, axis=1)):
        return alike, np.empty((0, LANE), dtype=np.int64)
    least = np.full((nodes, LANE), NO_ROW)
    first, numbers = 0, _by(number, LEAF, NO_ROW).min(axis=1)
    while len(low) > 1:
        same, ours = _by(np.all(low == high, axis=1), LANE, False), _by(numbers, LANE, NO_ROW)
        alike[first : first + len(same)] = same @ (1 << np.arange(LANE, dtype=np.uint64))
        least[first : first + len(ours)] = ours
        first, numbers = first + len(same), ours.min(axis=1)
        starts = np.arange(0, len(low), LANE)
        low, high = np.minimum.reduceat(low, starts, axis=0), np.maximum.reduceat(high, starts, axis=0)
    return alike, least


def _by(values: Array, size: int, rest: object) -> Array:
    """The values in stretches of `size`, filled up with `rest`."""
    out = np.full(-(-len(values) // size) * size, rest, dtype=values.dtype)
    out[: len(values)] = values
    return out.reshape(-1, size)
