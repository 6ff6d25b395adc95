"""A tree as plain arrays, for those who draw it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.errors import ModelFileError
from assay.estimator.classifier import Classifier
from assay.estimator.docstrings import attribute
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Layout, Tensor
from assay.estimator.regressor import Regressor
from assay.families.trees.categories import Categories, category_levels
from assay.families.trees.nodes import Trees
from assay.families.trees.predict import TreePredictor
from assay.inputs import refuse_non_finite
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.store import Record

if TYPE_CHECKING:
    from assay.families.trees.training_data import TrainingData


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


# What trees and forests share as models: their parts in a file, and their answers.

LAYOUT: Layout = {
    "feature_": Tensor(("N",), dtype="<i4", doc="of each of the N nodes of all trees the column that it asks about; −1: a leaf, −2 − j: categories of column j"),
    "cut_": Tensor(("S",), finite=False, doc="the threshold of each split: rows up to it go left"),
    "missing_left_": Tensor(("S",), dtype="|u1", high=1, doc="1 for each split that sends missing values left"),
    "leaf_": Tensor(("L",), dtype="<u4", doc="of each leaf the row of `table_` that it answers with"),
    "sets_": Tensor(("Q", 4), dtype="<u8", optional=True, doc="of each split by categories the set of those that go left, as 256 bits; None without such splits"),
    "nodes_": Tensor(("T",), dtype="<i8", low=1, doc="the number of nodes of each tree"),
    "category_code_": Tensor(("c",), dtype="|u1", optional=True, doc="the codes that the categories of all columns have inside the trees; None without categories"),
    "missing_columns_": Tensor(("d",), dtype="|u1", high=1, optional=True, doc="1 for each column that had missing values at the fit; None where none had"),
    "table_": Tensor(("R", "C"), doc="what leaves hold"),
}  # fmt: skip
Made = TypeVar("Made")
NO_SETS = np.zeros((0, 4), dtype=np.uint64)


def parts_of(trees: Trees) -> dict[str, Any]:
    """The learnt parts of a model with these trees, of which nothing else is made yet."""
    return {
        "feature_": trees.feature,
        "cut_": trees.cut,
        "missing_left_": trees.missing,
        "leaf_": trees.leaf,
        "nodes_": trees.nodes,
        "table_": trees.table,
        "sets_": trees.sets if len(trees.sets) else None,
        "_made": {},
    }


class TreeModel(Estimator):
    """Trees and what they answer. Subclasses grow them (`_learn`) and keep them by `_keep_trees`."""

    takes_missing = True
    takes_categories = True

    feature_: Array = attribute()
    cut_: Floats = attribute()
    missing_left_: Array = attribute()
    leaf_: Array = attribute()
    sets_: Array | None = attribute()
    nodes_: Array = attribute()
    table_: Floats = attribute()
    category_code_: Array | None = attribute()
    missing_columns_: Array | None = attribute()

    categorical_features: Any = attribute()
    random_state: int | None = attribute()

    def _keep_trees(self, trees: Trees, training_data: TrainingData) -> None:
        self._keep_parts(trees)
        self._keep_training_data(training_data)

    def _keep_training_data(self, training_data: TrainingData) -> None:
        """What of the columns is needed to walk any tree of these rows."""
        self.category_code_ = training_data.categories.code if len(training_data.categories.code) else None
        lacking = training_data.survey.missing
        self.missing_columns_ = lacking.astype(np.uint8) if lacking.any() else None

    def _keep_parts(self, trees: Trees) -> None:
        vars(self).update(parts_of(trees))

    _made: dict[str, Any] = (
        attribute()
    )  # from the learnt parts, when first needed; no attributes, which answering must not add

    def _drop_caches(self) -> None:
        self._made = {}

    def _once(self, name: str, make: Callable[[], Made]) -> Made:
        if name not in self._made:
            self._made[name] = make()
        found: Made = self._made[name]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: {} if name == "_made" else value for name, value in vars(self).items()}

    @property
    def _trees(self) -> Trees:
        kept = getattr(self, "sets_", None)
        sets = NO_SETS if kept is None else kept
        parts = (self.feature_, self.cut_, self.missing_left_, self.leaf_, sets, self.nodes_, self.table_)
        return Trees(*parts, getattr(self, "gain_", None))

    @property
    def _predictor(self) -> TreePredictor:
        return self._once("walker", lambda: TreePredictor(self._trees, self.n_features_in_, self._category_codes()))

    def _category_codes(self) -> Categories | None:
        """How categories become codes, from the columns' categories and what the file holds."""
        code = getattr(self, "category_code_", None)
        if code is None:
            return None
        levels = category_levels(self._fitted_with["categorical_features"], self._column_names(), self._levels())
        if int(levels.first[-1]) != len(code):
            raise ModelFileError("The model file's categories do not fit its columns.")
        return Categories(levels.count, levels.first[:-1].copy(), code)

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        by_sets = bool((self.feature_ < -1).any())
        codes = self._category_codes()
        if by_sets:
            column = -2 - self.feature_[self.feature_ < -1]
            if codes is None or not (codes.levels[column] > 0).all():
                raise ModelFileError("The model file splits columns by categories that have none.")
        self._check_table()
        assert self._predictor is not None

    def _check_table(self) -> None:
        """Raise where the leaves of a file are impossible."""

    def _forget(self) -> None:
        super()._forget()
        self._drop_caches()

    def _seed(self) -> int:
        return 0 if self.random_state is None else int(self.random_state)

    def _refuse_infinite(self, block: Block) -> None:
        refuse_non_finite(block.X, block.start, self._column_names(), nan=False)

    def get_depth(self) -> int:
        """The greatest number of splits on the way to a leaf."""
        self._check_fitted()
        return self._predictor.depth

    def get_n_leaves(self) -> int:
        """The number of leaves, of all trees."""
        self._check_fitted()
        return len(self.leaf_)

    def apply(self, X: Any) -> Array:
        """The number of the leaf (of all nodes of its tree, in preorder) where each row ends; a column a tree."""
        found = self._answer(X, self._nodes_block)
        found -= self._predictor.roots
        return found

    def _nodes_block(self, block: Block) -> Array:
        """(m, T): the leaves, as nodes of all trees."""
        self._refuse_infinite(block)
        return self._predictor.nodes(block.X)

    # --- what leaves know -------------------------------------------------------------------------------------------

    def _leaf_answers(self) -> Floats:
        """Of each row of the table what it adds to an answer, (R, C)."""
        raise NotImplementedError

    def _leaf_weights(self) -> Floats:
        """Of each row of the table the weight of a leaf's rows."""
        raise NotImplementedError

    def _label_of(self, answer: Floats) -> Any:
        """The class or number that such an answer means."""
        raise NotImplementedError

    def _names_in_words(self) -> list[str]:
        names = self._column_names()
        return [f"column {j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def complexity(self) -> float:
        """Two numbers a split (column and threshold) and one a leaf, of all trees."""
        self._check_fitted()
        return float(2 * len(self.cut_) + len(self.leaf_))


class TreeClassifier(TreeModel, Classifier):
    """Trees whose leaves hold the weight of each class."""

    layout: ClassVar[Layout] = {
        **LAYOUT,
        "table_": Tensor(("R", "K"), low=0, high=1e200, doc="what leaves hold: the weight of each class among the rows that reached them"),
    }  # fmt: skip

    @property
    def _shares(self) -> Floats:
        """Of each leaf of the table the classes' shares."""
        return self._once("shares", lambda: self.table_ / self.table_.sum(axis=1, keepdims=True))

    def _check_table(self) -> None:
        if not (self.table_.sum(axis=1) > 0).all():
            raise ModelFileError("The model file has a leaf without any weight.")

    def _leaf_answers(self) -> Floats:
        return self._shares

    def _leaf_weights(self) -> Floats:
        weights: Floats = self.table_.sum(axis=1)
        return weights

    def _label_of(self, answer: Floats) -> Any:
        return self.classes_[answer.argmax()]

    def _proba_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        shares = self._predictor.total(block.X, self._leaf_answers())
        shares /= len(self.nodes_)
        return shares

    def _scores(self, X: Array) -> Floats:
        return self._predictor.total(X, self._leaf_answers())

    def _predict_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        labels: Array = self.classes_[self._scores(block.X).argmax(axis=1)]
        return labels

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        return self._classes_of(engine, rows, afresh, classes)


class TreeRegressor(TreeModel, Regressor):
    """Trees whose leaves hold an answer and the weight of their rows."""

    layout: ClassVar[Layout] = {
        **LAYOUT,
        "table_": Tensor(("R", 2), doc="what leaves hold: weight and answer of the rows that reached them"),
    }
    class_weight: ClassVar[None] = None

    def _check_table(self) -> None:
        if not (self.table_[:, 1] > 0).all():
            raise ModelFileError("The model file has a leaf without any weight.")

    def _leaf_answers(self) -> Floats:
        return self._once("answers", lambda: np.ascontiguousarray(self.table_[:, :1]))

    def _leaf_weights(self) -> Floats:
        weights: Floats = self.table_[:, 1]
        return weights

    def _label_of(self, answer: Floats) -> Any:
        return float(answer[0])

    def _values(self, X: Array) -> Floats:
        values: Floats = self._predictor.total(X, self._leaf_answers())[:, 0] / len(self.nodes_)
        return values

    def _predict_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        return self._values(block.X)

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        return None
