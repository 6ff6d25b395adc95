"""How much columns matter to trees: by what their splits gained, and by what shuffling them costs on rows that a tree did not see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Engine, Rows, engine_for, targets_of
from assay.errors import DataError, ParameterError
from assay.families.trees.nodes import LEAF
from assay.families.trees.predict import TreePredictor
from assay.families.trees.survey import category_levels, survey
from assay.inputs import as_regression_target, as_rows
from assay.inputs.labels import Labels, class_multipliers
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.grow import RowSample
    from assay.families.trees.model import Forest, TreeModel


class NodeValues(NamedTuple):
    """Of each node the weight of its rows, (N,), and the mean answer of the leaves below it by that weight, (N, C)."""

    weight: Floats
    answer: Floats


def sums_below(predictor: TreePredictor, leaves: Floats) -> Floats:
    """Σ over the leaves below each node, (N, …) of (L, …): a node is the sum of its children, from the deepest up."""
    feature = predictor.trees.feature
    out = np.zeros((len(feature), *leaves.shape[1:]))
    out[feature == LEAF] = leaves
    split = np.flatnonzero(feature != LEAF)
    split = split[np.argsort(-predictor.depths[split], kind="stable")]
    edges = np.flatnonzero(np.diff(predictor.depths[split])) + 1
    for level in np.split(split, edges):
        out[level] = out[level + 1] + out[predictor.ends[level + 1]]
    return out


def node_values(model: TreeModel) -> NodeValues:
    """Weight and answer of every node; of a leaf its own answer, to the last bit."""
    predictor = model._predictor
    answers = model._leaf_answers()[model.leaf_]
    w = model._leaf_weights()[model.leaf_]
    weight = sums_below(predictor, w)
    answer = sums_below(predictor, w[:, None] * answers) / weight[:, None]
    answer[model.feature_ == LEAF] = answers
    return NodeValues(weight, answer)


def parents_of(feature: Array, ends: Array) -> Array:
    """Of each node its parent; −1 of a tree's first."""
    parent = np.full(len(feature), -1, dtype=np.int64)
    split = np.flatnonzero(feature != LEAF)
    parent[split + 1] = split
    parent[ends[split + 1]] = split
    return parent


def columns_of(feature: Array) -> Array:
    """Of each split its column, whatever its kind; −1 of a leaf."""
    return np.where(feature < LEAF, -2 - feature, feature)


def impurities(shares: Floats, criterion: str) -> Floats:
    """u of each row of classes' shares: Gini, or the entropy in bits."""
    if criterion == "gini":
        u: Floats = 1.0 - np.einsum("ik,ik->i", shares, shares)
        return u
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-np.einsum("ik,ik->i", shares, logs))


def node_gains(model: TreeModel) -> Floats | None:
    """Of each node what its split gains, zero of leaves; None where the leaves do not tell (absolute error)."""
    feature, predictor = model.feature_, model._predictor
    gains = np.zeros(len(feature))
    split = np.flatnonzero(feature != LEAF)
    kept = getattr(model, "gain_", None)
    if kept is not None:
        gains[split] = kept
        return gains
    criterion = model._fitted_with["criterion"]
    if criterion == "absolute_error":
        return None
    left, right = split + 1, predictor.ends[split + 1]
    if model._kind == "classifier":
        counts = sums_below(predictor, model.table_[model.leaf_])
        W = counts.sum(axis=1)
        u = impurities(counts / W[:, None], criterion)
        gains[split] = u[split] - (W[left] * u[left] + W[right] * u[right]) / W[split]
    else:
        W, (mean,) = (found := node_values(model)).weight, found.answer.T
        p, q = W[left] / W[split], W[right] / W[split]
        if criterion == "poisson":
            m = mean * np.log(mean, out=np.zeros_like(mean), where=mean > 0)
            gains[split] = p * m[left] + q * m[right] - m[split]
        else:
            gains[split] = p * q * (mean[left] - mean[right]) ** 2
    return np.maximum(gains, 0.0)


def gain_importances(model: TreeModel) -> Floats:
    """Of each column the share of its splits in all that was gained: the mean over trees that have a split, adding up to one."""
    gains = node_gains(model)
    if gains is None:
        raise ParameterError(
            f"{type(model).__name__} has lost the gains of its splits (trees of several criteria): fit with warm_start=False, or use "
            "oob_importance."
        )
    weighted = gains * node_values(model).weight
    column, d = columns_of(model.feature_), model.n_features_in_
    tree = np.repeat(np.arange(len(model.nodes_)), model.nodes_)
    split = model.feature_ != LEAF
    flat = np.bincount(tree[split] * d + column[split], weights=weighted[split], minlength=len(model.nodes_) * d)
    each = flat.astype(np.float64).reshape(-1, d)
    total = each.sum(axis=1, keepdims=True)
    each = np.divide(each, total, out=np.zeros_like(each), where=total > 0)
    mean = each[model.nodes_ > 1].mean(axis=0) if (model.nodes_ > 1).any() else np.zeros(d)
    return mean / mean.sum() if mean.sum() > 0 else mean


@dataclass(frozen=True)
class ShuffledColumns:
    """By how much the loss of single trees on rows they did not see grows when a column is shuffled: zero-one of classes, squared of
    numbers. `increase`, `error` (d,): the mean over rows, and its standard error; `rows`: those that some tree did not see."""

    names: tuple[str, ...]
    increase: Floats
    error: Floats
    rows: int
    repeats: int

    def __str__(self) -> str:
        wide = max(map(len, self.names))
        order = np.argsort(-self.increase, kind="stable")
        return "\n".join(f"{self.names[j]:<{wide}}  {self.increase[j]: .4g} ± {self.error[j]:.2g}" for j in order)


def oob_importance(model: Forest, X: Any, y: Any, sample_weight: Any, n_repeats: int) -> ShuffledColumns:
    """What shuffling each column costs on the rows of the fit that a tree did not see; which these are follows from the seed."""
    from assay.families.trees.grow import RowSample

    if isinstance(n_repeats, bool) or not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
        raise ParameterError(f"n_repeats={n_repeats!r} is not possible: shuffle at least once.")
    fitted = type(model)(**dict(model._fitted_with))
    rows = as_rows(X, y, sample_weight, categories=True, levels=model._levels())
    rows = rows.fitted_to(model._column_names(), model._categories)
    if not rows.has_target:
        raise DataError(
            "oob_importance needs the targets: give oob_importance(X, y), or name the target in assay.rows(..., target=...)."
        )
    engine = engine_for(rows, model.n_jobs)
    rows = engine.open(rows)
    draws = getattr(model, "draws_", None)
    if draws is None:
        raise ParameterError(
            f"Every tree of this {type(model).__name__} saw every row: fit with bootstrap=True or max_samples for out-of-bag rows."
        )
    labels = Labels.of(model.classes_) if model._kind == "classifier" else None
    levels = category_levels(fitted.categorical_features, rows.names, rows.categories or (None,) * rows.n_columns)
    found = survey(engine, rows, labels, levels)
    if found.mark.hex() != model._provenance.get("fingerprint"):
        raise DataError(
            "These are not the rows of the fit (their fingerprint differs), so nobody knows which of them a tree did not see: give the "
            "same rows in the same order with the same weights, or use permutation importance on held-out rows."
        )
    truth, w = targets_of(rows)
    if labels is None:
        truth = as_regression_target(truth)
    else:
        truth = labels.encode(truth)
        if model._fitted_with["class_weight"] is not None:
            factor = class_multipliers(model._fitted_with["class_weight"], model.classes_, found.class_weight)[truth]
            w = factor if w is None else w * factor
    counted = None if w is None or (w > 0).all() else np.flatnonzero(w > 0)
    sample = RowSample(fitted._seed(), draws, bool(fitted.bootstrap), counted)
    return _shuffle_columns(model, engine, rows, truth, w, sample, int(n_repeats))


class _Shuffling(NamedTuple):
    """What all trees share: rows, targets, the answer of each row of the table of leaves, and which columns each tree asks for."""

    X: Array
    truth: Array
    answers: Array
    predictor: TreePredictor
    used: list[Array]
    sample: RowSample
    repeats: int
    classes: bool


def _shuffle_columns(
    model: TreeModel, engine: Engine, rows: Rows, truth: Array, w: Floats | None, sample: RowSample, repeats: int
) -> ShuffledColumns:
    """Shuffle each column among the rows that a tree did not see (Breiman 2001), tree after tree.

    A row takes part twice, judged with another's value and lending its own: the deviation over rows of the sum of both is what the mean is
    uncertain by.
    """
    at_hand = rows.in_memory()
    X, d = at_hand.X, rows.n_columns
    n = len(X)
    column = columns_of(model.feature_)
    used = [np.unique(c[c >= 0]) for c in np.split(column, np.cumsum(model.nodes_)[:-1])]
    classes = model._kind == "classifier"
    answers = model._leaf_answers()
    best = answers.argmax(axis=1) if classes else answers[:, 0]
    shared = _Shuffling(X, truth, best, model._predictor, used, sample, repeats, classes)
    judged, lent, count = np.zeros((d, n)), np.zeros((d, n)), np.zeros(n)
    for out_of_bag, found in engine.map_with(_shuffle_tree, shared, range(len(used))):
        count[out_of_bag] += 1
        for j, worse, lending in found:
            judged[j, out_of_bag] += worse
            lent[j, out_of_bag] += lending
    weight = np.ones(n) if w is None else w
    there = (count > 0) & (weight > 0)
    if not there.any():
        raise DataError(
            "Every tree saw every row: there are no out-of-bag rows to judge by. Draw fewer (max_samples), or more trees."
        )
    w, c = weight[there], count[there]
    judged, lent = judged[:, there] / c, lent[:, there] / c
    mean = judged @ w / w.sum()
    spread = ((judged + lent - 2 * mean[:, None]) ** 2) @ (w * w)
    error = np.sqrt(spread) / w.sum() * sqrt(len(w) / (len(w) - 1)) if len(w) > 1 else np.full(d, inf)
    return ShuffledColumns(tuple(model._names_in_words()), mean, error, int(there.sum()), repeats)


def _shuffle_tree(shared: _Shuffling, tree: int) -> tuple[Array, list[tuple[int, Floats, Floats]]]:
    """The rows that a tree did not see, and for each column it asks for how much worse they fare, and those who lend to others."""
    out_of_bag = np.flatnonzero(shared.sample.times(tree, len(shared.X)) == 0)
    return out_of_bag, list(_shuffles(shared, tree, out_of_bag)) if len(out_of_bag) else []


def _shuffles(shared: _Shuffling, tree: int, out_of_bag: Array) -> Iterator[tuple[int, Floats, Floats]]:
    X, truth = shared.X[out_of_bag], shared.truth[out_of_bag]

    def losses() -> Any:
        said = shared.answers[shared.predictor.leaves(X, tree)]
        return (said != truth).astype(np.float64) if shared.classes else (said - truth) ** 2

    base = losses()
    for j in shared.used[tree].tolist():
        own = X[:, j].copy()
        judged, lending = np.zeros(len(out_of_bag)), np.zeros(len(out_of_bag))
        for r in range(shared.repeats):
            order = np.random.default_rng([shared.sample.seed, tree, j, r]).permutation(len(out_of_bag))
            X[:, j] = own[order]
            worse = losses() - base
            judged += worse / shared.repeats
            lending[order] += worse / shared.repeats
        X[:, j] = own
        yield j, judged, lending
