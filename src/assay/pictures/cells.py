"""The leaves of a tree as rectangles of a plane on which each column varies along one axis at most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.numerics import Array, Floats


class Cell(NamedTuple):
    """A leaf's part of the plane: its node, and its sides."""

    node: int
    x: tuple[float, float]
    y: tuple[float, float]


def cells(
    feature: Array, cut: Floats, ends: Array, c: Floats, u: Floats, v: Floats, x: tuple[float, float], y: tuple[float, float]
) -> Iterator[Cell]:  # fmt: skip
    """The leaves that meet the rectangle x, y; nothing below a split by categories that vary there.

    The nodes stand in preorder: `feature` (N,) is −1 at a leaf and −2 − column at a split by categories, `cut` (N,) is the threshold
    (value ≤ cut goes left), `ends` (N,) where each subtree ends. Column j is c_j + u_j·a₁ + v_j·a₂.
    """
    waiting = [Cell(0, x, y)]
    while waiting:
        node, x, y = waiting.pop()
        j = int(feature[node])
        if j < 0 or (u[j] != 0 and v[j] != 0):
            yield Cell(node, x, y)
            continue
        left, right = node + 1, int(ends[node + 1])
        slope = float(u[j] or v[j])
        if slope == 0:
            waiting.append(Cell(left if c[j] <= cut[node] else right, x, y))
            continue
        at = float((cut[node] - c[j]) / slope)
        below, above = (left, right) if slope > 0 else (right, left)
        low, high = x if u[j] != 0 else y
        for child, side in ((below, (low, min(at, high))), (above, (max(at, low), high))):
            if side[0] < side[1]:
                waiting.append(Cell(child, side, y) if u[j] != 0 else Cell(child, x, side))


def boxed(
    lower: Floats, upper: Floats, c: Floats, u: Floats, v: Floats, x: tuple[float, float], y: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The part of the rectangle x, y where lower ≤ column ≤ upper in every column; None where it is empty.

    >>> one, none = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> boxed(np.array([0.0, 1.0]), np.array([2.0, 5.0]), np.zeros(2), one, none, (-9.0, 9.0), (-9.0, 3.0))
    ((0.0, 2.0), (1.0, 3.0))
    """
    sides = [x, y]
    for j in range(len(lower)):
        slope = float(u[j] or v[j])
        if slope == 0:
            if not lower[j] <= c[j] <= upper[j]:
                return None
            continue
        axis = 0 if u[j] != 0 else 1
        ends = sorted((float((lower[j] - c[j]) / slope), float((upper[j] - c[j]) / slope)))
        sides[axis] = (max(sides[axis][0], ends[0]), min(sides[axis][1], ends[1]))
    (left, right), (low, high) = sides
    return None if np.greater(left, right) or np.greater(low, high) else ((left, right), (low, high))
