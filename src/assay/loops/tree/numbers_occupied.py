"""The best split of a node of numbers, through the cells of a column that hold its rows.

Functions that are called for every column of every node take the addresses they need and no tuples: a tuple is passed field by
field, which took longer than the search of a small node.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined
from assay.compiled.simd.trees import squared_of_sums
from assay.loops.tree.numbers_worth import score_sums, squared_is_all, times_of
from assay.loops.tree.occupied import RAISED, keep_cell, marked, missing_cell
from assay.loops.tree.shapes import HALF, NONE_MISSING, ONE


@inlined
def _count(codes, first, shift, weighted, entries, a, m, z, w, cells, flags):  # type: ignore[no-untyped-def]
    """cells[4 · cell + (0, 1, 2)] += draws, w, z; without weights w is left out."""
    if weighted:
        for i in range(m):
            e = entries[a + i]
            c = np.int64(codes[first + np.int64(e >> HALF)]) >> shift
            cells[4 * c] += np.uint64(times_of(e))
            cells[4 * c + 1] += np.uint64(w[i])
            cells[4 * c + 2] += np.uint64(z[i])
            flags[c] = RAISED
        return
    for i in range(m):
        e = entries[a + i]
        c = np.int64(codes[first + np.int64(e >> HALF)]) >> shift
        cells[4 * c] += np.uint64(times_of(e))
        cells[4 * c + 2] += np.uint64(z[i])
        flags[c] = RAISED


@inlined
def _run(w, start, count, W_all, Z_all, cells, place, number, real, A):  # type: ignore[no-untyped-def]
    """number: draws, real: how much more W and Z lie to the left of a split after each of the cells place[:count], and cell `start`
    (−1: none) besides."""
    n, W, Z = 0, 0, 0
    if start >= 0:
        n, W, Z = np.int64(cells[4 * start]), np.int64(cells[4 * start + w]), np.int64(cells[4 * start + 2])
    for i in range(count):
        c = 4 * place[i]
        n += np.int64(cells[c])
        W += np.int64(cells[c + w])
        Z += np.int64(cells[c + 2])
        number[i] = n
        real[i] = np.float64(2 * W - W_all)
        real[A + i] = np.float64(2 * Z - Z_all)


@inlined
def numbers_occupied(target, table, rules, entries, a, b, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split of column f between its cells; z and w of the rows lie in scratch.signed and scratch.weight. Says
    whether the column varies."""
    place, cells, missing, shift = scratch.place, scratch.cells, missing_cell(table, f), table.shift[f]
    first, w, A, trend = f * table.n, ONE if target.weighted else ONE - ONE, scratch.reach, table.trend[f]
    _count(
        table.codes,
        first,
        shift,
        target.weighted,
        entries,
        a,
        b - a,
        scratch.signed,
        scratch.weight,
        cells,
        scratch.flags,
    )
    count = marked(scratch.flags, place)
    if count > 1:
        lost = place[count - 1] == missing
        stop = count - 1 if lost else count
        for left in range(2 if lost else 1):
            side = missing if left else -ONE
            _run(w, side, stop, tot[at], tot[at + 1], cells, place, scratch.number, scratch.real, A)
            if squared_is_all(rules, trend):
                W, Z = 0.5 * np.float64(tot[at]), 0.5 * np.float64(tot[at + 1])
                some = (stop + 7) & -8
                squared_of_sums(scratch.number, scratch.real, A, scratch.worth, some, W, Z, n, rules.min_leaf)
            else:
                score_sums(target, rules, tot, at, n, trend, found, scratch, stop)
            keep_cell(found, f, place, stop, shift, table.missing[f], left if lost else NONE_MISSING, scratch.worth)
    for i in range(count):
        c = 4 * place[i]
        cells[c] = cells[c + 1] = cells[c + 2] = np.uint64(0)
    return count > 1
