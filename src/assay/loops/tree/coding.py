"""Columns as codes: ranks of their values, or numbers of their bins."""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_VALUE_BUCKETS = 254  # one more is left for missing values


@njit(nogil=True, cache=True)
def rank_values(x, order, codes, values):  # type: ignore[no-untyped-def]
    """codes[i]: the rank of x[i] among its distinct values, which go into `values`; order sorts x, what is missing last.

    (number of values, rows that have one); the codes of missing values are left alone. −0 and 0 are one value.
    """
    k, there = -1, 0
    last = 0.0
    for i in range(order.shape[0]):
        r = order[i]
        v = np.float64(x[r])
        if v != v:
            break
        if k < 0 or v != last:
            k += 1
            values[k] = v
            last = v
        codes[r] = k
        there += 1
    return k + 1, there


@njit(nogil=True, cache=True)
def code_block(X, edges, first, count, missing, levels, category, category_first, codes):  # type: ignore[no-untyped-def]
    """codes[j, i] (d, m): the bin of X[i, j], the number of edges below it; edges[first[j] : first[j] + count[j]] are in order.

    Categories (levels[j] > 0) are looked up: category[category_first[j] + x]. What is missing or unknown: missing[j].
    """
    m, d = X.shape
    for a in range(0, m, 256):
        b = min(m, a + 256)
        for j in range(d):
            if levels[j] > 0:
                for i in range(a, b):
                    v = X[i, j]
                    known = v == v and v >= 0 and v < levels[j]
                    codes[j, i] = category[category_first[j] + np.int64(v)] if known else missing[j]
                continue
            start, n = first[j], count[j]
            for i in range(a, b):
                v = np.float64(X[i, j])
                base, size = start, n
                while size > 0:
                    half = (size + 1) >> 1
                    base = base + half if edges[base + half - 1] < v else base
                    size -= half
                codes[j, i] = missing[j] if v != v else base - start
