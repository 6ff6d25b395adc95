"""The best split of a node where the target is a number: weights and weighted values are added up as whole numbers."""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.mixing import mixed
from assay.families.trees.loops.arrays import FEW_ROWS, HALF, LOW32, NONE_MISSING, ONE, ZERO
from assay.families.trees.loops.candidates import (
    RAISED,
    beats,
    first_best,
    greatest,
    keep,
    keep_item,
    more_than_one,
    sorted_node,
    there_in_list,
)
from assay.families.trees.loops.numbers_small import (
    MOST,
    best_categories,
    count_categories,
    draws_of,
    numbers_by_random_threshold,
    numbers_few,
    numbers_occupied,
)
from assay.families.trees.loops.numbers_worth import score_sums, squared_is_all, times_of


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
