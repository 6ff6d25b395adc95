"""The best split of a node where the target is a number: weights and weighted values are added up as whole numbers.

Of a split the criterion's score is what it leaves to be maximised when constants of the node are dropped:

    squared error   Z_L² / W_L + Z_R² / W_R                       (Z = Σ w y, W = Σ w)
    Poisson         Z_L log (Z_L / W_L) + Z_R log (Z_R / W_R)
    entropy         of targets 0 and 1: Σ over sides  Z log Z + (W − Z) log (W − Z) − W log W
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from assay.loops.tree.candidates import (
    beats,
    chance_cut,
    first_best,
    greatest,
    keep,
    keep_item,
    keep_sides,
    rank_by,
    sorted_node,
    there_in_list,
)
from assay.loops.tree.dice import mixed
from assay.loops.tree.shapes import BITS_A_NAT, ENTROPY, FEW_ROWS, HALF, LOW16, LOW32, NONE_MISSING, ONE, POISSON, ZERO

QUARTER = np.uint64(16)


class Numbers(NamedTuple):
    """Whole numbers w y and w of every row (weight is empty where all are 1), and y itself; y = offset + unit · whole number."""

    value: Any  # (n,) int64: w (y − offset) / unit
    weight: Any  # (n,) int64 or (0,)
    plain: Any  # (n,) int64: orders the rows by y
    weighted: bool
    unit: float  # of value, where that of weight is 1
    offset: float
    factor: float  # from the score's units to those of the impurity


@njit(nogil=True, cache=True, inline="always")
def _times(entry):  # type: ignore[no-untyped-def]
    return np.int64((entry >> QUARTER) & LOW16)


@njit(nogil=True, cache=True)
def numbers_total(target, entries, a, b, sums, at):  # type: ignore[no-untyped-def]
    """(draws, whether all targets are alike); sums[at:] receives W and Z."""
    n, W, Z = 0, 0, 0
    first = target.plain[np.int64(entries[a] >> HALF)]
    alike = True
    for i in range(a, b):
        e = entries[i]
        r = np.int64(e >> HALF)
        t = _times(e)
        n += t
        Z += t * target.value[r]
        if target.weighted:
            W += t * target.weight[r]
        alike = alike & (target.plain[r] == first)
    sums[at] = W if target.weighted else n
    sums[at + 1] = Z
    return n, alike


@njit(nogil=True, cache=True, inline="always")
def _xlogx(x):  # type: ignore[no-untyped-def]
    return x * np.log(x) if x > 0.0 else 0.0


@njit(nogil=True, cache=True, inline="always")
def _side(criterion, W, Z, unit, offset):  # type: ignore[no-untyped-def]
    """What one side adds to the score of Poisson and entropy."""
    if criterion == POISSON:
        Y = Z * unit + offset * W
        return Y * np.log(Y / W) if Y > 0.0 else -np.inf
    return _xlogx(Z) + _xlogx(W - Z) - _xlogx(W)


@njit(nogil=True, cache=True, error_model="numpy")
def _score(target, rules, sums, at, n, trend, found, scratch, count):  # type: ignore[no-untyped-def]
    """worth[i] of the split that puts number[i] draws to the left; real[i], real[A + i]: by how much W, Z are greater on the left than on
    the right. The same split the other way round has these with the other sign, and so is worth the same to the last bit."""
    left, real, worth, A = scratch.number, scratch.real, scratch.worth, scratch.reach
    W, Z = 0.5 * np.float64(sums[at]), 0.5 * np.float64(sums[at + 1])
    least, light = rules.min_leaf, rules.min_leaf_weight
    if rules.criterion == POISSON or rules.criterion == ENTROPY:
        for i in range(count):
            g, h = 0.5 * real[i], 0.5 * real[A + i]
            a, b, c, d = W + g, Z + h, W - g, Z - h
            worth[i] = -np.inf
            if left[i] >= least and n - left[i] >= least and a > 0.0 and c > 0.0:
                worth[i] = _side(rules.criterion, a, b, target.unit, target.offset) + _side(
                    rules.criterion, c, d, target.unit, target.offset
                )
    else:
        for i in range(count):
            g, h = 0.5 * real[i], 0.5 * real[A + i]
            a, b, c, d = W + g, Z + h, W - g, Z - h
            w = (b * b * c + d * d * a) / (a * c)
            worth[i] = w if (left[i] >= least) & (n - left[i] >= least) & (a > 0.0) & (c > 0.0) else -np.inf
    if light > 0.0:
        for i in range(count):
            worth[i] = worth[i] if (W + 0.5 * real[i] >= light) & (W - 0.5 * real[i] >= light) else -np.inf
    if trend != 0:
        low, high = found.score[1], found.score[2]
        for i in range(count):
            g, h = 0.5 * real[i], 0.5 * real[A + i]
            vl, vr = (Z + h) / (W + g), (Z - h) / (W - g)
            good = (vr - vl) * trend >= 0.0 and min(vl, vr) >= low and max(vl, vr) <= high
            worth[i] = worth[i] if good else -np.inf


@njit(nogil=True, cache=True)
def _gather(target, entries, a, b, scratch):  # type: ignore[no-untyped-def]
    """z and w of the node's rows, in their order."""
    for i in range(b - a):
        e = entries[a + i]
        r = np.int64(e >> HALF)
        t = _times(e)
        scratch.signed[i] = t * target.value[r]
        scratch.weight[i] = t * target.weight[r] if target.weighted else t


@njit(nogil=True, cache=True)
def _count(table, f, entries, a, b, scratch):  # type: ignore[no-untyped-def]
    """sums[3 · bucket + (0, 1, 2)] += draws, w, z for column f."""
    codes, first, shift, sums = table.codes, f * table.n, table.shift[f], scratch.sums
    z, w = scratch.signed, scratch.weight
    for i in range(b - a):
        e = entries[a + i]
        c = 3 * (np.int64(codes[first + np.int64(e >> HALF)]) >> shift)
        sums[c] += _times(e)
        sums[c + 1] += w[i]
        sums[c + 2] += z[i]


@njit(nogil=True, cache=True)
def _count_light(table, f, entries, a, b, scratch):  # type: ignore[no-untyped-def]
    """As `_count`, where all weights are one: sums[3 · bucket + (0, 2)]."""
    codes, first, shift, sums = table.codes, f * table.n, table.shift[f], scratch.sums
    z = scratch.signed
    for i in range(b - a):
        e = entries[a + i]
        c = 3 * (np.int64(codes[first + np.int64(e >> HALF)]) >> shift)
        sums[c] += _times(e)
        sums[c + 2] += z[i]


@njit(nogil=True, cache=True)
def _run(target, ranked, start, count, tot, at, scratch):  # type: ignore[no-untyped-def]
    """number: the draws that the splits after each bucket (as they come, or as count[] ranks them) put to the left; real: as `_score` wants
    it."""
    sums, number, real, A = scratch.sums, scratch.number, scratch.real, scratch.reach
    w = 0 if target.weighted else 1
    n, W, Z = 0, 0, 0
    if start >= 0:
        n, W, Z = sums[3 * start], sums[3 * start + 1 - w], sums[3 * start + 2]
    for i in range(count):
        c = 3 * (scratch.count[i] if ranked else i)
        n += sums[c]
        W += sums[c + 1 - w]
        Z += sums[c + 2]
        number[i] = n
        real[i] = np.float64(2 * W - tot[at])
        real[A + i] = np.float64(2 * Z - tot[at + 1])


@njit(nogil=True, cache=True)
def _by_buckets(target, table, rules, entries, a, b, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, counted into buckets. Says whether it varies."""
    sums = scratch.sums
    for i in range(3 * table.buckets[f] + 3):
        sums[i] = 0
    if target.weighted:
        _count(table, f, entries, a, b, scratch)
    else:
        _count_light(table, f, entries, a, b, scratch)
    return _best_bucket(target, table, rules, f, n, tot, at, found, scratch)


@njit(nogil=True, cache=True)
def _best_bucket(target, table, rules, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """The best split after a bucket of the column counted in scratch.sums. Says whether it varies."""
    sums, worth, used = scratch.sums, scratch.worth, table.buckets[f]
    missing = table.missing[f] >> table.shift[f] if table.missing[f] >= 0 else -1
    lost = missing >= 0 and sums[3 * missing] > 0
    varies = False
    for left in range(1 + lost):
        _run(target, False, missing if left else -ONE, used, tot, at, scratch)
        _score(target, rules, tot, at, n, table.trend[f], found, scratch, used)
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
    return varies


@njit(nogil=True, cache=True)
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
        _score(target, rules, tot, at, n, table.trend[f], found, scratch, stop)
        keep_item(table, f, items, first, stop, left if stop < m else NONE_MISSING, scratch, found)


@njit(nogil=True, cache=True, inline="always")
def _draw(target, e):  # type: ignore[no-untyped-def]
    """(draws, w, z) of an entry."""
    r, t = np.int64(e >> HALF), _times(e)
    return t, t * target.weight[r] if target.weighted else t, t * target.value[r]


@njit(nogil=True, cache=True)
def _by_sorting(target, table, rules, entries, a, b, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code. Says whether it varies."""
    stop, varies = sorted_node(table, entries, a, b, f, scratch)
    if varies:
        _scan(target, table, rules, scratch.other, ZERO, stop, b - a, entries, a, f, n, tot, at, found, scratch)
    return varies


@njit(nogil=True, cache=True)
def numbers_scan(target, table, rules, items, first, m, lookup, n, sums, at, f, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f, whose rows lie sorted in items[first : first + m]."""
    stop, varies = there_in_list(table, items, first, m, f)
    if varies:
        _scan(target, table, rules, items, first, stop, m, lookup, ZERO, f, n, sums, at, found, scratch)


@njit(nogil=True, cache=True)
def _by_categories(target, table, rules, entries, a, b, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f of categories, ordered by their means."""
    for i in range(3 * 256):
        scratch.sums[i] = 0
    _count(table, f, entries, a, b, scratch)
    return _best_categories(target, rules, f, n, tot, at, found, scratch)


@njit(nogil=True, cache=True)
def _best_categories(target, rules, f, n, tot, at, found, scratch):  # type: ignore[no-untyped-def]
    """As `_by_categories`, of the rows counted in scratch.sums."""
    sums, ranked, mean, A = scratch.sums, scratch.count, scratch.real, scratch.reach
    m = ZERO
    for c in range(256):
        if sums[3 * c] > 0:
            mean[2 * A + c] = np.float64(sums[3 * c + 2]) / np.float64(max(1, sums[3 * c + 1]))
            ranked[m] = c
            m += 1
    if m < 2:
        return False
    rank_by(mean, 2 * A, ranked, m)
    _run(target, True, -ONE, m, tot, at, scratch)
    _score(target, rules, tot, at, n, ZERO, found, scratch, m)
    best = greatest(scratch, m)
    if beats(best, found):
        i = first_best(scratch.worth, best)
        keep_sides(found, best, f, ranked, i + 1, m, 1 if 2 * scratch.number[i] >= n else 0)
    return True


@njit(nogil=True, cache=True)
def _by_chance(target, table, rules, entries, a, b, f, n, tot, at, word, found, scratch):  # type: ignore[no-untyped-def]
    """One random split of column f."""
    cut, after, threshold, left = chance_cut(table, entries, a, b, f, word)
    if cut < 0:
        return False
    codes, first, missing = table.codes, f * table.n, table.missing[f]
    c, W, Z = 0, 0, 0
    for i in range(b - a):
        e = entries[a + i]
        code = np.int64(codes[first + np.int64(e >> HALF)])
        if code <= cut or (left == 1 and code == missing):
            c += _times(e)
            W += scratch.weight[i]
            Z += scratch.signed[i]
    scratch.number[0] = c
    scratch.real[0] = np.float64(2 * W - tot[at])
    scratch.real[scratch.reach] = np.float64(2 * Z - tot[at + 1])
    _score(target, rules, tot, at, n, table.trend[f], found, scratch, ONE)
    if beats(scratch.worth[0], found):
        keep(found, scratch.worth[0], f, cut, after, left)
        found.score[3] = threshold
    return True


@njit(nogil=True, cache=True)
def numbers_search(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on the columns f[k : k + width]; says whether any of them varies in the node."""
    _gather(target, entries, a, b, scratch)
    varies, many = False, b - a >= max(FEW_ROWS, rules.exact_below)
    for j in range(k, k + width):
        c = f[j]
        if table.levels[c] > 0:
            varies |= _by_categories(target, table, rules, entries, a, b, c, n, sums, at, found, scratch)
        elif rules.random:
            own = mixed(word + np.uint64(c))
            varies |= _by_chance(target, table, rules, entries, a, b, c, n, sums, at, own, found, scratch)
        elif many:
            varies |= _by_buckets(target, table, rules, entries, a, b, c, n, sums, at, found, scratch)
        else:
            varies |= _by_sorting(target, table, rules, entries, a, b, c, n, sums, at, found, scratch)
    return varies


@njit(nogil=True, cache=True)
def numbers_gain(target, rules, score, cost, n, sums, at):  # type: ignore[no-untyped-def]
    """u(C) − (p_L u(C_L) + p_R u(C_R)) of a split with that score."""
    W, Z = np.float64(sums[at]), np.float64(sums[at + 1])
    if rules.criterion == POISSON or rules.criterion == ENTROPY:
        own = _side(rules.criterion, W, Z, target.unit, target.offset)
        return (score - own) / W * (BITS_A_NAT if rules.criterion == ENTROPY else 1.0)
    return (score - Z * Z / W) / W * target.factor


@njit(nogil=True, cache=True)
def numbers_counted(target, table, rules, n, sums, at, f, counts, first, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f of a node of which draws, w and z of each code are added up in
    counts[first + 3 · code + (0, 1, 2)]."""
    for i in range(3 * 256):
        scratch.sums[i] = counts[first + i]
    if table.levels[f] > 0:
        return _best_categories(target, rules, f, n, sums, at, found, scratch)
    return _best_bucket(target, table, rules, f, n, sums, at, found, scratch)
