"""Rows of two classes as words: weight and positives share one, and what a split is worth follows from it.

Of a split the criterion's score is what it leaves to be maximised when constants of the node are dropped:

    Gini      s_L² / n_L + s_R² / n_R                        (s: positives, n: rows)
    entropy   Σ over sides  s log s + (n − s) log (n − s) − n log n

And the best split of a node through the categories, or the cells of a column, that hold its rows: for small nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inlined, jit
from assay.compiled.simd.scalars import lowest_bit
from assay.compiled.simd.trees import GROUP, gini_of_words, taken
from assay.families.trees.loops.arrays import ENTROPY, HALF, LOW16, LOW32, NONE_MISSING
from assay.families.trees.loops.candidates import (
    BIT,
    CELLS,
    RAISED,
    beats,
    first_best,
    greatest_of,
    keep,
    keep_sides,
    marked,
)

QUARTER = np.uint64(16)
TIMES = np.uint64(0xFFFF0000)


class TwoClassTargets(NamedTuple):
    """An entry's label holds the positives (`times` or 0). xlogx: x log x of whole numbers, where the criterion needs it."""

    xlogx: Any


@jit(inline="always")
def word_of(entry):  # type: ignore[no-untyped-def]
    """weight · 2³² | positives."""
    return ((entry & TIMES) << QUARTER) | (entry & LOW16)


@inlined
def score_words(running, worth, count, n, s, criterion, xlogx, least):  # type: ignore[no-untyped-def]
    """worth[i] of the split that puts running[i] to the left, −∞ where a side is too small; the greatest of them. Both arrays have room up
    to a multiple of eight."""
    if criterion == ENTROPY:
        for i in range(count):
            # of a column with fewer buckets than its neighbours the last ones count what is missing twice: these are no splits
            nl, sl = min(n, np.int64(running[i] >> HALF)), min(s, np.int64(running[i] & LOW32))
            nr, sr = n - nl, s - sl
            w = xlogx[sl] + xlogx[nl - sl] - xlogx[nl] + (xlogx[sr] + xlogx[nr - sr] - xlogx[nr])
            worth[i] = w if (nl >= least) & (nr >= least) else -np.inf
        return greatest_of(worth, count)
    stop = (count + 7) & -8
    for i in range(count, stop):
        running[i] = np.uint64(0)
    return gini_of_words(running, worth, stop, np.float64(n), np.float64(s), np.float64(least))


@inlined
def worth_of_word(run, n, s, criterion, xlogx, least):  # type: ignore[no-untyped-def]
    """As `score_words`, of one split."""
    nl, sl = np.int64(run >> HALF), np.int64(run & LOW32)
    nr, sr = n - nl, s - sl
    if nl < least or nr < least:
        return -np.inf
    if criterion == ENTROPY:
        return xlogx[sl] + xlogx[nl - sl] - xlogx[nl] + (xlogx[sr] + xlogx[nr - sr] - xlogx[nr])
    a, b, c, d = np.float64(nl), np.float64(sl), np.float64(nr), np.float64(sr)
    return (b * b * c + d * d * a) / (a * c)


@inlined
def count_categories(table, f, entries, a, b, cells, flags):  # type: ignore[no-untyped-def]
    """cells[4 · code + (0 … 3)] += word, row by row in turn: neighbours are often of one category, and each would wait for the sum before."""
    codes, first = table.codes, f * table.n
    turns = a + ((b - a) & -4)
    for i in range(a, turns, 4):
        e0, e1, e2, e3 = entries[i], entries[i + 1], entries[i + 2], entries[i + 3]
        c0 = np.int64(codes[first + np.int64(e0 >> HALF)])
        c1 = np.int64(codes[first + np.int64(e1 >> HALF)])
        c2 = np.int64(codes[first + np.int64(e2 >> HALF)])
        c3 = np.int64(codes[first + np.int64(e3 >> HALF)])
        cells[4 * c0] += word_of(e0)
        cells[4 * c1 + 1] += word_of(e1)
        cells[4 * c2 + 2] += word_of(e2)
        cells[4 * c3 + 3] += word_of(e3)
        flags[c0] = flags[c1] = flags[c2] = flags[c3] = RAISED
    for i in range(turns, b):
        c = np.int64(codes[first + np.int64(entries[i] >> HALF)])
        cells[4 * c] += word_of(entries[i])
        flags[c] = RAISED


@inlined
def best_categories(rules, f, n, s, xlogx, found, scratch):  # type: ignore[no-untyped-def]
    """The best split of column f as its cells count it, which are zero afterwards; says whether it varies. Categories are ordered by their shares
    of positives: one of the splits of that order is the best of all."""
    cells, share, word, ranked = scratch.cells, scratch.real, scratch.items, scratch.count
    m = marked(scratch.flags, ranked)
    for i in range(m):
        code = ranked[i]
        c = 4 * code
        own = cells[c] + cells[c + 1] + cells[c + 2] + cells[c + 3]
        cells[c] = cells[c + 1] = cells[c + 2] = cells[c + 3] = np.uint64(0)
        key = np.float64(own & LOW32) / np.float64(own >> HALF)
        j = i
        while j > 0 and share[j - 1] > key:
            share[j], word[j], ranked[j] = share[j - 1], word[j - 1], ranked[j - 1]
            j -= 1
        share[j], word[j], ranked[j] = key, own, code
    if m < 2:
        return False
    run = np.uint64(0)
    for i in range(m):
        run += word[i]
        scratch.running[i] = run
    best = score_words(scratch.running, scratch.worth, m, n, s, rules.criterion, xlogx, rules.min_leaf)
    if beats(best, found):
        at = first_best(scratch.worth, best)
        keep_sides(found, best, f, ranked, at + 1, m, 1 if 2 * np.int64(scratch.running[at] >> HALF) > n else 0)
    return True


@jit(inline="always")
def _count_four(table, f, k, entries, a, b, cells, flags):  # type: ignore[no-untyped-def]
    codes, n = table.codes, table.n
    f0, f1, f2, f3 = f[k] * n, f[k + 1] * n, f[k + 2] * n, f[k + 3] * n
    for i in range(a, b):
        e = entries[i]
        r = np.int64(e >> HALF)
        v = word_of(e)
        c0, c1, c2, c3 = (
            np.int64(codes[f0 + r]),
            np.int64(codes[f1 + r]),
            np.int64(codes[f2 + r]),
            np.int64(codes[f3 + r]),
        )
        cells[c0 * 4] += v
        cells[c1 * 4 + 1] += v
        cells[c2 * 4 + 2] += v
        cells[c3 * 4 + 3] += v
        flags[c0] = flags[CELLS + c1] = flags[2 * CELLS + c2] = flags[3 * CELLS + c3] = RAISED


@jit(inline="always")
def _count_one(table, f, j, entries, a, b, cells, flags):  # type: ignore[no-untyped-def]
    codes, first = table.codes, f * table.n
    for i in range(a, b):
        e = entries[i]
        c = np.int64(codes[first + np.int64(e >> HALF)])
        cells[c * 4 + j] += word_of(e)
        flags[CELLS * j + c] = RAISED


@inlined
def by_occupied(table, rules, entries, a, b, f, k, width, n, s, xlogx, found, scratch):  # type: ignore[no-untyped-def]
    """The columns f[k : k + width], at most four, whose codes are cells. Says whether any of them varies."""
    cells, flags = scratch.cells, scratch.flags
    if width == 4:
        _count_four(table, f, k, entries, a, b, cells, flags)
    else:
        for j in range(width):
            _count_one(table, f[k + j], j, entries, a, b, cells, flags)
    varies = False
    for j in range(width):
        varies |= _best(table, rules, f[k + j], j, n, s, xlogx, found, scratch)
    return varies


@inlined
def _best(table, rules, f, j, n, s, xlogx, found, scratch):  # type: ignore[no-untyped-def]
    """The best split of column f, counted in every fourth cell from j on, which are zero afterwards."""
    cells, running, place = scratch.cells, scratch.running, scratch.place
    flags, count, run = scratch.flags, 0, np.uint64(0)
    for first in range(0, CELLS, GROUP):
        word = taken(flags, CELLS * j + first)
        while word != 0:
            code = first + lowest_bit(word)
            word &= word - BIT
            run += cells[4 * code + j]
            cells[4 * code + j] = np.uint64(0)
            running[count] = run
            place[count] = code
            count += 1
    if count < 2:
        return False
    missing = table.missing[f]
    lost = place[count - 1] == missing
    stop = count - 1 if lost else count
    gone = run - running[stop - 1]
    for left in range(2 if lost else 1):
        if left:
            for i in range(stop):
                running[i] += gone
        best = score_words(running, scratch.worth, stop, n, s, rules.criterion, xlogx, rules.min_leaf)
        if beats(best, found):
            at = first_best(scratch.worth, best)
            after = place[at + 1] if at + 1 < stop else missing
            keep(found, scratch.worth[at], f, place[at], after, left if lost else NONE_MISSING)
    return True
