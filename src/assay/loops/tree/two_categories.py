"""The best split of a node of two classes on a column of categories, through the categories that the node holds."""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined
from assay.loops.tree.candidates import beats, first_best, keep_sides
from assay.loops.tree.occupied import RAISED, marked
from assay.loops.tree.shapes import HALF, LOW32
from assay.loops.tree.two_words import score_words, word_of


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
        keep_sides(found, best, f, ranked, at + 1, m, 1 if 2 * np.int64(scratch.running[at] >> HALF) >= n else 0)
    return True
