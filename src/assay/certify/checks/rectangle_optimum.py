"""The greatest gain Σ g of an axis-aligned rectangle in one or two columns: a bound for sets of rectangles, halved until it is sure.

A set is "lower limit of y in A, upper limit in B". CheckedRows that every one of its rectangles has between its limits count as they are, rows
that only some have count where they are positive: the best interval of x for these numbers bounds the gain of all of the set.
"""

from __future__ import annotations

import numpy as np

from assay.certify.rows import Array, Floats


def gain_of_one_column(x: Floats, g: Array) -> int:
    """max over intervals of Σ g of the values inside, 0 for none: a difference of two running sums, the greater one later."""
    order = np.argsort(x, kind="stable")
    return _best(x[order], g[order])


def _best(x: Array, g: Array) -> int:
    """As above, of sorted values."""
    if not len(x):
        return 0
    sums = np.cumsum(g)
    last = np.append(np.flatnonzero(x[1:] != x[:-1]), len(x) - 1)  # the last row of each value
    after = sums[last]
    before = np.concatenate([[0], after[:-1]])
    return max(0, int((after - np.minimum.accumulate(before)).max()))


def gain_bound(X: Floats, g: Array, claimed: int) -> tuple[int, int]:
    """(`claimed` where no rectangle gains more, else a gain that one has; the number of sets that were bounded).

    X (n, d) with d ≤ 2. Only limits at values of rows of positive gain need be tried.
    """
    if X.shape[1] == 1:
        return max(claimed, gain_of_one_column(X[:, 0], g)), 1
    if X.shape[1] != 2:
        raise ValueError("the greatest gain can be proved for one or two columns")
    own = g > 0
    if not own.any():
        return max(claimed, 0), 1
    y = int(len(np.unique(X[own, 0])) > len(np.unique(X[own, 1])))  # the column with fewer limits to try
    limits = np.unique(X[own, y])
    there = (X[:, y] >= limits[0]) & (X[:, y] <= limits[-1])
    order = np.argsort(X[there, 1 - y], kind="stable")
    x, heights, g = (a[there][order] for a in (X[:, 1 - y], X[:, y], g))
    x = np.unique(x, return_inverse=True)[1]
    # twice the place of the limit at or below each row's height, plus one in a gap: limits are at even places
    place = 2 * np.searchsorted(limits, heights, side="right") - 2
    place += limits[place // 2] < heights
    return _halve(x, place, g, len(limits), claimed)


def _halve(x: Array, place: Array, g: Array, n: int, claimed: int) -> tuple[int, int]:
    """Depth first: a set is dropped once its bound is no more than `claimed`; a single rectangle's bound is its gain."""
    looked = 0
    stack = [(0, n - 1, 0, n - 1, x, place, g)]
    while stack:
        a0, a1, b0, b1, x, place, g = stack.pop()
        near = (place >= 2 * a0) & (place <= 2 * b1)
        if not near.all():
            x, place, g = x[near], place[near], g[near]
        looked += 1
        sure = (place >= 2 * a1) & (place <= 2 * b0)
        bound = _best(x, np.where(sure, g, np.maximum(g, 0)))
        if bound <= claimed:
            continue
        if a0 == a1 and b0 == b1:
            return bound, looked
        if a1 - a0 >= b1 - b0:
            middle = (a0 + a1) // 2
            halves = [(a0, middle, b0, b1), (middle + 1, a1, max(b0, middle + 1), b1)]
        else:
            middle = (b0 + b1) // 2
            halves = [(a0, min(a1, middle), b0, middle), (a0, a1, middle + 1, b1)]
        stack += [(*half, x, place, g) for half in halves if half[0] <= half[1] and half[2] <= half[3]]
    return claimed, looked
