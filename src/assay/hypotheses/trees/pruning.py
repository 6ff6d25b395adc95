"""Smaller trees out of grown ones: the most profitable leaves, and the weakest links cut."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from assay.hypotheses.trees.ground import Ground
from assay.hypotheses.trees.nodes import LEAF, tree_ends
from assay.loops.tree.shapes import Grown
from assay.numerics import Array, Floats


def weighted_gains(grown: Grown, ground: Ground) -> Floats:
    """Of each node what its split gains, times its share of the weight; zero of leaves."""
    share = ground.plot.target.weights(grown.sums, grown.rows) / ground.total
    return np.where(grown.feature == LEAF, 0.0, grown.gain * share)


def cut_back(grown: Grown, ends: Array, collapse: Array) -> Grown:
    """The tree with the nodes in `collapse` made leaves and everything below them gone."""
    gone = np.zeros(len(ends) + 1, dtype=np.int64)
    np.add.at(gone, collapse + 1, 1)
    np.add.at(gone, ends[collapse], -1)
    kept = np.cumsum(gone)[:-1] == 0
    feature = grown.feature.copy()
    feature[collapse] = LEAF
    parts = {name: getattr(grown, name)[kept] for name in Grown._fields if name not in ("sets", "bounds", "feature", "right")}
    bounds = grown.bounds[kept] if len(grown.bounds) else grown.bounds
    feature = feature[kept]
    parts["gain"][feature == LEAF] = 0.0
    new = tree_ends(feature)
    right = np.full(len(feature), -1, dtype=np.int32)
    split = np.flatnonzero(feature != LEAF)
    right[split] = new[split + 1]
    return Grown(feature=feature, right=right, sets=grown.sets, bounds=bounds, **parts)


def best_first(gains: Floats, feature: Array, ends: Array, leaves: int) -> Array:
    """The nodes that stay leaves when the split that gains most is made next until there are so many leaves."""
    made = np.zeros(len(feature), dtype=bool)
    heap: list[tuple[float, int]] = [(-gains[0], 0)] if feature[0] != LEAF else []
    count = 1
    while heap and count < leaves:
        _, node = heapq.heappop(heap)
        made[node] = True
        count += 1
        for child in (node + 1, int(ends[node + 1])):
            if feature[child] != LEAF:
                heapq.heappush(heap, (-gains[child], child))
    return np.array(sorted(node for _, node in heap), dtype=np.int64)


def pruned(grown: Grown, ground: Ground, most_leaves: int | None, alpha: float) -> Grown:
    """The tree with at most so many leaves, and without the splits that gain less than alpha for each leaf they make."""
    if most_leaves is not None and (grown.feature == LEAF).sum() > most_leaves:
        ends = tree_ends(grown.feature)
        collapse = best_first(weighted_gains(grown, ground), grown.feature, ends, most_leaves)
        grown = cut_back(grown, ends, collapse)
    if alpha > 0:
        ends = tree_ends(grown.feature)
        alphas = weakest_links(weighted_gains(grown, ground), grown.feature, ends)
        collapse = np.flatnonzero((grown.feature != LEAF) & (alphas <= alpha))
        grown = cut_back(grown, ends, collapse)
    return grown


def weakest_links(gains: Floats, feature: Array, ends: Array) -> Floats:
    """Of each split the alpha from which on it is gone, by cutting again and again the subtree that gains least for each leaf.

    A subtree's link is g = Σ gains / (leaves − 1); the least goes first, and the links above it change. Alphas never fall.
    """
    from assay.loops.tree.links import cut_links

    parent = np.full(len(feature), -1, dtype=np.int64)
    split = np.flatnonzero(feature != LEAF)
    parent[split + 1] = split
    parent[ends[split + 1]] = split
    is_leaf = feature == LEAF
    total = np.concatenate([[0.0], np.cumsum(np.where(is_leaf, 0.0, gains))])
    count = np.concatenate([[0], np.cumsum(is_leaf)])
    inside = total[ends] - total[:-1]
    leaves = (count[ends] - count[:-1]).astype(np.int64)
    alphas = np.full(len(feature), np.inf)
    cut_links(np.ascontiguousarray(inside), leaves, parent, ends, np.ascontiguousarray(is_leaf), alphas)
    return alphas


def path_of(alphas: Floats, gains: Floats, feature: Array, impurity: float) -> tuple[Floats, Floats]:
    """The alphas at which the tree changes, and the impurity of its leaves from each of them on."""
    split = feature != LEAF
    order: Any = np.unique(np.concatenate([[0.0], alphas[split]]))
    kept = np.array([float(gains[split & (alphas > a)].sum()) for a in order])
    return order, impurity - kept
