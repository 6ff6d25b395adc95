"""Asking a k-d tree for the nearest rows, or for all within a distance: which they are, or how many.

*Nearest*: first the leaf where a query is at home, then what may hide nearer ones. With a first k-th distance from home, nearly all boxes are left out as
soon as they are seen. Queries come in the order of their homes: what one has read, the next one needs.

*Within a distance*: a box is left out where its nearest point is too far; where even its farthest is near enough, its rows are counted without looking at
them.

Pairs of a distance and a row number are put in their order by insertion where they are few, by a heap where they are many, which needs no room and is
never slow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.simd.memory import data_pointer, keep_alive, prefetch_at
from assay.compiled.simd.neighbours import far_boxes, near_boxes, nearest_box
from assay.compiled.simd.scalars import lowest_bit
from assay.compiled.simd.vectors import LANE
from assay.families.neighbours.loops.kdtree import (
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

FEW = 32  # pairs that are sorted by insertion
ONE = np.uint64(1)
NOBODY = 0x7FFFFFFFFFFFFFFF
SORTED = 48  # neighbours at most that are kept sorted; more are a heap until all are found
TOGETHER = 8
AHEAD = 6  # queries whose homes are asked for before their turn
ROOM = 256  # nodes that can wait: seven a level and the last one's eight


@inlined
def _before(r, rows, a, b):  # type: ignore[no-untyped-def]
    return r[a] < r[b] or (r[a] == r[b] and rows[a] < rows[b])


@inlined
def _sink(r, rows, first, root, size):  # type: ignore[no-untyped-def]
    """Let the pair at `root` of the heap sink to its place: no parent is before its children."""
    x, row = r[first + root], rows[first + root]
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and _before(r, rows, first + child, first + child + 1):
            child += 1
        if r[first + child] < x or (r[first + child] == x and rows[first + child] < row):
            break
        r[first + root], rows[first + root] = r[first + child], rows[first + child]
        root = child
    r[first + root], rows[first + root] = x, row


@inlined
def replace_last(x, row, r, rows, size):  # type: ignore[no-untyped-def]
    """Put a pair in place of the greatest, which is the last: the heap lies backwards, and its root at its end."""
    root, end = 0, size - 1
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and _before(r, rows, end - child, end - child - 1):
            child += 1
        at = end - child
        if r[at] < x or (r[at] == x and rows[at] < row):
            break
        r[end - root], rows[end - root] = r[at], rows[at]
        root = child
    r[end - root], rows[end - root] = x, row


@inner
def sort_pairs(r, rows, first, stop):  # type: ignore[no-untyped-def]
    """Put the pairs first … stop − 1, all different, in the order of (r, row)."""
    if stop - first <= FEW:
        for i in range(first + 1, stop):
            x, row, j = r[i], rows[i], i
            while j > first and (r[j - 1] > x or (r[j - 1] == x and rows[j - 1] > row)):
                r[j], rows[j] = r[j - 1], rows[j - 1]
                j -= 1
            r[j], rows[j] = x, row
        return
    size = stop - first
    for root in range(size // 2 - 1, -1, -1):
        _sink(r, rows, first, root, size)
    for last in range(size - 1, 0, -1):
        r[first], r[first + last] = r[first + last], r[first]
        rows[first], rows[first + last] = rows[first + last], rows[first]
        _sink(r, rows, first, 0, last)


class QueryScratch(NamedTuple):
    """The query where the boxes are, nodes still to look at with their distances, and what eight boxes or rows at a time give."""

    low: Any
    high: Any
    stack: Any
    bound: Any
    near: Any
    far: Any


@inlined
def insert(r, row, best, index, k):  # type: ignore[no-untyped-def]
    """Put a row into the sorted list of the k nearest, before the first that is farther or as far with a higher number; of many, into the heap
    whose last is the farthest."""
    if k > SORTED:
        replace_last(r, row, best, index, k)
        return
    j = k - 1
    while j > 0 and (best[j - 1] > r or (best[j - 1] == r and index[j - 1] > row)):
        best[j] = best[j - 1]
        index[j] = index[j - 1]
        j -= 1
    best[j] = r
    index[j] = row


@inlined
def wait_in_order(mask, child, near, stack, bound, waiting):  # type: ignore[no-untyped-def]
    """Put the children in the bits of mask on the stack, the nearest on top; `child`: the first one. Returns how many wait."""
    begin = waiting
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - ONE
        r = near[lane]
        j = waiting
        while j > begin and bound[j - 1] < r:
            bound[j] = bound[j - 1]
            stack[j] = stack[j - 1]
            j -= 1
        bound[j] = r
        stack[j] = child + lane * LEVELS
        waiting += 1
    return waiting


@inlined
def _scan(dims, norm, leaf, q, d, k, without, tree, scale, far, best, index):  # type: ignore[no-untyped-def]
    """Compare the query with the rows of a leaf."""
    for block in range(BLOCKS * leaf, BLOCKS * leaf + BLOCKS):
        at = block * LANE * d
        mask = near_block(dims, norm, tree, scale, at, q, d, best[k - 1], far)
        while mask != 0:
            lane = lowest_bit(mask)
            mask &= mask - ONE
            r = exact(norm, far[lane], tree.blocks, at + lane, q, d, scale.p)
            if r <= best[k - 1]:
                row = tree.number[block * LANE + lane]
                if row != without and (r < best[k - 1] or row < index[k - 1]):
                    insert(r, row, best, index, k)


@inlined
def _in_vain(dims, norm, alike, i, level, q, d, k, tree, scale, far, best, index):  # type: ignore[no-untyped-def]
    """Of children whose rows are all equal, those that cannot hold a neighbour: their rows are as far as their first one."""
    vain = np.uint64(0)
    while alike != 0:
        lane = lowest_bit(alike)
        at = ((LANE * i + lane) << (3 * (level - 1))) * LEAF * d
        near_block(dims, norm, tree, scale, at, q, d, np.inf, far)
        r = exact(norm, far[0], tree.blocks, at, q, d, scale.p)
        if r > best[k - 1] or (r == best[k - 1] and tree.least[(tree.start[level] + i) * LANE + lane] > index[k - 1]):
            vain |= ONE << np.uint64(lane)
        alike &= alike - ONE
    return vain


@inlined
def _ask(dims, norm, q, d, k, without, home, tree, scale, room, best, index):  # type: ignore[no-untyped-def]
    """The k nearest rows of one query in best, index; all arrays are addresses."""
    for j in range(k):
        best[j] = np.inf
        index[j] = NOBODY
    low, high, stack, bound, near, far = room.low, room.high, room.stack, room.bound, room.near, room.far
    place_query(q, d, scale, low, high)
    stack[0], bound[0] = tree.depth, np.float32(0.0)
    waiting, node, limit = min(tree.depth, 1), home * LEVELS, np.float32(0.0)
    while True:
        if node % LEVELS == 0:
            _scan(dims, norm, node // LEVELS, q, d, k, without, tree, scale, far, best, index)
            limit = limit_of(norm, best[k - 1], scale)
        else:
            i, level = node // LEVELS, node % LEVELS
            at = (tree.start[level] + i) * 2 * LANE * d
            mask = np.uint64(near_boxes(dims, norm, tree.boxes, at, low, high, d, limit, near))
            if level == 1 and home // LANE == i:
                mask &= ~(ONE << np.uint64(home % LANE))
            alike = mask & tree.alike[tree.start[level] + i]
            if alike != 0 and level > 1:  # one row of a leaf takes as long as half of it
                mask &= ~_in_vain(dims, norm, alike, i, level, q, d, k, tree, scale, far, best, index)
            waiting = wait_in_order(mask, LANE * i * LEVELS + level - 1, near, stack, bound, waiting)
        while waiting > 0 and bound[waiting - 1] > limit:
            waiting -= 1
        if waiting == 0:
            break
        waiting -= 1
        node = stack[waiting]
    if k > SORTED:
        sort_pairs(best, index, 0, k)


@inlined
def _ask_ahead(home, tree, d):  # type: ignore[no-untyped-def]
    """Have the memory bring a leaf, and the boxes of it and its neighbours."""
    for line in range(LEAF * d // LANE):
        prefetch_at(tree.blocks, home * LEAF * d + line * LANE)
    for line in range(LEAF // LANE):
        prefetch_at(tree.number, home * LEAF + line * LANE)
    if tree.depth > 0:
        for line in range(d):
            prefetch_at(tree.boxes, ((tree.start[1] + home // LANE) * d + line) * 2 * LANE)


@jit
def homes(dims, norm, Q, tree, scale, first, place):  # type: ignore[no-untyped-def]
    """place (m,): the leaf that one comes to by going to the nearest box every time, times 2³², and the query's number: `first` and following.
    TOGETHER queries go down side by side, so that none waits for the memory alone."""
    m, d = Q.shape
    low, high = np.empty((TOGETHER, d), np.float32), np.empty((TOGETHER, d), np.float32)
    nodes, how, node = nodes_pointers(tree), scale_pointers(scale), np.zeros(TOGETHER, np.int64)
    for begin in range(0, m, TOGETHER):
        count = min(TOGETHER, m - begin)
        for j in range(count):
            node[j] = 0
            place_query(data_pointer(Q[begin + j]), d, how, data_pointer(low[j]), data_pointer(high[j]))
        for level in range(nodes.depth, 0, -1):
            for j in range(count):
                at = (nodes.start[level] + node[j]) * 2 * LANE * d
                lane = nearest_box(dims, norm, nodes.boxes, at, data_pointer(low[j]), data_pointer(high[j]), d)
                node[j] = LANE * node[j] + lane
        for j in range(count):
            place[begin + j] = (node[j] << 32) + first + begin + j
    keep_alive((low, high))


@jit
def nearest(dims, norm, Q, without, tree, scale, place, best, index):  # type: ignore[no-untyped-def]
    """The queries of place[:] in turn: best, index (m, k): reduced distances and row numbers of the nearest rows of each query; without (m,): a
    row that a query must not have, −1: none; or empty. index is as large as can be where there are fewer rows."""
    d = Q.shape[1]
    low, high = np.empty(d, np.float32), np.empty(d, np.float32)
    stack, bound = np.empty(ROOM, np.int64), np.empty(ROOM, np.float32)
    near, far = np.empty(LANE, np.float32), np.empty(LANE)
    room = QueryScratch(
        data_pointer(low),
        data_pointer(high),
        data_pointer(stack),
        data_pointer(bound),
        data_pointer(near),
        data_pointer(far),
    )
    nodes, how = nodes_pointers(tree), scale_pointers(scale)
    for j in range(place.shape[0]):
        i, home = place[j] & 0xFFFFFFFF, place[j] >> 32
        if j + AHEAD < place.shape[0]:
            _ask_ahead(place[j + AHEAD] >> 32, nodes, d)
        own = without[i] if without.shape[0] > 0 else -1
        _ask(
            dims,
            norm,
            data_pointer(Q[i]),
            d,
            best.shape[1],
            own,
            home,
            nodes,
            how,
            room,
            data_pointer(best[i]),
            data_pointer(index[i]),
        )
    keep_alive((low, high, stack, bound, near, far))


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
