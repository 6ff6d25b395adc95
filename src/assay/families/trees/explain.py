"""Trees and forests explained: the way of rows down trees, what each column adds to an answer, and trees as shapes to draw.

The answer of a tree is that of its root, changed at every step of the way (Saabas 2014):

    h(x) = v(root) + Σ_steps [ v(child) − v(node) ],   a step counted for the column that its node asks for
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Block
from assay.errors import DataError, ParameterError
from assay.estimator.params import defaults
from assay.families.trees.nodes import LEAF, join_trees, split_trees
from assay.families.trees.shap import shap_base
from assay.families.trees.text import Questions, answer_in_words, rows_in_words
from assay.families.trees.values import columns_of, node_gains, node_values, parents_of
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.model import DecisionTree, Forest, TreeModel

# what a tree of a forest knows of the columns as the forest does
SHARED = ("n_features_in_", "feature_names_in_", "_categories", "classes_", "category_code_", "missing_columns_")


class TreeShape(NamedTuple):
    """A fitted tree as arrays, node 0 the root: rows with x[feature] ≤ threshold go left. A leaf has left = right = −1.

    `value` (nodes, K): the rows of each class at a node (or their shares); of a regression (nodes, 1): the mean. `n` rows a node.
    `tests`: of each node its question behind the column's name, such as "≤ 2.45" or "in {red, blue}", where a threshold does not say it all.
    """

    left: Array
    right: Array
    feature: Array
    threshold: Array
    value: Array
    n: Array
    names: Sequence[str] | None = None
    classes: Sequence[Any] | None = None
    tests: Sequence[str] | None = None


@dataclass(frozen=True)
class PathStep:
    """A question on the way of a row: `before` and `after` are the classes' shares (or the mean) at the node and at the child it went to."""

    node: int
    column: int
    question: str
    value: Any
    answer: bool
    gain: float | None
    before: Floats
    after: Floats


@dataclass(frozen=True)
class PathOfRow:
    """The steps of a row from the root to its leaf, and what the leaf says."""

    steps: tuple[PathStep, ...]
    leaf: int
    answer: Any
    weight: float
    _lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines)


def tree_of_forest(forest: Forest, number: int) -> DecisionTree:
    """A tree of a forest as a decision tree of its own."""
    from assay.families.trees.estimators import DecisionTreeClassifier, DecisionTreeRegressor

    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < len(forest.nodes_):
        raise ParameterError(
            f"There is no tree {number!r}: the forest has {len(forest.nodes_)}, 0 to {len(forest.nodes_) - 1}."
        )
    cls = DecisionTreeClassifier if forest._kind == "classifier" else DecisionTreeRegressor
    same = {k: v for k, v in forest._fitted_with.items() if k in defaults(cls)}
    alone: Any = cls(**{**same, "splitter": "random" if forest.random_splits else "best"})
    alone._forget()
    for name in SHARED:
        if hasattr(forest, name):
            setattr(alone, name, getattr(forest, name))
    one = split_trees(forest._trees)[number]
    used, leaf = np.unique(one.leaf, return_inverse=True)
    alone._keep_parts(join_trees([one._replace(table=forest.table_[used], leaf=leaf.astype(np.uint32))]))
    if one.gain is not None:
        alone.gain_ = one.gain.copy()
    alone.weight_, alone.rows_ = float(alone._leaf_weights()[alone.leaf_].sum()), forest.rows_
    alone._fitted_with = alone.get_params()
    return alone  # type: ignore[no-any-return]


def shape_of(model: DecisionTree) -> TreeShape:
    """A single tree as arrays."""
    ask, found, ends = Questions(model), node_values(model), model._predictor.ends
    split = np.flatnonzero(model.feature_ != LEAF)
    left, right = np.full((2, len(ends)), -1, dtype=np.int64)
    left[split], right[split] = split + 1, ends[split + 1]
    classes = model._kind == "classifier"
    return TreeShape(
        left,
        right,
        columns_of(model.feature_),
        np.where(model.feature_ > LEAF, ask.cut, np.nan),
        found.answer * found.weight[:, None] if classes else found.answer,
        found.weight,
        names=model._names_in_words(),
        classes=model.classes_.tolist() if classes else None,
        tests=[ask.test(i) if f != LEAF else "" for i, f in enumerate(model.feature_.tolist())],
    )


def nodes_passed(model: TreeModel, X: Any) -> Any:
    """(n, N) sparse: 1 where a row passes a node, of all nodes of all trees."""
    from scipy.sparse import csr_matrix

    leaves = model._answer(X, model._nodes_block)
    nodes, begin = _ancestors(model, leaves.reshape(-1))
    rows = begin[:: leaves.shape[1]]
    return csr_matrix((np.ones(len(nodes), dtype=np.int64), nodes, rows), shape=(len(leaves), len(model.feature_)))


def path_of_row(model: TreeModel, x: Any) -> PathOfRow:
    """The way of one row down a single tree."""
    given = x if np.ndim(x) != 1 else [x]
    rows = model._rows_to_answer(given).in_memory()
    X = rows.X
    if len(X) != 1:
        raise DataError(f"The path of one row was asked for, but {len(X)} were given: give one, such as X[:1].")
    leaf = int(model.apply(given)[0])
    nodes, _ = _ancestors(model, np.array([leaf]))
    ask, found, gains = Questions(model), node_values(model), node_gains(model)
    steps = tuple(
        PathStep(
            node=int(node),
            column=ask.column(node),
            question=ask.question(node),
            value=ask.value(node, float(X[0, ask.column(node)])),
            answer=bool(child == node + 1),
            gain=None if gains is None else float(gains[node]),
            before=found.answer[node],
            after=found.answer[child],
        )
        for node, child in zip(nodes[:-1].tolist(), nodes[1:].tolist())
    )
    lines = [f"all rows: {answer_in_words(model, found.answer[0], None)}   {rows_in_words(float(found.weight[0]))}"]
    for step, child in zip(steps, nodes[1:].tolist()):
        is_number = isinstance(step.value, float)
        value = "missing" if step.value is None else f"{step.value:.4g}" if is_number else f"{step.value}"
        gain = "" if step.gain is None else f", gain {step.gain:.4g}"
        said = f"{answer_in_words(model, step.after, None)}   {rows_in_words(float(found.weight[child]))}{gain}"
        lines.append(f"{step.question} ? {'yes' if step.answer else 'no'} ({value}) → {said}")
    return PathOfRow(steps, leaf, model._label_of(found.answer[leaf]), float(found.weight[leaf]), tuple(lines))


def _ancestors(model: TreeModel, leaves: Array) -> tuple[Array, Array]:
    """The nodes on the way to each of some leaves (of all nodes), first to last, one way after another; and where each begins."""
    predictor = model._predictor
    depth = predictor.depths[leaves]
    begin = np.concatenate([[0], np.cumsum(depth + 1)])
    nodes = np.empty(begin[-1], dtype=np.int64)
    parent = parents_of(model.feature_, predictor.ends)
    at, where = leaves.copy(), begin[:-1].copy()
    while len(at):
        nodes[where + predictor.depths[at]] = at
        at = parent[at]
        there = at >= 0
        at, where = at[there], where[there]
    return nodes, begin


class Changes(NamedTuple):
    """Of each node but the first ones: its parent, the column that its parent asks for, and how its answer differs, (N, K)."""

    parent: Array
    column: Array
    change: Floats


def contributions_of(model: TreeModel, X: Any) -> tuple[Any, Array]:
    """(bias, contributions) of the mean over trees: (K,), (n, d, K) of classes; a number, (n, d) of numbers."""
    model._check_fitted()
    values = node_values(model).answer
    parent = parents_of(model.feature_, model._predictor.ends)
    steps = Changes(parent, columns_of(model.feature_)[parent], np.ascontiguousarray(values - values[parent]))
    found = model._answer(X, partial(_contributions_block, model, steps))
    return shap_base(model), found if model._kind == "classifier" else found[:, :, 0]


def _contributions_block(model: TreeModel, steps: Changes, block: Block) -> Array:
    from assay.families.trees.loops.forest import add_contributions

    out = np.zeros((*block.X.shape, steps.change.shape[1]))
    for leaves in model._nodes_block(block).T:
        add_contributions(np.ascontiguousarray(leaves), *steps, out)
    out /= len(model.nodes_)
    return out
