"""What trees and forests share as models: their parts in a file, and their answers."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.errors import ModelFileError, ParameterError
from assay.hypotheses.trees.coded import Categories
from assay.hypotheses.trees.nodes import Trees
from assay.hypotheses.trees.walking import Walker
from assay.inputs import refuse_non_finite
from assay.labels import Labels
from assay.layout import Layout
from assay.learner import Learner, Regressor, Tensor
from assay.learner.classifier import ProbableClassifier
from assay.numerics import Array, Floats
from assay.store import Record

LAYOUT: Layout = {
    "feature_": Tensor(("N",), dtype="<i4"),
    "cut_": Tensor(("S",), finite=False),
    "missing_left_": Tensor(("S",), dtype="|u1", high=1),
    "leaf_": Tensor(("L",), dtype="<u4"),
    "sets_": Tensor(("Q", 4), dtype="<u8", optional=True),
    "nodes_": Tensor(("T",), dtype="<i8", low=1),
    "category_code_": Tensor(("c",), dtype="|u1", optional=True),
    "table_": Tensor(("R", "C")),
}
NO_SETS = np.zeros((0, 4), dtype=np.uint64)


class TreeModel(Learner):
    """Trees and what they answer. Subclasses grow them (`_learn`) and keep them by `_keep_trees`."""

    takes_missing = True
    takes_categories = True

    feature_: Array
    cut_: Floats
    missing_left_: Array
    leaf_: Array
    sets_: Array | None
    nodes_: Array
    table_: Floats
    category_code_: Array | None

    categorical_features: Any
    random_state: int | None

    def _keep_trees(self, trees: Trees, categories: Categories) -> None:
        self.feature_, self.cut_, self.missing_left_, self.leaf_ = trees.feature, trees.cut, trees.missing, trees.leaf
        self.nodes_, self.table_ = trees.nodes, trees.table
        self.sets_ = trees.sets if len(trees.sets) else None
        self.category_code_ = categories.code if len(categories.code) else None
        self.__dict__.pop("_walker", None)

    @property
    def _trees(self) -> Trees:
        sets = NO_SETS if getattr(self, "sets_", None) is None else self.sets_
        return Trees(self.feature_, self.cut_, self.missing_left_, self.leaf_, sets, self.nodes_, self.table_)

    @cached_property
    def _walker(self) -> Walker:
        return Walker(self._trees, self.n_features_in_, self._category_codes())

    def _category_codes(self) -> Categories | None:
        """How categories become codes, from the columns' categories and what the file holds."""
        code = getattr(self, "category_code_", None)
        if code is None:
            return None
        from assay.hypotheses.trees.ground import category_levels

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
        assert self._walker is not None

    def _check_table(self) -> None:
        """Raise where the leaves of a file are impossible."""

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_walker", None)

    def _seed(self) -> int:
        return 0 if self.random_state is None else int(self.random_state)

    def _refuse_infinite(self, block: Block) -> None:
        refuse_non_finite(block.X, block.start, self._column_names(), nan=False)

    def get_depth(self) -> int:
        """The greatest number of splits on the way to a leaf."""
        self._check_fitted()
        return self._walker.depth

    def get_n_leaves(self) -> int:
        """The number of leaves, of all trees."""
        self._check_fitted()
        return len(self.leaf_)

    def apply(self, X: Any) -> Array:
        """The number of the leaf (of all nodes of its tree, in preorder) where each row ends; a column a tree."""
        trees = len(self.nodes_)
        found = self._answer(X, self._apply_block)
        return found[:, 0] if trees == 1 else found

    def _apply_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        return np.column_stack([self._walker.nodes(block.X, t) for t in range(len(self.nodes_))])

    def complexity(self) -> float:
        """Two numbers a split (column and threshold) and one a leaf, of all trees."""
        self._check_fitted()
        return float(2 * len(self.cut_) + len(self.leaf_))


class TreeClassifier(TreeModel, ProbableClassifier):
    """Trees whose leaves hold the weight of each class."""

    layout: ClassVar[Layout] = {**LAYOUT, "table_": Tensor(("R", "K"), low=0)}

    @cached_property
    def _shares(self) -> Floats:
        """Of each leaf of the table the classes' shares."""
        return self.table_ / self.table_.sum(axis=1, keepdims=True)

    def _keep_trees(self, trees: Trees, categories: Categories) -> None:
        super()._keep_trees(trees, categories)
        self.__dict__.pop("_shares", None)

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_shares", None)

    def _check_table(self) -> None:
        if not (self.table_.sum(axis=1) > 0).all():
            raise ModelFileError("The model file has a leaf without any weight.")

    def _answer_table(self) -> Floats:
        """Of each leaf of the table what it adds to the score of each class."""
        return self._shares

    def _proba_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        shares = self._walker.total(block.X, self._answer_table())
        shares /= len(self.nodes_)
        return shares

    def _scores(self, X: Array) -> Floats:
        return self._walker.total(X, self._answer_table())

    def _predict_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        return self.classes_[self._scores(block.X).argmax(axis=1)]

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        return self._classes_of(engine, rows, afresh, classes)


class TreeRegressor(TreeModel, Regressor):
    """Trees whose leaves hold an answer and the weight of their rows."""

    layout: ClassVar[Layout] = {**LAYOUT, "table_": Tensor(("R", 2))}
    class_weight: ClassVar[None] = None

    def _check_table(self) -> None:
        if not (self.table_[:, 1] > 0).all():
            raise ModelFileError("The model file has a leaf without any weight.")

    @cached_property
    def _answers_of_leaves(self) -> Floats:
        return np.ascontiguousarray(self.table_[:, :1])

    def _keep_trees(self, trees: Trees, categories: Categories) -> None:
        super()._keep_trees(trees, categories)
        self.__dict__.pop("_answers_of_leaves", None)

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_answers_of_leaves", None)

    def _values(self, X: Array) -> Floats:
        values: Floats = self._walker.total(X, self._answers_of_leaves)[:, 0] / len(self.nodes_)
        return values

    def _predict_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        return self._values(block.X)

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        return None


def needs_table(model: Any, what: str) -> ParameterError:
    """The error of asking for something that this fit did not keep."""
    return ParameterError(f"{type(model).__name__} did not keep what {what} needs.")
