"""The best split of a node of numbers on a column of categories, through the categories that the node holds."""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined
from assay.loops.tree.candidates import beats, first_best, greatest, keep_sides, rank_by
from assay.loops.tree.numbers_worth import score_sums, times_of
from assay.loops.tree.occupied import RAISED, marked
from assay.loops.tree.shapes import HALF, ZERO


@inlined
def count_categories(codes, first, entries, a, m, z, w, cells, flags):  # type: ignore[no-untyped-def]
    """cells[4 · code + (0, 1, 2)] += draws, w, z."""
    for i in range(m):
        e = entries[a + i]
        c = np.int64(codes[first + np.int64(e >> HALF)])
        cells[4 * c] += np.uint64(times_of(e))
        cells[4 * c + 1] += np.uint64(w[i])
        cells[4 * c + 2] += np.uint64(z[i])
        flags[c] = RAISED


@inlined
def best_categories(target, rules, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """The best split of column f as its cells count it, which are zero afterwards, of its categories ordered by their means. Says whether
    it varies."""
    cells, ranked, number, real, A = scratch.cells, scratch.count, scratch.number, scratch.real, scratch.reach
    count = marked(scratch.flags, ranked)
    if count > 1:
        for i in range(count):
            c = ranked[i]
            W, Z = np.int64(cells[4 * c + 1]), np.int64(cells[4 * c + 2])
            real[2 * A + c] = np.float64(Z) / np.float64(max(1, W))
        rank_by(real, 2 * A, ranked, count)
    n_left, W, Z = ZERO, ZERO, ZERO
    for i in range(count):
        c = 4 * ranked[i]
        n_left += np.int64(cells[c])
        W += np.int64(cells[c + 1])
        Z += np.int64(cells[c + 2])
        cells[c] = cells[c + 1] = cells[c + 2] = np.uint64(0)
        number[i] = n_left
        real[i] = np.float64(2 * W - tot[at])
        real[A + i] = np.float64(2 * Z - tot[at + 1])
    if count < 2:
        return False
    score_sums(target, rules, tot, at, n, ZERO, found, scratch, count)
    best = greatest(scratch, count)
    if beats(best, found):
        i = first_best(scratch.worth, best)
        keep_sides(found, best, f, ranked, i + 1, count, 1 if 2 * number[i] >= n else 0)
    return True
