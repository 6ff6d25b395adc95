"""How a k-d tree finds the nearest rows of one query, step by step: for looking on, in plain Python over the tree's own arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.compiled.simd.vectors import LANE
from assay.loops.neighbours.kdtree_nodes import LEAF
from assay.neighbours.kdtree import Tree
from assay.neighbours.plain import reduced_distances


@dataclass(frozen=True)
class Step:
    """A node that was looked at, or left out because its box is farther than the k-th row so far.

    `level` 0 are leaves; `node`: its number in the level; `low`, `high` (d,): its box; `gap`: the reduced distance of the query and the box; `rows`: of a leaf
    that was looked at; `best`: (row number, reduced distance) of the nearest rows so far, in their order.
    """

    level: int
    node: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    gap: float
    looked: bool
    rows: tuple[int, ...]
    best: tuple[tuple[int, float], ...]


def descent(tree: Tree, q: Any, k: int) -> Iterator[Step]:
    """The steps of the search for the k nearest rows of q (d,): the nearest child first. The last step's `best` is the answer.

    >>> from assay.engines.threads import Threads
    >>> tree = Tree(np.arange(40.0)[:, None], Threads(1))
    >>> for step in descent(tree, [38.0], 2):
    ...     print(step.level, step.node, step.gap, step.looked, step.best)
    1 0 0.0 True ()
    0 2 0.0 True ((38, 0.0), (37, 1.0))
    0 1 49.0 False ((38, 0.0), (37, 1.0))
    0 0 529.0 False ((38, 0.0), (37, 1.0))
    """
    query = np.asarray(q, dtype=np.float64).reshape(1, -1)
    found: list[tuple[float, int]] = []
    waiting = [(tree.nodes.depth, 0)]
    while waiting:
        level, node = waiting.pop()
        low, high = _box(tree, level, node)
        gap = _gap(tree, query, low, high)
        looked = len(found) < k or gap <= found[-1][0]
        rows: tuple[int, ...] = ()
        if looked and level == 0:
            X, number = _leaf(tree, node)
            r = reduced_distances(X, query, tree.norm)[0]
            found = sorted([*found, *zip(r.tolist(), number.tolist())])[:k]
            rows = tuple(number.tolist())
        elif looked:
            waiting += _children(tree, level, node, query)
        best = tuple((row, r) for r, row in found)
        yield Step(level, node, tuple(low.tolist()), tuple(high.tolist()), gap, looked, rows, best)


def _children(tree: Tree, level: int, node: int, query: Any) -> list[tuple[int, int]]:
    """The children of a node, the farthest first, and of equals the last."""
    count = -(-tree.n // (LEAF << (3 * (level - 1))))
    below = [(level - 1, i) for i in range(LANE * node, min(LANE * node + LANE, count))]
    return sorted(below, key=lambda child: (-_gap(tree, query, *_box(tree, *child)), -child[1]))


def _leaf(tree: Tree, leaf: int) -> tuple[Any, Any]:
    """The rows of a leaf (·, d) and their numbers."""
    X = tree.nodes.blocks[leaf].transpose(0, 2, 1).reshape(LEAF, tree.d)
    number = tree.nodes.number[LEAF * leaf : LEAF * (leaf + 1)]
    return X[: len(number)], number


def _box(tree: Tree, level: int, node: int) -> tuple[Any, Any]:
    """The least and greatest values of a node's rows, from its leaves."""
    size = 1 << (3 * level)
    blocks = tree.nodes.blocks[node * size : (node + 1) * size]
    return np.nanmin(blocks, axis=(0, 1, 3)), np.nanmax(blocks, axis=(0, 1, 3))


def _gap(tree: Tree, query: Any, low: Any, high: Any) -> float:
    """The reduced distance of a query and the nearest point of a box. Rounding keeps the order of each column's differences: it is not above that
    of any row inside."""
    return float(reduced_distances(np.clip(query, low, high), query, tree.norm)[0, 0])
