"""Walking down trees. A node is two words: its threshold (or set, or leaf), and right child · 2³² | feature · 2⁸ | flags.

The left child follows its parent. Flags: 1 missing values go to the left, 2 by categories, 4 leaf.
"""

from __future__ import annotations

import numpy as np
from numba import njit

HALF = np.uint64(32)
EIGHT = np.uint64(8)
FEATURE = np.uint64(0xFFFFFF)
LEFT, SETS, LEAF = np.uint64(1), np.uint64(2), np.uint64(4)
AT_ONCE = 8


@njit(nogil=True, cache=True, inline="always")
def _goes_left(x, cut, link, sets, levels, category, category_first):  # type: ignore[no-untyped-def]
    if link & SETS:
        f = np.int64((link >> EIGHT) & FEATURE)
        if x == x and x >= 0.0 and x < levels[f]:
            c = np.int64(category[category_first[f] + np.int64(x)])
            return (sets[np.int64(cut), c >> 6] >> np.uint64(c & 63)) & np.uint64(1) != 0
        return (link & LEFT) != 0
    return x <= cut or (x != x and (link & LEFT) != 0)


@njit(nogil=True, cache=True)
def walk_all(X, words, cuts, root, sets, levels, category, category_first, leaves):  # type: ignore[no-untyped-def]
    """leaves[i]: the leaf's number in the table for every row of X, with categories and missing values."""
    for i in range(X.shape[0]):
        at = root
        while True:
            link = words[at, 1]
            if link & LEAF:
                break
            x = np.float64(X[i, np.int64((link >> EIGHT) & FEATURE)])
            left = _goes_left(x, cuts[at, 0], link, sets, levels, category, category_first)
            at = at + 1 if left else np.int64(link >> HALF)
        leaves[i] = words[at, 0]


@njit(nogil=True, cache=True)
def walk_plain(X, words, cuts, root, leaves):  # type: ignore[no-untyped-def]
    """As `walk_all`, of trees without splits by categories: eight rows go down together, so that none waits for memory alone."""
    m = X.shape[0]
    at = np.empty(AT_ONCE, np.int64)
    for first in range(0, m, AT_ONCE):
        rows = min(AT_ONCE, m - first)
        for k in range(rows):
            at[k] = root
        going = True
        while going:
            going = False
            for k in range(rows):
                node = at[k]
                link = words[node, 1]
                leaf = (link & LEAF) != 0
                x = np.float64(X[first + k, np.int64((link >> EIGHT) & FEATURE)])
                left = (x <= cuts[node, 0]) | ((x != x) & ((link & LEFT) != 0))
                below = node + 1 if left else np.int64(link >> HALF)
                at[k] = node if leaf else below
                going |= not leaf
        for k in range(rows):
            leaves[first + k] = words[at[k], 0]


@njit(nogil=True, cache=True)
def add_leaves(table, leaves, scores):  # type: ignore[no-untyped-def]
    """scores[i] += table[leaves[i]]."""
    for i in range(leaves.shape[0]):
        row = leaves[i]
        for k in range(table.shape[1]):
            scores[i, k] += table[row, k]


@njit(nogil=True, cache=True)
def leaf_of_codes(codes, rows, feature, cut, right, missing, lost, sets, leaf):  # type: ignore[no-untyped-def]
    """leaf[i]: the node (in preorder) where row rows[i] ends, by its codes; cut: the last code on the left, or the set."""
    for i in range(rows.shape[0]):
        r, at = rows[i], 0
        while feature[at] != -1:
            f = feature[at]
            if f >= 0:
                c = np.int64(codes[f, r])
                left = missing[at] == 1 if c == lost[f] else c <= cut[at]
            else:
                c = np.int64(codes[-2 - f, r])
                left = (sets[cut[at], c >> 6] >> np.uint64(c & 63)) & np.uint64(1) != 0
            at = at + 1 if left else right[at]
        leaf[i] = at


@njit(nogil=True, cache=True)
def preorder_ends(feature, ends):  # type: ignore[no-untyped-def]
    """ends[i]: the first node behind the subtree of i; False where the nodes are no trees in preorder."""
    n = feature.shape[0]
    for i in range(n - 1, -1, -1):
        if feature[i] == -1:
            ends[i] = i + 1
            continue
        right = ends[i + 1] if i + 1 < n else n
        if right >= n:
            return False
        ends[i] = ends[right]
    return True


@njit(nogil=True, cache=True)
def add_leaves_at(table, leaves, rows, sums, count):  # type: ignore[no-untyped-def]
    """sums[rows[i]] += table[leaves[i]] and count[rows[i]] += 1."""
    for i in range(rows.shape[0]):
        r, leaf = rows[i], leaves[i]
        count[r] += 1
        for k in range(table.shape[1]):
            sums[r, k] += table[leaf, k]
