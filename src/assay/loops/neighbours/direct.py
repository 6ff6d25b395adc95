"""Every row compared with every query in float64, 32 rows at a time and column after column.

Rows are laid out anew for a block of queries, tile[group, column, lane]. Distances only grow from column to column: a group of rows that
are all beyond the limit after some columns is done with.
"""

from __future__ import annotations

import math

import numpy as np

from assay.compiled import inlined, jit
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
from assay.loops.neighbours.keep import keep, kept_pointers

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
