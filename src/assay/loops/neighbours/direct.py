"""Every row compared with every query in float64, 32 rows at a time and column after column.

Rows are laid out anew for a block of queries, tile[group, column, lane]. Distances only grow from column to column: a group of rows that
are all beyond the limit after some columns is done with.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.neighbours.keep import bared, keep
from assay.loops.tree.bare import alive, bare
from assay.loops.tree.inner import inlined
from assay.loops.tree.occupied import lowest_bit

LANE = 32  # rows at a time: four registers of eight, so that none waits for its own last sum
COLUMNS = 32  # after which one looks whether all rows are too far already
WORD, DOUBLE = ir.IntType(64), ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANE)
HAMMING, MANHATTAN, EUCLIDEAN, CHEBYSHEV, POWER = range(5)
ONE = np.uint64(1)


def kind_of(norm: float) -> int:
    """The code of a norm.

    >>> kind_of(2.0), kind_of(math.inf), kind_of(3.0)
    (2, 3, 4)
    """
    return {0.0: HAMMING, 1.0: MANHATTAN, 2.0: EUCLIDEAN, math.inf: CHEBYSHEV}.get(norm, POWER)


def _spread(builder: Any, x: Any) -> Any:
    nothing = ir.Constant(VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANE), [0] * LANE))


def _joined(builder: Any, kind: int, r: Any, x: Any, q: Any) -> Any:
    """r with one column more."""
    zero = ir.Constant(VECTOR, [0.0] * LANE)
    if kind == HAMMING:
        one = ir.Constant(VECTOR, [1.0] * LANE)
        return builder.fadd(r, builder.select(builder.fcmp_unordered("!=", x, q), one, zero))
    t = builder.fsub(x, q)
    if kind == EUCLIDEAN:
        return builder.fadd(r, builder.fmul(t, t))
    size = builder.select(builder.fcmp_ordered("<", t, zero), builder.fsub(q, x), t)
    if kind == MANHATTAN:
        return builder.fadd(r, size)
    return builder.select(builder.fcmp_ordered(">", size, r), size, r)


def _near(kind: int) -> Any:
    @intrinsic
    def near(typingctx: Any, tile: Any, at: Any, q: Any, first: Any, d: Any, limit: Any, r: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            tile, at, q, first, d, limit, r = args
            place = builder.bitcast(r, VECTOR.as_pointer())
            total = cgutils.alloca_once_value(builder, builder.load(place, align=8))
            with cgutils.for_range(builder, d) as loop:
                j = builder.add(first, loop.index)
                x = builder.gep(tile, [builder.add(at, builder.mul(j, ir.Constant(WORD, LANE)))])
                x = builder.load(builder.bitcast(x, VECTOR.as_pointer()), align=8)
                value = _spread(builder, builder.load(builder.gep(q, [j])))
                builder.store(_joined(builder, kind, builder.load(total), x, value), total)
            found = builder.load(total)
            builder.store(found, place, align=8)
            good = builder.fcmp_ordered("<=", found, _spread(builder, limit))
            return builder.zext(builder.bitcast(good, ir.IntType(LANE)), WORD)

        whole = types.int64
        return types.uint64(tile, whole, q, whole, whole, types.float64, r), generate

    def plain(tile: Any, at: int, q: Any, first: int, d: int, limit: float, r: Any) -> Any:
        mask = 0
        for k in range(LANE):
            for j in range(first, first + d):
                x = tile[at + LANE * j + k]
                if kind == HAMMING:
                    r[k] += x != q[j]
                elif kind == EUCLIDEAN:
                    r[k] += (x - q[j]) * (x - q[j])
                elif kind == MANHATTAN:
                    r[k] += abs(x - q[j])
                else:
                    r[k] = max(r[k], abs(x - q[j]))
            mask |= int(r[k] <= limit) << k
        return np.uint64(mask)

    return plain if config.DISABLE_JIT else near


# near(tile, at, q, first, d, limit, r): r[k] with the columns first … first + d − 1 of the 32 rows at tile[at:] added; bit k: r[k] ≤ limit
_hamming, _manhattan, _euclidean, _chebyshev = (_near(kind) for kind in (HAMMING, MANHATTAN, EUCLIDEAN, CHEBYSHEV))


@inlined
def _powers(tile, at, q, first, d, p, limit, r):  # type: ignore[no-untyped-def]
    """The same for Σ |x − q|^p, by the C library's pow."""
    mask = np.uint64(0)
    for k in range(LANE):
        total = r[k]
        for j in range(first, first + d):
            total += abs(tile[at + LANE * j + k] - q[j]) ** p
        r[k] = total
        if total <= limit:
            mask |= ONE << np.uint64(k)
    return mask


@inlined
def _more(kind, p, tile, at, q, first, d, limit, r):  # type: ignore[no-untyped-def]
    if kind == EUCLIDEAN:
        return _euclidean(tile, at, q, first, d, limit, r)
    if kind == MANHATTAN:
        return _manhattan(tile, at, q, first, d, limit, r)
    if kind == CHEBYSHEV:
        return _chebyshev(tile, at, q, first, d, limit, r)
    if kind == HAMMING:
        return _hamming(tile, at, q, first, d, limit, r)
    return _powers(tile, at, q, first, d, p, limit, r)


@njit(nogil=True, cache=True)
def lay_out(Z, first, stop, tile):  # type: ignore[no-untyped-def]
    """tile (groups, d, 32): the rows first … stop − 1 of Z; the last group is filled with the last row."""
    for g in range((stop - first + LANE - 1) // LANE):
        for k in range(LANE):
            i = min(first + g * LANE + k, stop - 1)
            for j in range(Z.shape[1]):
                tile[g, j, k] = Z[i, j]


@njit(nogil=True, cache=True)
def compare(tile, first, stop, Q, kind, p, without, kept):  # type: ignore[no-untyped-def]
    """Keep of the rows first … stop − 1, laid out in `tile`, those within the limits of the queries Q (m, d)."""
    d = Q.shape[1]
    total = np.empty(LANE)
    rows, r, into = bare(tile), bare(total), bared(kept)
    for g in range((stop - first + LANE - 1) // LANE):
        for i in range(Q.shape[0]):
            q = bare(Q[i])
            for k in range(LANE):
                r[k] = 0.0
            mask, j = ONE, 0
            while j < d and mask != 0:
                many = min(COLUMNS, d - j)
                mask = _more(kind, p, rows, g * LANE * d, q, j, many, into.limit[i], r)
                j += many
            while mask != 0:
                k = lowest_bit(mask)
                mask &= mask - ONE
                row = first + g * LANE + k
                if row < stop and row != without[i] and r[k] <= into.limit[i]:
                    keep(r[k], row, i, into)
    alive((total,))
