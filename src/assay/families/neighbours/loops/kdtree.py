"""A k-d tree as the loops read it, how it is built, and how a query is compared with its boxes.

Level 0 are the leaves, of LEAF rows each but for the last; node i of a level has the nodes 8 i … 8 i + 7 of the level below. Nothing of the shape
is stored but where each level begins.

*Building*: rows are put in an order in which every node is a stretch, parted where its widest column has its middle. Leaves are full: of a node of 2^h
leaves, the first half holds 2^(h − 1) of them, and what is left over is the last one's. So node i of height h has the rows LEAF · 2^h · i …
LEAF · 2^h · (i + 1) − 1 of the order. A node's rows are not swapped: their values in its column, less the least, are sorted apart as whole numbers, the
last bits of which say which row they are of; then rows are copied, from one array to another and at the next height back. Values that differ only in
these bits, or that lie below the least of the sample that was looked at, may come to lie on the wrong side: boxes are made of the rows that they hold,
so that this costs nothing but a box that is slightly larger.

*Boxes* are float32: less a centre, times a power of two, and rounded outwards; so is the query. The distance of query and box has d + 3 roundings of
2⁻²⁴ at most and, where squares vanish, d errors of 2⁻¹⁴⁹; the distance of a row has d + 2 of 2⁻⁵³ and d of 2⁻¹⁰⁷⁴. `limit_of` allows for all of
them, so that a box beyond the limit holds no row within the reduced distance, and one whose farthest point is within the limit of `sure_of`
holds no other.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import config

from assay.compiled.decorator import inlined, jit
from assay.compiled.simd.memory import data_pointer
from assay.compiled.simd.neighbours import SQUARES, near_rows
from assay.compiled.simd.vectors import LANE

LEAF = 16
BLOCKS = LEAF // LANE
BEYOND = 2.0**50  # queries are brought this near; no row is farther from the centre than 2
ALL = 3e38  # no box is as far as that
SAFE = 1e-260  # above which the norm p has all its digits
LEVELS = 16  # a node in waiting is its number times this, and its level
FEW = 24  # values that are sorted rather than parted further
SAMPLE = 256  # rows at most that a node's widest column is judged by
PIVOTS = 31  # values at most of which one parts the others


def _plain_power(x: Any, p: Any) -> float:
    try:
        return math.pow(x, p)
    except OverflowError:
        return math.inf


# power(x, p): x^p as the C library takes it
power = _plain_power if config.DISABLE_JIT else jit(forceinline=True)(lambda x, p: x**p)


class Nodes(NamedTuple):
    """boxes (nodes, d, 2, 8) of the children of the nodes above the leaves, those of level l from start[l] on; blocks (leaves, BLOCKS, d, 8);
    number (leaves · LEAF,): of each row in the order of the leaves; depth: the root's level; alike (nodes,): bits of the children whose rows are all equal,
    and least (nodes, 8): their least row numbers."""

    depth: int
    start: Any
    boxes: Any
    blocks: Any
    number: Any
    alike: Any
    least: Any


class BoxScale(NamedTuple):
    """Boxes hold (x · half − centre · half) · rest; `least`, `grow` and `floor` are the allowances; p, turn, blow and shrunk are
    what the norm p needs, see `kdtree_scale`."""

    centre: Any
    half: float
    rest: float
    grow: float
    floor: float
    least: float
    p: float
    turn: float
    blow: float
    shrunk: float


@inlined
def nodes_pointers(tree):  # type: ignore[no-untyped-def]
    start, boxes, blocks = data_pointer(tree.start), data_pointer(tree.boxes), data_pointer(tree.blocks)
    return Nodes(
        tree.depth, start, boxes, blocks, data_pointer(tree.number), data_pointer(tree.alike), data_pointer(tree.least)
    )


@inlined
def scale_pointers(scale):  # type: ignore[no-untyped-def]
    return BoxScale(
        data_pointer(scale.centre),
        scale.half,
        scale.rest,
        scale.grow,
        scale.floor,
        scale.least,
        scale.p,
        scale.turn,
        scale.blow,
        scale.shrunk,
    )


@inlined
def float32_below(t):  # type: ignore[no-untyped-def]
    """A float32 that is less than t, and than what t was before its last rounding in float64."""
    return np.float32(t - (abs(t) * 2.0**-23 + 2.0**-148))


@inlined
def place_query(q, d, scale, low, high):  # type: ignore[no-untyped-def]
    """low, high (d,): the query where the boxes are, rounded down and up."""
    for j in range(d):
        t = (q[j] * scale.half - scale.centre[j] * scale.half) * scale.rest
        t = min(max(t, -BEYOND), BEYOND)
        low[j] = float32_below(t)
        high[j] = -float32_below(-t)


@inlined
def _at_boxes(norm, r, scale):  # type: ignore[no-untyped-def]
    """A reduced distance where the boxes are; in the norm p, its square as a distance."""
    if len(norm) > len(SQUARES):
        root = r**scale.turn * scale.half * scale.rest
        return root * root
    r = r * scale.half * scale.rest
    return r if len(norm) < len(SQUARES) else r * scale.half * scale.rest


@inlined
def limit_of(norm, r, scale):  # type: ignore[no-untyped-def]
    """The distance beyond which no box holds rows within r."""
    near = _at_boxes(norm, max(float(r), 0.0) + scale.least, scale) * scale.blow * scale.grow
    return np.float32(min(max(near, scale.floor), ALL))


@inlined
def sure_of(norm, r, scale):  # type: ignore[no-untyped-def]
    """The distance such that all rows of a box are within r whose farthest point is within it; negative where there is none."""
    if len(norm) > len(SQUARES) and not r > SAFE:
        return np.float32(-1.0)
    far = _at_boxes(norm, float(r) - scale.least, scale) * scale.shrunk / scale.grow - scale.floor
    return np.float32(min(max(far, -1.0), ALL))


@inlined
def exact(norm, r, blocks, at, q, d, p):  # type: ignore[no-untyped-def]
    """The reduced distance of a row, whose column j is at at + 8 j: what the lanes found, or the norm p."""
    if len(norm) > len(SQUARES):
        r = 0.0
        for j in range(d):
            r += power(abs(float(blocks[at + LANE * j]) - float(q[j])), p)
    return r


@inlined
def near_block(dims, norm, tree, scale, at, q, d, r, far):  # type: ignore[no-untyped-def]
    """Bits of the rows of a block that may be within r; far[lane]: what `exact` needs."""
    if len(norm) > len(SQUARES):
        root = (max(float(r), 0.0) + scale.least) ** scale.turn
        r = root * root * scale.blow + SAFE
    return np.uint64(near_rows(dims, norm, tree.blocks, at, q, d, r, far))


@inlined
def _widest(rows, a, b):  # type: ignore[no-untyped-def]
    """The column in which the rows a … b − 1 are farthest from their mean on average, and its least value. By their range, columns of few values would
    be parted again and again for a few rows at one end."""
    best, widest, least = 0, -1.0, rows[a, 0]
    step = max(1, (b - a) // SAMPLE)
    share = step / (b - a)
    for c in range(rows.shape[1]):
        low, mean, spread = rows[a, c], 0.0, 0.0
        for i in range(a, b, step):
            x = rows[i, c]
            low = x if x < low else low
            mean += x * share
        for i in range(a, b, step):
            spread += abs(rows[i, c] - mean) * share
        if spread > widest:
            best, widest, least = c, spread, low
    return best, least


@inlined
def _sort(keys, low, high):  # type: ignore[no-untyped-def]
    for i in range(low + 1, high):
        x, j = keys[i], i
        while j > low and keys[j - 1] > x:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = x


@inlined
def _pivot(keys, low, high, k, pivots):  # type: ignore[no-untyped-def]
    """A value of keys[low:high] that is near the one that would be at k if they were sorted."""
    count = PIVOTS if high - low > 512 else 5
    step = (high - low) // count
    for i in range(count):
        pivots[i] = keys[low + i * step + step // 2]
    _sort(pivots, 0, count)
    return pivots[min(count - 1, (k - low) * count // (high - low))]


@inlined
def _select(keys, m, k, pivots):  # type: ignore[no-untyped-def]
    """Reorder keys[:m], all different, so that none before k is greater than one from k on."""
    low, high = 0, m
    while high - low > FEW:
        pivot = _pivot(keys, low, high, k, pivots)
        split = low
        for i in range(low, high):
            x = keys[i]
            keys[i] = keys[split]
            keys[split] = x
            split += x < pivot
        if split == low:  # the least of all: it goes first
            for i in range(low, high):
                if keys[i] == pivot:
                    keys[i], keys[low] = keys[low], keys[i]
            low += 1
            if k < low:
                return
        elif k < split:
            high = split
        elif k > split:
            low = split
        else:
            return
    _sort(keys, low, high)


@inlined
def _part(rows, number, to, to_number, a, middle, b, values, keys, pivots):  # type: ignore[no-untyped-def]
    """Copy the rows a … b − 1 so that those with the least values in the widest column come before the middle."""
    m, d = b - a, rows.shape[1]
    c, least = _widest(rows, a, b)
    for i in range(m):
        values[i] = max(rows[a + i, c] - least, 0.0)
    which = 1
    while which < m:
        which *= 2
    which -= 1
    for i in range(m):
        keys[i] = (keys[i] & ~which) | i
    if middle < b:
        _select(keys, m, middle - a, pivots)
    for i in range(m):
        j = a + (keys[i] & which)
        for c in range(d):
            to[a + i, c] = rows[j, c]
        to_number[a + i] = number[j]


@jit
def halve(rows, number, to, to_number, height, first, until):  # type: ignore[no-untyped-def]
    """Part node `first` of a height, and its descendants down to those of height `until`: rows are where they were for an even number of steps, else in
    `to`."""
    n = rows.shape[0]
    stack = np.empty((128, 2), np.int64)
    room = min(n, LEAF << height)
    values, pivots = np.empty(room), np.empty(PIVOTS, np.int64)
    keys = values.view(np.int64)
    stack[0, 0], stack[0, 1] = height, first
    waiting = 1
    while waiting > 0:
        waiting -= 1
        h, i = stack[waiting]
        a = (LEAF << h) * i
        if a >= n:
            continue
        middle, b = a + (LEAF << (h - 1)), min(n, a + (LEAF << h))
        if (height - h) % 2 == 0:
            _part(rows, number, to, to_number, a, middle, b, values, keys, pivots)
        else:
            _part(to, to_number, rows, number, a, middle, b, values, keys, pivots)
        if h - 1 > until:
            for side in range(2):
                stack[waiting, 0], stack[waiting, 1] = h - 1, 2 * i + 1 - side
                waiting += 1


@jit
def fill_leaves(rows, first, last, blocks, low, high):  # type: ignore[no-untyped-def]
    """Of the leaves first … last − 1: blocks[leaf, block, column, lane], their rows column by column, NaN where there is none; low, high (leaves, d), their
    least and greatest values."""
    n, d = rows.shape
    for leaf in range(first, last):
        a, b = LEAF * leaf, min(n, LEAF * (leaf + 1))
        for c in range(d):
            least = most = rows[a, c]
            for i in range(a, a + LEAF):
                x = rows[i, c] if i < b else np.nan
                least = x if x < least else least
                most = x if x > most else most
                blocks[leaf, (i - a) // LANE, c, (i - a) % LANE] = x
            low[leaf, c], high[leaf, c] = least, most
