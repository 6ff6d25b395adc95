"""Pairs of a distance and a row number in their order: few are sorted by insertion, many by a heap, which needs no room and is never slow."""

from __future__ import annotations

from assay.compiled import inlined, jit

FEW = 32


@inlined
def _before(r, rows, a, b):  # type: ignore[no-untyped-def]
    return r[a] < r[b] or (r[a] == r[b] and rows[a] < rows[b])


@inlined
def _sink(r, rows, first, root, size):  # type: ignore[no-untyped-def]
    """Let the pair at `root` of the heap sink to its place: no parent is before its children."""
    x, row = r[first + root], rows[first + root]
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and _before(r, rows, first + child, first + child + 1):
            child += 1
        if r[first + child] < x or (r[first + child] == x and rows[first + child] < row):
            break
        r[first + root], rows[first + root] = r[first + child], rows[first + child]
        root = child
    r[first + root], rows[first + root] = x, row


@inlined
def replace_last(x, row, r, rows, size):  # type: ignore[no-untyped-def]
    """Put a pair in place of the greatest, which is the last: the heap lies backwards, and its root at its end."""
    root, end = 0, size - 1
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and _before(r, rows, end - child, end - child - 1):
            child += 1
        at = end - child
        if r[at] < x or (r[at] == x and rows[at] < row):
            break
        r[end - root], rows[end - root] = r[at], rows[at]
        root = child
    r[end - root], rows[end - root] = x, row


@jit
def sort_pairs(r, rows, first, stop):  # type: ignore[no-untyped-def]
    """Put the pairs first … stop − 1, all different, in the order of (r, row)."""
    if stop - first <= FEW:
        for i in range(first + 1, stop):
            x, row, j = r[i], rows[i], i
            while j > first and (r[j - 1] > x or (r[j - 1] == x and rows[j - 1] > row)):
                r[j], rows[j] = r[j - 1], rows[j - 1]
                j -= 1
            r[j], rows[j] = x, row
        return
    size = stop - first
    for root in range(size // 2 - 1, -1, -1):
        _sink(r, rows, first, root, size)
    for last in range(size - 1, 0, -1):
        r[first], r[first + last] = r[first + last], r[first]
        rows[first], rows[first + last] = rows[first + last], rows[first]
        _sink(r, rows, first, 0, last)
