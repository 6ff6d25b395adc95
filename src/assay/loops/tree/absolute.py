"""The best split for the absolute error: Σ w |y − median| of each side, kept up to date while rows move from right to left.

The rows of a node are ranked by target once a column; two Fenwick trees over the ranks hold the weights and weighted targets
of the left side, those of the right side are what is missing to the totals. A median is found by walking down the tree.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from assay.loops.tree.candidates import keep_item, sorted_node
from assay.loops.tree.shapes import HALF, LOW16, LOW32

QUARTER = np.uint64(16)


@njit(nogil=True, cache=True, inline="always")
def _add(tree, first, m, rank, x):  # type: ignore[no-untyped-def]
    """tree[rank] += x (ranks from 1)."""
    while rank <= m:
        tree[first + rank] += x
        rank += rank & -rank


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True, inline="always")
def _y(target, entry):  # type: ignore[no-untyped-def]
    return target.offset + target.unit * np.float64(target.plain[np.int64(entry >> HALF)])


@njit(nogil=True, cache=True, inline="always")
def _weight(target, entry):  # type: ignore[no-untyped-def]
    t = np.int64((entry >> QUARTER) & LOW16)
    return np.float64(t * target.weight[np.int64(entry >> HALF)] if target.weighted else t)


@njit(nogil=True, cache=True)
def rank_rows(target, entries, a, b, order):  # type: ignore[no-untyped-def]
    """order[:m]: the places of the node's rows, by target; merge sort, for equal ones keep their order."""
    m = b - a
    y = np.empty(m, np.int64)
    for i in range(m):
        y[i] = target.plain[np.int64(entries[a + i] >> HALF)]
    ranked = np.argsort(y, kind="mergesort")
    for i in range(m):
        order[i] = ranked[i]


@njit(nogil=True, cache=True)
def absolute_search(target, table, rules, entries, a, b, f, n, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code. Says whether it varies."""
    stop, varies = sorted_node(table, entries, a, b, f, scratch)
    if not varies:
        return False
    m = b - a
    items, worth = scratch.other, scratch.worth
    order, rank = scratch.number, scratch.weight
    rank_rows(target, entries, a, b, order)
    for i in range(m):
        rank[order[i]] = i + 1
    fenwick_w, fenwick_z = np.zeros(2 * (m + 1)), np.zeros(2 * (m + 1))
    whole = m + 1
    W, Z = 0.0, 0.0
    for i in range(m):
        e = entries[a + i]
        w, z = _weight(target, e), _weight(target, e) * _y(target, e)
        W, Z = W + w, Z + z
        _add(fenwick_w, whole, m, rank[i], w)
        _add(fenwick_z, whole, m, rank[i], z)
    for left in range(1 + (stop < m)):
        fenwick_w[:whole] = 0.0
        fenwick_z[:whole] = 0.0
        count, wl, zl = 0, 0.0, 0.0
        for i in range(stop if left == 0 else m):
            q = (stop + i if i < m - stop else i - (m - stop)) if left else i  # what is missing comes first where it goes left
            p = np.int64(items[q] & LOW32)
            e = entries[a + p]
            w = _weight(target, e)
            z = w * _y(target, e)
            count += np.int64((e >> QUARTER) & LOW16)
            wl, zl = wl + w, zl + z
            _add(fenwick_w, 0, m, rank[p], w)
            _add(fenwick_z, 0, m, rank[p], z)
            if left and q >= stop:
                continue
            worth[q] = -np.inf
            heavy = wl >= rules.min_leaf_weight and W - wl >= rules.min_leaf_weight
            if count < rules.min_leaf or n - count < rules.min_leaf or wl <= 0.0 or W - wl <= 0.0 or not heavy:
                continue
            if q + 1 < stop and (items[q] >> HALF) == (items[q + 1] >> HALF):
                continue
            worth[q] = -(
                _side_cost(target, entries, a, order, fenwick_w, fenwick_z, 0, whole, m, wl, zl, 1)
                + _side_cost(target, entries, a, order, fenwick_w, fenwick_z, 0, whole, m, W - wl, Z - zl, -1)
            )
        keep_item(table, f, items, 0, stop, left, scratch, found)
    return True


@njit(nogil=True, cache=True)
def _side_cost(target, entries, a, order, weights, sums, own, whole, m, W, Z, sign):  # type: ignore[no-untyped-def]
    """Σ w |y − median| of a side."""
    rank, below_w, below_z = _middle(W, weights, sums, own, whole, m, sign)
    median = _y(target, entries[a + order[min(rank, m - 1)]])
    return median * below_w - below_z + (Z - below_z) - median * (W - below_w)


@njit(nogil=True, cache=True)
def leaf_medians(target, entries, start, values):  # type: ignore[no-untyped-def]
    """values[i]: the median of the rows entries[start[i] : start[i + 1]]."""
    order = np.empty(entries.shape[0], np.int64)
    for i in range(values.shape[0]):
        values[i] = absolute_cost(target, entries, start[i], start[i + 1], order)[1]
