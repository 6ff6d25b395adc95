"""`tree_`: a single tree as the arrays that people read, under scikit-learn's names, so that what draws, exports or explains its trees takes ours.

A node is its number in preorder, the root 0; rows with x[feature] ≤ threshold go to `children_left`. What the leaves hold is in the file; how
many rows reached a leaf and how far these are from its answer is known after a fit, and not of trees from files or forests: the rows are
then counted by their weight, and of a regression the impurity of leaves is NaN.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.families.trees.importance import columns_of, impurities, node_gains, node_values, sums_below
from assay.families.trees.nodes import LEAF
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.model import DecisionTree

NO_CHILD, NO_COLUMN = -1, -2  # of leaves, as in scikit-learn


class TreeArrays:
    """The nodes of a fitted tree. Shapes: (node_count,), but `value` (node_count, 1, n_classes): the classes' shares, or the number."""

    def __init__(self, model: DecisionTree) -> None:
        self._model = model
        predictor, feature, found = model._predictor, model.feature_, node_values(model)
        leaf, split = feature == LEAF, np.flatnonzero(feature != LEAF)
        self.node_count = self.capacity = len(feature)
        self.n_features, self.n_outputs = int(model.n_features_in_), 1
        self.max_n_classes = len(model.classes_) if model._kind == "classifier" else 1
        self.n_classes = np.array([self.max_n_classes])
        self.max_depth, self.n_leaves = int(predictor.depths.max(initial=0)), int(leaf.sum())
        self.children_left, self.children_right = np.full((2, len(feature)), NO_CHILD, dtype=np.int64)
        self.children_left[split], self.children_right[split] = split + 1, predictor.ends[split + 1]
        self.feature = np.where(leaf, NO_COLUMN, columns_of(feature)).astype(np.int64)
        self.threshold = np.full(len(feature), float(NO_COLUMN))
        by_number = feature > LEAF
        self.threshold[by_number] = model.cut_[by_number[split]]
        self.threshold[feature < LEAF] = np.nan  # a set of categories has none
        self.missing_go_to_left = np.zeros(len(feature), dtype=np.uint8)
        self.missing_go_to_left[split] = np.asarray(model.missing_left_) != 0
        self.weighted_n_node_samples = found.weight
        self.value = found.answer[:, None, :]
        rows = model._leaf_rows
        self.n_node_samples = np.rint(found.weight if rows is None else sums_below(predictor, rows)).astype(np.int64)
        self.impurity = self._impurity(found.weight, found.answer)

    def _impurity(self, weight: Floats, answer: Floats) -> Floats:
        """u of each node: what its splits gain below it and what its leaves are left with, by weight."""
        model = self._model
        criterion = str(model._fitted_with["criterion"])
        if model._kind == "classifier":
            return np.maximum(impurities(answer, "gini" if criterion == "gini" else "entropy"), 0.0)
        gains, left_over = node_gains(model), model._leaf_loss
        total = np.full(self.node_count, np.nan)
        if gains is None or left_over is None:
            return total
        total[self.feature == NO_COLUMN] = left_over
        depths = model._predictor.depths
        for node in np.flatnonzero(self.feature != NO_COLUMN)[
            np.argsort(-depths[self.feature != NO_COLUMN], kind="stable")
        ]:
            below = total[self.children_left[node]] + total[self.children_right[node]]
            total[node] = below + weight[node] * gains[node]
        return total / weight

    def predict(self, X: Any) -> Floats:
        """`value` of the leaf where each row ends."""
        answers: Floats = self.value[self.apply(X), 0]
        return answers

    def apply(self, X: Any) -> Array:
        """The leaf where each row ends."""
        leaves: Array = self._model._answer(self._named(X), self._model._nodes_block)[:, 0]
        return leaves

    def decision_path(self, X: Any) -> Any:
        """(n, node_count) as a sparse matrix: 1 where a row passes a node."""
        return self._model.decision_path(self._named(X))

    def _named(self, X: Any) -> Any:
        """Plain arrays under the columns' names, where these have some."""
        names = self._model._column_names()
        if names is None or hasattr(X, "columns") or hasattr(X, "tocsr"):
            return X
        from assay.engines import ArrayRows

        return ArrayRows(np.asarray(X), names=names)

    def compute_feature_importances(self, normalize: bool = True) -> Floats:
        """Of each column what its splits gained, by the share of the rows; adding up to one with `normalize`."""
        gains = node_gains(self._model)
        at, weight = self.feature >= 0, self.weighted_n_node_samples
        gained = np.zeros(self.node_count) if gains is None else gains * weight / weight[0]
        total: Floats = np.bincount(self.feature[at], weights=gained[at], minlength=self.n_features)
        return total / total.sum() if normalize and total.sum() > 0 else total


def known_to_sklearn(model: Any) -> None:
    """Let scikit-learn's `plot_tree` and `export_text`, where it is loaded, take a tree of ours for one of its own."""
    theirs = getattr(sys.modules.get("sklearn.tree._classes"), type(model).__name__, None)
    if theirs is not None and not isinstance(model, theirs):
        theirs.register(type(model))


def tree_arrays(model: DecisionTree) -> TreeArrays:
    """The nodes as arrays (node_count,) under scikit-learn's names: `children_left`, `feature`, `threshold`, `value`, `impurity`, …"""
    model._check_fitted()
    return model._once("tree_", lambda: TreeArrays(model))


def n_classes(model: Any) -> int:
    """The number of classes; a regressor has none."""
    if model._kind != "classifier":
        raise AttributeError(f"{type(model).__name__} has no n_classes_: it answers with numbers.")
    model._check_fitted()
    return len(model.classes_)


def trees_rows(forest: Any) -> list[Array]:
    """The rows that each tree was grown from, by number, as often as they were drawn: an array (m,) a tree."""
    from assay.families.trees.grow import RowSample

    forest._check_fitted()
    if forest.weighted_ or not forest.alike_:
        raise AttributeError(
            f"Which rows the trees of this {type(forest).__name__} saw is known where no row had a weight and all trees are of the same settings."
        )
    given, n = forest._fitted_with, forest.rows_
    sample = RowSample(int(given["random_state"] or 0), getattr(forest, "draws_", None), bool(given["bootstrap"]))
    if sample.m is None:
        return [np.arange(n) for _ in forest.nodes_]
    return [np.repeat(np.arange(n), sample.times(t, n)) for t in range(len(forest.nodes_))]
