"""A tree before it is cut, and what several settings that differ in cutting alone share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.families.trees.grow import leaf_values
from assay.families.trees.loops.absolute import leaf_medians
from assay.families.trees.loops.arrays import ABSOLUTE, NodeArrays
from assay.families.trees.nodes import LEAF, depths_of, tree_ends
from assay.families.trees.pruning import (
    PruningPath,
    cut_at_depth,
    path_of,
    pruned,
    root_impurity,
    weakest_links,
    weighted_gains,
)
from assay.families.trees.training_data import TrainingData
from assay.numerics import Array, Floats

CUTTING = ("max_depth", "max_leaf_nodes", "ccp_alpha", "folds")  # hyper-parameters of which a tall tree knows nothing


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
