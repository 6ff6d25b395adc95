"""Rows that a tile of products in float32 does not show to be too far are compared in float64 as soon as the tile is done; see `bound`.

As sums are taken in the order of the columns, each addition waits for the one before; so four pairs of a row and a query are compared side
by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

from assay.loops.neighbours.bound import cut
from assay.loops.neighbours.keep import NO_ROW, bared, enter, keep
from assay.loops.prefetch import prefetch_at
from assay.loops.tree.bare import bare
from assay.loops.tree.inner import inlined
from assay.loops.tree.occupied import lowest_bit

GROUP = 64  # products that are looked at together
COLUMNS = 32  # after which one looks whether a row is too far already
AHEAD, SOME = (
    8,
    128,
)  # pairs that are asked for before they are compared, and of how many columns: then it is clear what comes next
ONE = np.uint64(1)


@intrinsic
def _hopeful(typingctx: Any, G: Any, at: Any, alpha: Any, j: Any, beta: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        G, at, alpha, j, beta = args
        floats = ir.VectorType(ir.FloatType(), GROUP)

        def load(array: Any, place: Any) -> Any:
            return builder.load(builder.bitcast(builder.gep(array, [place]), floats.as_pointer()), align=4)

        nothing = ir.Constant(floats, ir.Undefined)
        one = builder.insert_element(nothing, beta, ir.Constant(ir.IntType(32), 0))
        least = builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), GROUP), [0] * GROUP))
        good = builder.fcmp_unordered(">=", builder.fsub(load(G, at), load(alpha, j)), least)
        return builder.bitcast(good, ir.IntType(GROUP))

    return types.uint64(G, types.int64, alpha, types.int64, types.float32), generate


def _hopeful_plain(G: Any, at: int, alpha: Any, j: int, beta: Any) -> Any:
    return np.uint64(sum(1 << k for k in range(GROUP) if not G[at + k] - alpha[j + k] < beta))


# hopeful(G, at, alpha, j, beta): bit k: not G[at + k] − alpha[j + k] < beta
hopeful = _hopeful_plain if config.DISABLE_JIT else _hopeful


@inlined
def _squares(z, at, q, i, d, limit):  # type: ignore[no-untyped-def]
    """Σ (z − q)² of a row in the order of the columns, or something above the limit."""
    r, j = 0.0, 0
    while j < d:
        stop = min(j + COLUMNS, d)
        for c in range(j, stop):
            t = z[at + c] - q[i + c]
            r += t * t
        if r > limit:
            break
        j = stop
    return r


@njit(nogil=True, cache=True)
def seed(G, alpha, first, stop, Z, Q, without, k, limit):  # type: ignore[no-untyped-def]
    """limit (m,): lowered to the greatest distance of k rows of the tile that seem near; whichever they are, there are k rows within it."""
    d, width = Q.shape[1], G.shape[1]
    r, row = np.empty(k), np.empty(k, np.int64)
    heap, index, g, z, q = bare(r), bare(row), bare(G), bare(Z), bare(Q)
    for i in range(Q.shape[0]):
        for j in range(k):
            heap[j] = np.inf
            index[j] = NO_ROW
        for j in range(stop - first):
            t = np.float64(alpha[first + j]) - np.float64(g[i * width + j])
            if t < heap[0] and first + j != without[i]:
                enter(t, first + j, heap, index, 0, k)
        greatest = 0.0
        for j in range(k):
            far = np.inf if index[j] == NO_ROW else _squares(z, index[j] * d, q, i * d, d, np.inf)
            greatest = max(greatest, far)
        limit[i] = min(limit[i], greatest)


@inlined
def _hopes(g, width, near, first, stop, B, s, d, limit, without, m, row, query):  # type: ignore[no-untyped-def]
    """row, query [:count]: the pairs of a tile that its products do not rule out. Returns count."""
    count = 0
    for i in range(m):
        beta = cut(limit[i], B[i], s, d)
        for j in range(0, stop - first, GROUP):
            mask = hopeful(g, i * width + j, near, first + j, beta)
            while mask != 0:
                row[count] = first + j + lowest_bit(mask)
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


@njit(nogil=True, cache=True)
def scan(G, alpha, first, stop, Z, Q, B, s, without, row, query, kept):  # type: ignore[no-untyped-def]
    """Keep of the rows first … stop − 1 of Z, whose products with the queries Q are G (m, width), those within the limits. Returns how
    many were compared in float64; row and query: room for all of them and one more."""
    d, width = Q.shape[1], G.shape[1]
    rows, queries, z, q, into = bare(row), bare(query), bare(Z), bare(Q), bared(kept)
    count = _hopes(bare(G), width, bare(alpha), first, stop, B, s, d, into.limit, without, Q.shape[0], rows, queries)
    for p in range(0, count, 4):
        for ahead in range(p + AHEAD, min(p + AHEAD + 4, count)):
            for j in range(0, min(d, SOME), 8):
                prefetch_at(z, rows[ahead] * d + j)
        _compare(z, q, d, rows, queries, count - 1, p, into)
    return count
