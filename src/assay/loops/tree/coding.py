"""Columns as codes: ranks of their values, or numbers of their bins."""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.compiled.simd.gathers import VALUES, climb
from assay.compiled.simd.memory import data_pointer, keep_alive

MOST_VALUE_BUCKETS = 254  # one more is left for missing values
ROWS = 256  # that are taken column by column, and stay near meanwhile: a multiple of VALUES


@jit
def rank_values(x, order, there, codes, values):  # type: ignore[no-untyped-def]
    """codes[i]: the rank of x[i] among its distinct values, which go into `values`; order sorts x, of which the first `there` are not missing.

    The number of values; the codes of missing values are left alone. −0 and 0 are one value.
    """
    k, last = -1, 0.0
    for i in range(there):
        r = np.int64(order[i])
        v = x[r]
        k += k < 0 or v != last
        values[k] = v
        last = v
        codes[r] = k
    return k + 1


@jit
def ladders(edges, first, count):  # type: ignore[no-untyped-def]
    """(ladder, start, steps): each column's edges[first : first + count] in order, filled up with ∞ to 2^steps − 1 of them."""
    d = count.shape[0]
    start, steps = np.empty(d, np.int64), np.empty(d, np.int64)
    length = 0
    for j in range(d):
        start[j], steps[j] = length, 0
        while (1 << steps[j]) - 1 < count[j]:
            steps[j] += 1
        length += (1 << steps[j]) - 1
    ladder = np.full(length, np.inf)
    for j in range(d):
        for k in range(count[j]):
            ladder[start[j] + k] = edges[first[j] + k]
    return ladder, start, steps


@jit
def take_column(X, at, d, n, values):  # type: ignore[no-untyped-def]
    """values[:n] of a column whose first is X[at], all arrays are addresses; how many are missing."""
    lost = 0
    for i in range(n):
        v = np.float64(X[at + i * d])
        values[i] = v
        lost += v != v
    return lost


@jit
def count_below(ladder, start, steps, n, values, counts):  # type: ignore[no-untyped-def]
    """counts[:n]: the number of a column's edges below each value. Both arrays are filled in whole groups of `VALUES`."""
    if steps == 0:
        counts[:n] = 0
        return
    for i in range(0, n, VALUES):
        climb(data_pointer(ladder), start, steps, data_pointer(values[i:]), data_pointer(counts[i:]))


@jit
def code_block(X, edges, first, count, missing, levels, category, category_first, codes):  # type: ignore[no-untyped-def]
    """codes[j, i] (d, m): the bin of X[i, j], the number of edges below it; edges[first[j] : first[j] + count[j]] are in order.

    Categories (levels[j] > 0) are looked up: category[category_first[j] + x]. What is missing or unknown: missing[j].
    """
    m, d = X.shape
    values, counts = np.zeros(ROWS), np.empty(ROWS, np.int32)
    ladder, start, steps = ladders(edges, first, count)
    for a in range(0, m, ROWS):
        n = min(m - a, ROWS)
        for j in range(d):
            lost = take_column(data_pointer(X), a * d + j, d, n, data_pointer(values))
            if levels[j] > 0:
                for i in range(n):
                    v = values[i]
                    known = v == v and v >= 0 and v < levels[j]
                    codes[j, a + i] = category[category_first[j] + np.int64(v)] if known else missing[j]
                continue
            count_below(ladder, start[j], steps[j], n, values, counts)
            own = codes[j, a : a + n]
            for i in range(n):
                own[i] = counts[i]
            if lost:
                for i in range(n):
                    if values[i] != values[i]:
                        own[i] = missing[j]
    keep_alive((values,))
