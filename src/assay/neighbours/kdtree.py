"""A k-d tree of rows in memory: built once, asked by many threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from assay.compiled.simd.neighbours import GREATEST, POWERS, SQUARES, SUM
from assay.compiled.simd.vectors import LANE
from assay.engines.threads import Threads
from assay.loops.neighbours.kdtree_build import fill_leaves, halve
from assay.loops.neighbours.kdtree_nodes import BLOCKS, LEAF, Nodes
from assay.loops.neighbours.kdtree_query import homes, nearest
from assay.loops.neighbours.kdtree_within import count_within, gather, within
from assay.neighbours.kdtree_alike import alike_below
from assay.neighbours.kdtree_scale import outwards, scale_of
from assay.numerics import Array, Floats

AT_A_TIME = 512  # queries of a task
PARTS = 16  # stretches of leaves that are filled side by side
TOP = 4  # halvings one after another; what is below them is a task each
NUMBER = 0xFFFFFFFF  # the bits of a place that say which query it is of
UNROLLED = 6  # columns at most for which loops are compiled each


class Tree:
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
