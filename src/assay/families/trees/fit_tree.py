"""Fitting a single tree: grown once (`UnprunedTree`), then cut as the settings want it: at a depth, to the most profitable leaves, by the weakest
links. Settings that differ in how it is cut share it (`SharedTree`).

`ccp_alpha="cv"` chooses alpha by cross-validation (Breiman, Friedman, Olshen and Stone 1984, section 3.4). The tree of all rows changes
at alphas a_0 = 0 < a_1 < … In each fold a tree is grown from the other rows, and pruned at the geometric means of neighbouring alphas;
each row is answered by the tree that did not see it. Of the alphas whose risk is within one standard error of the least, the greatest is
taken: the simplest tree that cannot be told from the best (Occam).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Engine, Rows
from assay.engines.derived import row_keys
from assay.engines.engine import Threads
from assay.engines.rows import ArrayRows
from assay.errors import DataError, ParameterError
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.params import check_params
from assay.estimator.shown import kept
from assay.families.trees.claims import evidence_of
from assay.families.trees.grow import RowSample, entries_of, leaf_values
from assay.families.trees.grow_parallel import ROW, grow_tree
from assay.families.trees.hyper_parameters import UNLIMITED
from assay.families.trees.importance import columns_of, impurities, parents_of
from assay.families.trees.loops.absolute import leaf_medians
from assay.families.trees.loops.arrays import ABSOLUTE, ENTROPY, POISSON, CodedColumns, NodeArrays
from assay.families.trees.loops.walk import leaf_of_codes
from assay.families.trees.nodes import LEAF, TreeNodes, depths_of, join_trees, labels_of_leaves, tree_ends, tree_of
from assay.families.trees.several import leaf_of_rows, one_of
from assay.families.trees.training_data import TrainingData, prepare, reweighed, single_tree
from assay.families.trees.tree_view import leaf_impurities
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.model import DecisionTree

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
        medians, _ = self.medians()
        if len(grown.bounds):
            medians = np.clip(medians, *grown.bounds.T)
        return np.column_stack([medians, inputs.target.weights(grown.sums, grown.rows)])

    def medians(self) -> tuple[Floats, Floats]:
        """The median of every node and the mean distance from it, level by level: the nodes of a level do not overlap."""
        feature, start = self.grown.feature, self.grown.start
        ends = tree_ends(feature)
        stop = np.append(start, len(self.entries))[ends]
        depths = depths_of(feature, ends)
        found, apart = np.empty(len(feature)), np.empty(len(feature))
        for level in range(int(depths.max()) + 1):
            nodes = np.flatnonzero(depths == level)
            edges = np.column_stack([start[nodes], stop[nodes]]).reshape(-1)
            medians, costs = np.zeros((2, len(edges) - 1))
            leaf_medians(self.training_data.inputs.target.loops, self.entries, edges, medians, costs)
            found[nodes], apart[nodes] = medians[::2], costs[::2]
        return found, apart / self.grown.sums[:, 0]


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
    """u of all rows: Gini or entropy of classes; the mean squared error, absolute error or half deviance of Poisson's of a number. The mean of
    several targets."""
    if training_data.truth.ndim == 2:
        T = training_data.truth.shape[1]
        return float(sum(root_impurity(one_of(training_data, t)) for t in range(T)) / T)
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


def learn(model: DecisionTree, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
    """Fit a model on rows."""
    keep(model, cut(model, grow(model, engine, rows, afresh, classes)))


def grow(model: DecisionTree, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> UnprunedTree:
    """The tree before leaves are cut off; settings that differ in nothing else share it."""
    shared = model._shared
    if shared is not None and shared.unpruned is not None:
        if shared.unpruned.classes is not None:
            model.classes_ = shared.unpruned.classes
        return shared.unpruned
    labels = model._labels(engine, rows, afresh, classes)
    asked, folded = model, model.ccp_alpha == "cv"
    if shared is not None:
        asked, folded = copy(model), shared.folded
        asked.max_depth = shared.deepest
    training_data = prepare(asked, engine, rows, labels, None, UNLIMITED, shared=folded)
    if folded and training_data.inputs.target.targets > 1:
        raise ParameterError(
            f"{type(model).__name__}: ccp_alpha='cv' judges one target, and y has {training_data.inputs.target.targets}: give a number."
        )
    grown, entries = single_tree(engine, rows, training_data, RowSample(model._seed()), 0, Threads(model.n_jobs))
    unpruned = UnprunedTree(training_data, entries, grown, kept(model, "classes_"))
    if shared is not None:
        shared.unpruned = unpruned
    return unpruned


def cut(model: DecisionTree, unpruned: UnprunedTree) -> UnprunedTree:
    """The tree as the hyper-parameters want it; `ccp_alpha="cv"` chooses alpha first."""
    unpruned = unpruned.cut(model.max_depth, model.max_leaf_nodes)
    if model.ccp_alpha != "cv":
        return unpruned.cut(None, None, float(model.ccp_alpha))
    curve = cross_pruned(unpruned, _grower(model, unpruned.training_data), int(model.folds), model._seed())
    model.alpha_ = curve.alpha
    model.pruning_curve_ = np.column_stack([curve.alphas, curve.risk, curve.error])
    return unpruned.cut(None, None, curve.alpha)


class GrownAgain:
    """Trees of the same rows, again and again with other weights: what does not depend on them is found once."""

    def __init__(self, model: Any, rows: Rows, labels: Labels, w: Floats) -> None:
        check_params(model)
        self.model, self.rows, self.labels, self.workers = model, rows, labels, Threads(model.n_jobs)
        model.classes_ = labels.classes
        weighed = ArrayRows(rows.X, rows.y, w, like=rows)
        self.data = prepare(model, self.workers, weighed, labels, None, UNLIMITED, shared=model.ccp_alpha == "cv")

    def __call__(self, w: Floats) -> tuple[TreeNodes, Array]:
        """The tree of the rows with these weights, and the class that it says of each row, as a code."""
        data = reweighed(self.model, self.data, self.labels, w)
        grown, entries = single_tree(self.workers, self.rows, data, RowSample(self.model._seed()), 0, self.workers)
        if self.model.max_leaf_nodes is not None or self.model.ccp_alpha != 0:  # the depth is that of the growth
            grown = cut(self.model, UnprunedTree(data, entries, grown, self.labels.classes)).grown
        values = leaf_values(data.inputs, grown, entries)
        said = labels_of_leaves(values)
        is_leaf = grown.feature == LEAF
        if len(entries) == data.survey.n:  # they lie leaf after leaf
            found = np.empty(len(entries), dtype=said.dtype)
            found[(entries >> ROW).astype(np.int64)] = np.repeat(said, grown.rows[is_leaf])
        else:
            node = leaves_by_codes(grown, data.inputs.table, np.arange(data.survey.n))
            found = said[(np.cumsum(is_leaf) - 1)[node]]
        return tree_of(grown, values), found


def _grower(model: DecisionTree, training_data: TrainingData) -> Callable[[Array], UnprunedTree]:
    """How the tree of some of the rows is grown and cut, up to its alpha."""
    key, workers = RowSample(model._seed()).key(0), Threads(model.n_jobs)

    def grow_some(times: Array) -> UnprunedTree:
        entries = entries_of(training_data.inputs, times)
        unpruned = UnprunedTree(
            training_data, entries, grow_tree(training_data.inputs, entries, key, workers, training_data.order), None
        )
        return unpruned.cut(model.max_depth, model.max_leaf_nodes)

    return grow_some


def keep(model: DecisionTree, unpruned: UnprunedTree) -> None:
    """Make a cut tree the model's own."""
    training_data, grown = unpruned.training_data, unpruned.grown
    values = leaf_values(training_data.inputs, grown, unpruned.entries)
    model._keep_trees(join_trees([tree_of(grown, values)]), training_data)
    vars(model).update(evidence_of(training_data, grown, values, unpruned.entries))
    leaf = grown.feature == LEAF
    model.leaf_rows_ = None if training_data.weights is None else grown.rows[leaf].astype(np.int64)
    model._impurity = _impurities(model, unpruned, values) if model._kind == "regressor" else None
    of_one = training_data.inputs.target.targets == 1
    told = training_data.inputs.target.criterion != ABSOLUTE and not len(grown.bounds)  # by the leaves
    model._node_answer = unpruned.answers() if of_one and not told else None
    model._provenance = {"fingerprint": training_data.survey.mark.hex()}
    model._state_claims()


def _impurities(model: DecisionTree, unpruned: UnprunedTree, values: Floats) -> Floats | None:
    """Of each leaf of a tree of numbers (by the absolute error of each node), from its rows: no file holds them."""
    training_data, grown, entries = unpruned.training_data, unpruned.grown, unpruned.entries
    if not len(entries):
        return None
    if training_data.inputs.target.criterion == ABSOLUTE and training_data.truth.ndim == 1:
        return unpruned.medians()[1]
    leaf, w = leaf_of_rows(grown, entries, len(training_data.truth)), training_data.weights
    truth = training_data.truth.reshape(len(leaf), -1)
    each = [leaf_impurities(y, w, leaf, values[:, t], model.criterion) for t, y in enumerate(truth.T)]
    return np.asarray(sum(each) / len(each))


def pruning_path(model: DecisionTree, X: Any, y: Any, sample_weight: Any) -> PruningPath:
    """The alphas at which the tree of these rows changes."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    return grow(fresh, Threads(model.n_jobs), rows, True, None).cut(model.max_depth, model.max_leaf_nodes).path()


class PruningCurve(NamedTuple):
    """Of each alpha the cross-validated risk and its standard error; `chosen`: the place of the one to take."""

    alphas: Floats
    risk: Floats
    error: Floats
    chosen: int

    @property
    def alpha(self) -> float:
        """The alpha to take."""
        return float(self.alphas[self.chosen])


def folds_of(n: int, folds: int, seed: int) -> Array:
    """The fold of each row, by the hash of its number."""
    found: Array = (row_keys(0, n, seed) % np.uint64(folds)).astype(np.int64)
    return found


def cross_pruned(unpruned: UnprunedTree, grow: Callable[[Array], UnprunedTree], folds: int, seed: int) -> PruningCurve:
    """The curve of a tree; `grow(times)` grows one like it from the rows drawn (n,)."""
    alphas = unpruned.path().ccp_alphas
    inner = np.append(np.sqrt(alphas[:-1]) * np.sqrt(alphas[1:]), np.inf)
    n = unpruned.training_data.inputs.table.n
    fold = folds_of(n, folds, seed)
    w, size = unpruned.training_data.ratios, _size(unpruned.training_data)
    sums, judged = np.zeros((3, len(inner) + 1)), np.zeros(n, dtype=bool)
    for k in range(folds):
        out = np.flatnonzero((fold == k) & (w > 0))
        if len(out) and ((fold != k) & (w > 0)).any():
            judged[out] = True
            sums += _losses(grow((fold != k).astype(np.uint16)), out, w[out], inner, size)
    if not judged.any():
        raise DataError(
            f"ccp_alpha='cv' cannot judge by {int((w > 0).sum())} row(s): give more rows, or a number as ccp_alpha."
        )
    risk, plain, square = np.cumsum(sums, axis=1)[:, :-1]
    total, squares = float(w[judged].sum()), float((w[judged] ** 2).sum())
    mean = risk / total
    error = np.sqrt(np.maximum(square - 2 * mean * plain + mean * mean * squares, 0.0)) / total
    best = int(np.flatnonzero(mean <= mean.min())[-1])
    within = mean <= mean[best] + error[best]
    unit = size if unpruned.training_data.inputs.target.criterion == ABSOLUTE else size * size
    return PruningCurve(alphas, mean * unit, error * unit, int(np.flatnonzero(within)[-1]))


def _size(training_data: TrainingData) -> float:
    """A power of two about as great as the targets: of errors in such units all squares are numbers. 1 of classes."""
    if training_data.inputs.target.classes:
        return 1.0
    found = training_data.survey
    return ldexp(1.0, frexp(float(max(abs(found.low), abs(found.high))))[1])


def _losses(tree: UnprunedTree, rows: Array, w: Floats, at: Floats, size: float) -> Floats:
    """Σ w ℓ, Σ w² ℓ and Σ w² ℓ² of held-out rows as the alpha passes each of `at`, as differences: (3, len(at) + 1); ℓ in units of
    `size`.

    A row is answered by the first node on its way whose split is gone; going up from its leaf, each node answers for a range of alphas.
    """
    grown = tree.grown
    node = leaves_by_codes(grown, tree.training_data.inputs.table, rows)
    alphas = np.where(grown.feature == LEAF, -np.inf, tree.links()[0])
    first = np.searchsorted(at, alphas)
    parent = parents_of(grown.feature, tree_ends(grown.feature))
    answers = tree.answers()
    said = answers.argmax(axis=1) if tree.training_data.inputs.target.classes else answers[:, 0]
    out = np.zeros((3, len(at) + 1))
    truth = tree.training_data.truth[rows]
    while len(node):
        up = parent[node]
        loss = _loss(tree, said[node], truth, size)
        for k, part in enumerate((w * loss, w * w * loss, w * w * loss * loss)):
            out[k] += np.bincount(first[node], weights=part, minlength=len(at) + 1)
            inside = up >= 0
            out[k] -= np.bincount(first[up[inside]], weights=part[inside], minlength=len(at) + 1)
        node, truth, w = up[inside], truth[inside], w[inside]
    return out


def _loss(tree: UnprunedTree, said: Array, truth: Array, size: float) -> Floats:
    """Zero-one of classes; of numbers the absolute error where the tree makes that small, else the squared one."""
    target = tree.training_data.inputs.target
    if target.classes:
        return np.asarray(said != truth, dtype=np.float64)
    error: Floats = (said - truth) / size
    return np.abs(error) if target.criterion == ABSOLUTE else error * error


def last_codes(grown: NodeArrays, table: CodedColumns) -> Array:
    """Of each split of numbers the last code whose values are all at or below the threshold; of others as it is.

    A split knows the last code on the left among the rows it was made for. Rows that it did not see may have a value between
    that and the threshold, and go to the left too, as they will when they are predicted.
    """
    code: Array = grown.code.copy()
    column = columns_of(grown.feature)
    number = grown.feature >= 0
    ends = np.append(table.first[1:], len(table.values))
    for f in np.unique(column[number]).tolist():
        own = np.flatnonzero(number & (column == f))
        code[own] = np.searchsorted(table.values[table.first[f] : ends[f]], grown.cut[own], side="right") - 1
    return code


def leaves_by_codes(grown: NodeArrays, table: CodedColumns, rows: Array) -> Array:
    """The node where each of some rows of the table ends."""
    node = np.empty(len(rows), dtype=np.int64)
    code = last_codes(grown, table)
    leaf_of_codes(table.codes, rows, grown.feature, code, grown.right, grown.missing, table.missing, grown.sets, node)
    return node
