"""Trees and forests in the making, for teaching: split by split, tree by tree."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines.engine import Threads
from assay.errors import ParameterError
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Measure, Step, answering, measures
from assay.families.trees.fit_tree import cut, grow, in_order_of_gain, keep, root_impurity, weighted_gains
from assay.families.trees.forest_builder import grow_forest, prepare_forest
from assay.families.trees.importance import parents_of
from assay.families.trees.nodes import LEAF, TreeNodes, depths_of, join_trees, parts_of, tree_ends, tree_of
from assay.families.trees.text import Questions
from assay.numerics import Array, Floats

ROUNDING = 1e-12  # of the first impurity: what gains that add up to all of it may leave

if TYPE_CHECKING:
    from assay.families.trees.loops.arrays import NodeArrays
    from assay.families.trees.model import DecisionTree, Forest
    from assay.families.trees.training_data import TrainingData


def tree_steps(model: DecisionTree, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """First the root alone, then the splits in the order of what they gain, times their share of the rows."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    unpruned = cut(fresh, grow(fresh, Threads(fresh.n_jobs), rows, True, None))
    _refuse_several(fresh, unpruned.training_data)
    fresh._keep_columns(unpruned.training_data)
    whole = copy(fresh)
    keep(whole, unpruned)
    grown, training_data = unpruned.grown, unpruned.training_data
    gains, ends, answers = weighted_gains(grown, training_data), tree_ends(grown.feature), unpruned.answers()
    depths, n = depths_of(grown.feature, ends), rows.n_rows or 0
    wrong = _wrong(answers) if training_data.inputs.target.classes else None
    first = impurity = root_impurity(training_data)
    leaves, partly = 1, PartialTree(grown, parents_of(grown.feature, ends), answers, [])
    share = training_data.inputs.target.weights(grown.sums, grown.rows)
    ask = Questions(whole)
    values: dict[str, Any] = {"leaves": 1, "impurity": impurity, "nodes_": np.array([1])}
    if wrong is not None:
        values["error"] = error = float(wrong[0])
    yield Step(1, n, values, _measures(values), answering(fresh, partial(partly.parts, 0)))
    for number, node in enumerate(in_order_of_gain(gains, grown.feature, ends), 2):
        left, right = node + 1, int(ends[node + 1])
        leaves, impurity = leaves + 1, impurity - float(gains[node])
        partly.order.append(node)
        values = {
            "node": node,
            "depth": int(depths[node]),
            "column": ask.column(node),
            "question": ask.question(node),
            "gain": float(grown.gain[node]),
            "rows": int(grown.rows[node]),
            "rows_left": int(grown.rows[left]),
            "rows_right": int(grown.rows[right]),
            "share": float(share[node] / share[0]),
            "leaves": leaves,
            "impurity": impurity if impurity > ROUNDING * first else 0.0,
            "nodes_": np.array([2 * leaves - 1]),
        }
        if wrong is not None:
            error += float(wrong[left] + wrong[right] - wrong[node])
            values["error"] = max(error, 0.0)
        yield Step(number, n, values, _measures(values), answering(fresh, partial(partly.parts, number - 1)))


def _refuse_several(model: Any, training_data: TrainingData) -> None:
    targets = training_data.inputs.target.targets
    if targets > 1:
        raise ParameterError(f"{type(model).__name__}: steps show one target, and y has {targets}: give one of them.")


class PartialTree(NamedTuple):
    """A tree of which some splits are made: what each node would say as a leaf, and the splits in their order."""

    grown: NodeArrays
    parent: Array
    answers: Floats
    order: list[int]

    def parts(self, splits: int) -> dict[str, Any]:
        """The learnt parts of the tree of the first splits; its leaves so far answer with their rows."""
        made = np.zeros(len(self.parent), dtype=bool)
        made[self.order[:splits]] = True
        there = (self.parent < 0) | made[self.parent]
        g = self.grown
        feature = np.where(made, g.feature, LEAF)[there].astype(g.feature.dtype)
        some = g._replace(feature=feature, cut=g.cut[there], missing=g.missing[there], gain=g.gain[there])
        return parts_of(join_trees([tree_of(some, self.answers[there & ~made])]))


def _wrong(counts: Floats) -> Floats:
    """Of each node the share of all weight that its answer gets wrong."""
    wrong: Floats = (counts.sum(axis=1) - counts.max(axis=1)) / float(counts[0].sum())
    return wrong


def _measures(values: dict[str, Any]) -> tuple[Measure, ...]:
    error, gain, question = values.get("error"), values.get("gain"), values.get("question")
    return measures(
        Measure("impurity", values["impurity"], 0.0, f"impurity of {values['leaves']} leaves {values['impurity']:.4g}"),
        None if error is None else Measure("training error", error, 0.0, f"{error:.1%} of the training rows are wrong"),
        None if gain is None else Measure("gain", gain, None, f"{question} gains {gain:.4g}", better=None),
    )


def forest_steps(model: Forest, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """Tree by tree, with the error on the rows that the trees so far did not see."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(fresh.n_jobs)
    forest = prepare_forest(fresh, engine, rows, True, None)
    _refuse_several(fresh, forest.builder.training_data)
    fresh._keep_columns(forest.builder.training_data)
    for number, tree in grow_forest(fresh, engine, rows, forest):
        values: dict[str, Any] = {
            "leaves": int((tree.feature == LEAF).sum()),
            "depth": int(depths_of(tree.feature, tree_ends(tree.feature)).max()),
            "nodes_": np.array([len(t.feature) for t in forest.trees]),
        }
        loss, error, judged = forest.bag.loss()
        told: tuple[Measure, ...] = ()
        if judged:
            values |= {"oob_loss": loss, "oob_error_of_loss": error, "oob_rows": judged}
            text = f"out-of-bag loss {loss:.4g} ± {error:.2g} of {judged} rows"
            told = measures(Measure("out-of-bag loss", loss, None, text))
        yield Step(number, rows.n_rows or 0, values, told, answering(fresh, partial(_first, forest.trees, number)))


def _first(trees: list[TreeNodes], number: int) -> dict[str, Any]:
    return parts_of(join_trees(trees[:number]))
