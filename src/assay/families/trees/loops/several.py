"""The best split, or a random one, of a node whose rows have several targets: what is worth most on the mean over the targets.

A row adds to one sum of each target: of a number its value, of a class its weight to that of the class. So one text serves both:

    Gini, squared error   Σ_c (s_c Z_c)² / W                       of each side, c over the sums of all T targets
    entropy               Σ_c Z_c log Z_c − T W log W
    Poisson               Σ_c Y_c log (Y_c / W),   Y_c = unit_c Z_c
    absolute error        −Σ_t Σ w |y_t − median_t|

A column is sorted and gone through code by code, whatever the size of the node. Categories are put in the order of each sum's share in turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.mixing import mixed
from assay.families.trees.loops.absolute import MedianTargets, absolute_cost, move, side_costs, sides_of
from assay.families.trees.loops.arrays import (
    ABSOLUTE,
    BITS_A_NAT,
    ENTROPY,
    HALF,
    LOW32,
    NONE_MISSING,
    ONE,
    POISSON,
    ZERO,
)
from assay.families.trees.loops.candidates import (
    beats,
    first_best,
    greatest,
    keep_item,
    keep_sides,
    rank_by,
    sorted_node,
)
from assay.families.trees.loops.draws import keep_random_threshold, random_threshold
from assay.families.trees.loops.worth import times_of, xlogx

CODES = 256


class SeveralTargets(NamedTuple):
    """T targets of each row. value (n · T,): whole numbers w y of a row's targets (by the absolute error y), or to which of the C sums its
    classes belong; kind (n,): equal where all targets are; weight: whole numbers, empty where all are 1."""

    value: Any
    weight: Any
    kind: Any
    weighted: bool
    classes: bool
    targets: int
    channels: int  # C
    scale: Any  # (C,) float64: of the squares of each sum
    real: Any  # (C,) float64: what one of the whole values is worth
    offset: Any  # (T,) float64
    factor: float  # from the score's units to those of the impurity


@jit(inline="always")
def _weight(target, e):  # type: ignore[no-untyped-def]
    t = times_of(e)
    return t * target.weight[np.int64(e >> HALF)] if target.weighted else t


@inner
def _add(target, e, left):  # type: ignore[no-untyped-def]
    """Add a row to the sums left[0] = W, left[1 :] of a side; how often it was drawn."""
    T, first, t, w = target.targets, np.int64(e >> HALF) * target.targets, times_of(e), _weight(target, e)
    left[0] += w
    if target.classes:
        for o in range(T):
            left[1 + target.value[first + o]] += w
    else:
        for o in range(T):
            left[1 + o] += t * target.value[first + o]
    return t


@inner
def several_total(target, entries, a, b, sums, at):  # type: ignore[no-untyped-def]
    """(draws, whether the rows are alike in all targets); sums[at:] receives W and the sums of all targets."""
    for c in range(target.channels + 1):
        sums[at + c] = 0
    n, T, alike, first = ZERO, target.targets, True, target.kind[np.int64(entries[a] >> HALF)]
    for i in range(a, b):
        e = entries[i]
        r, t, w = np.int64(e >> HALF), times_of(e), _weight(target, e)
        n += t
        sums[at] += w
        if target.classes:
            for o in range(T):
                sums[at + 1 + target.value[r * T + o]] += w
        else:
            for o in range(T):
                sums[at + 1 + o] += t * target.value[r * T + o]
        alike = alike & (target.kind[r] == first)
    return n, alike


@inner
def _worth(target, rules, left, draws, n, sums, at):  # type: ignore[no-untyped-def]
    """What the split with these sums on the left is worth; the same to the last bit the other way round."""
    L, R = np.float64(left[0]), np.float64(sums[at] - left[0])
    if draws < rules.min_leaf or n - draws < rules.min_leaf or not (L > 0.0 and R > 0.0):
        return -np.inf
    if rules.min_leaf_weight > L or rules.min_leaf_weight > R:
        return -np.inf
    x, y = 0.0, 0.0
    for c in range(target.channels):
        p, q = np.float64(left[1 + c]), np.float64(sums[at + 1 + c] - left[1 + c])
        if rules.criterion == ENTROPY:
            x, y = x + xlogx(p), y + xlogx(q)
        elif rules.criterion == POISSON:
            p, q = p * target.real[c], q * target.real[c]
            if not (p > 0.0 and q > 0.0):
                return -np.inf
            x, y = x + p * np.log(p / L), y + q * np.log(q / R)
        else:
            p, q = p * target.scale[c], q * target.scale[c]
            x, y = x + p * p, y + q * q
    if rules.criterion == ENTROPY:
        return (x - target.targets * xlogx(L)) + (y - target.targets * xlogx(R))
    if rules.criterion == POISSON:
        return x + y
    return x / L + y / R


@inner
def several_gain(target, rules, score, cost, n, sums, at):  # type: ignore[no-untyped-def]
    """The mean over the targets of u(C) − (p_L u(C_L) + p_R u(C_R)) of a split with that score."""
    W, own = np.float64(sums[at]), 0.0
    if rules.criterion == ABSOLUTE:
        return (score + cost) / W * target.factor
    for c in range(target.channels):
        p = np.float64(sums[at + 1 + c])
        if rules.criterion == ENTROPY:
            own += xlogx(p)
        elif rules.criterion == POISSON:
            p *= target.real[c]
            own += p * np.log(p / W) if p > 0.0 else 0.0
        else:
            p *= target.scale[c]
            own += p * p / W
    if rules.criterion == ENTROPY:
        return (score - (own - target.targets * xlogx(W))) / W * BITS_A_NAT * target.factor
    return (score - own) / W * target.factor


@jit
def _one(target, t):  # type: ignore[no-untyped-def]
    """One of the targets, for its medians."""
    return MedianTargets(
        target.value,
        target.weight,
        target.value,
        target.weighted,
        target.real[t],
        target.offset[t],
        1.0,
        target.targets,
        t,
    )


@inner
def several_cost(target, rules, entries, a, b, order):  # type: ignore[no-untyped-def]
    """Σ_t Σ w |y_t − median_t| of a node, where the criterion is that."""
    total = 0.0
    if rules.criterion == ABSOLUTE:
        for t in range(target.targets):
            total += absolute_cost(_one(target, t), entries, a, b, order)[0]
    return total


@inner
def _by_random_threshold(target, table, rules, entries, a, b, f, n, sums, at, word, found, scratch):  # type: ignore[no-untyped-def]
    cut, high, threshold, side = random_threshold(table, entries, a, b, f, word, scratch.items)
    if cut < 0:
        return False
    left, draws = scratch.sums, ZERO
    for c in range(target.channels + 1):
        left[c] = 0
    for i in range(b - a):
        code = np.int64(scratch.items[i])
        if code <= cut or (side == 1 and code == table.missing[f]):
            draws += _add(target, entries[a + i], left)
    worth = _worth(target, rules, left, draws, n, sums, at)
    if rules.criterion == ABSOLUTE and worth > -np.inf:
        worth = 0.0
        for t in range(target.targets):
            one = _one(target, t)
            sides, w, z = sides_of(one, entries, a, b, scratch.number, scratch.weight), 0.0, 0.0
            for i in range(b - a):
                code = np.int64(scratch.items[i])
                if code <= cut or (side == 1 and code == table.missing[f]):
                    _, own_w, own_z = move(one, entries, a, b - a, i, sides)
                    w, z = w + own_w, z + own_z
            worth -= side_costs(one, entries, a, b - a, w, z, sides)
    if beats(worth, found):
        keep_random_threshold(table, found, worth, f, cut, high, threshold, side)
    return True


@inner
def _medians(target, entries, a, b, m, stop, gone, worth, scratch):  # type: ignore[no-untyped-def]
    """worth[:stop] of the splits after each of the sorted items, where it is not −∞ for another reason, by the absolute error."""
    items = scratch.other
    for i in range(stop):
        worth[i] = 0.0 if worth[i] > -np.inf else -np.inf
    for t in range(target.targets):
        one = _one(target, t)
        sides, w, z = sides_of(one, entries, a, b, scratch.number, scratch.weight), 0.0, 0.0
        for k in range(stop + gone):
            i = stop + k if k < gone else k - gone  # what is missing comes first where it goes left
            _, own_w, own_z = move(one, entries, a, m, np.int64(items[i] & LOW32), sides)
            w, z = w + own_w, z + own_z
            if i < stop and worth[i] > -np.inf:
                worth[i] -= side_costs(one, entries, a, m, w, z, sides)


@inner
def _by_sorting(target, table, rules, entries, a, b, f, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code. Says whether it varies."""
    stop, varies = sorted_node(table, entries, a, b, f, scratch)
    if not varies:
        return False
    m, items, worth, left = b - a, scratch.other, scratch.worth, scratch.sums
    for side in range(1 + (stop < m)):
        for c in range(target.channels + 1):
            left[c] = 0
        draws = ZERO
        for i in range(stop, m if side == 1 else stop):
            draws += _add(target, entries[a + np.int64(items[i] & LOW32)], left)
        for i in range(stop):
            draws += _add(target, entries[a + np.int64(items[i] & LOW32)], left)
            within = i + 1 < stop and (items[i] >> HALF) == (items[i + 1] >> HALF)
            worth[i] = -np.inf if within else _worth(target, rules, left, draws, n, sums, at)
        if rules.criterion == ABSOLUTE:
            _medians(target, entries, a, b, m, stop, m - stop if side == 1 else ZERO, worth, scratch)
        keep_item(table, f, items, ZERO, stop, side if stop < m else NONE_MISSING, scratch, found)
    return True


@inner
def _by_category(target, table, rules, entries, a, b, f, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f of categories: every cut of their order by the mean of each sum in turn. Says whether it varies."""
    C, codes, first, ranked, key, worth = (
        target.channels,
        table.codes,
        f * table.n,
        scratch.count,
        scratch.real,
        scratch.worth,
    )
    cells, draws, left, count = (
        np.zeros((CODES, C + 1), np.int64),
        np.zeros(CODES, np.int64),
        np.zeros(C + 1, np.int64),
        ZERO,
    )
    for i in range(a, b):
        e = entries[i]
        c = np.int64(codes[first + np.int64(e >> HALF)])
        draws[c] += _add(target, e, cells[c])
    for c in range(CODES):
        count += draws[c] > 0
    if count < 2:
        return False
    for channel in range(C):
        k = ZERO
        for c in range(CODES):
            if draws[c] > 0:
                key[c] = np.float64(cells[c, 1 + channel]) / np.float64(max(ONE, cells[c, 0]))
                ranked[k] = c
                k += 1
        rank_by(key, ZERO, ranked, count)
        left[:] = 0
        there = ZERO
        for i in range(count):
            there += draws[ranked[i]]
            left += cells[ranked[i]]
            worth[i] = _worth(target, rules, left, there, n, sums, at)
        if rules.criterion == ABSOLUTE:
            _median_categories(target, entries, a, b, codes, first, ranked, count, worth, scratch)
        best = greatest(scratch, count)
        if beats(best, found):
            at_, there = first_best(worth, best), ZERO
            for i in range(at_ + 1):
                there += draws[ranked[i]]
            keep_sides(found, best, f, ranked, at_ + 1, count, 1 if 2 * there > n else 0)
    return True


@inner
def _median_categories(target, entries, a, b, codes, first, ranked, count, worth, scratch):  # type: ignore[no-untyped-def]
    """As `_medians`, of the ranked categories."""
    m = b - a
    for i in range(count):
        worth[i] = 0.0 if worth[i] > -np.inf else -np.inf
    for t in range(target.targets):
        one = _one(target, t)
        sides, w, z = sides_of(one, entries, a, b, scratch.number, scratch.weight), 0.0, 0.0
        for i in range(count):
            for p in range(m):
                if np.int64(codes[first + np.int64(entries[a + p] >> HALF)]) == ranked[i]:
                    _, own_w, own_z = move(one, entries, a, m, p, sides)
                    w, z = w + own_w, z + own_z
            if worth[i] > -np.inf:
                worth[i] -= side_costs(one, entries, a, m, w, z, sides)


@inner
def several_search(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on the columns f[k : k + width]; says whether any of them varies in the node."""
    varies = False
    for j in range(k, k + width):
        c = f[j]
        if table.levels[c] > 0:
            varies |= _by_category(target, table, rules, entries, a, b, c, n, sums, at, found, scratch)
        elif rules.random:
            own = mixed(word + np.uint64(c))
            varies |= _by_random_threshold(target, table, rules, entries, a, b, c, n, sums, at, own, found, scratch)
        else:
            varies |= _by_sorting(target, table, rules, entries, a, b, c, n, sums, at, found, scratch)
    return varies
