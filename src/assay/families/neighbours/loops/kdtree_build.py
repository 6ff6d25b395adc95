"""Building a k-d tree: rows are put in an order in which every node is a stretch, parted where its widest column has its middle.

Leaves are full: of a node of 2^h leaves, the first half holds 2^(h − 1) of them, and what is left over is the last one's. So node i of height h has the rows
LEAF · 2^h · i … LEAF · 2^h · (i + 1) − 1 of the order, and nothing of the shape is stored.

A node's rows are not swapped: their values in its column, less the least, are sorted apart as whole numbers, the last bits of which say which row
they are of; then rows are copied, from one array to another and at the next height back. Values that differ only in these bits, or that lie below the
least of the sample that was looked at, may come to lie on the wrong side: boxes are made of the rows that they hold, so that this costs
nothing but a box that is slightly larger.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, jit
from assay.compiled.simd.vectors import LANE
from assay.families.neighbours.loops.kdtree import LEAF

FEW = 24  # values that are sorted rather than parted further
SAMPLE = 256  # rows at most that a node's widest column is judged by
PIVOTS = 31  # values at most of which one parts the others


@inlined
def _widest(rows, a, b):  # type: ignore[no-untyped-def]
    """The column in which the rows a … b − 1 are farthest from their mean on average, and its least value. By their range, columns of few values would
    be parted again and again for a few rows at one end."""
    best, widest, least = 0, -1.0, rows[a, 0]
    step = max(1, (b - a) // SAMPLE)
    share = step / (b - a)
    for c in range(rows.shape[1]):
        low, mean, spread = rows[a, c], 0.0, 0.0
        for i in range(a, b, step):
            x = rows[i, c]
            low = x if x < low else low
            mean += x * share
        for i in range(a, b, step):
            spread += abs(rows[i, c] - mean) * share
        if spread > widest:
            best, widest, least = c, spread, low
    return best, least


@inlined
def _sort(keys, low, high):  # type: ignore[no-untyped-def]
    for i in range(low + 1, high):
        x, j = keys[i], i
        while j > low and keys[j - 1] > x:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = x


@inlined
def _pivot(keys, low, high, k, pivots):  # type: ignore[no-untyped-def]
    """A value of keys[low:high] that is near the one that would be at k if they were sorted."""
    count = PIVOTS if high - low > 512 else 5
    step = (high - low) // count
    for i in range(count):
        pivots[i] = keys[low + i * step + step // 2]
    _sort(pivots, 0, count)
    return pivots[min(count - 1, (k - low) * count // (high - low))]


@inlined
def _select(keys, m, k, pivots):  # type: ignore[no-untyped-def]
    """Reorder keys[:m], all different, so that none before k is greater than one from k on."""
    low, high = 0, m
    while high - low > FEW:
        pivot = _pivot(keys, low, high, k, pivots)
        split = low
        for i in range(low, high):
            x = keys[i]
            keys[i] = keys[split]
            keys[split] = x
            split += x < pivot
        if split == low:  # the least of all: it goes first
            for i in range(low, high):
                if keys[i] == pivot:
                    keys[i], keys[low] = keys[low], keys[i]
            low += 1
            if k < low:
                return
        elif k < split:
            high = split
        elif k > split:
            low = split
        else:
            return
    _sort(keys, low, high)


@inlined
def _part(rows, number, to, to_number, a, middle, b, values, keys, pivots):  # type: ignore[no-untyped-def]
    """Copy the rows a … b − 1 so that those with the least values in the widest column come before the middle."""
    m, d = b - a, rows.shape[1]
    c, least = _widest(rows, a, b)
    for i in range(m):
        values[i] = max(rows[a + i, c] - least, 0.0)
    which = 1
    while which < m:
        which *= 2
    which -= 1
    for i in range(m):
        keys[i] = (keys[i] & ~which) | i
    if middle < b:
        _select(keys, m, middle - a, pivots)
    for i in range(m):
        j = a + (keys[i] & which)
        for c in range(d):
            to[a + i, c] = rows[j, c]
        to_number[a + i] = number[j]


@jit
def halve(rows, number, to, to_number, height, first, until):  # type: ignore[no-untyped-def]
    """Part node `first` of a height, and its descendants down to those of height `until`: rows are where they were for an even number of steps, else in
    `to`."""
    n = rows.shape[0]
    stack = np.empty((128, 2), np.int64)
    room = min(n, LEAF << height)
    values, pivots = np.empty(room), np.empty(PIVOTS, np.int64)
    keys = values.view(np.int64)
    stack[0, 0], stack[0, 1] = height, first
    waiting = 1
    while waiting > 0:
        waiting -= 1
        h, i = stack[waiting]
        a = (LEAF << h) * i
        if a >= n:
            continue
        middle, b = a + (LEAF << (h - 1)), min(n, a + (LEAF << h))
        if (height - h) % 2 == 0:
            _part(rows, number, to, to_number, a, middle, b, values, keys, pivots)
        else:
            _part(to, to_number, rows, number, a, middle, b, values, keys, pivots)
        if h - 1 > until:
            for side in range(2):
                stack[waiting, 0], stack[waiting, 1] = h - 1, 2 * i + 1 - side
                waiting += 1


@jit
def fill_leaves(rows, first, last, blocks, low, high):  # type: ignore[no-untyped-def]
    """Of the leaves first … last − 1: blocks[leaf, block, column, lane], their rows column by column, NaN where there is none; low, high (leaves, d), their
    least and greatest values."""
    n, d = rows.shape
    for leaf in range(first, last):
        a, b = LEAF * leaf, min(n, LEAF * (leaf + 1))
        for c in range(d):
            least = most = rows[a, c]
            for i in range(a, a + LEAF):
                x = rows[i, c] if i < b else np.nan
                least = x if x < least else least
                most = x if x > most else most
                blocks[leaf, (i - a) // LANE, c, (i - a) % LANE] = x
            low[leaf, c], high[leaf, c] = least, most
