"""Splits of a node of numbers: a random one, and the best of a small node.

A node of a few rows compares every row with every other, eight at a time, and nothing is sorted or branched on: a split after a row leaves to
the left whoever has no greater code, so sixteen rows need sixteen comparisons of two vectors. Others go through the categories, or the
cells of a column, that hold the node's rows.

Functions that are called for every column of every node take the addresses they need and no tuples: a tuple is passed field by field,
which took longer than the search of a small node.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined
from assay.compiled.simd.memory import cast_pointer
from assay.compiled.simd.trees import drawn_up_to, squared_of_sums, weighted_up_to
from assay.families.trees.loops.arrays import HALF, NONE_MISSING, ONE, ZERO
from assay.families.trees.loops.candidates import (
    RAISED,
    SLACK,
    beats,
    first_best,
    greatest,
    greatest_of,
    keep,
    keep_cell,
    keep_sides,
    marked,
    missing_cell,
    rank_by,
)
from assay.families.trees.loops.numbers_worth import score_sums, squared_is_all, times_of
from assay.families.trees.loops.random_threshold import keep_random_threshold, random_threshold


@inlined
def _squared_of_sum(W, Z, g, h):  # type: ignore[no-untyped-def]
    """As `squared_of_sums`, of one split between sides that both weigh something; −∞ where one does not."""
    a, b, c, d = W + g, Z + h, W - g, Z - h
    return (b * b * c + d * d * a) / (a * c) if a > 0.0 and c > 0.0 else -np.inf


@inlined
def numbers_by_random_threshold(target, table, rules, entries, a, b, f, n, tot, at, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by one random split of column f; z and w of the rows lie in scratch.signed and scratch.weight. Says whether the
    column varies."""
    own, w, z = cast_pointer(scratch.items, table.codes), scratch.weight, scratch.signed
    cut, high, threshold, left = random_threshold(table, entries, a, b, f, word, own)
    if cut < 0:
        return False
    gone = table.missing[f] if left == 1 else np.int64(-1)
    c, W, Z = 0, 0, 0
    for i in range(b - a):
        there = (np.int64(own[i]) <= cut) | (np.int64(own[i]) == gone)
        W += w[i] if there else 0
        Z += z[i] if there else 0
    if target.weighted:
        for i in range(b - a):
            c += times_of(entries[a + i]) if (np.int64(own[i]) <= cut) | (np.int64(own[i]) == gone) else 0
    else:
        c = W
    g, h = np.float64(2 * W - tot[at]), np.float64(2 * Z - tot[at + 1])
    if squared_is_all(rules, table.trend[f]):
        if c < rules.min_leaf or n - c < rules.min_leaf:
            return True
        worth = _squared_of_sum(0.5 * np.float64(tot[at]), 0.5 * np.float64(tot[at + 1]), 0.5 * g, 0.5 * h)
    else:
        scratch.number[0], scratch.real[0], scratch.real[scratch.reach] = c, g, h
        score_sums(target, rules, tot, at, n, table.trend[f], found, scratch, ONE)
        worth = scratch.worth[0]
    if beats(worth, found):
        keep_random_threshold(table, found, worth, f, cut, high, threshold, left)
    return True


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


MOST = 24  # rows, fewer than FEW_ROWS
BEYOND = np.int64(1) << np.int64(40)  # above every code


@inlined
def numbers_few(weighted, table, rules, entries, a, m, f, n, W, Z, t, w, z, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split of column f, of which nothing is missing, by squared error; t, w, z: draws, weights and values of
    the m rows. Says whether the column varies."""
    codes, first, code = table.codes, f * table.n, scratch.place
    low, high = BEYOND, -BEYOND
    for i in range(m):
        c = np.int64(codes[first + np.int64(entries[a + i] >> HALF)])
        code[i] = c
        low, high = min(low, c), max(high, c)
    if low == high:
        return False
    stop, A, worth = (m + 7) & -8, scratch.reach, scratch.worth
    for i in range(m, stop):
        code[i] = BEYOND
    if weighted:
        weighted_up_to(code, t, w, z, m, W, Z, scratch.number, scratch.real, A)
    else:
        drawn_up_to(code, t, w, z, m, W, Z, scratch.number, scratch.real, A)
    squared_of_sums(
        scratch.number, scratch.real, A, worth, stop, 0.5 * np.float64(W), 0.5 * np.float64(Z), n, rules.min_leaf
    )
    best = greatest_of(worth, stop)
    if beats(best, found):
        _keep_first(found, f, code, worth, m, best)
    return True


@inlined
def _keep_first(found, f, code, worth, m, best):  # type: ignore[no-untyped-def]
    """Keep the split with the lowest code of those that are worth `best`, up to rounding."""
    enough, cut, at, after = best - SLACK * abs(best), BEYOND, 0, BEYOND
    for i in range(m):
        if worth[i] >= enough and code[i] < cut:
            cut, at = code[i], i
    for i in range(m):
        after = min(after, code[i]) if code[i] > cut else after
    keep(found, worth[at], f, cut, after, NONE_MISSING)


@inlined
def draws_of(entries, a, m, t):  # type: ignore[no-untyped-def]
    """t[:m]: how often each row was drawn; in a room that no other search of numbers uses."""
    for i in range(m):
        t[i] = np.uint64(times_of(entries[a + i]))


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
