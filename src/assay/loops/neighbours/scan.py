"""Pairs of a row and a query that products in float32 do not rule out are compared in float64.

As sums are taken in the order of the columns, each addition waits for the one before; so four pairs are compared side by side.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined, jit
from assay.compiled.simd.memory import data_pointer, prefetch_at
from assay.compiled.simd.neighbours import PANEL
from assay.compiled.simd.scalars import lowest_bit
from assay.loops.neighbours.keep import keep, kept_pointers

COLUMNS = 32  # after which one looks whether all four are too far already
AHEAD, SOME = (
    8,
    128,
)  # pairs that are asked for before they are compared, and of how many columns: then it is clear what comes next
ONE = np.uint64(1)


@inlined
def _candidates(bits, step, first, stop, without, m, row, query):  # type: ignore[no-untyped-def]
    """row, query [:count]: the pairs whose bits are set. Returns count."""
    count = 0
    for i in range(m):
        for p in range(step):
            mask = np.uint64(bits[i * step + p])
            while mask != 0:
                row[count] = first + p * PANEL + lowest_bit(mask)
                query[count] = i
                mask &= mask - ONE
                count += row[count] < stop and row[count] != without[i]
    return count


@inlined
def _compare(z, q, d, row, query, last, p, kept):  # type: ignore[no-untyped-def]
    """Keep of the pairs p … p + 3, none after `last`, those within their limits."""
    p1, p2, p3 = min(p + 1, last), min(p + 2, last), min(p + 3, last)
    z0, z1, z2, z3 = row[p] * d, row[p1] * d, row[p2] * d, row[p3] * d
    q0, q1, q2, q3 = query[p] * d, query[p1] * d, query[p2] * d, query[p3] * d
    limit = max(max(kept.limit[query[p]], kept.limit[query[p1]]), max(kept.limit[query[p2]], kept.limit[query[p3]]))
    r0 = r1 = r2 = r3 = 0.0
    j = 0
    while j < d:
        stop = min(j + COLUMNS, d)
        for c in range(j, stop):
            t0, t1 = z[z0 + c] - q[q0 + c], z[z1 + c] - q[q1 + c]
            t2, t3 = z[z2 + c] - q[q2 + c], z[z3 + c] - q[q3 + c]
            r0 += t0 * t0
            r1 += t1 * t1
            r2 += t2 * t2
            r3 += t3 * t3
        if min(min(r0, r1), min(r2, r3)) > limit:
            return
        j = stop
    for i in range(min(4, last - p + 1)):
        r = (r0 if i == 0 else r1) if i < 2 else (r2 if i == 2 else r3)
        if r <= kept.limit[query[p + i]]:
            keep(r, row[p + i], query[p + i], kept)


@jit
def scan(bits, first, stop, Z, Q, without, row, query, kept):  # type: ignore[no-untyped-def]
    """Keep of the rows first … stop − 1 of Z, of which bits (≥ m, panels) rule some out, those within the limits of the queries Q (m, d).
    Returns how many pairs were compared; row and query: room for all of them and one more."""
    d = Q.shape[1]
    rows, queries, z, q, into = (
        data_pointer(row),
        data_pointer(query),
        data_pointer(Z),
        data_pointer(Q),
        kept_pointers(kept),
    )
    count = _candidates(data_pointer(bits), bits.shape[1], first, stop, without, Q.shape[0], rows, queries)
    for p in range(0, count, 4):
        for ahead in range(p + AHEAD, min(p + AHEAD + 4, count)):
            for j in range(0, min(d, SOME), 8):
                prefetch_at(z, rows[ahead] * d + j)
        _compare(z, q, d, rows, queries, count - 1, p, into)
    return count
