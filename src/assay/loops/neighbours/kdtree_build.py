"""Building a k-d tree: rows are put in an order in which every node is a stretch, halved where its widest column has its median.

The tree is balanced, so that nothing of its shape is stored: node i of level l holds the rows ⌊n i / 2^l⌋ … ⌊n (i + 1) / 2^l⌋ − 1 of the order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FEW = 24  # rows that are sorted rather than parted further


@njit(nogil=True, cache=True, inline="always")
def _swap(rows, number, d, i, j):  # type: ignore[no-untyped-def]
    for c in range(d):
        rows[i, c], rows[j, c] = rows[j, c], rows[i, c]
    number[i], number[j] = number[j], number[i]


@njit(nogil=True, cache=True)
def _widest(rows, a, b):  # type: ignore[no-untyped-def]
    """The column in which the rows a … b − 1 spread most; −1 where they are all equal."""
    best, widest = -1, 0.0
    for c in range(rows.shape[1]):
        low = high = rows[a, c]
        for i in range(a + 1, b):
            x = rows[i, c]
            low = x if x < low else low
            high = x if x > high else high
        if high - low > widest:
            best, widest = c, high - low
    return best


@njit(nogil=True, cache=True)
def _select(rows, number, a, b, k, c):  # type: ignore[no-untyped-def]
    """Reorder the rows a … b − 1 so that row k has the value in column c that it would have if they were sorted, none before it a greater
    one and none behind it a smaller one."""
    d = rows.shape[1]
    low, high = a, b - 1
    while high - low >= FEW:
        middle = (low + high) // 2
        x, y, z = rows[low, c], rows[middle, c], rows[high, c]
        pivot = max(min(x, y), min(max(x, y), z))
        i, j = low, high
        while i <= j:
            while rows[i, c] < pivot:
                i += 1
            while rows[j, c] > pivot:
                j -= 1
            if i <= j:
                _swap(rows, number, d, i, j)
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return
    for i in range(low + 1, high + 1):
        j = i
        while j > low and rows[j - 1, c] > rows[j, c]:
            _swap(rows, number, d, j - 1, j)
            j -= 1


@njit(nogil=True, cache=True)
def halve(rows, number, n, level, first, last, levels):  # type: ignore[no-untyped-def]
    """Order the rows of nodes first … last − 1 of a level, and of all levels below up to `levels`."""
    while level < levels:
        for i in range(first, last):
            a, b = (n * i) >> level, (n * (i + 1)) >> level
            if b - a > 1:
                c = _widest(rows, a, b)
                if c >= 0:
                    _select(rows, number, a, b, (n * (2 * i + 1)) >> (level + 1), c)
        level += 1
        first, last = 2 * first, 2 * last


@njit(nogil=True, cache=True)
def leaf_blocks(rows, n, levels, first, last, blocks, lane):  # type: ignore[no-untyped-def]
    """blocks[leaf, block, column, lane]: the rows of the leaves first … last − 1, `lane` at a time, column by column; what is left over is
    infinite, and so farther than any row."""
    d, many = rows.shape[1], blocks.shape[1]
    for leaf in range(first, last):
        a, b = (n * leaf) >> levels, (n * (leaf + 1)) >> levels
        for block in range(many):
            for k in range(lane):
                i = a + block * lane + k
                for c in range(d):
                    blocks[leaf, block, c, k] = rows[i, c] if i < b else np.inf


@njit(nogil=True, cache=True)
def leaf_boxes(rows, n, levels, first, last, low, high):  # type: ignore[no-untyped-def]
    """low, high (leaves, d): the least and the greatest values of each leaf; of an empty one +∞ and −∞."""
    d = rows.shape[1]
    for leaf in range(first, last):
        for c in range(d):
            low[leaf, c], high[leaf, c] = np.inf, -np.inf
        for i in range((n * leaf) >> levels, (n * (leaf + 1)) >> levels):
            for c in range(d):
                x = rows[i, c]
                low[leaf, c] = min(low[leaf, c], x)
                high[leaf, c] = max(high[leaf, c], x)
