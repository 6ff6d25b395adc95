"""What becomes of the rows that are near enough: the k nearest of a query, all of them, or their number.

The k nearest are a heap with the farthest on top, so that a row is kept in log₂ k steps whatever k is; `rise` puts them in order at the end.
Rows come in the order of their numbers: once there are k, one that is as far as the farthest of them comes too late.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inlined, jit
from assay.compiled.simd.memory import data_pointer, keep_alive
from assay.compiled.simd.neighbours import (
    CHEBYSHEV,
    EUCLIDEAN,
    HAMMING,
    MANHATTAN,
    PANEL,
    POWER,
    near_chebyshev,
    near_euclidean,
    near_hamming,
    near_manhattan,
)
from assay.compiled.simd.scalars import lowest_bit

NEAREST, ALL, COUNT = 0, 1, 2
NO_ROW = 0x7FFFFFFFFFFFFFFF


class NeighbourHeap(NamedTuple):
    """limit (m,): reduced distances above it are of no interest. `what` = NEAREST: r and row (m, k) are heaps; ALL: r, row and query (room,)
    in the order found, used[0] of them; COUNT: used (m,)."""

    what: int
    k: int
    limit: Any
    r: Any
    row: Any
    query: Any
    used: Any


@inlined
def kept_pointers(kept):  # type: ignore[no-untyped-def]
    """The same with addresses for arrays."""
    r, row, query = data_pointer(kept.r), data_pointer(kept.row), data_pointer(kept.query)
    return NeighbourHeap(kept.what, kept.k, data_pointer(kept.limit), r, row, query, data_pointer(kept.used))


@inlined
def _before(r, row, s, other):  # type: ignore[no-untyped-def]
    return r < s or (r == s and row < other)


@inlined
def _sink(r, row, far, index, at, size):  # type: ignore[no-untyped-def]
    """Put (r, row) in the place of the top of the heap far, index [at : at + size]."""
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _before(far[at + child], index[at + child], far[at + child + 1], index[at + child + 1]):
            child += 1
        if not _before(r, row, far[at + child], index[at + child]):
            break
        far[at + i] = far[at + child]
        index[at + i] = index[at + child]
        i = child
    far[at + i] = r
    index[at + i] = row


@inlined
def enter(r, row, far, index, at, k):  # type: ignore[no-untyped-def]
    """Keep (r, row) in a heap of k if it is nearer than its top."""
    if _before(r, row, far[at], index[at]):
        _sink(r, row, far, index, at, k)


@inlined
def keep(r, row, i, kept):  # type: ignore[no-untyped-def]
    """A row that is within the limit of query i; all arrays are addresses."""
    if kept.what == NEAREST:
        at = i * kept.k
        enter(r, row, kept.r, kept.row, at, kept.k)
        if kept.r[at] <= kept.limit[i] and kept.row[at] != NO_ROW:
            kept.limit[i] = np.nextafter(kept.r[at], -np.inf)
    elif kept.what == ALL:
        at = kept.used[0]
        kept.r[at] = r
        kept.row[at] = row
        kept.query[at] = i
        kept.used[0] = at + 1
    else:
        kept.used[i] += 1


@jit
def clear(r, row):  # type: ignore[no-untyped-def]
    """Heaps without a row: all at infinity, with a number above all."""
    for i in range(r.shape[0]):
        for j in range(r.shape[1]):
            r[i, j] = np.inf
            row[i, j] = NO_ROW


@jit
def rise(r, row):  # type: ignore[no-untyped-def]
    """Heaps (m, k) in the order of (r, row)."""
    far, index, k = data_pointer(r), data_pointer(row), r.shape[1]
    for i in range(r.shape[0]):
        at = i * k
        for size in range(k - 1, 0, -1):
            last, number = far[at + size], index[at + size]
            far[at + size] = far[at]
            index[at + size] = index[at]
            _sink(last, number, far, index, at, size)


# Every row compared with every query in float64, 32 rows at a time and column after column.
#
# Rows are laid out anew for a block of queries, tile[group, column, lane]. Distances only grow from column to column: a group of rows that
# are all beyond the limit after some columns is done with.

COLUMNS = 32  # after which one looks whether all rows are too far already
ONE = np.uint64(1)


def kind_of(norm: float) -> int:
    """The code of a norm.

    >>> kind_of(2.0), kind_of(math.inf), kind_of(3.0)
    (2, 3, 4)
    """
    return {0.0: HAMMING, 1.0: MANHATTAN, 2.0: EUCLIDEAN, math.inf: CHEBYSHEV}.get(norm, POWER)


@inlined
def _powers(tile, at, q, first, d, p, limit, r):  # type: ignore[no-untyped-def]
    """The same for Σ |x − q|^p, by the C library's pow."""
    mask = np.uint64(0)
    for k in range(PANEL):
        total = r[k]
        for j in range(first, first + d):
            total += abs(tile[at + PANEL * j + k] - q[j]) ** p
        r[k] = total
        if total <= limit:
            mask |= ONE << np.uint64(k)
    return mask


@inlined
def _more(kind, p, tile, at, q, first, d, limit, r):  # type: ignore[no-untyped-def]
    if kind == EUCLIDEAN:
        return near_euclidean(tile, at, q, first, d, limit, r)
    if kind == MANHATTAN:
        return near_manhattan(tile, at, q, first, d, limit, r)
    if kind == CHEBYSHEV:
        return near_chebyshev(tile, at, q, first, d, limit, r)
    if kind == HAMMING:
        return near_hamming(tile, at, q, first, d, limit, r)
    return _powers(tile, at, q, first, d, p, limit, r)


@jit
def lay_out(Z, first, stop, tile):  # type: ignore[no-untyped-def]
    """tile (groups, d, 32): the rows first … stop − 1 of Z; the last group is filled with the last row."""
    for g in range((stop - first + PANEL - 1) // PANEL):
        for k in range(PANEL):
            i = min(first + g * PANEL + k, stop - 1)
            for j in range(Z.shape[1]):
                tile[g, j, k] = Z[i, j]


@jit
def compare(tile, first, stop, Q, kind, p, without, kept):  # type: ignore[no-untyped-def]
    """Keep of the rows first … stop − 1, laid out in `tile`, those within the limits of the queries Q (m, d)."""
    d = Q.shape[1]
    total = np.empty(PANEL)
    rows, r, into = data_pointer(tile), data_pointer(total), kept_pointers(kept)
    for g in range((stop - first + PANEL - 1) // PANEL):
        for i in range(Q.shape[0]):
            q = data_pointer(Q[i])
            for k in range(PANEL):
                r[k] = 0.0
            mask, j = ONE, 0
            while j < d and mask != 0:
                many = min(COLUMNS, d - j)
                mask = _more(kind, p, rows, g * PANEL * d, q, j, many, into.limit[i], r)
                j += many
            while mask != 0:
                k = lowest_bit(mask)
                mask &= mask - ONE
                row = first + g * PANEL + k
                if row < stop and row != without[i] and r[k] <= into.limit[i]:
                    keep(r[k], row, i, into)
    keep_alive((total,))
