"""The best split for the absolute error: Σ w |y − median| of each side, kept up to date while rows move from right to left.

The rows of a node are ranked by target once a column; two Fenwick trees over the ranks hold the weights and weighted targets
of the left side, those of the right side are what is missing to the totals. A median is found by walking down the tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.mixing import mixed
from assay.families.trees.loops.arrays import HALF, LOW16, LOW32, NONE_MISSING, ZERO
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

QUARTER = np.uint64(16)


class MedianTargets(NamedTuple):
    """Numbers whose medians answer; as `worth.NumberTargets`. The number of row r is plain[stride · r + first]."""

    value: Any
    weight: Any
    plain: Any
    weighted: bool
    unit: float
    offset: float
    factor: float
    stride: int = 1
    first: int = 0


@jit(inline="always")
def _add(tree, first, m, rank, x):  # type: ignore[no-untyped-def]
    """tree[rank] += x (ranks from 1)."""
    while rank <= m:
        tree[first + rank] += x
        rank += rank & -rank


@inner
def _middle(W, weights, sums, own, whole, m, sign):  # type: ignore[no-untyped-def]
    """The rank of the median of the side whose Fenwick trees are own (sign 1) or whole − own (sign −1), W its weight; with Σ w and
    Σ w y of the lower ranks."""
    half = 0.5 * W
    rank, below_w, below_z = 0, 0.0, 0.0
    step = 1
    while 2 * step <= m:
        step *= 2
    while step > 0:
        if rank + step <= m:
            at = rank + step
            w = weights[own + at] if sign > 0 else weights[whole + at] - weights[own + at]
            if below_w + w < half:
                z = sums[own + at] if sign > 0 else sums[whole + at] - sums[own + at]
                rank, below_w, below_z = at, below_w + w, below_z + z
        step //= 2
    return rank, below_w, below_z


@inner
def _side_median(target, entries, a, m, W, sign, sides):  # type: ignore[no-untyped-def]
    """The median of the left side (sign 1) or the right one (−1), W its weight; halfway where the halves weigh the same."""
    weights, whole, order = sides.weights, sides.whole, sides.order
    rank, _, _ = _middle(W, weights, sides.sums, 0, whole, m, sign)
    half, after, below, step = 0.5 * W, 0, 0.0, 1
    while 2 * step <= m:
        step *= 2
    while step > 0:
        at = after + step
        if at <= m:
            w = weights[at] if sign > 0 else weights[whole + at] - weights[at]
            if below + w <= half:
                after, below = at, below + w
        step //= 2
    low = _y(target, entries[a + order[min(rank, m - 1)]])
    high = _y(target, entries[a + order[min(after, m - 1)]])
    return low if low == high else 0.5 * (low + high)


@inner
def absolute_cost(target, entries, a, b, order):  # type: ignore[no-untyped-def]
    """Σ w |y − median| and the median of a node's rows; order (m,) receives their places by target."""
    m = b - a
    rank_rows(target, entries, a, b, order)
    W = 0.0
    for i in range(m):
        W += _weight(target, entries[a + i])
    run, median = 0.0, 0.0
    for i in range(m):
        e = entries[a + order[i]]
        y = _y(target, e)
        run += _weight(target, e)
        if run >= 0.5 * W:
            median = y
            if run == 0.5 * W and i + 1 < m:
                median = 0.5 * (y + _y(target, entries[a + order[i + 1]]))
            break
    cost = 0.0
    for i in range(m):
        e = entries[a + order[i]]
        cost += _weight(target, e) * abs(_y(target, e) - median)
    return cost, median


@jit(inline="always")
def _y(target, entry):  # type: ignore[no-untyped-def]
    return target.offset + target.unit * np.float64(
        target.plain[target.stride * np.int64(entry >> HALF) + target.first]
    )


@jit(inline="always")
def _weight(target, entry):  # type: ignore[no-untyped-def]
    t = np.int64((entry >> QUARTER) & LOW16)
    return np.float64(t * target.weight[np.int64(entry >> HALF)] if target.weighted else t)


@inner
def _merge(y, ranked, into, first, middle, stop):  # type: ignore[no-untyped-def]
    """into[first : stop]: the two sorted runs of `ranked` that meet at `middle` as one. (Numba's own stable sort is of its own target.)"""
    i, j = first, middle
    for k in range(first, stop):
        if j >= stop or (i < middle and y[ranked[i]] <= y[ranked[j]]):
            into[k] = ranked[i]
            i += 1
        else:
            into[k] = ranked[j]
            j += 1


@inner
def rank_rows(target, entries, a, b, order):  # type: ignore[no-untyped-def]
    """order[:m]: the places of the node's rows, by target; equal ones keep their order."""
    m = b - a
    y = np.empty(m, np.int64)
    for i in range(m):
        y[i] = target.plain[target.stride * np.int64(entries[a + i] >> HALF) + target.first]
    ranked, other = np.arange(m), np.empty(m, np.int64)
    width = 1
    while width < m:  # sorted runs of this width, two to one
        for first in range(0, m, 2 * width):
            _merge(y, ranked, other, first, min(first + width, m), min(first + 2 * width, m))
        ranked, other = other, ranked
        width *= 2
    for i in range(m):
        order[i] = ranked[i]


class MedianSides(NamedTuple):
    """Fenwick trees of Σ w and Σ w y: of the left side in [0, m], of the whole node in [whole, whole + m]; rank (m,) of each row, order
    (m,) of the ranks; W, Z: of the node."""

    weights: Any
    sums: Any
    whole: int
    order: Any
    rank: Any
    W: float
    Z: float


@inner
def sides_of(target, entries, a, b, order, rank):  # type: ignore[no-untyped-def]
    """The sides of a node with nothing on its left."""
    m = b - a
    rank_rows(target, entries, a, b, order)
    for i in range(m):
        rank[order[i]] = i + 1
    weights, sums = np.zeros(2 * (m + 1)), np.zeros(2 * (m + 1))
    W, Z = 0.0, 0.0
    for i in range(m):
        e = entries[a + i]
        w, z = _weight(target, e), _weight(target, e) * _y(target, e)
        W, Z = W + w, Z + z
        _add(weights, m + 1, m, rank[i], w)
        _add(sums, m + 1, m, rank[i], z)
    return MedianSides(weights, sums, m + 1, order, rank, W, Z)


@inner
def _by_median(target, entries, a, m, sides, scratch):  # type: ignore[no-untyped-def]
    """Put the items, sorted by category, in the order of the categories' medians, which scratch.count receives: how many. An item's
    code becomes its category's place in that order."""
    items, ordered, ranked, median = scratch.other, scratch.items, scratch.count, scratch.real
    begin, k, i = np.empty(257, np.int64), 0, 0
    while i < m:
        c, stop, W = np.int64(items[i] >> HALF), i, 0.0
        while stop < m and np.int64(items[stop] >> HALF) == c:
            W += _weight(target, entries[a + np.int64(items[stop] & LOW32)])
            stop += 1
        ranks = np.empty(stop - i, np.int64)
        for j in range(i, stop):
            ranks[j - i] = sides.rank[np.int64(items[j] & LOW32)]
        ranks.sort()
        run, j = 0.0, -1
        while run < 0.5 * W:
            j += 1
            run += _weight(target, entries[a + sides.order[ranks[j] - 1]])
        median[c] = _y(target, entries[a + sides.order[ranks[j] - 1]])
        ranked[k], begin[c], k, i = c, i, k + 1, stop
    rank_by(median, 0, ranked, k)
    at = 0
    for place in range(k):
        i = begin[ranked[place]]
        while i < m and np.int64(items[i] >> HALF) == ranked[place]:
            ordered[at] = np.uint64((place << 32) | np.int64(items[i] & LOW32))
            at, i = at + 1, i + 1
    return k


@inner
def move(target, entries, a, m, p, sides):  # type: ignore[no-untyped-def]
    """Bring the node's row p to the left; its draws, w and w y."""
    e = entries[a + p]
    w = _weight(target, e)
    z = w * _y(target, e)
    _add(sides.weights, 0, m, sides.rank[p], w)
    _add(sides.sums, 0, m, sides.rank[p], z)
    return np.int64((e >> QUARTER) & LOW16), w, z


@inner
def _worth(target, rules, entries, a, m, n, count, w, z, sides, trend, found):  # type: ignore[no-untyped-def]
    """−Σ w |y − median| over both sides, with `count` draws and w, z on the left; −∞ where a side is too small, or the medians are not as
    the column's trend and the node's bounds want them."""
    W = sides.W
    heavy = w >= rules.min_leaf_weight and W - w >= rules.min_leaf_weight
    if count < rules.min_leaf or n - count < rules.min_leaf or w <= 0.0 or W - w <= 0.0 or not heavy:
        return -np.inf
    if trend != 0:
        of_left, of_right = (
            _side_median(target, entries, a, m, w, 1, sides),
            _side_median(target, entries, a, m, W - w, -1, sides),
        )
        low, high = min(of_left, of_right), max(of_left, of_right)
        if (of_right - of_left) * trend < 0.0 or low < found.score[1] or high > found.score[2]:
            return -np.inf
    return -side_costs(target, entries, a, m, w, z, sides)


@inner
def side_costs(target, entries, a, m, w, z, sides):  # type: ignore[no-untyped-def]
    """Σ w |y − median| of both sides, with w, z on the left."""
    order, weights, sums, whole = sides.order, sides.weights, sides.sums, sides.whole
    return _side_cost(target, entries, a, order, weights, sums, 0, whole, m, w, z, 1) + _side_cost(
        target, entries, a, order, weights, sums, 0, whole, m, sides.W - w, sides.Z - z, -1
    )


@inner
def absolute_search(target, table, rules, entries, a, b, f, n, word, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code (of categories, in the order of their medians), or at a random threshold. Says whether it varies."""
    if rules.random and table.levels[f] == 0:
        return _by_random_threshold(target, table, rules, entries, a, b, f, n, word, found, scratch)
    stop, varies = sorted_node(table, entries, a, b, f, scratch)
    if not varies:
        return False
    m, items, worth, kinds, trend = b - a, scratch.other, scratch.worth, 0, table.trend[f]
    sides = sides_of(target, entries, a, b, scratch.number, scratch.weight)
    if table.levels[f] > 0:
        stop, items, kinds = m, scratch.items, _by_median(target, entries, a, m, sides, scratch)
    for left in range(1 + (stop < m)):
        sides.weights[: sides.whole] = 0.0
        sides.sums[: sides.whole] = 0.0
        count, wl, zl = 0, 0.0, 0.0
        for i in range(stop if left == 0 else m):
            q = (
                (stop + i if i < m - stop else i - (m - stop)) if left else i
            )  # what is missing comes first where it goes left
            t, w, z = move(target, entries, a, m, np.int64(items[q] & LOW32), sides)
            count, wl, zl = count + t, wl + w, zl + z
            if q >= stop:
                continue
            within = q + 1 < stop and (items[q] >> HALF) == (items[q + 1] >> HALF)
            worth[q] = (
                -np.inf if within else _worth(target, rules, entries, a, m, n, count, wl, zl, sides, trend, found)
            )
        if kinds == 0:
            keep_item(table, f, items, ZERO, stop, left if stop < m else NONE_MISSING, scratch, found)
        else:
            _keep_kinds(entries, a, m, n, f, kinds, found, scratch)
    return True


@inner
def _keep_kinds(entries, a, m, n, f, kinds, found, scratch):  # type: ignore[no-untyped-def]
    """Keep the best split of ordered categories, where it beats the one found."""
    best = greatest(scratch, m)
    if beats(best, found):
        at, count = first_best(scratch.worth, best), 0
        for i in range(at + 1):
            count += np.int64((entries[a + np.int64(scratch.items[i] & LOW32)] >> QUARTER) & LOW16)
        left = np.int64(scratch.items[at] >> HALF) + 1
        keep_sides(found, best, f, scratch.count, left, kinds, 1 if 2 * count > n else 0)


@inner
def _by_random_threshold(target, table, rules, entries, a, b, f, n, word, found, scratch):  # type: ignore[no-untyped-def]
    """One random split of column f."""
    cut, high, threshold, left = random_threshold(table, entries, a, b, f, word, scratch.items)
    if cut < 0:
        return False
    m, trend = b - a, table.trend[f]
    sides = sides_of(target, entries, a, b, scratch.number, scratch.weight)
    count, wl, zl = 0, 0.0, 0.0
    for i in range(m):
        code = np.int64(scratch.items[i])
        if code <= cut or (left == 1 and code == table.missing[f]):
            t, w, z = move(target, entries, a, m, i, sides)
            count, wl, zl = count + t, wl + w, zl + z
    worth = _worth(target, rules, entries, a, m, n, count, wl, zl, sides, trend, found)
    if beats(worth, found):
        keep_random_threshold(table, found, worth, f, cut, high, threshold, left)
    return True


@inner
def _side_cost(target, entries, a, order, weights, sums, own, whole, m, W, Z, sign):  # type: ignore[no-untyped-def]
    """Σ w |y − median| of a side."""
    rank, below_w, below_z = _middle(W, weights, sums, own, whole, m, sign)
    median = _y(target, entries[a + order[min(rank, m - 1)]])
    return median * below_w - below_z + (Z - below_z) - median * (W - below_w)


@jit
def leaf_medians(target, entries, start, values, costs):  # type: ignore[no-untyped-def]
    """values[i]: the median of the rows entries[start[i] : start[i + 1]], costs[i]: Σ w |y − median| of them."""
    order = np.empty(entries.shape[0], np.int64)
    for i in range(values.shape[0]):
        costs[i], values[i] = absolute_cost(target, entries, start[i], start[i + 1], order)


@jit
def medians_search(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on the columns f[k : k + width]; says whether any of them varies in the node."""
    varies = False
    for j in range(k, k + width):
        own = mixed(word + np.uint64(f[j]))
        varies |= absolute_search(target, table, rules, entries, a, b, f[j], n, own, found, scratch)
    return varies


@jit
def medians_gain(target, rules, score, cost, n, sums, at):  # type: ignore[no-untyped-def]
    """What a split with that score takes from the mean absolute error; cost: Σ w |y − median| of the node."""
    return (score + cost) / np.float64(sums[at])
