"""A fitted tree as scikit-learn's `tree_` shows it: arrays with an entry for each node, made on demand from the packed nodes.

Nodes are numbered in preorder, as scikit-learn's are, so that whatever reads its trees (`plot_tree`, `export_text`, `export_graphviz`, SHAP,
dtreeviz) reads ours. Such readers ask `isinstance(tree, Tree)` and `isinstance(model, DecisionTreeClassifier)`: a view says that it is a
`Tree`, and our classes are registered with the abstract ones of the same names, as soon as anybody asks and scikit-learn is loaded.
"""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import ArrayRows
from assay.errors import ParameterError
from assay.families.trees.hyper_parameters import columns_asked
from assay.families.trees.importance import NodeValues, columns_of, impurities, node_gains, node_values, sums_below
from assay.families.trees.nodes import LEAF
from assay.families.trees.several import classes_of_targets, count_of_targets
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.model import DecisionTree, TreeModel

WHOLE = (
    np.longlong
)  # as scikit-learn's whole numbers are: some readers ask for just this one of NumPy's types of 64 bits
UNDEFINED = -2  # the column and the threshold of a leaf
NODE = np.dtype(
    [
        ("left_child", "<i8"),
        ("right_child", "<i8"),
        ("feature", "<i8"),
        ("threshold", "<f8"),
        ("impurity", "<f8"),
        ("n_node_samples", "<i8"),
        ("weighted_n_node_samples", "<f8"),
        ("missing_go_to_left", "u1"),
    ]
)
HOMES = {"DecisionTree": "sklearn.tree._classes", "ExtraTree": "sklearn.tree._classes"}  # all others: forests


def class_seen_by_sklearn(model: Any) -> type:
    """The class of a model, registered with scikit-learn's of the same name where that library is loaded: read by `isinstance`."""
    cls = type(model)
    if "_is_registered" not in vars(cls):
        name = cls.__name__
        home = HOMES.get(name.removesuffix("Classifier").removesuffix("Regressor"), "sklearn.ensemble._forest")
        theirs = getattr(sys.modules.get(home), name, None)
        if theirs is not None and theirs is not cls:
            theirs.register(cls)
            cls._is_registered = True
    return cls


def view_of(model: DecisionTree) -> TreeView:
    """The tree as arrays with an entry a node (children_left, feature, threshold, value, impurity, …), as scikit-learn's `tree_` has them."""
    model._check_fitted()
    return model._once("view", lambda: TreeView(model))


def n_outputs(model: TreeModel) -> int:
    """The number of targets that are answered at once."""
    model._check_fitted()
    return count_of_targets(model)


def n_classes(model: TreeModel) -> Any:
    """The number of classes of the target, or of each of several; a regressor has none."""
    if model._kind != "classifier":
        raise AttributeError(f"{type(model).__name__} has no n_classes_: it answers with numbers.")
    model._check_fitted()
    classes = classes_of_targets(model)
    return len(model.classes_) if classes is None else classes.sizes.copy()


def max_features(model: TreeModel) -> int:
    """The number of columns that are tried at a node: what `max_features` means for these rows."""
    model._check_fitted()
    return columns_asked(model._fitted_with["max_features"], model.n_features_in_, type(model).__name__)


def partial_dependence(model: TreeModel, grid: Any, target_features: Any) -> Floats:
    """The mean answer at each point of a grid (n, targets) of some columns, over what the fit's rows have in the others, (n,)."""
    trees = [model] if len(model.nodes_) == 1 and hasattr(model, "tree_") else list(model)  # type: ignore[call-overload]
    total = np.zeros(len(grid))
    for tree in trees:
        tree.tree_.compute_partial_dependence(grid, target_features, total)
    return total / len(trees)


class TreeView:
    """The nodes of one tree, 0 the root, as arrays that cannot be written."""

    def __init__(self, model: DecisionTree) -> None:
        self._model = model
        self.n_outputs = count_of_targets(model)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        return getattr(sys.modules.get("sklearn.tree._tree"), "Tree", TreeView)

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeView, (self._model,)

    def __repr__(self) -> str:
        return f"<tree of {self.node_count} nodes, {self.n_leaves} leaves, depth {self.max_depth}>"

    @property
    def node_count(self) -> int:
        """The number of nodes, leaves among them."""
        return len(self._model.feature_)

    @property
    def capacity(self) -> int:
        """As many as nodes: there is no room for more."""
        return self.node_count

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self._model.leaf_)

    @property
    def max_depth(self) -> int:
        """The greatest number of splits on the way to a leaf."""
        return self._model.get_depth()

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self._model.n_features_in_

    @property
    def max_n_classes(self) -> int:
        """The number of classes; 1 where the tree answers with a number."""
        return int(self.value.shape[2])

    @cached_property
    def n_classes(self) -> Array:
        """The number of classes of each target, (targets,); 1 of numbers."""
        classes = classes_of_targets(self._model)
        sizes = [self.max_n_classes] * self.n_outputs if classes is None else classes.sizes
        return _frozen(np.array(sizes, dtype=np.int64))

    @cached_property
    def _splits(self) -> Array:
        return np.flatnonzero(self._model.feature_ != LEAF)

    @cached_property
    def children_left(self) -> Array:
        """Of each node the one where rows up to its threshold go, (nodes,); −1 of a leaf."""
        left = np.full(self.node_count, -1, dtype=WHOLE)
        left[self._splits] = self._splits + 1
        return _frozen(left)

    @cached_property
    def children_right(self) -> Array:
        """Of each node the one where rows above its threshold go, (nodes,); −1 of a leaf."""
        right = np.full(self.node_count, -1, dtype=WHOLE)
        right[self._splits] = self._model._predictor.ends[self._splits + 1]
        return _frozen(right)

    @cached_property
    def feature(self) -> Array:
        """Of each node the column that it asks about, (nodes,); −2 of a leaf."""
        column = columns_of(self._model.feature_)
        return _frozen(np.where(column == LEAF, UNDEFINED, column).astype(WHOLE))

    @cached_property
    def threshold(self) -> Floats:
        """Of each node the threshold, (nodes,); −2 of a leaf."""
        if (self._model.feature_ < LEAF).any():
            raise ParameterError(
                "This tree has splits by categories, which have no threshold: read `to_text()`, `rules()` or `tree_shape().tests`, or give "
                "the categories as columns of zeros and ones."
            )
        cut = np.full(self.node_count, float(UNDEFINED))
        cut[self._splits] = self._model.cut_
        return _frozen(cut)

    @cached_property
    def missing_go_to_left(self) -> Array:
        """Of each node whether missing values go left, (nodes,)."""
        left = np.zeros(self.node_count, dtype=np.uint8)
        left[self._splits] = self._model.missing_left_
        return _frozen(left)

    @cached_property
    def _known(self) -> NodeValues:
        known, own = node_values(self._model), getattr(self._model, "_node_answer", None)
        if own is None:
            return known
        numbers = self._model._kind == "regressor"
        answer = own[:, :1] if numbers else own / own.sum(axis=1, keepdims=True)
        return known._replace(answer=np.where(self._model.feature_[:, None] == LEAF, known.answer, answer))

    @cached_property
    def value(self) -> Floats:
        """Of each node the share of each class of each target, (nodes, targets, classes); of numbers the answer, (nodes, targets, 1).

        That of an inner node is the mean of its leaves' where it does not follow from these (medians, trends) and the tree was loaded.
        """
        found, classes = self._known.answer, classes_of_targets(self._model)
        if classes is None:
            return _frozen(np.ascontiguousarray(found[:, None, :] if self.n_outputs == 1 else found[:, :, None]))
        value = np.zeros((len(found), self.n_outputs, int(classes.sizes.max())))
        for t, own in enumerate(classes.columns()):
            value[:, t, : int(classes.sizes[t])] = found[:, own]
        return _frozen(value)

    @cached_property
    def weighted_n_node_samples(self) -> Floats:
        """Of each node the weight of its rows, (nodes,)."""
        return _frozen(self._known.weight.copy())

    @cached_property
    def n_node_samples(self) -> Array:
        """Of each node the number of its rows (of a forest's tree: of draws), (nodes,)."""
        rows = getattr(self._model, "leaf_rows_", None)
        if rows is not None and len(rows) != self.n_leaves:  # of a tree on its way to the whole one
            rows = None
        each = self._known.weight if rows is None else sums_below(self._model._predictor, rows.astype(np.float64))
        return _frozen(np.maximum(np.rint(each), 1).astype(WHOLE))

    @cached_property
    def impurity(self) -> Floats:
        """Of each node the impurity by the criterion, (nodes,).

        NaN in a tree of numbers where its leaves do not tell: one that was taken out of a forest, or loaded from a file.
        """
        model = self._model
        if model._kind == "classifier":
            classes, criterion = classes_of_targets(model), model._fitted_with["criterion"]
            columns = [slice(None)] if classes is None else classes.columns()
            each = [impurities(self._known.answer[:, own], criterion) for own in columns]
            return _frozen(np.maximum(sum(each) / len(each), 0.0))
        leaves = getattr(model, "_impurity", None)
        if leaves is not None and len(leaves) == self.node_count:
            return _frozen(leaves.copy())
        gains = node_gains(model)
        if leaves is None or gains is None:
            return _frozen(np.full(self.node_count, np.nan))
        out, W, depth = np.zeros(self.node_count), self._known.weight, model._predictor.depths[self._splits]
        out[model.feature_ == LEAF] = leaves
        order = np.argsort(-depth, kind="stable")
        for level in np.split(self._splits[order], np.flatnonzero(np.diff(depth[order])) + 1):  # from the deepest up
            left, right = level + 1, self.children_right[level]
            out[level] = gains[level] + (W[left] * out[left] + W[right] * out[right]) / W[level]
        return _frozen(out)

    # --- answers ------------------------------------------------------------------------------------------------------

    def apply(self, X: Any) -> Array:
        """The leaf where each row ends, (n,)."""
        return self._model.apply(self._named(X))

    def predict(self, X: Any) -> Floats:
        """The value of the leaf where each row ends, (n, classes) or (n, 1), of several targets (n, targets, classes)."""
        found: Floats = self.value[self.apply(X)]
        return found[:, 0] if self.n_outputs == 1 else found

    def decision_path(self, X: Any) -> Any:
        """(n, nodes) as a sparse matrix: 1 where a row passes a node."""
        return self._model.decision_path(self._named(X))

    def _named(self, X: Any) -> Any:
        """Plain arrays under the columns' names, where these have some: nobody who reads a tree knows them."""
        names = self._model._column_names()
        return ArrayRows(np.ascontiguousarray(X), names=names) if names and isinstance(X, np.ndarray) else X

    def compute_feature_importances(self, normalize: bool = True) -> Floats:
        """Of each column what its splits gained: as a share of all, or (normalize=False) for each row of the fit."""
        from assay.families.trees.importance import gain_importances

        shares = gain_importances(self._model)
        if normalize:
            return shares
        gains = node_gains(self._model)
        assert gains is not None
        return shares * float(gains @ self._known.weight / self._known.weight[0])

    def compute_node_depths(self) -> Array:
        """Of each node its depth, that of the root being 1, (nodes,)."""
        return self._model._predictor.depths + 1

    def compute_partial_dependence(self, X: Any, target_features: Any, out: Floats) -> None:
        """Add to `out` (n,) the mean answer where the target columns are those of X (n, targets) and the others as the fit's rows have them
        (Friedman 2001): at a split by another column both sides are taken, by their weight."""
        X, columns = np.asarray(X), [int(j) for j in target_features]
        left, right, W = self.children_left, self.children_right, self._known.weight
        for i, x in enumerate(X):
            waiting = [(0, 1.0)]
            while waiting:
                node, share = waiting.pop()
                if left[node] < 0:
                    out[i] += share * self._known.answer[node, 0]
                elif self.feature[node] in columns:
                    goes_left = x[columns.index(self.feature[node])] <= self.threshold[node]
                    waiting.append((int(left[node] if goes_left else right[node]), share))
                else:
                    of_left = share * W[left[node]] / W[node]
                    waiting += [(int(left[node]), of_left), (int(right[node]), share - of_left)]

    def __getstate__(self) -> dict[str, Any]:
        """All of it as plain data, as those who copy trees read it."""
        nodes = np.zeros(self.node_count, dtype=NODE)
        for name in NODE.names or ():
            nodes[name] = getattr(
                self, {"left_child": "children_left", "right_child": "children_right"}.get(name, name)
            )
        return {"max_depth": self.max_depth, "node_count": self.node_count, "nodes": nodes, "values": self.value}


def leaf_impurities(y: Floats, w: Floats | None, leaf: Array, answers: Floats, criterion: str) -> Floats:
    """The impurity of each leaf of a tree of numbers: `leaf` (n,) of each row, −1: none, `answers` (L,) of each leaf.

    >>> leaf_impurities(np.array([1.0, 3.0, 9.0]), None, np.array([0, 0, 1]), np.array([2.0, 9.0]), "squared_error")
    array([1., 0.])
    """
    there = leaf >= 0
    y, leaf = y[there], leaf[there]
    w = np.ones(len(y)) if w is None else w[there] / w[there].max()
    W = np.bincount(leaf, weights=w, minlength=len(answers))
    if criterion == "absolute_error":
        parts = np.abs(y - answers[leaf])
    elif criterion == "poisson":
        mean = np.bincount(leaf, weights=w * y, minlength=len(answers)) / W
        parts = y * np.log(np.divide(y, mean[leaf], out=np.ones_like(y), where=y > 0))
    else:
        mean = np.bincount(leaf, weights=w * y, minlength=len(answers)) / W
        parts = (y - mean[leaf]) ** 2
    return np.asarray(np.bincount(leaf, weights=w * parts, minlength=len(answers)) / W)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
