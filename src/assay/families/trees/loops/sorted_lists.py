"""The rows of a node as they lie in the sorted lists of its columns. An item is row · 2 | label, the label being that of one of two classes.

Codes are looked up only where a column has rows of equal value (`tied`), and where a split is kept.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.families.trees.loops.arrays import HALF
from assay.families.trees.loops.candidates import SLACK, keep

STRETCH = 64  # splits that one bound is for
FEW = 192  # rows of a node all of whose splits are scored
SORTED = 8  # rows of a node whose lists are made when they are asked for: most columns are not
TINY = 16  # rows of a node whose splits are scored one by one
MARGIN = 2.0**-40  # of a score: more than a rounding, and than what counts as equal


@jit(inline="always")
def code_at(table, base, items, i):  # type: ignore[no-untyped-def]
    """The code of an item; base: where its column's codes begin."""
    return np.int64(table.codes[base + (np.int64(items[i]) >> 1)])


@inner
def list_few(table, lists, entries, a, b, f):  # type: ignore[no-untyped-def]
    """Make the list of column f for the few rows entries[a : b], by insertion."""
    items, first, base = lists.items, f * lists.rows, f * table.n
    for i in range(a, b):
        e = entries[i]
        r = np.int64(e >> HALF)
        code = np.int64(table.codes[base + r])
        j = first + i - 1
        while j >= first + a and code_at(table, base, items, j) > code:
            items[j + 1] = items[j]
            j -= 1
        items[j + 1] = np.uint32((r << 1) | (np.int64(e) & 1))


@inner
def there_in_items(table, lists, first, m, f):  # type: ignore[no-untyped-def]
    """(How many of items[first : first + m] have a value, whether the column varies.)"""
    if lists.tied[f] == 0 and table.missing[f] < 0:
        return m, True
    items, base = lists.items, f * table.n
    last = code_at(table, base, items, first + m - 1)
    if code_at(table, base, items, first) == last:
        return m, False
    stop = m
    if last == table.missing[f]:
        while code_at(table, base, items, first + stop - 1) == last:
            stop -= 1
    return stop, True


@inner
def bar_ties(table, lists, f, first, a, b, stop, worth):  # type: ignore[no-untyped-def]
    """worth[i − a]: −∞ where the items a ≤ i < b of column f is no split, the next item having the same value."""
    if lists.tied[f] == 0:
        return
    items, base = lists.items, f * table.n
    code = code_at(table, base, items, first + a)
    for i in range(a, min(b, stop - 1)):
        after = code_at(table, base, items, first + i + 1)
        worth[i - a] = worth[i - a] if code != after else -np.inf
        code = after


@inner
def keep_listed(table, lists, f, first, a, b, stop, left, best, scratch, found):  # type: ignore[no-untyped-def]
    """Keep the first of the splits after the items a ≤ i < b that is worth `best`, up to rounding; False where there is none. left: where
    missing values go."""
    items, base, enough = lists.items, f * table.n, best - SLACK * abs(best)
    for i in range(a, b):
        if scratch.worth[i - a] >= enough:
            code = code_at(table, base, items, first + i)
            after = code_at(table, base, items, first + i + 1) if i + 1 < stop else table.missing[f]
            keep(found, scratch.worth[i - a], f, code, after, left)
            return True
    return False


@inner
def unpacked(table, lists, first, m, f, scratch):  # type: ignore[no-untyped-def]
    """scratch.other: the items as code · 2³² | row, as `sorting` leaves them."""
    items, base = lists.items, f * table.n
    for i in range(m):
        r = np.int64(items[first + i]) >> 1
        scratch.other[i] = np.uint64((np.int64(table.codes[base + r]) << 32) | r)
