"""What each column adds to an answer on the way down a tree, and the way down with the values of a column shuffled."""

from __future__ import annotations

import numpy as np
from numba import njit

from assay.loops.tree.walk import EIGHT, FEATURE, HALF, LEAF, goes_left


@njit(nogil=True, cache=True)
def add_contributions(X, words, cuts, root, sets, levels, category, category_first, values, out):  # type: ignore[no-untyped-def]
    """out[i, f] += values[child] − values[node] at every step of row i, f the column asked for; values (N, K), out (m, d, K)."""
    K = values.shape[1]
    for i in range(X.shape[0]):
        at = root
        while True:
            link = words[at, 1]
            if link & LEAF:
                break
            f = np.int64((link >> EIGHT) & FEATURE)
            left = goes_left(np.float64(X[i, f]), cuts[at, 0], link, sets, levels, category, category_first)
            below = at + 1 if left else np.int64(link >> HALF)
            for k in range(K):
                out[i, f, k] += values[below, k] - values[at, k]
            at = below


@njit(nogil=True, cache=True)
def walk_shuffled(X, rows, column, lender, words, cuts, root, sets, levels, category, category_first, leaves):  # type: ignore[no-untyped-def]
    """leaves[i]: the leaf's number in the table for row rows[i], whose value of the column is that of row lender[i]."""
    for i in range(rows.shape[0]):
        r, at = rows[i], root
        while True:
            link = words[at, 1]
            if link & LEAF:
                break
            f = np.int64((link >> EIGHT) & FEATURE)
            x = np.float64(X[lender[i] if f == column else r, f])
            left = goes_left(x, cuts[at, 0], link, sets, levels, category, category_first)
            at = at + 1 if left else np.int64(link >> HALF)
        leaves[i] = words[at, 0]
