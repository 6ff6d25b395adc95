"""Sorting a node's rows by their codes. An item is code · 2³² | the row's place in the node: no two are equal."""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined, jit

FEW = 40
MOST_BUCKETS = 2048
HALF = np.uint64(32)


@jit(inline="always")
def _by_counting(items, other, count, m):  # type: ignore[no-untyped-def]
    """An item's place is the number of smaller ones: no branch depends on the data, and eight are compared at once."""
    for i in range(m):
        x = np.int64(items[i])
        smaller = np.int64(0)
        for j in range(m):
            smaller += np.int64(items[j]) < x
        count[i] = smaller
    for i in range(m):
        other[count[i]] = items[i]


@jit(inline="always")
def _by_insertion(items, m):  # type: ignore[no-untyped-def]
    for i in range(1, m):
        x = items[i]
        j = i - 1
        if items[j] > x:
            while j >= 0 and items[j] > x:
                items[j + 1] = items[j]
                j -= 1
            items[j + 1] = x


@inlined
def sort_items(items, other, count, m, low, high):  # type: ignore[no-untyped-def]
    """Sort items[:m], whose codes lie between low and high, into other[:m]; count (2049,).

    More than a few go into about as many buckets as there are items, which leaves little to insert.
    """
    if m <= FEW:
        _by_counting(items, other, count, m)
        return
    span = high - low
    buckets = 64
    while buckets < m and buckets < MOST_BUCKETS:
        buckets *= 2
    shift = 0
    while (span >> shift) >= buckets:
        shift += 1
    used = (span >> shift) + 1
    for k in range(used + 1):
        count[k] = 0
    for i in range(m):
        count[((np.int64(items[i] >> HALF) - low) >> shift) + 1] += 1
    for k in range(used):
        count[k + 1] += count[k]
    for i in range(m):
        x = items[i]
        k = (np.int64(x >> HALF) - low) >> shift
        other[count[k]] = x
        count[k] += 1
    if shift > 0:
        _by_insertion(other, m)
