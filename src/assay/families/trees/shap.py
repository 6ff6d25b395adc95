"""SHAP values of trees: what each column adds to an answer, shared out fairly (Shapley 1953; Lundberg et al. 2020).

    h(x) = base + Σ_j φ_j(x),     φ_j(x) = Σ_{S ∌ j} |S|! (d − |S| − 1)! / d! · [ v(S ∪ j) − v(S) ]

v(S) is what the trees answer when only the columns S of x are known: *path-dependent*, a split on any other column is answered both ways, by
the shares of the rows that the tree was grown from; *interventional*, the other columns are taken from background rows, one after another,
and the mean is v(S). Both are exact. What is explained is anything made of `Trees` whose leaves add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import factorial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.certify import Certificate, Claim
from assay.engines import Block
from assay.errors import DataError
from assay.families.trees.claims import tree_witness
from assay.families.trees.importance import node_values, parents_of, sums_below
from assay.families.trees.predict import TreePredictor
from assay.families.trees.several import refuse_several
from assay.families.trees.survey import Categories
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.model import TreeModel

LANE = 8  # rows that go down together
MOST = 63  # columns of a way whose sets fit a word
TOLERANCE = 1e-9
NO_CATEGORIES = Categories(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.uint8))


class Ways(NamedTuple):
    """What is known of all edges before any row is seen: depths of all nodes; of the edge to each the depth of the one above it that asks for the
    same column, and z; of each tree the most columns on one way."""

    depths: Array
    earlier: Array
    share: Floats
    degree: Array


class ExplainedTrees(NamedTuple):
    """Trees that answer Σ_t answers[leaf of tree t], and how the rows of their growth were shared out.

    answers (R, C): what a row of the table of leaves adds to C of K answers, from `output` (T,) on; t, weight: `_points`.
    """

    predictor: TreePredictor
    answers: Floats
    ways: Ways
    t: Floats
    weight: Floats
    output: Array
    K: int


def explained(
    predictor: TreePredictor, answers: Floats, cover: Floats, output: Array | None = None, K: int | None = None
) -> ExplainedTrees:
    """Trees made ready; cover (L,): the weight of the rows that reached each leaf of all trees."""
    below = sums_below(predictor, np.asarray(cover, dtype=np.float64))
    above = below[np.maximum(parents_of(predictor.trees.feature, predictor.ends), 0)]
    ways = _ways(predictor, np.divide(below, above, out=np.zeros_like(below), where=above > 0))
    T, table = len(predictor.roots), np.array(answers, dtype=np.float64, order="C")
    outputs = np.zeros(T, dtype=np.int64) if output is None else np.ascontiguousarray(output, dtype=np.int64)
    points = _points(max(1, (int(ways.degree.max()) + 1) // 2))
    return ExplainedTrees(predictor, table, ways, *points, outputs, table.shape[1] if K is None else K)


def _ways(predictor: TreePredictor, share: Floats) -> Ways:
    """From the share of its parent's rows at each node."""
    from assay.families.trees.loops.shap import describe_edges

    earlier, degree = np.zeros(len(share), dtype=np.int64), np.zeros(len(predictor.roots), dtype=np.int64)
    depths = np.ascontiguousarray(predictor.depths, dtype=np.int64)
    nodes = np.ascontiguousarray(predictor.trees.nodes, dtype=np.int64)
    describe_edges(predictor.words, predictor.roots, nodes, depths, share, predictor.depth, earlier, degree)
    return Ways(depths, earlier, share, degree)


def _points(most: int) -> tuple[Floats, Floats]:
    """(most + 1, most): row Q has Gauss and Legendre's Q points between 0 and 1, and their weights."""
    t, w = np.zeros((2, most + 1, most))
    for Q in range(1, most + 1):
        x, weight = np.polynomial.legendre.leggauss(Q)
        t[Q, :Q], w[Q, :Q] = (1 + x) / 2, weight / 2
    return t, w


def shap_of(trees: ExplainedTrees, X: Array, background: Array | None = None) -> Floats:
    """(m, d, K): the SHAP values of the sum over trees, by the rows of their growth, or against background rows (the mean over these)."""
    if background is None:
        return _by_shares(trees, X)
    if int(trees.ways.degree.max()) <= MOST:
        return _against(trees, X, background)
    out = np.zeros((*X.shape, trees.K))
    for ways in _ways_of_rows(trees, background):
        out += _by_shares(trees._replace(ways=ways), X)
    out /= len(background)
    return out


def _questions(predictor: TreePredictor) -> tuple[Array, ...]:
    """Sets and categories as the loops read them."""
    sets = predictor.trees.sets if len(predictor.trees.sets) else np.zeros((1, 4), dtype=np.uint64)
    c = predictor.categories or NO_CATEGORIES
    return tuple(
        np.array(part, order="C") for part in (sets, c.levels, c.code, c.first)
    )  # loops are compiled for arrays that may be written to


def _by_shares(trees: ExplainedTrees, X: Array) -> Floats:
    from assay.families.trees.loops.shap import add_shap

    p, rows = trees.predictor, _in_groups(X)
    phi = np.zeros((len(rows), X.shape[1], trees.K, LANE))
    nodes = (p.words, p.cuts, p.roots, p.ends)
    add_shap(rows, *nodes, *trees.ways, trees.t, trees.weight, *_questions(p), trees.answers, trees.output, phi)
    values: Floats = phi.transpose(0, 3, 1, 2).reshape(-1, *phi.shape[1:3])[: len(X)]
    return values


def _against(trees: ExplainedTrees, X: Array, background: Array) -> Floats:
    from assay.families.trees.loops.shap import add_shap_of_leaves

    p, (depths, earlier, _, degree) = trees.predictor, trees.ways
    out = np.zeros((*X.shape, trees.K))
    nodes = (p.words, p.cuts, p.roots, p.ends, depths, earlier, degree, _beta(int(degree.max())))
    add_shap_of_leaves(
        np.array(X, dtype=np.float64, order="C"), background, *nodes, *_questions(p), trees.answers, trees.output, out
    )
    out /= len(background)
    return out


def _ways_of_rows(trees: ExplainedTrees, background: Array) -> Iterator[Ways]:
    """z for each background row as if the trees had been grown from it alone: for ways of more columns than a word has bits."""
    from assay.families.trees.loops.shap import shares_of_row

    p = trees.predictor
    for x in np.asarray(background, dtype=np.float64):
        share = np.ones(len(p.ends))
        shares_of_row(x, p.words, p.cuts, *_questions(p), share)
        yield _ways(p, share)


def _in_groups(X: Array) -> Floats:
    """(groups, d, 8): eight rows together, column by column; the last group is filled up with zeros."""
    m, d = X.shape
    padded = np.zeros((-(-m // LANE) * LANE, d))
    padded[:m] = X
    return np.ascontiguousarray(padded.reshape(-1, LANE, d).transpose(0, 2, 1))


def _beta(most: int) -> Floats:
    """(a − 1)! c! / (a + c)! for 1 ≤ a ≤ most and 0 ≤ c ≤ most."""
    found = np.zeros((most + 1, most + 1))
    for a in range(1, most + 1):
        found[a] = [factorial(a - 1) * factorial(c) / factorial(a + c) for c in range(most + 1)]
    return found


def shap_values(self: TreeModel, X: Any, data: Any = None) -> Array:
    """Exact SHAP values: (n, d, K) for `predict_proba` of classes, (n, d) for `predict` of numbers; with the base they add up to the answer.

    data=None: path-dependent, columns that are not known are averaged over by the rows that each tree was grown from, and the base is
    `shap_base_`. data: interventional, against these background rows (a hundred say nearly what thousands do); the base is the mean answer
    for them.
    """
    self._check_fitted()
    refuse_several(self, "shap_values")
    found = self._answer(X, partial(_shap_block, self, None if data is None else _background(self, data)))
    values: Array = found if self._kind == "classifier" else found[:, :, 0]
    return values


def shap_base(self: TreeModel) -> Any:
    """What `shap_values(X)` start from, the mean answer for the rows that the trees were grown from: (K,) of classes, else a number."""
    self._check_fitted()
    refuse_several(self, "shap_values")
    base = node_values(self).answer[self._predictor.roots].sum(axis=0) / len(self.nodes_)
    return base if self._kind == "classifier" else float(base[0])


def _background(model: TreeModel, data: Any) -> Floats:
    X = model._rows_to_answer(data).in_memory().X
    if not len(X):
        raise DataError("data has no rows: give at least one background row, or None to go by the rows of the fit.")
    model._refuse_infinite(Block(X, None, None, 0))
    return np.array(X, dtype=np.float64, order="C")


def _shap_block(model: TreeModel, background: Floats | None, block: Block) -> Array:
    model._refuse_infinite(block)
    found = shap_of(model._once("shap", partial(_explained_model, model)), block.X, background)
    found /= len(model.nodes_)
    if model._kind == "regressor":
        return found
    return np.concatenate([found, -found.sum(axis=2, keepdims=True)], axis=2)  # shares add up to one


def _explained_model(model: TreeModel) -> ExplainedTrees:
    answers = model._leaf_answers()
    kept = answers if model._kind == "regressor" else answers[:, :-1]
    return explained(model._predictor, kept, model._leaf_weights()[model.leaf_])


# Trees that are added up (boosting): C scores of T trees, tree t adding to score t mod C, from `baseline_` (C,) on.


def added_shap_values(self: TreeModel, X: Any, data: Any = None) -> Array:
    """Exact SHAP values of the scores that trees add up to: (n, d) of one score, (n, d, C) of several; with the base they add up to the scores.

    data=None: path-dependent, by the rows of the fit, and the base is `shap_base_`. data: interventional, against these background rows; the base
    is the mean score of them.
    """
    self._check_fitted()
    found = self._answer(X, partial(_added_block, self, None if data is None else _background(self, data)))
    values: Array = found[:, :, 0] if found.shape[2] == 1 else found
    return values


def added_shap_base(self: TreeModel) -> Any:
    """What `shap_values(X)` start from, the mean scores of the rows of the fit: a number of one score, (C,) of several."""
    self._check_fitted()
    baseline = np.asarray(self.baseline_)  # type: ignore[attr-defined]
    roots = node_values(self).answer[self._predictor.roots, 0]
    base = baseline + np.bincount(np.arange(len(roots)) % len(baseline), roots, minlength=len(baseline))
    return float(base[0]) if len(base) == 1 else base


def _added_block(model: TreeModel, background: Floats | None, block: Block) -> Array:
    model._refuse_infinite(block)
    return shap_of(model._once("shap", partial(_explained_sum, model)), block.X, background)


def _explained_sum(model: TreeModel) -> ExplainedTrees:
    C = len(model.baseline_)  # type: ignore[attr-defined]
    output = np.arange(len(model.nodes_)) % C
    return explained(model._predictor, model._leaf_answers(), model._leaf_weights()[model.leaf_], output, C)


def shap_certificate(self: TreeModel, X: Any, data: Any = None) -> Certificate:
    """The SHAP values of these rows as a certificate: that with their base they add up to what the trees answer.

    `verify(X)` walks the trees again, without this code, and adds up; the values are in the claim's witness.
    """
    values = self.shap_values(X, data)
    parts = vars(self)
    added = parts.get("baseline_")
    base: Any = self.shap_base_
    background = None if data is None else _background(self, data)
    if data is not None:  # values of a row are measured from the mean answer of the background
        base = base + self.shap_values(data).sum(axis=1).mean(axis=0)
    how = "added" if added is not None else "numbers" if self._kind == "regressor" else "shares"
    if self._fitted_with.get("voting") == "majority" or "estimator_weights_" in parts:
        how = "votes"
    claim = Claim(
        name="SHAP values",
        statement=f"of {len(values)} rows the base and what the columns add are what the trees answer",
        holds=True,
        check="shap_adds_up",
        value=float(len(values)),
        witness={
            **tree_witness(self),
            "how": how,
            "tree_votes": parts.get("estimator_weights_"),
            "baseline": added,
            "values": values,
            "base": np.asarray(base, dtype=np.float64),
            "background": background,
            "tolerance": TOLERANCE,
        },
    )
    return Certificate((claim,), names=self._column_names(), levels=self._categories, columns=self.n_features_in_)
