"""Smaller trees out of grown ones: cut at a depth, the most profitable leaves kept, the weakest links cut.

A tree is grown once (`UnprunedTree`); settings that differ in how it is cut share it (`SharedTree`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.families.trees.grow import leaf_values
from assay.families.trees.loops.absolute import leaf_medians
from assay.families.trees.loops.arrays import ABSOLUTE, ENTROPY, POISSON, NodeArrays
from assay.families.trees.nodes import LEAF, depths_of, tree_ends
from assay.families.trees.training_data import TrainingData
from assay.families.trees.values import impurities, parents_of
from assay.numerics import Array, Floats

ALIKE = 1e-12  # alphas that differ by less, as a share of the root's impurity, differ by rounding
CUTTING = (
    "max_depth",
    "max_leaf_nodes",
    "ccp_alpha",
    "folds",
)  # hyper-parameters of which an unpruned tree knows nothing


class UnprunedTree(NamedTuple):
    """A tree as it was grown, its rows in the order of its leaves, and the classes of its target."""

    training_data: TrainingData
    entries: Array
    grown: NodeArrays
    classes: Array | None

    def cut(self, depth: int | None, leaves: int | None, alpha: float = 0.0) -> UnprunedTree:
        """A smaller tree."""
        grown = self.grown
        if depth is not None:
            grown = cut_at_depth(grown, depths_of(grown.feature, tree_ends(grown.feature)), depth)
        return self._replace(grown=pruned(grown, self.training_data, leaves, alpha))

    def links(self) -> tuple[Floats, Floats]:
        """Of each split the alpha from which on it is gone, and its gain."""
        gains = weighted_gains(self.grown, self.training_data)
        return weakest_links(gains, self.grown.feature, tree_ends(self.grown.feature)), gains

    def path(self) -> PruningPath:
        """The alphas at which the tree changes."""
        alphas, gains = self.links()
        return path_of(alphas, gains, self.grown.feature, root_impurity(self.training_data))

    def answers(self) -> Floats:
        """What each node would say if it were a leaf: the weight of each class; of numbers the answer and the weight."""
        inputs, grown = self.training_data.inputs, self.grown
        if inputs.target.criterion != ABSOLUTE or inputs.target.classes:
            return leaf_values(inputs, grown._replace(feature=np.full(len(grown.feature), LEAF)), self.entries)
        return np.column_stack([self._medians(), inputs.target.weights(grown.sums, grown.rows)])

    def _medians(self) -> Floats:
        """The median of every node, level by level: the nodes of a level do not overlap."""
        feature, start = self.grown.feature, self.grown.start
        ends = tree_ends(feature)
        stop = np.append(start, len(self.entries))[ends]
        depths = depths_of(feature, ends)
        found = np.empty(len(feature))
        for level in range(int(depths.max()) + 1):
            nodes = np.flatnonzero(depths == level)
            edges = np.column_stack([start[nodes], stop[nodes]]).reshape(-1)
            medians = np.zeros(len(edges) - 1)
            leaf_medians(self.training_data.inputs.target.loops, self.entries, edges, medians)
            found[nodes] = medians[::2]
        return found


@dataclass
class SharedTree:
    """What the fits of several settings share: the deepest of their trees, once it is grown."""

    deepest: int | None = 0
    folded: bool = False  # some setting grows trees of some of the rows besides
    unpruned: UnprunedTree | None = None

    def hold(self, model: Any) -> None:
        """Take in the setting of a model."""
        depth = model.max_depth
        self.deepest = None if depth is None or self.deepest is None else max(self.deepest, depth)
        self.folded |= model.ccp_alpha == "cv"


def all_but_cutting(params: dict[str, Any]) -> str:
    """What settings must agree on to share a tree."""
    return repr({name: value for name, value in params.items() if name not in (*CUTTING, "n_jobs")})


def weighted_gains(grown: NodeArrays, training_data: TrainingData) -> Floats:
    """Of each node what its split gains, times its share of the tree's weight; zero of leaves."""
    weight = training_data.inputs.target.weights(grown.sums, grown.rows)
    return np.where(grown.feature == LEAF, 0.0, grown.gain * (weight / weight[0]))


def cut_back(grown: NodeArrays, ends: Array, collapse: Array) -> NodeArrays:
    """The tree with the nodes in `collapse` made leaves and everything below them gone."""
    gone = np.zeros(len(ends) + 1, dtype=np.int64)
    np.add.at(gone, collapse + 1, 1)
    np.add.at(gone, ends[collapse], -1)
    kept = np.cumsum(gone)[:-1] == 0
    feature = grown.feature.copy()
    feature[collapse] = LEAF
    parts = {
        name: getattr(grown, name)[kept]
        for name in NodeArrays._fields
        if name not in ("sets", "bounds", "feature", "right")
    }
    bounds = grown.bounds[kept] if len(grown.bounds) else grown.bounds
    feature = feature[kept]
    parts["gain"][feature == LEAF] = 0.0
    new = tree_ends(feature)
    right = np.full(len(feature), -1, dtype=np.int32)
    split = np.flatnonzero(feature != LEAF)
    right[split] = new[split + 1]
    return NodeArrays(feature=feature, right=right, sets=grown.sets, bounds=bounds, **parts)


def cut_at_depth(grown: NodeArrays, depths: Array, most: int | None) -> NodeArrays:
    """The tree with at most so many splits on the way to a leaf: as if it had been grown so."""
    collapse = np.flatnonzero((grown.feature != LEAF) & (depths == most))
    return cut_back(grown, tree_ends(grown.feature), collapse) if len(collapse) else grown


def in_order_of_gain(gains: Floats, feature: Array, ends: Array) -> Iterator[int]:
    """The splits in the order in which they are made when that which gains most is made next; of equals the first in preorder."""
    heap: list[tuple[float, int]] = [(-gains[0], 0)] if feature[0] != LEAF else []
    while heap:
        _, node = heapq.heappop(heap)
        yield node
        for child in (node + 1, int(ends[node + 1])):
            if feature[child] != LEAF:
                heapq.heappush(heap, (-gains[child], child))


def best_first(gains: Floats, feature: Array, ends: Array, leaves: int) -> Array:
    """The nodes that stay leaves when the split that gains most is made next until there are so many leaves."""
    made = np.zeros(len(feature), dtype=bool)
    for node, _ in zip(in_order_of_gain(gains, feature, ends), range(leaves - 1)):
        made[node] = True
    parent = parents_of(feature, ends)
    reached = (parent < 0) | made[parent]
    return np.flatnonzero((feature != LEAF) & reached & ~made)


def pruned(grown: NodeArrays, training_data: TrainingData, most_leaves: int | None, alpha: float) -> NodeArrays:
    """The tree with at most so many leaves, and without the splits that gain less than alpha for each leaf they make."""
    if most_leaves is not None and (grown.feature == LEAF).sum() > most_leaves:
        ends = tree_ends(grown.feature)
        collapse = best_first(weighted_gains(grown, training_data), grown.feature, ends, most_leaves)
        grown = cut_back(grown, ends, collapse)
    if alpha > 0:
        ends = tree_ends(grown.feature)
        alphas = weakest_links(weighted_gains(grown, training_data), grown.feature, ends)
        collapse = np.flatnonzero((grown.feature != LEAF) & (alphas <= alpha))
        grown = cut_back(grown, ends, collapse)
    return grown


def weakest_links(gains: Floats, feature: Array, ends: Array) -> Floats:
    """Of each split the alpha from which on it is gone, by cutting again and again the subtree that gains least for each leaf.

    A subtree's link is g = Σ gains / (leaves − 1); the least goes first, and the links above it change. Alphas never fall.
    """
    from assay.families.trees.loops.pruning import cut_links

    parent = parents_of(feature, ends)
    is_leaf = feature == LEAF
    total = np.concatenate([[0.0], np.cumsum(np.where(is_leaf, 0.0, gains))])
    count = np.concatenate([[0], np.cumsum(is_leaf)])
    inside = total[ends] - total[:-1]
    leaves = (count[ends] - count[:-1]).astype(np.int64)
    alphas = np.full(len(feature), np.inf)
    cut_links(np.ascontiguousarray(inside), leaves, parent, ends, np.ascontiguousarray(is_leaf), alphas)
    return alphas


class PruningPath(NamedTuple):
    """The alphas at which a tree changes, from 0 up, and the impurity of its leaves from each of them on."""

    ccp_alphas: Floats
    impurities: Floats


def path_of(alphas: Floats, gains: Floats, feature: Array, impurity: float) -> PruningPath:
    """The path of a tree whose root has that impurity. Alphas that differ by rounding are one: the greatest of them."""
    split = feature != LEAF
    order = np.argsort(alphas[split], kind="stable")
    found, lost = alphas[split][order], np.cumsum(gains[split][order])
    last = np.append(np.diff(found) > ALIKE * impurity, True)[: len(found)]
    keep = float(lost[-1]) if len(lost) else 0.0
    ends, gone = found[last], lost[last]
    if not len(ends) or ends[0] > ALIKE * impurity:
        ends, gone = np.append(0.0, ends), np.append(0.0, gone)
    return PruningPath(ends, impurity - (keep - gone))


def root_impurity(training_data: TrainingData) -> float:
    """u of all rows: Gini or entropy of classes; the mean squared error, absolute error or half deviance of Poisson's of a number."""
    y, w, K = training_data.truth, training_data.ratios, training_data.inputs.target.classes
    y = np.where(w > 0, y, y[w.argmax()])  # rows of weight zero may hold anything
    if K:
        share = np.bincount(y, weights=w, minlength=K)[None] / w.sum()
        return float(impurities(share, "entropy" if training_data.inputs.target.criterion == ENTROPY else "gini")[0])
    mean = float(np.average(y, weights=w))
    if training_data.inputs.target.criterion == ABSOLUTE:
        order = np.argsort(y, kind="stable")
        middle = y[order][np.searchsorted(np.cumsum(w[order]), 0.5 * w.sum())]
        return float(np.average(np.abs(y - middle), weights=w))
    if training_data.inputs.target.criterion == POISSON:
        ratio = np.where(y > 0, y, mean) / mean
        return float(np.average(y * np.log(ratio), weights=w))
    return float(np.average((y - mean) ** 2, weights=w))
