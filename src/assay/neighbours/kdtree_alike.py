"""Which nodes of a k-d tree hold nothing but copies of one row, and from which row number on.

Copies are equally far from a query, and of equally far rows those with the least numbers are its neighbours: where k others are known, all copies below
a node are left out at once by its least number.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.simd.vectors import LANE
from assay.loops.neighbours.kdtree_nodes import LEAF
from assay.numerics import Array, Floats

NO_ROW = np.iinfo(np.int64).max


def alike_below(low: Floats, high: Floats, number: Array, nodes: int) -> tuple[Array, Array]:
    """alike (nodes,): bits of the children whose rows are all equal; least (nodes, 8): the least row numbers of the children, of which nothing is kept where no
    leaf has equal rows. low, high (leaves, d): the leaves' least and greatest values.

    >>> alike, least = alike_below(np.array([[1.0], [1.0], [2.0]]), np.array([[1.0], [1.0], [3.0]]), np.arange(48)[::-1], 1)
    >>> alike, least[0, :3]
    (array([3], dtype=uint64), array([32, 16,  0]))
    """
    alike = np.zeros(nodes, dtype=np.uint64)
    if nodes == 0 or not np.any(np.all(low == high, axis=1)):
        return alike, np.empty((0, LANE), dtype=np.int64)
    least = np.full((nodes, LANE), NO_ROW)
    first, numbers = 0, _by(number, LEAF, NO_ROW).min(axis=1)
    while len(low) > 1:
        same, ours = _by(np.all(low == high, axis=1), LANE, False), _by(numbers, LANE, NO_ROW)
        alike[first : first + len(same)] = same @ (1 << np.arange(LANE, dtype=np.uint64))
        least[first : first + len(ours)] = ours
        first, numbers = first + len(same), ours.min(axis=1)
        starts = np.arange(0, len(low), LANE)
        low, high = np.minimum.reduceat(low, starts, axis=0), np.maximum.reduceat(high, starts, axis=0)
    return alike, least


def _by(values: Array, size: int, rest: object) -> Array:
    """The values in stretches of `size`, filled up with `rest`."""
    out = np.full(-(-len(values) // size) * size, rest, dtype=values.dtype)
    out[: len(values)] = values
    return out.reshape(-1, size)
