"""A k-d tree of rows in memory: built once, asked by many threads."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from assay.engines.threads import Threads
from assay.loops.neighbours.kdtree_build import halve, leaf_blocks, leaf_boxes
from assay.loops.neighbours.kdtree_query import Nodes, homes, nearest
from assay.loops.neighbours.lanes import LANE
from assay.numerics import Array, Floats

LEAF = 16  # rows of a leaf at most
AT_A_TIME = 512  # queries of a task
PARTS = 16  # stretches of a level that are built side by side


class Tree:
    """Rows Z (n, d), float64 and finite, in the order of their leaves, with the boxes of all nodes."""

    def __init__(self, Z: Floats, workers: Threads) -> None:
        self.workers, (self.n, self.d) = workers, Z.shape
        self.levels = max(0, int(np.ceil(np.log2(max(1, self.n) / LEAF))))
        self.depth = -(-self.levels // 3)
        self.inner = (8**self.depth - 1) // 7
        rows = np.ascontiguousarray(Z, dtype=np.float64).copy()
        self.number = np.arange(self.n, dtype=np.int64)
        self._order(rows)
        leaves = 1 << self.levels
        self.blocks = np.empty((leaves, -(-LEAF // LANE), self.d, LANE))
        low, high = np.empty((leaves, self.d)), np.empty((leaves, self.d))
        stretches = self._stretches(leaves)
        for _ in workers.map(partial(self._fill, rows, low, high), stretches):
            pass
        self.centre = 0.5 * low.min(axis=0) + 0.5 * high.max(axis=0)
        boxes = self._boxes(low, high)
        self.nodes = Nodes(self.n, self.levels, self.inner, self.blocks.shape[1], boxes, self.blocks, self.number)

    def _stretches(self, count: int) -> list[tuple[int, int]]:
        edges = np.unique(np.linspace(0, count, min(count, PARTS) + 1).astype(np.int64)).tolist()
        return list(pairwise(edges))

    def _order(self, rows: Floats) -> None:
        """The upper levels one after another, then what is below them side by side."""
        top = min(self.levels, 4)
        for level in range(top):
            nodes = [(i, i + 1) for i in range(1 << level)]
            for _ in self.workers.map(partial(self._halve, rows, level, level + 1), nodes):
                pass
        for _ in self.workers.map(partial(self._halve, rows, top, self.levels), [(i, i + 1) for i in range(1 << top)]):
            pass

    def _halve(self, rows: Floats, level: int, until: int, part: tuple[int, int]) -> None:
        halve(rows, self.number, self.n, level, *part, until)

    def _fill(self, rows: Floats, low: Floats, high: Floats, part: tuple[int, int]) -> None:
        leaf_blocks(rows, self.n, self.levels, *part, self.blocks, LANE)
        leaf_boxes(rows, self.n, self.levels, *part, low, high)

    def _boxes(self, low: Floats, high: Floats) -> Array:
        """(nodes, d, 2, 8) float32: least and greatest values of the children of each inner node, rounded outwards."""
        boxes = np.empty((self.inner, self.d, 2, LANE), dtype=np.float32)
        boxes[:, :, 0], boxes[:, :, 1] = np.inf, -np.inf
        low32, high32 = rounded_down(low - self.centre), rounded_up(high - self.centre)
        for depth in range(self.depth - 1, -1, -1):
            first, nodes = (8**depth - 1) // 7, -(-len(low32) // LANE)
            few = len(low32) // nodes
            own = boxes[first : first + nodes]
            own[:, :, 0, :few] = low32.reshape(nodes, few, self.d).transpose(0, 2, 1)
            own[:, :, 1, :few] = high32.reshape(nodes, few, self.d).transpose(0, 2, 1)
            low32 = low32.reshape(nodes, few, self.d).min(axis=1)
            high32 = high32.reshape(nodes, few, self.d).max(axis=1)
        return boxes

    def nearest(self, Q: Floats, k: int, without: Array | None = None) -> tuple[Floats, Array]:
        """The k nearest rows of each query: reduced distances (m, k) and row numbers (m, k). `without` (m,): a row that a query must not
        have, −1: none."""
        m = len(Q)
        Q = np.ascontiguousarray(Q, dtype=np.float64)
        own = np.full(m, -1, dtype=np.int64) if without is None else without
        best, index = np.empty((m, k)), np.empty((m, k), dtype=np.int64)
        moved = np.clip(Q - self.centre, -1e18, 1e18)
        bounds = rounded_down(moved), rounded_up(moved)
        order = self._order_of(*bounds)
        for _ in self.workers.map(partial(self._nearest, Q, bounds, own, order, best, index), range(0, m, AT_A_TIME)):
            pass
        return best, index

    def _order_of(self, low: Floats, high: Floats) -> Array:
        """The queries in the order of their leaves: what one has read, the next one needs."""
        if len(low) <= AT_A_TIME:
            return np.arange(len(low))
        leaf = np.empty(len(low), dtype=np.int64)
        parts = [slice(a, a + 4 * AT_A_TIME) for a in range(0, len(low), 4 * AT_A_TIME)]
        for _ in self.workers.map(lambda part: homes(low[part], high[part], self.nodes, leaf[part]), parts):
            pass
        return np.argsort(leaf, kind="stable")

    def _nearest(
        self,
        Q: Floats,
        bounds: tuple[Floats, Floats],
        without: Array,
        order: Array,
        best: Floats,
        index: Array,
        start: int,
    ) -> None:
        nearest(Q, *bounds, without, self.nodes, order[start : start + AT_A_TIME], best, index)


def rounded_down(x: Floats) -> Floats:
    """float32 at or below what x was before its last operation: one step below the nearest."""
    return np.nextafter(x.astype(np.float32), np.float32(-np.inf))


def rounded_up(x: Floats) -> Floats:
    """float32 at or above what x was before its last operation."""
    return np.nextafter(x.astype(np.float32), np.float32(np.inf))
