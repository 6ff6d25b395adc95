"""Where the nodes of a tree stand: parents above the middle of their children, subtrees as near as they fit.

After Reingold and Tilford (1981): the right subtree is pushed until it is one step from the left one at every level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import DataError
from assay.hypotheses.trees.shape import TreeShape as TreeShape
from assay.numerics import Array, Floats


def check_tree(shape: TreeShape) -> None:
    """Raise where the arrays are no tree."""
    nodes = len(shape.left)
    for name in ("right", "feature", "threshold", "value", "n"):
        if len(getattr(shape, name)) != nodes:
            raise DataError(
                f"A tree of {nodes} nodes has {len(getattr(shape, name))} entries in {name!r}: one a node, please."
            )
    left, right = np.asarray(shape.left), np.asarray(shape.right)
    if np.any((left < 0) != (right < 0)):
        raise DataError(
            f"Node {int(np.flatnonzero((left < 0) != (right < 0))[0])} has one child: a node has two or none."
        )
    children = np.sort(np.concatenate([left[left >= 0], right[right >= 0]]))
    if nodes == 0 or not np.array_equal(children, np.arange(1, nodes)):
        raise DataError("The arrays are no tree with root 0: every other node must be the child of exactly one node.")


def cut(shape: TreeShape, depth: int | None) -> tuple[Array, Array, Array]:
    """left and right as far as they are drawn, and the levels (nodes,) of drawn nodes (−1: not drawn).

    >>> shape = TreeShape(*np.array([[1, -1, -1], [2, -1, -1]]), *np.zeros((2, 3)), np.ones((3, 1)), np.ones(3))
    >>> cut(shape, 0)[2]
    array([ 0, -1, -1])
    """
    left, right = np.array(shape.left, dtype=np.intp), np.array(shape.right, dtype=np.intp)
    level = np.full(len(left), -1, dtype=np.intp)
    level[0], waiting = 0, [0]
    while waiting:
        node = waiting.pop()
        if left[node] >= 0 and depth is not None and level[node] >= depth:
            left[node] = right[node] = -1
        if left[node] >= 0:
            level[[left[node], right[node]]] = level[node] + 1
            waiting += [int(left[node]), int(right[node])]
    return left, right, level


def places(left: Array, right: Array, level: Array) -> Floats:
    """x of each drawn node, neighbours on a level at least 1 apart, from 0 upwards; NaN where not drawn."""
    x = np.full(len(left), np.nan)
    shift = np.zeros(len(left))  # of a node against its parent
    outline: dict[int, tuple[list[float], list[float]]] = {}  # of a subtree: least and greatest x, level by level
    order = np.flatnonzero(level >= 0)
    order = order[np.argsort(level[order], kind="stable")]
    for node in order[::-1].tolist():
        if left[node] < 0:
            outline[node] = ([0.0], [0.0])
            continue
        (low_a, high_a), (low_b, high_b) = outline.pop(int(left[node])), outline.pop(int(right[node]))
        half = (max(a - b for a, b in zip(high_a, low_b)) + 1) / 2
        shift[left[node]], shift[right[node]] = -half, half
        outline[node] = ([0.0, *_merged(low_a, low_b, half, min)], [0.0, *_merged(high_a, high_b, half, max)])
    x[0] = 0.0
    for node in order.tolist():
        for child in (left[node], right[node]):
            if child >= 0:
                x[child] = x[node] + shift[child]
    return np.asarray(x - np.nanmin(x))


def _merged(a: list[float], b: list[float], half: float, pick: Any) -> list[float]:
    a, b = [v - half for v in a], [v + half for v in b]
    return [*(pick(p, q) for p, q in zip(a, b)), *a[len(b) :], *b[len(a) :]]
