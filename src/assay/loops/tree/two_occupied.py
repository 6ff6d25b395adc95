"""The best split of a small node of two classes, through the cells that hold its rows."""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined, jit
from assay.compiled.simd.scalars import lowest_bit
from assay.compiled.simd.trees import GROUP, taken
from assay.loops.tree.candidates import beats, first_best, keep
from assay.loops.tree.occupied import BIT, CELLS, RAISED
from assay.loops.tree.shapes import HALF, NONE_MISSING
from assay.loops.tree.two_words import score_words, word_of


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
