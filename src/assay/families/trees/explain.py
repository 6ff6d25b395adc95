"""The way of rows down trees: which nodes, which questions, and what each answer changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Block, engine_for, targets_of
from assay.errors import DataError, ParameterError
from assay.estimator.docstrings import attribute
from assay.estimator.params import defaults
from assay.families.trees.categories import category_levels
from assay.families.trees.fit import TreeModel, TreeShape
from assay.families.trees.importance import ShuffledColumns, gain_importances, shuffled_columns
from assay.families.trees.nodes import LEAF, split_trees, together
from assay.families.trees.survey import survey
from assay.families.trees.text import Questions, answer_in_words, rows_in_words
from assay.families.trees.values import columns_of, node_gains, node_values, parents_of
from assay.inputs import as_regression_target, as_rows
from assay.inputs.labels import Labels, class_multipliers
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.estimators import _OneTree
    from assay.families.trees.text import LeafRule


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


def ancestors(model: TreeModel, leaves: Array) -> tuple[Array, Array]:
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


def indicator(model: TreeModel, leaves: Array) -> Any:
    """(n, N) sparse: 1 where the row of leaves (n, T), nodes of all trees, passes a node."""
    from scipy.sparse import csr_matrix

    nodes, begin = ancestors(model, leaves.reshape(-1))
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
    nodes, _ = ancestors(model, np.array([leaf]))
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


# What each column adds to each answer (Saabas 2014): the answer of a tree is that of its root, changed at every step of the way.
#
# h(x) = v(root) + Σ_steps [ v(child) − v(node) ],   a step counted for the column that its node asks for


class Changes(NamedTuple):
    """Of each node but the first ones: its parent, the column that its parent asks for, and how its answer differs, (N, K)."""

    parent: Array
    column: Array
    change: Floats


def contributions_of(model: TreeModel, X: Any) -> tuple[Floats, Array]:
    """(bias (K,), contributions (n, d, K)) of the mean over trees."""
    model._check_fitted()
    values = node_values(model).answer
    bias = values[model._predictor.roots].sum(axis=0) / len(model.nodes_)
    parent = parents_of(model.feature_, model._predictor.ends)
    steps = Changes(parent, columns_of(model.feature_)[parent], np.ascontiguousarray(values - values[parent]))
    return bias, model._answer(X, partial(_block, model, steps))


def _block(model: TreeModel, steps: Changes, block: Block) -> Array:
    from assay.families.trees.loops.forest import add_contributions

    out = np.zeros((*block.X.shape, steps.change.shape[1]))
    for leaves in model._nodes_block(block).T:
        add_contributions(np.ascontiguousarray(leaves), *steps, out)
    out /= len(model.nodes_)
    return out


# Trees and forests explained: as text, as shapes to draw, by the way of a row, and by what each column adds.


class ExplainedTrees(TreeModel):
    """What trees and forests tell alike."""

    @property
    def feature_importances_(self) -> Floats:
        """Of each column the share of its splits in all that splits gained (mean over trees), adding up to one, as in scikit-learn; (d,).

        It is biased: it is counted on the training rows, so a column of noise with many values gains too, the more so in deep trees,
        and of columns that say the same one may get all. To judge columns use `oob_importance` of forests, or permutation
        importance on held-out rows.
        """
        self._check_fitted()
        return gain_importances(self)

    def contributions(self, X: Any) -> tuple[Any, Array]:
        """(bias, contributions): bias + contributions summed over the columns is what the model predicts, to rounding.

        Classes: bias (K,), contributions (n, d, K), for `predict_proba`; numbers: one number, (n, d), for `predict`. The bias is the mean
        answer for the training rows; each question on the way of a row adds to its column what its answer changed (Saabas 2014).
        """
        bias, found = contributions_of(self, X)
        return (bias, found) if self._kind == "classifier" else (float(bias[0]), found[:, :, 0])


class ExplainedTree(ExplainedTrees):
    """What a single tree tells."""

    def apply(self, X: Any) -> Array:
        """The node (in preorder, the root is 0) of the leaf where each row ends."""
        return super().apply(X)[:, 0]

    def to_text(self, *, max_depth: int | None = None, decimals: int | None = None) -> str:
        """The tree as text, a line a node: its question, rows and gain, or its answer. `decimals`: of thresholds (None: four digits)."""
        from assay.families.trees.text import tree_text

        self._check_fitted()
        return tree_text(self, max_depth, decimals)

    def rules(self, *, decimals: int | None = None) -> list[LeafRule]:
        """One rule a leaf: the conditions that lead to it, its answer, and the weight of its rows."""
        from assay.families.trees.text import tree_rules

        self._check_fitted()
        return tree_rules(self, decimals)

    def tree_shape(self) -> TreeShape:
        """The tree as arrays, as `assay.plots.tree_drawing` draws it."""
        self._check_fitted()
        ask, found, ends = Questions(self), node_values(self), self._predictor.ends
        split = np.flatnonzero(self.feature_ != LEAF)
        left, right = np.full((2, len(ends)), -1, dtype=np.int64)
        left[split], right[split] = split + 1, ends[split + 1]
        classes = self._kind == "classifier"
        return TreeShape(
            left,
            right,
            columns_of(self.feature_),
            np.where(self.feature_ > LEAF, ask.cut, np.nan),
            found.answer * found.weight[:, None] if classes else found.answer,
            found.weight,
            names=self._names_in_words(),
            classes=self.classes_.tolist() if classes else None,
            tests=[ask.test(i) if f != LEAF else "" for i, f in enumerate(self.feature_.tolist())],
        )

    def decision_path(self, X: Any) -> Any:
        """(n, nodes) as a sparse matrix: 1 where a row passes a node."""

        return indicator(self, self._answer(X, self._nodes_block))

    def explain_path(self, x: Any) -> PathOfRow:
        """The way of one row: each question with the row's value, the answer, the gain, and what the answer changed; made to be printed."""

        return path_of_row(self, x)


# What a forest tells of itself: its single trees, the ways of rows, and which columns matter on rows that trees did not see.


class ExplainedForest(ExplainedTrees):
    """What a forest tells."""

    random_splits: bool = attribute(default=False)
    rows_: int = attribute()

    def tree(self, number: int) -> _OneTree:
        """Tree `number` of the forest as a decision tree of its own, which answers, draws and explains itself."""
        from assay.families.trees.estimators import DecisionTreeClassifier, DecisionTreeRegressor

        self._check_fitted()
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < len(self.nodes_):
            raise ParameterError(
                f"There is no tree {number!r}: the forest has {len(self.nodes_)}, 0 to {len(self.nodes_) - 1}."
            )
        cls = DecisionTreeClassifier if self._kind == "classifier" else DecisionTreeRegressor
        same = {k: v for k, v in self._fitted_with.items() if k in defaults(cls)}
        alone: Any = cls(**{**same, "splitter": "random" if self.random_splits else "best"})
        alone._forget()
        for name in (
            "n_features_in_",
            "feature_names_in_",
            "_categories",
            "classes_",
            "category_code_",
            "missing_columns_",
        ):
            if hasattr(self, name):
                setattr(alone, name, getattr(self, name))
        one = split_trees(self._trees)[number]
        used, leaf = np.unique(one.leaf, return_inverse=True)
        alone._keep_parts(together([one._replace(table=self.table_[used], leaf=leaf.astype(np.uint32))]))
        if one.gain is not None:
            alone.gain_ = one.gain.copy()
        alone.weight_, alone.rows_ = float(alone._leaf_weights()[alone.leaf_].sum()), self.rows_
        alone._fitted_with = alone.get_params()
        return alone  # type: ignore[no-any-return]

    @property
    def estimators_(self) -> list[_OneTree]:
        """All trees, each as a decision tree of its own."""
        self._check_fitted()
        return [self.tree(number) for number in range(len(self.nodes_))]

    def tree_shape(self, number: int = 0) -> TreeShape:
        """Tree `number` as arrays, as `assay.plots.tree_drawing` draws it."""
        return self.tree(number).tree_shape()

    def decision_path(self, X: Any) -> tuple[Any, Array]:
        """((n, nodes) as a sparse matrix: 1 where a row passes a node, where the nodes of each tree begin), as in scikit-learn."""

        found = indicator(self, self._answer(X, self._nodes_block))
        return found, np.concatenate([[0], np.cumsum(self.nodes_)])

    def oob_importance(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, n_repeats: int = 5
    ) -> ShuffledColumns:
        """How much worse trees do on the rows that they did not see when a column is shuffled among these (Breiman 2001).

        X and y must be the rows of the fit, in their order: which of them a tree saw follows from the seed. Unlike
        `feature_importances_` it does not favour columns with many values; of columns that say the same, each looks dispensable.
        """
        from assay.families.trees.grow import RowSample

        self._check_fitted()
        if isinstance(n_repeats, bool) or not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
            raise ParameterError(f"n_repeats={n_repeats!r} is not possible: shuffle at least once.")
        fitted = type(self)(**dict(self._fitted_with))
        rows = as_rows(X, y, sample_weight, categories=True, levels=self._levels())
        rows = rows.fitted_to(self._column_names(), self._categories)
        if not rows.has_target:
            raise DataError(
                "oob_importance needs the targets: give oob_importance(X, y), or name the target in assay.rows(..., target=...)."
            )
        engine = engine_for(rows, self.n_jobs)
        rows = engine.open(rows)
        draws = getattr(self, "draws_", None)
        if draws is None:
            raise ParameterError(
                f"Every tree of this {type(self).__name__} saw every row: fit with bootstrap=True or max_samples for out-of-bag rows."
            )
        labels = Labels.of(self.classes_) if self._kind == "classifier" else None
        levels = category_levels(fitted.categorical_features, rows.names, rows.categories or (None,) * rows.n_columns)
        found = survey(engine, rows, labels, levels)
        if found.mark.hex() != self._provenance.get("fingerprint"):
            raise DataError(
                "These are not the rows of the fit (their fingerprint differs), so nobody knows which of them a tree did not see: give the "
                "same rows in the same order with the same weights, or use permutation importance on held-out rows."
            )
        truth, w = targets_of(rows)
        if labels is None:
            truth = as_regression_target(truth)
        else:
            truth = labels.encode(truth)
            if self._fitted_with["class_weight"] is not None:
                factor = class_multipliers(self._fitted_with["class_weight"], self.classes_, found.class_weight)[truth]
                w = factor if w is None else w * factor
        counted = None if w is None or (w > 0).all() else np.flatnonzero(w > 0)
        drawing = RowSample(fitted._seed(), draws, bool(fitted.bootstrap), counted)  # type: ignore[attr-defined]
        return shuffled_columns(self, engine, rows, truth, w, drawing, int(n_repeats))
