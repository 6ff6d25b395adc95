"""Rows that a tile of products in float32 does not show to be too far are compared in float64, at once; see `bound`."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

from assay.loops.neighbours.bound import cut
from assay.loops.neighbours.keep import NO_ROW, bared, enter, keep
from assay.loops.tree.bare import bare
from assay.loops.tree.inner import inlined
from assay.loops.tree.occupied import lowest_bit

GROUP = 64  # products that are looked at together
COLUMNS = 32  # after which one looks whether a row is too far already
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


@njit(nogil=True, cache=True)
def scan(G, alpha, first, stop, Z, Q, B, s, without, kept):  # type: ignore[no-untyped-def]
    """Keep of the rows first … stop − 1 of Z, whose products with the queries Q are G (m, width), those within the limits. Returns how
    many were compared in float64."""
    d, width = Q.shape[1], G.shape[1]
    g, near, z, q, into = bare(G), bare(alpha), bare(Z), bare(Q), bared(kept)
    compared = 0
    for i in range(Q.shape[0]):
        beta = cut(into.limit[i], B[i], s, d)
        for j in range(0, stop - first, GROUP):
            mask = hopeful(g, i * width + j, near, first + j, beta)
            while mask != 0:
                row = first + j + lowest_bit(mask)
                mask &= mask - ONE
                if row < stop and row != without[i]:
                    compared += 1
                    limit = into.limit[i]
                    r = _squares(z, row * d, q, i * d, d, limit)
                    if r <= limit:
                        keep(r, row, i, into)
                        if into.limit[i] < limit:
                            beta = cut(into.limit[i], B[i], s, d)
    return compared
