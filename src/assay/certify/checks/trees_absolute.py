"""The best split of a node by absolute error, by trying all thresholds: the costs of ever more rows are kept up to date by two heaps."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from assay.certify.rows import Array, Floats


def running_costs(y: Floats, u: Array) -> Floats:
    """Σ u |y − median| of the first 1, 2, … numbers.

    >>> running_costs(np.array([1.0, 5.0, 2.0]), np.array([1, 1, 1])).tolist()
    [0.0, 4.0, 4.0]
    """
    low: list[tuple[float, int]] = []  # numbers up to the median, the greatest first
    high: list[tuple[float, int]] = []
    w_low = w_high = 0
    z_low = z_high = 0.0
    costs = []
    for v, w in zip(y.tolist(), u.tolist()):
        if low and v <= -low[0][0]:
            heappush(low, (-v, w))
            w_low, z_low = w_low + w, z_low + w * v
        else:
            heappush(high, (v, w))
            w_high, z_high = w_high + w, z_high + w * v
        while w_low < w_high:
            v, w = heappop(high)
            heappush(low, (-v, w))
            w_low, w_high, z_low, z_high = w_low + w, w_high - w, z_low + w * v, z_high - w * v
        while w_low - low[0][1] >= w_high + low[0][1]:
            v, w = heappop(low)
            heappush(high, (-v, w))
            w_low, w_high, z_low, z_high = w_low - w, w_high + w, z_low + w * v, z_high - w * v
        middle = -low[0][0]
        costs.append(middle * w_low - z_low + z_high - middle * w_high)
    return np.array(costs)


def least_cost(y: Floats, u: Array, code: Array, gone: Array, rows: int, weight: float) -> float:
    """The least Σ u |y − median of its side| of all admissible thresholds; items sorted by code, what is missing (gone) behind."""
    m, k, best = len(y), int((~gone).sum()), np.inf
    if not k:
        return best
    total = int(u.sum())
    ends = np.append(code[1:k] != code[: k - 1], k < m)[:k]  # after which of the values a threshold lies
    for left_too in (False, True)[: 1 if k == m else 2]:
        first = np.r_[k:m, 0:k] if left_too else np.arange(k)
        back = np.arange(k - 1, -1, -1) if left_too else np.r_[m - 1 : k - 1 : -1, k - 1 : -1 : -1]
        extra = m - k if left_too else 0
        left = running_costs(y[first], u[first])[extra:]
        right = np.append(running_costs(y[back], u[back]), 0.0)
        count = np.arange(1, k + 1) + extra
        W = np.cumsum(u[first])[extra:]
        good = ends & (count >= rows) & (m - count >= rows) & (total > W)
        good &= (weight <= 0) | ((weight * (1 + 1e-9) <= W) & (total - W >= weight * (1 + 1e-9)))
        at = np.flatnonzero(good)
        if len(at):
            best = min(best, float((left[at] + right[m - count[at] - 1]).min()))
    return best


def by_median(y: Floats, u: Array, code: Array) -> tuple[Array, Array]:
    """The order of items by the (lower) medians of their categories, of equal ones by code, and the categories' places in it."""
    order = np.lexsort((y, code))
    kinds, first = np.unique(code[order], return_index=True)
    run = np.cumsum(u[order])
    before = np.concatenate([[0], run[first[1:] - 1]])
    whole = np.append(before[1:], run[-1]) - before
    median = y[order][np.searchsorted(run, before + (whole + 1) // 2)]
    place = np.empty(len(kinds), np.int64)
    place[np.lexsort((kinds, median))] = np.arange(len(kinds))
    found = place[np.searchsorted(kinds, code)]
    return np.argsort(found, kind="stable"), found
