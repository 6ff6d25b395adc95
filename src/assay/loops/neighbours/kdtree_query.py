"""Asking a k-d tree for the nearest rows. Nodes have eight children, whose boxes are compared at once.

Boxes are float32, relative to a centre, and rounded outwards; so is the query. A box's distance in float32 has d + 3 roundings of 2⁻²⁴ each
at most, so that (1 − (d + 4) 2⁻²³) times it is never above the distance of any row inside, as float64 computes it: a box is left
out only where that is greater than the k-th distance so far. Rows are compared in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from assay.loops.neighbours.lanes import LANE, near_boxes, near_rows
from assay.loops.tree.bare import bare
from assay.loops.tree.inner import inlined
from assay.loops.tree.occupied import lowest_bit

ONE = np.uint64(1)


@njit(nogil=True, cache=True, inline="always")
def _insert(r, row, best, index, k):  # type: ignore[no-untyped-def]
    """Put a row into the sorted list of the k nearest, before the first that is farther or as far with a higher number."""
    j = k - 1
    while j > 0 and (best[j - 1] > r or (best[j - 1] == r and index[j - 1] > row)):
        best[j] = best[j - 1]
        index[j] = index[j - 1]
        j -= 1
    best[j] = r
    index[j] = row


class Nodes(NamedTuple):
    """A tree as the loops read it: n rows in 2^levels leaves of `many` blocks, (leaves, many, d, 8); boxes (nodes, d, 2, 8) of the children of
    the inner nodes, of which there are `inner`; number (n,): of each row in the order of the leaves."""

    n: int
    levels: int
    inner: int
    many: int
    boxes: Any
    blocks: Any
    number: Any


class Room(NamedTuple):
    """Nodes still to look at, with their distances, and what eight boxes or rows at a time give."""

    stack: Any
    bound: Any
    near: Any
    far: Any


@inlined
def _ask(q, low, high, d, k, without, tree, room, best, index):  # type: ignore[no-untyped-def]
    """The k nearest rows of one query in best, index; all arrays bare."""
    for j in range(k):
        best[j] = np.inf
        index[j] = 0x7FFFFFFFFFFFFFFF
    stack, bound, near, far = room.stack, room.bound, room.near, room.far
    shrink = np.float32(1.0 - (d + 4) * 2.0**-23)
    limit = np.float32(3.0e38)  # an empty box is infinitely far
    waiting = 1
    stack[0] = 0
    bound[0] = np.float32(0.0)
    while waiting > 0:
        waiting -= 1
        if bound[waiting] * shrink > limit:
            continue
        node = stack[waiting]
        if node >= tree.inner:
            leaf = node - tree.inner
            first = (tree.n * leaf) >> tree.levels
            stop = (tree.n * (leaf + 1)) >> tree.levels
            for block in range((stop - first + LANE - 1) // LANE):
                mask = np.uint64(near_rows(tree.blocks, (leaf * tree.many + block) * LANE * d, q, d, best[k - 1], far))
                while mask != 0:
                    lane = lowest_bit(mask)
                    mask &= mask - ONE
                    r, i = far[lane], first + block * LANE + lane
                    if i < stop:
                        row = tree.number[i]
                        if row != without and (r < best[k - 1] or (r == best[k - 1] and row < index[k - 1])):
                            _insert(r, row, best, index, k)
            up = np.float32(best[k - 1])
            limit = up if np.float64(up) >= best[k - 1] else np.nextafter(up, np.float32(np.inf))
            continue
        mask = np.uint64(near_boxes(tree.boxes, node * 2 * LANE * d, low, high, d, limit / shrink, near))
        begin = waiting
        while mask != 0:
            lane = lowest_bit(mask)
            mask &= mask - ONE
            r = near[lane]
            j = waiting
            while j > begin and bound[j - 1] < r:  # the nearest on top
                bound[j] = bound[j - 1]
                stack[j] = stack[j - 1]
                j -= 1
            bound[j] = r
            stack[j] = 8 * node + 1 + lane
            waiting += 1


@inlined
def _home(low, high, d, tree, near):  # type: ignore[no-untyped-def]
    """The leaf that one comes to by going to the nearest box every time."""
    node = 0
    while node < tree.inner:
        near_boxes(tree.boxes, node * 2 * LANE * d, low, high, d, np.float32(0.0), near)
        lane = 0
        for k in range(1, LANE):
            lane = k if near[k] < near[lane] else lane
        node = 8 * node + 1 + lane
    return node - tree.inner


@njit(nogil=True, cache=True)
def homes(low, high, tree, leaf):  # type: ignore[no-untyped-def]
    """leaf (m,): where each query is at home: asked in this order, neighbours in space follow each other."""
    near = np.empty(LANE, np.float32)
    nodes = _bare_nodes(tree)
    for i in range(low.shape[0]):
        leaf[i] = _home(bare(low[i]), bare(high[i]), low.shape[1], nodes, bare(near))


@inlined
def _bare_nodes(tree):  # type: ignore[no-untyped-def]
    boxes, blocks, number = bare(tree.boxes), bare(tree.blocks), bare(tree.number)
    return Nodes(tree.n, tree.levels, tree.inner, tree.many, boxes, blocks, number)


@njit(nogil=True, cache=True)
def nearest(Q, low, high, without, tree, order, best, index):  # type: ignore[no-untyped-def]
    """The queries order[:] in turn: best, index (m, k): reduced distances and row numbers of the nearest rows of each query; low, high (m, d): the queries less the
    centre, rounded down and up to float32; without (m,): a row that a query must not have, −1: none; index as large as can be where
    there are fewer rows."""
    d = Q.shape[1]
    stack, bound, near, far = (
        np.empty(256, np.int64),
        np.empty(256, np.float32),
        np.empty(LANE, np.float32),
        np.empty(LANE),
    )
    room = Room(bare(stack), bare(bound), bare(near), bare(far))
    nodes = _bare_nodes(tree)
    for i in order:
        _ask(
            bare(Q[i]),
            bare(low[i]),
            bare(high[i]),
            d,
            best.shape[1],
            without[i],
            nodes,
            room,
            bare(best[i]),
            bare(index[i]),
        )
