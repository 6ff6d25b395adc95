"""The best split by Gini of a node of many classes that are counted, through the cells of a column that hold its rows.

A cell has a place for each class, up to a multiple of eight: going on by a cell moves all classes at once.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined
from assay.compiled.simd.trees import clear, gini_of_squares, squares_after
from assay.loops.tree.occupied import RAISED, keep_cell, marked, missing_cell
from assay.loops.tree.shapes import HALF, LOW16, NONE_MISSING

QUARTER = np.uint64(16)
FEW = 24  # rows of a node below which sorting them costs less
MOST = 64  # classes; with more of them a row costs less than a cell


@inlined
def _count(codes, first, shift, entries, a, b, lanes, cells, flags):  # type: ignore[no-untyped-def]
    for i in range(a, b):
        e = entries[i]
        c = np.int64(codes[first + np.int64(e >> HALF)]) >> shift
        cells[lanes * c + np.int64(e & LOW16)] += (e >> QUARTER) & LOW16
        flags[c] = RAISED


@inlined
def _run(start, stop, lanes, cells, place, left, whole, real, A):  # type: ignore[no-untyped-def]
    """real[i], real[A + i], real[2 A + i]: draws, Σ squares of both sides of the split after place[i]; cell `start` (−1: none) is on the left
    besides."""
    clear(left, 0, lanes)
    if start >= 0:
        squares_after(cells, lanes * start, left, whole, lanes)
    for i in range(stop):
        n, lefts, rights = squares_after(cells, lanes * place[i], left, whole, lanes)
        real[i] = n
        real[A + i] = lefts
        real[2 * A + i] = rights


@inlined
def classes_occupied(table, f, least, entries, a, b, K, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split of column f between its cells; whether the column varies."""
    lanes, shift = (K + 7) & -8, table.shift[f]
    cells, place, left, whole, A = scratch.cells, scratch.place, scratch.left, scratch.whole, scratch.reach
    missing = missing_cell(table, f)
    _count(table.codes, f * table.n, shift, entries, a, b, lanes, cells, scratch.flags)
    count = marked(scratch.flags, place)
    if count > 1:
        for k in range(lanes):
            whole[k] = np.float64(sums[at + k]) if k < K else 0.0
        lost = place[count - 1] == missing
        stop = count - 1 if lost else count
        for side in range(2 if lost else 1):
            _run(missing if side else np.int64(-1), stop, lanes, cells, place, left, whole, scratch.real, A)
            some = (stop + 7) & -8
            gini_of_squares(scratch.real, A, scratch.worth, some, np.float64(n), np.float64(least))
            keep_cell(found, f, place, stop, shift, table.missing[f], side if lost else NONE_MISSING, scratch.worth)
    for i in range(count):
        clear(cells, lanes * place[i], lanes)
    return count > 1
