"""The best split, or a random one, of a node where the target is a number: weights and weighted values are added up as whole numbers.

A node of a few rows compares every row with every other, eight at a time, and nothing is sorted or branched on: a split after a row leaves to
the left whoever has no greater code, so sixteen rows need sixteen comparisons of two vectors. Other small ones go through the categories, or the
cells of a column, that hold the node's rows.

Functions that are called for every column of every node take the addresses they need and no tuples: a tuple is passed field by field,
which took longer than the search of a small node.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.mixing import mixed
from assay.compiled.simd.memory import cast_pointer
from assay.compiled.simd.trees import drawn_up_to, squared_of_sums, weighted_up_to
from assay.families.trees.loops.arrays import FEW_ROWS, HALF, LOW32, NONE_MISSING, ONE, ZERO
from assay.families.trees.loops.candidates import (
    RAISED,
    SLACK,
    beats,
    first_best,
    greatest,
    greatest_of,
    keep,
    keep_cell,
    keep_item,
    keep_sides,
    marked,
    missing_cell,
    more_than_one,
    rank_by,
    sorted_node,
    there_in_list,
)
from assay.families.trees.loops.draws import keep_random_threshold, random_threshold
from assay.families.trees.loops.worth import score_sums, squared_is_all, times_of


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
        keep_sides(found, best, f, ranked, i + 1, count, 1 if 2 * number[i] > n else 0)
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
def _run_small(w, start, count, W_all, Z_all, cells, place, number, real, A):  # type: ignore[no-untyped-def]
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
            _run_small(w, side, stop, tot[at], tot[at + 1], cells, place, scratch.number, scratch.real, A)
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


@inlined
def numbers_total(target, entries, a, b, sums, at):  # type: ignore[no-untyped-def]
    """(draws, whether all targets are alike); sums[at:] receives W and Z."""
    n, W, Z = 0, 0, 0
    first = target.plain[np.int64(entries[a] >> HALF)]
    alike = True
    for i in range(a, b):
        e = entries[i]
        r = np.int64(e >> HALF)
        t = times_of(e)
        n += t
        Z += t * target.value[r]
        if target.weighted:
            W += t * target.weight[r]
        alike = alike & (target.plain[r] == first)
    sums[at] = W if target.weighted else n
    sums[at + 1] = Z
    return n, alike


@inlined
def _gather(target, entries, a, b, scratch):  # type: ignore[no-untyped-def]
    """z and w of the node's rows, in their order."""
    for i in range(b - a):
        e = entries[a + i]
        r = np.int64(e >> HALF)
        t = times_of(e)
        scratch.signed[i] = t * target.value[r]
        scratch.weight[i] = t * target.weight[r] if target.weighted else t


@inner
def _run(target, start, count, tot, at, scratch):  # type: ignore[no-untyped-def]
    """number: the draws that the splits after each bucket put to the left; real: as `score_sums` wants it."""
    sums, number, real, A = scratch.sums, scratch.number, scratch.real, scratch.reach
    w = 0 if target.weighted else 1
    n, W, Z = 0, 0, 0
    if start >= 0:
        n, W, Z = sums[3 * start], sums[3 * start + 1 - w], sums[3 * start + 2]
    for i in range(count):
        c = 3 * i
        n += sums[c]
        W += sums[c + 1 - w]
        Z += sums[c + 2]
        number[i] = n
        real[i] = np.float64(2 * W - tot[at])
        real[A + i] = np.float64(2 * Z - tot[at + 1])


@inner
def _best_bucket(target, table, rules, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """The best split after a bucket of the column counted in scratch.sums. Says whether it varies."""
    sums, worth, used = scratch.sums, scratch.worth, table.buckets[f]
    missing = table.missing[f] >> table.shift[f] if table.missing[f] >= 0 else -1
    lost = missing >= 0 and sums[3 * missing] > 0
    varies = False
    for left in range(1 + lost):
        _run(target, missing if left else -ONE, used, tot, at, scratch)
        score_sums(target, rules, tot, at, n, table.trend[f], found, scratch, used)
        best = greatest(scratch, used)
        varies = varies or best > -np.inf
        if beats(best, found):
            b_ = first_best(worth, best)
            after = b_ + 1
            while after < used and sums[3 * after] == 0:
                after += 1
            shift = table.shift[f]
            keep(
                found,
                best,
                f,
                ((b_ + 1) << shift) - 1,
                (after << shift) if after < used else table.missing[f],
                left if lost else NONE_MISSING,
            )
    return varies or more_than_one(sums, ZERO, 3, used + 1)


@inner
def _scan(target, table, rules, items, first, stop, m, lookup, base, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code: sorted items[first : first + m], whose rows are entries lookup[base + …]; the first `stop` have a value."""
    real, A, W_all, Z_all = scratch.real, scratch.reach, tot[at], tot[at + 1]
    gn, gW, gZ = 0, 0, 0
    for i in range(stop, m):
        t, w, z = _draw(target, lookup[base + np.int64(items[first + i] & LOW32)])
        gn, gW, gZ = gn + t, gW + w, gZ + z
    for left in range(1 + (stop < m)):
        c, W, Z = (gn, gW, gZ) if left else (0, 0, 0)
        for i in range(stop):
            t, w, z = _draw(target, lookup[base + np.int64(items[first + i] & LOW32)])
            c, W, Z = c + t, W + w, Z + z
            scratch.number[i] = c
            real[i] = np.float64(2 * W - W_all)
            real[A + i] = np.float64(2 * Z - Z_all)
        score_sums(target, rules, tot, at, n, table.trend[f], found, scratch, stop)
        keep_item(table, f, items, first, stop, left if stop < m else NONE_MISSING, scratch, found)


@jit(inline="always")
def _draw(target, e):  # type: ignore[no-untyped-def]
    """(draws, w, z) of an entry."""
    r, t = np.int64(e >> HALF), times_of(e)
    return t, t * target.weight[r] if target.weighted else t, t * target.value[r]


@inner
def _by_sorting(target, table, rules, entries, a, b, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code. Says whether it varies."""
    stop, varies = sorted_node(table, entries, a, b, f, scratch)
    if varies:
        _scan(target, table, rules, scratch.other, ZERO, stop, b - a, entries, a, f, n, tot, at, found, scratch)
    return varies


@inner
def numbers_scan(target, table, rules, items, first, m, lookup, n, sums, at, f, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f, whose rows lie sorted in items[first : first + m]."""
    stop, varies = there_in_list(table, items, first, m, f)
    if varies:
        _scan(target, table, rules, items, first, stop, m, lookup, ZERO, f, n, sums, at, found, scratch)


@inner
def numbers_search(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on the columns f[k : k + width]; says whether any of them varies in the node."""
    _gather(target, entries, a, b, scratch)
    varies, many = False, b - a >= max(FEW_ROWS, rules.exact_below)
    few = b - a <= MOST and not rules.random
    if few:
        draws_of(entries, a, b - a, scratch.running)
    for j in range(k, k + width):
        c = f[j]
        if table.levels[c] > 0:
            first, m, cells, flags = c * table.n, b - a, scratch.cells, scratch.flags
            count_categories(table.codes, first, entries, a, m, scratch.signed, scratch.weight, cells, flags)
            varies |= best_categories(target, rules, c, n, sums, at, found, scratch)
        elif few and table.missing[c] < 0 and squared_is_all(rules, table.trend[c]):
            t, w, z, W, Z = scratch.running, scratch.weight, scratch.signed, sums[at], sums[at + 1]
            varies |= numbers_few(target.weighted, table, rules, entries, a, b - a, c, n, W, Z, t, w, z, found, scratch)
        elif rules.random:
            own = mixed(word + np.uint64(c))
            varies |= numbers_by_random_threshold(
                target, table, rules, entries, a, b, c, n, sums, at, own, found, scratch
            )
        elif many or table.shift[c] == 0:
            varies |= numbers_occupied(target, table, rules, entries, a, b, c, n, sums, at, found, scratch)
        else:
            varies |= _by_sorting(target, table, rules, entries, a, b, c, n, sums, at, found, scratch)
    return varies


@inner
def numbers_counted(target, table, rules, n, sums, at, f, counts, first, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f of a node of which draws, w and z of each code are added up in
    counts[first + 3 · code + (0, 1, 2)]."""
    if table.levels[f] > 0:
        for c in range(256):
            for k in range(3):
                scratch.cells[4 * c + k] = np.uint64(counts[first + 3 * c + k])
            if scratch.cells[4 * c] != 0:
                scratch.flags[c] = RAISED
        return best_categories(target, rules, f, n, sums, at, found, scratch)
    for i in range(3 * 256):
        scratch.sums[i] = counts[first + i]
    return _best_bucket(target, table, rules, f, n, sums, at, found, scratch)
