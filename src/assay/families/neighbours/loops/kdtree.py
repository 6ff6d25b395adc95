"""A k-d tree as the loops read it, and how a query is compared with its boxes.

Level 0 are the leaves, of LEAF rows each but for the last; node i of a level has the nodes 8 i … 8 i + 7 of the level below. Nothing of the shape
is stored but where each level begins.

Boxes are float32: less a centre, times a power of two, and rounded outwards; so is the query. The distance of query and box has d + 3 roundings of
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
