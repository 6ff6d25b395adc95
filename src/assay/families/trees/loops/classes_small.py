"""Splits of a node of many classes: a random one, and the best through the categories, or the cells of a column, that the node holds.

Categories are ordered by their shares of each class in turn: the best of these splits is found, not of all. By Gini, where rows are
counted, a cell has a place for each class, up to a multiple of eight: going on by a cell moves all classes at once.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, inner
from assay.compiled.simd.memory import cast_pointer
from assay.compiled.simd.trees import clear, gini_of_squares, squares_after
from assay.families.trees.loops.arrays import HALF, LOW16, NONE_MISSING, ONE
from assay.families.trees.loops.candidates import (
    RAISED,
    beats,
    first_best,
    greatest,
    keep_cell,
    keep_sides,
    marked,
    missing_cell,
    rank_by,
)
from assay.families.trees.loops.classes_worth import score_classes, term_of, times_of, weight_of
from assay.families.trees.loops.random_threshold import keep_random_threshold, random_threshold


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


@inlined
def _run_counted(m, lanes, n, least, scratch):  # type: ignore[no-untyped-def]
    """worth[:m] to Gini of the splits after each of the ranked categories, where rows are counted; scratch.whole: the node's classes."""
    real, A, ranked = scratch.real, scratch.reach, scratch.count
    clear(scratch.left, 0, lanes)
    for i in range(m):
        there, lefts, rights = squares_after(scratch.cells, lanes * ranked[i], scratch.left, scratch.whole, lanes)
        scratch.number[i] = np.int64(there)
        real[i], real[A + i], real[2 * A + i] = there, lefts, rights
    gini_of_squares(real, A, scratch.worth, (m + 7) & -8, np.float64(n), np.float64(least))


@inner
def _run_weighed(target, rules, m, lanes, W, n, sums, at, scratch):  # type: ignore[no-untyped-def]
    """worth[:m] of the splits after each of the ranked categories; scratch.hist: draws of each code."""
    cells, ranked, number, real, A = scratch.cells, scratch.count, scratch.number, scratch.real, scratch.reach
    draws = 0
    for i in range(m):
        draws += np.int64(scratch.hist[ranked[i]])
        number[i] = draws
        real[i] = real[A + i] = real[2 * A + i] = 0.0
    for k in range(target.count):
        whole = sums[at + k]
        if whole == 0:
            continue
        run = 0
        for i in range(m):
            run += np.int64(cells[lanes * ranked[i] + k])
            real[i] += np.float64(run)
            real[A + i] += term_of(target, rules.criterion, run)
            real[2 * A + i] += term_of(target, rules.criterion, whole - run)
    score_classes(target, rules, W, n, scratch, m)


@inner
def _best(target, rules, f, squares, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """The best split of column f as its cells count it, which are zero afterwards; says whether it varies."""
    K, cells, ranked, share, A = target.count, scratch.cells, scratch.count, scratch.real, scratch.reach
    lanes, total = (K + 7) & -8, scratch.signed
    m = marked(scratch.flags, scratch.place)
    for i in range(m):
        c, weight = scratch.place[i], 0
        for k in range(K):
            weight += np.int64(cells[lanes * c + k])
        total[i] = max(1, weight)
    for k in range(K if m > 1 else 0):
        if sums[at + k] == 0:
            continue
        for i in range(m):
            c = scratch.place[i]
            share[3 * A + c] = np.float64(np.int64(cells[lanes * c + k])) / np.float64(total[i])
            ranked[i] = c
        rank_by(share, 3 * A, ranked, m)
        if squares:
            _run_counted(m, lanes, n, rules.min_leaf, scratch)
        else:
            _run_weighed(target, rules, m, lanes, W, n, sums, at, scratch)
        best = greatest(scratch, m)
        if beats(best, found):
            i = first_best(scratch.worth, best)
            keep_sides(found, best, f, ranked, i + 1, m, 1 if 2 * scratch.number[i] >= n else 0)
    for i in range(m):
        clear(cells, lanes * scratch.place[i], lanes)
    return m > 1


@inner
def classes_by_category(target, table, rules, entries, a, b, f, squares, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split of column f; `squares`: Gini's squares of counts are all that decides, and scratch.whole holds those of
    the node. Says whether the column varies."""
    codes, first, lanes = table.codes, f * table.n, (target.count + 7) & -8
    cells, flags, draws = scratch.cells, scratch.flags, scratch.hist
    if squares:
        for i in range(a, b):
            e = entries[i]
            c = np.int64(codes[first + np.int64(e >> HALF)])
            cells[lanes * c + np.int64(e & LOW16)] += np.uint64(times_of(e))
            flags[c] = RAISED
    else:
        for c in range(table.buckets[f] + ONE):
            draws[c] = np.uint64(0)
        for i in range(a, b):
            e = entries[i]
            c = np.int64(codes[first + np.int64(e >> HALF)])
            cells[lanes * c + np.int64(e & LOW16)] += np.uint64(weight_of(target, e))
            draws[c] += np.uint64(times_of(e))
            flags[c] = RAISED
    return _best(target, rules, f, squares, W, n, sums, at, found, scratch)


@inner
def classes_by_counts(target, rules, f, counts, first, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """As `classes_by_category`, of a node of which the weight of each class and the draws of each code are added up in
    counts[first + (K + 1) · code + (0 … K)]."""
    K = target.count
    lanes = (K + 7) & -8
    for c in range(256):
        own = first + (K + 1) * c
        scratch.hist[c] = np.uint64(counts[own + K])
        if counts[own + K] > 0:
            scratch.flags[c] = RAISED
            for k in range(K):
                scratch.cells[lanes * c + k] = np.uint64(counts[own + k])
    return _best(target, rules, f, False, W, n, sums, at, found, scratch)


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
