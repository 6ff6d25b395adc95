"""Asking a k-d tree for all rows within a distance: which they are, or how many.

A box is left out where its nearest point is too far; where even its farthest is near enough, its rows are counted without looking at them.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined, jit
from assay.compiled.simd.memory import data_pointer, keep_alive
from assay.compiled.simd.neighbours import far_boxes, near_boxes
from assay.compiled.simd.scalars import lowest_bit
from assay.compiled.simd.vectors import LANE
from assay.loops.neighbours.kdtree_nodes import (
    BEYOND,
    BLOCKS,
    LEAF,
    LEVELS,
    exact,
    limit_of,
    near_block,
    nodes_pointers,
    place_query,
    scale_pointers,
    sure_of,
)
from assay.loops.neighbours.kdtree_query import ONE, ROOM
from assay.loops.neighbours.pairs import sort_pairs


@inlined
def _wait(mask, child, stack, waiting):  # type: ignore[no-untyped-def]
    while mask != 0:
        stack[waiting] = child + lowest_bit(mask) * LEVELS
        mask &= mask - ONE
        waiting += 1
    return waiting


@inlined
def _twice_as_long(values):  # type: ignore[no-untyped-def]
    longer = np.empty(2 * values.shape[0], values.dtype)
    longer[: values.shape[0]] = values
    return longer


@jit
def within(dims, norm, Q, radius, tree, scale, place):  # type: ignore[no-untyped-def]
    """The queries of place[:] in turn: stop (m,), r and rows: those of the j-th query are stop[j − 1] … stop[j] − 1, in the order of (r, row)."""
    d = Q.shape[1]
    low, high, stack = np.empty(d, np.float32), np.empty(d, np.float32), np.empty(ROOM, np.int64)
    near, far = np.empty(LANE, np.float32), np.empty(LANE)
    nodes, how = nodes_pointers(tree), scale_pointers(scale)
    stop, r, rows = np.empty(place.shape[0], np.int64), np.empty(1024), np.empty(1024, np.int64)
    count = 0
    for j in range(place.shape[0]):
        i, first = place[j] & 0xFFFFFFFF, count
        q, most = data_pointer(Q[i]), radius[i]
        place_query(q, d, how, data_pointer(low), data_pointer(high))
        limit = limit_of(norm, most, how)
        stack[0] = nodes.depth
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node, level = stack[waiting] // LEVELS, stack[waiting] % LEVELS
            if level > 0:
                at = (nodes.start[level] + node) * 2 * LANE * d
                mask = np.uint64(
                    near_boxes(
                        dims, norm, nodes.boxes, at, data_pointer(low), data_pointer(high), d, limit, data_pointer(near)
                    )
                )
                waiting = _wait(mask, LANE * node * LEVELS + level - 1, stack, waiting)
                continue
            if count + LEAF > r.shape[0]:
                r, rows = _twice_as_long(r), _twice_as_long(rows)
            for block in range(BLOCKS * node, BLOCKS * node + BLOCKS):
                at = block * LANE * d
                mask = near_block(dims, norm, nodes, how, at, q, d, most, data_pointer(far))
                while mask != 0:
                    lane = lowest_bit(mask)
                    mask &= mask - ONE
                    found = exact(norm, far[lane], nodes.blocks, at + lane, q, d, how.p)
                    if found <= most:
                        r[count], rows[count] = found, nodes.number[block * LANE + lane]
                        count += 1
        sort_pairs(r, rows, first, count)
        stop[j] = count
    keep_alive((low, high, near, far))
    return stop, r[:count], rows[:count]


@jit
def gather(queries, stop, r, rows, start, index, distances):  # type: ignore[no-untyped-def]
    """Copy what `within` found for these queries to where it belongs: that of query i from start[i] on."""
    begin = 0
    for j in range(queries.shape[0]):
        to = start[queries[j]]
        for t in range(begin, stop[j]):
            index[to + t - begin], distances[to + t - begin] = rows[t], r[t]
        begin = stop[j]


@inlined
def _rows_below(n, node, level):  # type: ignore[no-untyped-def]
    size = LEAF << (3 * level)
    return min(n - node * size, size)


@inlined
def _is_beyond(low, high, d):  # type: ignore[no-untyped-def]
    """Whether the query was brought nearer, so that no farthest point is as far as it seems."""
    beyond = False
    for j in range(d):
        beyond |= low[j] <= -BEYOND or high[j] >= BEYOND
    return beyond


@jit
def count_within(dims, norm, n, Q, radius, tree, scale, place, counts):  # type: ignore[no-untyped-def]
    """counts[i]: how many rows are within radius[i] of query i, for the queries of place[:]."""
    d = Q.shape[1]
    low, high, stack = np.empty(d, np.float32), np.empty(d, np.float32), np.empty(ROOM, np.int64)
    near, far = np.empty(LANE, np.float32), np.empty(LANE)
    nodes, how = nodes_pointers(tree), scale_pointers(scale)
    for j in range(place.shape[0]):
        i = place[j] & 0xFFFFFFFF
        q, most = data_pointer(Q[i]), radius[i]
        place_query(q, d, how, data_pointer(low), data_pointer(high))
        limit, sure = limit_of(norm, most, how), sure_of(norm, most, how)
        if _is_beyond(low, high, d):
            sure = np.float32(-1.0)
        stack[0] = nodes.depth
        waiting, count = 1, 0
        while waiting > 0:
            waiting -= 1
            node, level = stack[waiting] // LEVELS, stack[waiting] % LEVELS
            if level > 0:
                at = (nodes.start[level] + node) * 2 * LANE * d
                mask = np.uint64(
                    near_boxes(
                        dims, norm, nodes.boxes, at, data_pointer(low), data_pointer(high), d, limit, data_pointer(near)
                    )
                )
                whole = np.uint64(0)
                if mask != 0:
                    whole = np.uint64(
                        far_boxes(
                            dims,
                            norm,
                            nodes.boxes,
                            at,
                            data_pointer(low),
                            data_pointer(high),
                            d,
                            sure,
                            data_pointer(near),
                        )
                    )
                mask &= ~whole
                while whole != 0:
                    count += _rows_below(n, LANE * node + lowest_bit(whole), level - 1)
                    whole &= whole - ONE
                waiting = _wait(mask, LANE * node * LEVELS + level - 1, stack, waiting)
                continue
            for block in range(BLOCKS * node, BLOCKS * node + BLOCKS):
                at = block * LANE * d
                mask = near_block(dims, norm, nodes, how, at, q, d, most, data_pointer(far))
                while mask != 0:
                    lane = lowest_bit(mask)
                    mask &= mask - ONE
                    count += exact(norm, far[lane], nodes.blocks, at + lane, q, d, how.p) <= most
        counts[i] = count
    keep_alive((low, high, near, far))
