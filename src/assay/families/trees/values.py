"""What every node of trees knows, from what their leaves know: sums over subtrees, and the gains that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.families.trees.nodes import LEAF
from assay.families.trees.predict import TreePredictor
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.model import TreeModel


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
