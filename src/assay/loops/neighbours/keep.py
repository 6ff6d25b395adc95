"""What becomes of the rows that are near enough: the k nearest of a query, all of them, or their number.

The k nearest are a heap with the farthest on top, so that a row is kept in log₂ k steps whatever k is; `rise` puts them in order at the end.
Rows come in the order of their numbers: once there are k, one that is as far as the farthest of them comes too late.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled import inlined, jit
from assay.compiled.simd.memory import data_pointer

NEAREST, ALL, COUNT = 0, 1, 2
NO_ROW = 0x7FFFFFFFFFFFFFFF


class Kept(NamedTuple):
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
    return Kept(kept.what, kept.k, data_pointer(kept.limit), r, row, query, data_pointer(kept.used))


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
