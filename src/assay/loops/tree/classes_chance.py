"""A random split of a node of many classes."""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined, inner
from assay.compiled.simd.memory import cast_pointer
from assay.compiled.simd.trees import clear, squares_after
from assay.loops.tree.candidates import beats
from assay.loops.tree.chance import keep_random_threshold, random_threshold
from assay.loops.tree.classes_worth import score_classes, term_of, times_of, weight_of
from assay.loops.tree.shapes import LOW16, ONE


@inlined
def _counted(own, entries, a, b, cut, gone, K, n, least, scratch):  # type: ignore[no-untyped-def]
    """What the split is worth to Gini where rows are counted; scratch.whole: the counts of the node's classes."""
    cells, lanes = scratch.cells, (K + 7) & -8
    for i in range(b - a):
        e = entries[a + i]
        there = (np.int64(own[i]) <= cut) | (np.int64(own[i]) == gone)
        cells[np.int64(e & LOW16)] += np.uint64(times_of(e)) if there else np.uint64(0)
    clear(scratch.left, 0, lanes)
    left, lefts, rights = squares_after(cells, 0, scratch.left, scratch.whole, lanes)
    clear(cells, 0, lanes)
    right = np.float64(n) - left
    return lefts / left + rights / right if left >= least and right >= least else -np.inf


@inner
def _weighed(target, rules, own, entries, a, b, cut, gone, W, n, sums, at, scratch):  # type: ignore[no-untyped-def]
    """What the split is worth."""
    left_of, A = scratch.sums, scratch.reach
    for k in range(target.count):
        left_of[k] = 0
    n_left = 0
    for i in range(b - a):
        if np.int64(own[i]) <= cut or np.int64(own[i]) == gone:
            e = entries[a + i]
            n_left += times_of(e)
            left_of[np.int64(e & LOW16)] += weight_of(target, e)
    w, lefts, rights = 0, 0.0, 0.0
    for k in range(target.count):
        w += left_of[k]
        lefts += term_of(target, rules.criterion, left_of[k])
        rights += term_of(target, rules.criterion, sums[at + k] - left_of[k])
    scratch.number[0] = n_left
    scratch.real[0], scratch.real[A], scratch.real[2 * A] = np.float64(w), lefts, rights
    score_classes(target, rules, W, n, scratch, ONE)
    return scratch.worth[0]


@inlined
def classes_by_random_threshold(target, table, rules, entries, a, b, f, squares, W, n, sums, at, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by one random split of column f; `squares`: Gini's squares of counts are all that decides, and scratch.whole holds
    those of the node. Says whether the column varies."""
    own = cast_pointer(scratch.items, table.codes)
    cut, high, threshold, left = random_threshold(table, entries, a, b, f, word, own)
    if cut < 0:
        return False
    gone = table.missing[f] if left == 1 else np.int64(-1)
    if squares:
        worth = _counted(own, entries, a, b, cut, gone, target.count, n, np.float64(rules.min_leaf), scratch)
    else:
        worth = _weighed(target, rules, own, entries, a, b, cut, gone, W, n, sums, at, scratch)
    if beats(worth, found):
        keep_random_threshold(table, found, worth, f, cut, high, threshold, left)
    return True
