"""Candidate splits of a node: going through them in the order of a column's codes, and keeping the best.

Of equal splits the first one wins: columns in the order in which they are tried, codes from the lowest. Where rows are sorted by their
codes, an item is code · 2³² | the row's place in the node: no two are equal.

Or only the cells of a column that hold rows of the node are gone through, so that a small node pays for its rows, not for the 256 cells.
Counting a row raises the flag of its cell: a byte, as a bit would have to be read and written again (2 ns a row). Flags are read 64 at a
time as bits. Going through these gives the cells in the order of their codes, which is what a sort would give, without one; cells and
flags are zero again afterwards.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.simd.scalars import lowest_bit
from assay.compiled.simd.trees import GROUP, taken
from assay.compiled.simd.trees import greatest as greatest_of_lanes
from assay.families.trees.loops.arrays import HALF

FEW = 40
MOST_BUCKETS = 2048
LOW_HALF = np.uint64(32)
SLACK = 2.0**-44  # of a score: less is rounding, and no split is better by that
FEW_TO_MARK = 160  # rows of a node of two classes below which cells that hold rows are gone through, else all cells
CELLS = 256
BIT = np.uint64(1)
RAISED = np.uint8(1)


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
        count[((np.int64(items[i] >> LOW_HALF) - low) >> shift) + 1] += 1
    for k in range(used):
        count[k + 1] += count[k]
    for i in range(m):
        x = items[i]
        k = (np.int64(x >> LOW_HALF) - low) >> shift
        other[count[k]] = x
        count[k] += 1
    if shift > 0:
        _by_insertion(other, m)


@inlined
def greatest_of(worth, count):  # type: ignore[no-untyped-def]
    """The greatest of worth[:count], none of them NaN; up to seven places behind are overwritten."""
    stop = (count + 7) & -8
    for i in range(count, stop):
        worth[i] = -np.inf
    return greatest_of_lanes(worth, stop)


@jit(forceinline=True)
def beats(score, found):  # type: ignore[no-untyped-def]
    """Whether a score is more than a rounding better than the one found: of equal splits the first wins, however they were added up."""
    best = found.score[0]
    return score > best + SLACK * abs(best) if best > -np.inf else score > -np.inf


@inlined
def first_best(worth, best):  # type: ignore[no-untyped-def]
    """The first place whose worth is the best one, up to rounding."""
    enough, at = best - SLACK * abs(best), 0
    while not worth[at] >= enough:
        at += 1
    return at


@jit(inline="always")
def keep(found, score, feature, cut, after, missing_left):  # type: ignore[no-untyped-def]
    """Remember a split of numbers: codes up to `cut` go to the left, `after` is the next code there is."""
    found.score[0] = score
    found.place[0] = feature
    found.place[1] = cut
    found.place[2] = after
    found.place[3] = missing_left
    found.place[4] = 0
    found.score[3] = np.nan


@jit(inline="always")
def greatest(scratch, count):  # type: ignore[no-untyped-def]
    """The greatest of worth[:count], none of them NaN; up to seven places behind are overwritten."""
    return greatest_of(scratch.worth, count)


@inner
def keep_sides(found, score, feature, ranked, left, count, default):  # type: ignore[no-untyped-def]
    """Remember a split of categories: the first `left` of `ranked` go to the left; those not in the node where most rows go."""
    found.score[0] = score
    found.place[0] = feature
    found.place[1] = -1
    found.place[2] = -1
    found.place[3] = default
    found.place[4] = 1
    found.score[3] = np.nan
    for c in range(256):
        found.sides[c] = default
    for i in range(count):
        found.sides[ranked[i]] = 1 if i < left else 0


@inner
def more_than_one(counts, first, step, cells):  # type: ignore[no-untyped-def]
    """Whether more than one of the cells counts[first + step · i] holds rows: whether the column varies, whatever splits are allowed."""
    there = 0
    for i in range(cells):
        there += counts[first + step * i] != 0
    return there > 1


@inner
def rank_by(key, first, ranked, m):  # type: ignore[no-untyped-def]
    """Sort ranked[:m] by key[first + ranked[i]], equal ones as they were. (Insertion: there are at most 256.)"""
    for i in range(1, m):
        x = ranked[i]
        j = i - 1
        while j >= 0 and key[first + ranked[j]] > key[first + x]:
            ranked[j + 1] = ranked[j]
            j -= 1
        ranked[j + 1] = x


@inlined
def sorted_node(table, entries, a, b, f, scratch):  # type: ignore[no-untyped-def]
    """A node's rows by their codes of column f, as items in scratch.other; (how many have a value, whether the column varies)."""
    m, codes, first, items = b - a, table.codes, f * table.n, scratch.items
    low, high = np.int64(0xFFFFFFFF), np.int64(0)
    for i in range(m):
        c = np.int64(codes[first + np.int64(entries[a + i] >> HALF)])
        low = min(low, c)
        high = max(high, c)
        items[i] = np.uint64((c << 32) | i)
    if low == high:
        return m, False
    sort_items(items, scratch.other, scratch.count, m, low, high)
    stop = m
    if high == table.missing[f]:
        while np.int64(scratch.other[stop - 1] >> HALF) == high:
            stop -= 1
    return stop, True


@inner
def there_in_list(table, items, first, m, f):  # type: ignore[no-untyped-def]
    """As `sorted_node`, of a list that is sorted already: items[first : first + m]."""
    last = np.int64(items[first + m - 1] >> HALF)
    if np.int64(items[first] >> HALF) == last:
        return m, False
    stop = m
    if last == table.missing[f]:
        while np.int64(items[first + stop - 1] >> HALF) == last:
            stop -= 1
    return stop, True


@inlined
def keep_item(table, f, items, first, stop, left, scratch, found):  # type: ignore[no-untyped-def]
    """Of the splits after each of the sorted items[first : first + stop], keep the first that is the best, where it beats the one found."""
    worth = scratch.worth
    for i in range(stop - 1):
        worth[i] = worth[i] if (items[first + i] >> HALF) != (items[first + i + 1] >> HALF) else -np.inf
    best = greatest(scratch, stop)
    if beats(best, found):
        at = first_best(worth, best)
        after = np.int64(items[first + at + 1] >> HALF) if at + 1 < stop else table.missing[f]
        keep(found, worth[at], f, np.int64(items[first + at] >> HALF), after, left)


@inlined
def marked(flags, place):  # type: ignore[no-untyped-def]
    """place[:count]: the cells whose flags are raised, in their order; they are lowered. Returns count."""
    count = 0
    for first in range(0, CELLS, GROUP):
        word = taken(flags, first)
        while word != 0:
            place[count] = first + lowest_bit(word)
            word &= word - BIT
            count += 1
    return count


@jit(inline="always")
def missing_cell(table, f):  # type: ignore[no-untyped-def]
    """The cell of a column's missing values, −1 where there are none."""
    return table.missing[f] >> table.shift[f] if table.missing[f] >= 0 else -1


@inlined
def keep_cell(found, f, place, stop, shift, missing, left, worth):  # type: ignore[no-untyped-def]
    """Of the splits after each of the cells place[:stop], keep the first that is the best; `left`: where missing values go."""
    best = greatest_of(worth, stop)
    if beats(best, found):
        at = first_best(worth, best)
        after = place[at + 1] << shift if at + 1 < stop else missing
        keep(found, worth[at], f, ((place[at] + 1) << shift) - 1, after, left)
