"""Many rows go down packed trees. The codes of a block of rows stay near while all trees go over them."""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.compiled.simd.gathers import NODES, descend_narrow, descend_wide
from assay.compiled.simd.memory import data_pointer, keep_alive
from assay.loops.tree.coding import ROWS, count_below, take_column
from assay.loops.tree.walk import add_rows

NEAR = 1 << 19  # bytes of codes of a block
BLOCK = 48 * NODES  # rows of a block at most


@jit
def _room(d, like):  # type: ignore[no-untyped-def]
    """(rows of a block, room for their codes): all 1 where no tree asks for a column. Vectors read four bytes from the last on."""
    rows = max(4, min(BLOCK, NEAR // (d * like.itemsize)) // NODES) * NODES
    return rows, np.ones(rows * d + 4, like.dtype)


@jit
def _code_rows(X, n, ladder, start, steps, values, counts, codes, lost):  # type: ignore[no-untyped-def]
    """codes of n rows, row by row: 1 + the number of thresholds below; lost[i]: whether a row lacks a value that trees ask for."""
    d = X.shape[1]
    for a in range(0, n, ROWS):
        m = min(n - a, ROWS)
        for j in range(d):
            if steps[j] == 0:
                continue
            gaps = take_column(data_pointer(X), a * d + j, d, m, data_pointer(values))
            count_below(ladder, start[j], steps[j], m, values, counts)
            _spread(data_pointer(counts), m, d, data_pointer(codes), a * d + j)
            if gaps:
                for i in range(m):
                    lost[a + i] |= values[i] != values[i]


@jit
def _spread(counts, m, d, codes, at):  # type: ignore[no-untyped-def]
    for i in range(m):
        codes[at + i * d] = counts[i] + 1


@jit
def _down(words, start, rows, codes, n, d, leaves):  # type: ignore[no-untyped-def]
    """leaves[:n]: where the tree whose root is at `start` brings the rows of codes; `leaves` is filled in whole groups."""
    for i in range(0, n, NODES):
        if words.ndim == 1:
            descend_narrow(data_pointer(words), start, data_pointer(codes), i, d, data_pointer(leaves[i:]))
        else:
            descend_wide(data_pointer(words), 2 * start, data_pointer(codes), i, d, data_pointer(leaves[i:]))
    _look_up(data_pointer(rows[start:]), n, data_pointer(leaves))


@jit
def _look_up(rows, n, leaves):  # type: ignore[no-untyped-def]
    for i in range(n):
        leaves[i] = rows[leaves[i]]


@jit
def add_packed(X, words, starts, rows, ladder, start, steps, like, table, scores, lost):  # type: ignore[no-untyped-def]
    """scores[i] += table[leaf of row i] for every tree in turn; lost[i]: row i lacks a value, and its scores mean nothing.

    like: an array of the type of codes.
    """
    d, K = X.shape[1], table.shape[1]
    block, codes = _room(d, like)
    values, counts, leaves = np.zeros(ROWS), np.empty(ROWS, np.int32), np.empty(block, np.uint32)
    for a in range(0, X.shape[0], block):
        some, own = X[a : a + block], scores[a : a + block]
        n = some.shape[0]
        _code_rows(some, n, ladder, start, steps, values, counts, codes, lost[a : a + n])
        for tree in range(starts.shape[0]):
            _down(words, starts[tree], rows, codes, n, d, leaves)
            add_rows(data_pointer(table), data_pointer(leaves), n, K, data_pointer(own))
    keep_alive((leaves,))


@jit
def walk_packed(X, words, starts, rows, ladder, start, steps, like, found, lost):  # type: ignore[no-untyped-def]
    """found[i, t]: the row of the table where tree t brings row i; otherwise as `add_packed`."""
    d = X.shape[1]
    block, codes = _room(d, like)
    values, counts, leaves = np.zeros(ROWS), np.empty(ROWS, np.int32), np.empty(block, np.uint32)
    for a in range(0, X.shape[0], block):
        some = X[a : a + block]
        n = some.shape[0]
        _code_rows(some, n, ladder, start, steps, values, counts, codes, lost[a : a + n])
        for tree in range(starts.shape[0]):
            _down(words, starts[tree], rows, codes, n, d, leaves)
            for i in range(n):
                found[a + i, tree] = leaves[i]
