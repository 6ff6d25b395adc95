"""Every row compared with every query, exactly; for norm 2 mostly by products in float32 that show which rows are too far.

Euclidean: |x|² − 2 x·q + |q|² of rows and queries less a centre. What the proved bound of `families.neighbours.loops.brute_float32` does not leave out is compared in
float64, a few rows after another, so that the limit soon is tight and some k log(n / k) rows of n are. Where the bound leaves out little (one row
far from all others, clusters much smaller than the space between them), the rest is compared directly, as for all other norms.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from assay.compiled.simd.neighbours import ASKED, PANEL
from assay.engines.engine import Threads
from assay.families.neighbours.loops.brute import (
    ALL,
    COUNT,
    LARGEST,
    NEAREST,
    WIDEST,
    NeighbourHeap,
    clear,
    compare,
    cuts,
    halves,
    kind_of,
    lay_out,
    narrow,
    rise,
    rule_out,
    scan,
)
from assay.numerics import Array, Floats

QUERIES = 1024  # of a task
TILE = 1 << 17  # numbers of a stretch of rows, which stays in a second-level cache while the queries go by
MOST = 512  # rows of a stretch: after it limits are lowered
SAMPLE = 4096  # rows that the centre is the mean of
USUAL = 20  # the power of two that the largest numbers are brought to
SMALL = 2.0**-30  # where the largest is less than this, too much is lost
SHARE = 16  # where more than one row in so many is compared in float64, products are of no use
FIRST = 256  # rows that are compared directly, for a first limit, where few neighbours are wanted
FEW = 8  # where more than one row in so many is wanted, all are compared directly


class Brute:
    """Rows Z (n, d), float64, C-contiguous and finite, and a norm of their differences: 2, 1, ∞, any p > 0, or HAMMING."""

    def __init__(self, Z: Floats, workers: Threads, norm: float = 2.0) -> None:
        self.Z, self.workers, self.norm, (self.n, self.d) = Z, workers, float(norm), Z.shape
        self.kind = kind_of(self.norm)
        self.products = self.norm == 2.0 and self.n > 0 and 0 < self.d <= WIDEST and self._narrow_rows()

    def _narrow_rows(self) -> bool:
        """The rows less a centre in float32; False where they span too much for that."""
        some = self.Z[:: -(-self.n // SAMPLE)]
        with np.errstate(over="ignore", invalid="ignore"):
            self.centre = some.mean(axis=0)
            greatest = float(np.abs(some - self.centre).max())
        panels = -(-self.n // PANEL)
        self.a, A = np.zeros((panels, self.d, PANEL), dtype=np.float32), np.empty(self.n)
        step = max(1, TILE // (PANEL * self.d))
        parts = [slice(i, i + step) for i in range(0, panels, step)]
        for _ in range(2):
            if not math.isfinite(greatest):
                return False
            self.scale = _power_for(greatest)
            greatest = max(self.workers.map(partial(self._narrow_part, A), parts))
            if SMALL <= greatest * self.scale <= LARGEST:
                break
        self.alpha = np.full(panels * PANEL, np.inf, dtype=np.float32)
        halves(A, self.d, self.alpha)
        return greatest * self.scale <= LARGEST

    def _narrow_part(self, A: Floats, part: slice) -> float:
        rows = slice(part.start * PANEL, part.stop * PANEL)
        return float(narrow(self.Z[rows], self.centre, self.scale, self.a[part], A[rows]))

    def nearest(self, Q: Floats, k: int, without: Array | None = None) -> tuple[Floats, Array]:
        """The k nearest rows of each query: reduced distances (m, k) and row numbers (m, k). `without` (m,): a row that a query must not
        have, −1: none. Where there are fewer rows: infinity, and a number above all."""
        Q = np.ascontiguousarray(Q, dtype=np.float64)
        own = np.full(len(Q), -1, dtype=np.int64) if without is None else np.ascontiguousarray(without, dtype=np.int64)
        r, index = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        for _ in self.workers.map(partial(self._nearest, Q, own, r, index), self._parts(len(Q))):
            pass
        return r, index

    def _nearest(self, Q: Floats, own: Array, r: Floats, index: Array, part: slice) -> None:
        far, row = r[part], index[part]
        clear(far, row)
        limit, nothing = np.full(len(far), np.inf), np.empty(0, dtype=np.int64)
        self._walk(
            Q[part],
            own[part],
            NeighbourHeap(NEAREST, r.shape[1], limit, far.reshape(-1), row.reshape(-1), nothing, nothing),
        )
        rise(far, row)

    def within(self, Q: Floats, r: Floats) -> tuple[Array, Array, Floats]:
        """All rows at a reduced distance of at most r (m,) of each query, in the order of (distance, row): those of query i are
        index[start[i] : start[i + 1]], and so are their reduced distances, the third of what is returned."""
        Q = np.ascontiguousarray(Q, dtype=np.float64)
        parts = self._parts(len(Q))
        found = list(self.workers.map(partial(self._within, Q, r), parts))
        start = np.zeros(len(Q) + 1, dtype=np.int64)
        start[1:] = np.cumsum(np.concatenate([np.empty(0, dtype=np.int64), *(count for count, _, _ in found)]))
        index = np.concatenate([np.empty(0, dtype=np.int64), *(row for _, row, _ in found)])
        return start, index, np.concatenate([np.empty(0), *(far for _, _, far in found)])

    def _within(self, Q: Floats, r: Floats, part: slice) -> tuple[Array, Array, Floats]:
        whole = np.empty(0, dtype=np.int64)
        limit, used = np.array(r[part], dtype=np.float64), np.zeros(1, dtype=np.int64)
        kept = self._walk(Q[part], _none(len(limit)), NeighbourHeap(ALL, 1, limit, np.empty(0), whole, whole, used))
        far, row, query = (array[: used[0]] for array in (kept.r, kept.row, kept.query))
        by_query = np.argsort(query.astype(np.uint16), kind="stable")  # the rows of a query stay in their order
        far, row, counts = far[by_query], row[by_query], np.bincount(query, minlength=len(limit))
        for stop, many in zip(np.cumsum(counts).tolist(), counts.tolist()):
            own = slice(stop - many, stop)
            order = np.argsort(far[own], kind="stable")
            far[own], row[own] = far[own][order], row[own][order]
        return counts, row, far

    def count(self, Q: Floats, r: Floats) -> Array:
        """The number of rows at a reduced distance of at most r (m,) of each query."""
        Q = np.ascontiguousarray(Q, dtype=np.float64)
        counts = np.zeros(len(Q), dtype=np.int64)
        for _ in self.workers.map(partial(self._count, Q, r, counts), self._parts(len(Q))):
            pass
        return counts

    def _count(self, Q: Floats, r: Floats, counts: Array, part: slice) -> None:
        whole, limit = np.empty(0, dtype=np.int64), np.array(r[part], dtype=np.float64)
        self._walk(Q[part], _none(len(limit)), NeighbourHeap(COUNT, 1, limit, np.empty(0), whole, whole, counts[part]))

    def _parts(self, m: int) -> list[slice]:
        """Stretches of the queries, as many for each worker."""
        blocks = -(-m // (QUERIES * self.workers.workers)) * self.workers.workers
        step = max(1, -(-m // max(1, blocks)))
        return [slice(i, min(i + step, m)) for i in range(0, m, step)]

    def _walk(self, Q: Floats, without: Array, kept: NeighbourHeap) -> NeighbourHeap:
        """All rows for a block of queries, some after another."""
        k = kept.k if kept.what == NEAREST else 0
        step = max(PANEL, min(MOST, TILE // max(1, self.d)) // PANEL * PANEL)
        known = max(min(self.n // 512, FIRST), 2 * k) if k else 0
        begin = -(-known // PANEL) * PANEL if self.products and FEW * k <= self.n else self.n
        kept = self._directly(Q, without, kept, 0, min(begin, self.n))
        if begin >= self.n:
            return kept
        groups = -(-len(Q) // ASKED)
        b, B = np.zeros((groups, self.d, ASKED), dtype=np.float32), np.empty(len(Q))
        if narrow(Q, self.centre, self.scale, b, B) * self.scale > LARGEST:
            return self._directly(Q, without, kept, begin, self.n)
        beta = np.full(groups * ASKED, np.inf, dtype=np.float32)
        row, query = (np.empty(len(Q) * step + 1, dtype=np.int64) for _ in range(2))
        stop = begin
        while stop < self.n:  # no more rows than have been seen before, as their limit is as loose as those were few
            first, stop = stop, min(stop + max(PANEL, min(step, stop)), self.n)
            kept = _with_room(kept, len(Q) * (stop - first))
            bits = np.empty((len(beta), -(-(stop - first) // PANEL)), dtype=np.uint32)
            cuts(kept.limit, B, self.scale, self.d, beta)
            rule_out(self.a, b, self.alpha, beta, first // PANEL, -(-stop // PANEL), bits)
            compared = scan(bits, first, stop, self.Z, Q, without, row, query, kept)
            if compared * SHARE > len(Q) * (stop - first + 2 * k * SHARE):
                return self._directly(Q, without, kept, stop, self.n)
        return kept

    def _directly(self, Q: Floats, without: Array, kept: NeighbourHeap, begin: int, end: int) -> NeighbourHeap:
        """The rows begin … end − 1 in float64."""
        tile = np.empty((FIRST // PANEL, self.d, PANEL))
        for first in range(begin, end, FIRST):
            stop = min(first + FIRST, end)
            kept = _with_room(kept, len(Q) * (stop - first))
            lay_out(self.Z, first, stop, tile)
            compare(tile, first, stop, Q, self.kind, self.norm, without, kept)
        return kept


def _none(m: int) -> Array:
    return np.full(m, -1, dtype=np.int64)


def _power_for(greatest: float) -> float:
    """The power of two that brings a number to about 2^USUAL."""
    return 2.0 ** min(1000, max(-1000, USUAL - math.frexp(greatest)[1])) if greatest > 0 else 1.0


def _with_room(kept: NeighbourHeap, more: int) -> NeighbourHeap:
    """The same with room for so many rows more, where all are kept."""
    if kept.what != ALL or kept.used[0] + more <= len(kept.r):
        return kept
    size = 2 * int(kept.used[0] + more)
    r, row, query = (np.resize(array, size) if len(array) else np.empty(size, array.dtype) for array in kept[3:6])
    return kept._replace(r=r, row=row, query=query)
