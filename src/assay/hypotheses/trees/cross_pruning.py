"""The alpha of cost-complexity pruning by cross-validation (Breiman, Friedman, Olshen and Stone 1984, section 3.4).

The tree of all rows changes at alphas a_0 = 0 < a_1 < … In each fold a tree is grown from the other rows, and pruned at the
geometric means of neighbouring alphas; each row is answered by the tree that did not see it. Of the alphas whose risk is within one standard
error of the least, the greatest is taken: the simplest tree that cannot be told from the best (Occam).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assay.engines.split import row_keys
from assay.errors import DataError
from assay.hypotheses.trees.nodes import LEAF, tree_ends
from assay.hypotheses.trees.routes import leaves_by_codes
from assay.hypotheses.trees.tall import Tall
from assay.hypotheses.trees.values import parents_of
from assay.loops.tree.shapes import ABSOLUTE
from assay.numerics import Array, Floats


class Curve(NamedTuple):
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


def cross_pruned(tall: Tall, grow: Callable[[Array], Tall], folds: int, seed: int) -> Curve:
    """The curve of a tree; `grow(times)` grows one like it from the rows drawn (n,)."""
    alphas = tall.path().ccp_alphas
    inner = np.append(np.sqrt(alphas[:-1] * alphas[1:]), np.inf)
    n = tall.ground.plot.table.n
    fold = folds_of(n, folds, seed)
    w = np.ones(n) if tall.ground.weights is None else tall.ground.weights
    sums, judged = np.zeros((3, len(inner) + 1)), np.zeros(n, dtype=bool)
    for k in range(folds):
        out = np.flatnonzero((fold == k) & (w > 0))
        if len(out) and ((fold != k) & (w > 0)).any():
            judged[out] = True
            sums += _losses(grow((fold != k).astype(np.uint16)), out, w[out], inner)
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
    return Curve(alphas, mean, error, int(np.flatnonzero(within)[-1]))


def _losses(tree: Tall, rows: Array, w: Floats, at: Floats) -> Floats:
    """Σ w ℓ, Σ w² ℓ and Σ w² ℓ² of held-out rows as the alpha passes each of `at`, as differences: (3, len(at) + 1).

    A row is answered by the first node on its way whose split is gone; going up from its leaf, each node answers for a range of alphas.
    """
    grown = tree.grown
    node = leaves_by_codes(grown, tree.ground.plot.table, rows)
    alphas = np.where(grown.feature == LEAF, -np.inf, tree.links()[0])
    first = np.searchsorted(at, alphas)
    parent = parents_of(grown.feature, tree_ends(grown.feature))
    answers = tree.answers()
    said = answers.argmax(axis=1) if tree.ground.plot.target.classes else answers[:, 0]
    out = np.zeros((3, len(at) + 1))
    truth = tree.ground.truth[rows]
    while len(node):
        up = parent[node]
        loss = _loss(tree, said[node], truth)
        for k, part in enumerate((w * loss, w * w * loss, w * w * loss * loss)):
            out[k] += np.bincount(first[node], weights=part, minlength=len(at) + 1)
            inside = up >= 0
            out[k] -= np.bincount(first[up[inside]], weights=part[inside], minlength=len(at) + 1)
        node, truth, w = up[inside], truth[inside], w[inside]
    return out


def _loss(tree: Tall, said: Array, truth: Array) -> Floats:
    """Zero-one of classes; of numbers the absolute error where the tree makes that small, else the squared one."""
    target = tree.ground.plot.target
    if target.classes:
        return np.asarray(said != truth, dtype=np.float64)
    error: Floats = said - truth
    return np.abs(error) if target.criterion == ABSOLUTE else error * error
