"""Trees laid out for many rows: thresholds as numbers among their column's, siblings side by side, a node in one word or two.

Place 0 of a tree is its root; the children of a split lie at an even place and the one behind it. A leaf is its own child. Codes of
rows begin with 1, so that no code is above the greatest, which leaves at even places ask for, and each is above 0, as at odd ones.
Measured for 100 trees of 9 000 nodes, 254 thresholds a column: cuts numbered in 1.5 ms, nodes packed in 4 ms.

Many rows go down all trees block by block, whose codes stay near meanwhile. Rows of a table, named by their numbers, go down one tree by
codes that lie column by column: they come in rising order, so that those on their way together have their codes in a few lines of each
column, and no copy row by row is needed. A row takes 10 … 15 ns, where going along with the rows that the tree learns from took 30 and
more.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.gathers import (
    NODES,
    descend_narrow,
    descend_narrow_bytes,
    descend_wide,
    descend_wide_bytes,
    descend_wide_halves,
)
from assay.compiled.simd.memory import data_pointer, keep_alive
from assay.families.trees.loops.coding import ROWS, count_below, take_column
from assay.families.trees.loops.walk import add_rows

LEAF = -1
MIX = np.uint64(0x9E3779B97F4A7C15)
ZERO, MINUS_ZERO = np.uint64(0), np.uint64(1 << 63)
FIRST_SLOTS, FIRST_SHIFT = 1 << 15, np.uint64(64 - 15)


@jit(inline="always")
def _slot(column, bits, shift):  # type: ignore[no-untyped-def]
    key = (bits ^ (bits >> np.uint64(29)) ^ (np.uint64(column) << np.uint64(17))) * MIX
    return np.int64(key >> shift)


@jit
def columns_of(feature, columns):  # type: ignore[no-untyped-def]
    """columns (S + 1,): of each split its column. Without a branch: whether a node is a leaf cannot be guessed."""
    s = 0
    for i in range(feature.shape[0]):
        columns[s] = feature[i]
        s += feature[i] != LEAF


@jit
def number_cuts(columns, cut, number, column_of, cut_of):  # type: ignore[no-untyped-def]
    """number[s]: of split s the number of its column and threshold (as bits), in the order they first appear; how many there are.

    column_of, cut_of receive them. A table of slots with open addressing doubles when it is half full.
    """
    size, shift = FIRST_SLOTS, FIRST_SHIFT
    slots = np.full(size, -1, np.int32)
    s, found = 0, 0
    while True:
        own = (
            data_pointer(columns),
            data_pointer(cut),
            data_pointer(number),
            data_pointer(column_of),
            data_pointer(cut_of),
        )
        s, found = _number(own, s, cut.shape[0], found, data_pointer(slots), size, shift)
        keep_alive((slots,))
        if s == cut.shape[0]:
            return found
        size, shift = 2 * size, shift - np.uint64(1)
        slots = np.full(size, -1, np.int32)
        for k in range(found):
            at = _slot(column_of[k], cut_of[k], shift)
            while slots[at] >= 0:
                at = (at + 1) & (size - 1)
            slots[at] = k


@inner
def _number(own, s, stop, found, slots, size, shift):  # type: ignore[no-untyped-def]
    """Number the splits from s on until the table is half full; (where it stopped, how many there are)."""
    columns, cut, number, column_of, cut_of = own
    while s < stop and 2 * found <= size:
        bits, column = cut[s], columns[s]
        if bits == MINUS_ZERO:
            bits = ZERO
        at = _slot(column, bits, shift)
        k = slots[at]
        while k >= 0 and (cut_of[k] != bits or column_of[k] != column):
            at = (at + 1) & (size - 1)
            k = slots[at]
        if k < 0:
            slots[at] = found
            column_of[found], cut_of[found] = column, bits
            k = found
            found += 1
        number[s] = k
        s += 1
    return s, found


@inner
def _put(wide, words, place, half, column, code):  # type: ignore[no-untyped-def]
    if wide:
        words[2 * place], words[2 * place + 1] = column << 16 | code, half
    else:
        words[place] = half << 16 | column << 8 | code


@jit
def pack_nodes(feature, nodes, starts, number, rank, leaf, most, words, rows):  # type: ignore[no-untyped-def]
    """words (P,) or (P, 2), rows (P,): nodes and, of leaves, their rows of the table; starts (T,): the place of each root.

    rank[number[s]]: of split s the number of its threshold among its column's, from 1; most: a number above all of them.
    """
    waiting = np.empty(feature.shape[0] + 2, np.int64)
    waiting[0] = 0
    wide = words.ndim == 2
    splits, leaves, first = 0, 0, 0
    for t in range(starts.shape[0]):
        own = (
            data_pointer(feature[first:]),
            data_pointer(number[splits:]),
            data_pointer(rank),
            data_pointer(leaf[leaves:]),
            data_pointer(waiting),
        )
        split = _pack(own, nodes[t], starts[t], most, wide, data_pointer(words), data_pointer(rows))
        splits, leaves, first = splits + split, leaves + nodes[t] - split, first + nodes[t]
    keep_alive((waiting,))


@inner
def _pack(own, nodes, start, most, wide, words, rows):  # type: ignore[no-untyped-def]
    """One tree; its splits. Behind a split comes its left child, behind a leaf the right child that waits on top of the stack."""
    feature, number, rank, leaf, waiting = own
    p, free, top, splits, leaves = 0, 2, 1, 0, 0
    for i in range(nodes):
        column = np.int64(feature[i])
        if column == LEAF:
            rows[start + p] = leaf[leaves]
            leaves += 1
            _put(wide, words, start + p, p >> 1, 0, 0 if p & 1 else most)
            top -= 1
            p = waiting[top]
        else:
            _put(wide, words, start + p, free >> 1, column, np.int64(rank[number[splits]]))
            splits += 1
            waiting[top] = free + 1
            p = free
            top += 1
            free += 2
    return splits


@jit
def plain_words(feature, cut, missing, leaf, ends, words):  # type: ignore[no-untyped-def]
    """words (N, 2): the nodes as `walk` reads them; cut: the bits of thresholds."""
    s, k = 0, 0
    for i in range(feature.shape[0]):
        f = np.int64(feature[i])
        if f == LEAF:
            words[i, 0], words[i, 1] = leaf[k], 4
            k += 1
        else:
            flags = np.int64(missing[s]) if f >= 0 else 2 | np.int64(missing[s])
            words[i, 0] = cut[s]
            words[i, 1] = ends[i + 1] << 32 | (f if f >= 0 else -2 - f) << 8 | flags
            s += 1


NEAR = 1 << 19  # bytes of codes of a block
BLOCK = 48 * NODES  # rows of a block at most


@inner
def _room(d, like):  # type: ignore[no-untyped-def]
    """(rows of a block, room for their codes): all 1 where no tree asks for a column. Vectors read four bytes from the last on."""
    rows = max(4, min(BLOCK, NEAR // (d * like.itemsize)) // NODES) * NODES
    return rows, np.ones(rows * d + 4, like.dtype)


@inner
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


@inner
def _spread(counts, m, d, codes, at):  # type: ignore[no-untyped-def]
    for i in range(m):
        codes[at + i * d] = counts[i] + 1


@inner
def _down(words, start, rows, codes, n, d, leaves):  # type: ignore[no-untyped-def]
    """leaves[:n]: where the tree whose root is at `start` brings the rows of codes; `leaves` is filled in whole groups."""
    for i in range(0, n, NODES):
        if words.ndim == 1:
            descend_narrow(data_pointer(words), start, data_pointer(codes), i, d, data_pointer(leaves[i:]))
        else:
            descend_wide(data_pointer(words), 2 * start, data_pointer(codes), i, d, data_pointer(leaves[i:]))
    _look_up(data_pointer(rows[start:]), n, data_pointer(leaves))


@inner
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


@jit
def leaves_of(words, wide, codes, rows, places, leaves):  # type: ignore[no-untyped-def]
    """leaves[i]: places[the place of the leaf] of row rows[i]; both arrays have room up to a multiple of `NODES`. words: as
    `packing.pack_nodes` lays them out, flat."""
    d, n = codes.shape
    for first in range(0, rows.shape[0], NODES):
        if codes.itemsize == 2:
            descend_wide_halves(
                data_pointer(words), data_pointer(codes), n, d, data_pointer(rows), first, data_pointer(leaves)
            )
        elif wide:
            descend_wide_bytes(
                data_pointer(words), data_pointer(codes), n, d, data_pointer(rows), first, data_pointer(leaves)
            )
        else:
            descend_narrow_bytes(
                data_pointer(words), data_pointer(codes), n, d, data_pointer(rows), first, data_pointer(leaves)
            )
    for i in range(rows.shape[0]):
        leaves[i] = places[leaves[i]]
