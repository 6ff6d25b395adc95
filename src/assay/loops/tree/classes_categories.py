"""The best split of a node of many classes on a column of categories, through the categories that the node holds.

They are ordered by their shares of each class in turn: the best of these splits, not of all.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined, inner
from assay.compiled.simd.trees import clear, gini_of_squares, squares_after
from assay.loops.tree.candidates import beats, first_best, greatest, keep_sides, rank_by
from assay.loops.tree.classes_worth import score_classes, term_of, times_of, weight_of
from assay.loops.tree.occupied import RAISED, marked
from assay.loops.tree.shapes import HALF, LOW16, ONE


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
