"""What trees and forests are as models: their parts in a file, their answers, and what they tell of themselves.

`TreeModel` is what a tree and a forest share, `DecisionTree` and `Forest` what they do differently; the classes of `estimators` add their
hyper-parameters and whether they answer with classes or with numbers. Growing (`fit_tree`, `forest_builder`) and explaining (`explain`,
`text`, `importance`, `steps`) are functions of a model, imported when they are asked for: answering needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows
from assay.errors import ModelFileError
from assay.estimator.classifier import Classifier
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Layout
from assay.estimator.params import attribute
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.shown import Shown, kept
from assay.estimator.steps import Step, shown_of, some_of
from assay.families.trees import forest_trees, several, tree_view
from assay.families.trees.claims import (  # fmt: skip
    FOREST_COVERAGE,
    TREE_COVERAGE,
    forest_claims,
    forest_coverage,
    tree_claims,
    tree_coverage,
)
from assay.families.trees.nodes import Trees, parts_of
from assay.families.trees.predict import TreePredictor
from assay.families.trees.shap import shap_base, shap_certificate, shap_values
from assay.families.trees.survey import category_codes
from assay.inputs import refuse_non_finite
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats, safe_log
from assay.store import Record

if TYPE_CHECKING:
    from assay.families.trees.fit_tree import PruningPath, SharedTree
    from assay.families.trees.text import LeafRule, PathOfRow, TreeShape
    from assay.families.trees.training_data import TrainingData

LEAVES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)  # of one tree, cut again and again
FEW_ROWS = 1000  # below, a search for the size of leaves costs more than it brings
Made = TypeVar("Made")
NO_SETS = np.zeros((0, 4), dtype=np.uint64)


class TreeModel(Estimator):
    """Trees and what they answer. Subclasses grow them (`_learn`) and keep them by `_keep_trees`."""

    takes_missing = takes_categories = True
    takes_sparse = fills_sparse = fills_whole = True
    multi_output: ClassVar[bool | str] = "flat"

    classes_ = Shown(several.shown_classes)
    target_classes_: Array = attribute()
    class_of_: Array = attribute()

    feature_: Array = attribute()
    cut_: Floats = attribute()
    missing_left_: Array = attribute()
    leaf_: Array = attribute()
    sets_: Array | None = attribute()
    nodes_: Array = attribute()
    table_: Floats = attribute()
    category_code_: Array | None = attribute()
    missing_columns_: Array | None = attribute()
    rows_: int = attribute()

    criterion: str = attribute()
    categorical_features: Any = attribute()
    random_state: int | None = attribute()
    class_weight: Any = attribute(default=None)

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, afresh: bool = True, classes: Any = None) -> Self:
        if vars(self).get("criterion") != "friedman_mse":
            return super()._fit(X, y, sample_weight, afresh=afresh, classes=classes)
        self.criterion = "squared_error"  # whose splits it chooses, as scikit-learn found out
        try:
            return super()._fit(X, y, sample_weight, afresh=afresh, classes=classes)
        finally:
            self.criterion = "friedman_mse"

    _made: dict[str, Any] = attribute()  # from the learnt parts, when first needed: answering must add no attributes

    __class__ = property(tree_view.class_seen_by_sklearn)  # type: ignore[assignment]

    # --- what people ask of trees -------------------------------------------------------------------------------------

    def get_depth(self) -> int:
        """The greatest number of splits on the way to a leaf."""
        self._check_fitted()
        return self._predictor.depth

    def get_n_leaves(self) -> int:
        """The number of leaves, of all trees."""
        self._check_fitted()
        return len(self.leaf_)

    def complexity(self) -> float:
        """Two numbers a split (column and threshold) and one a leaf, of all trees."""
        self._check_fitted()
        return float(2 * len(self.cut_) + len(self.leaf_))

    def apply(self, X: Any) -> Array:
        """The number of the leaf (of all nodes of its tree, in preorder) where each row ends; a column a tree."""
        found = self._answer(X, self._nodes_block)
        found -= self._predictor.roots
        return found

    @property
    def feature_importances_(self) -> Floats:
        """Of each column the share of its splits in all that splits gained (mean over trees), adding up to one, as in scikit-learn; (d,).

        It is biased: it is counted on the training rows, so a column of noise with many values gains too, the more so in deep trees,
        and of columns that say the same one may get all. To judge columns use `oob_importance` of forests, or permutation
        importance on held-out rows.
        """
        from assay.families.trees.importance import gain_importances

        self._check_fitted()
        return gain_importances(self)

    def contributions(self, X: Any) -> tuple[Any, Array]:
        """(bias, contributions): bias + contributions summed over the columns is what the model predicts, to rounding.

        Classes: bias (K,), contributions (n, d, K), for `predict_proba`; numbers: one number, (n, d), for `predict`. The bias is the mean
        answer for the training rows; each question on the way of a row adds to its column what its answer changed (Saabas 2014).
        """
        from assay.families.trees.text import contributions_of

        return contributions_of(self, X)

    shap_values = shap_values
    shap_base_ = property(shap_base)
    shap_certificate = shap_certificate
    n_classes_, n_outputs_ = property(tree_view.n_classes), property(tree_view.n_outputs)
    _compute_partial_dependence_recursion = tree_view.partial_dependence  # scikit-learn asks models that it knows

    # --- answering ----------------------------------------------------------------------------------------------------

    def _leaf_answers(self) -> Floats:
        """Of each row of the table what it adds to an answer, (R, C): the classes' shares (or votes), or the number."""
        return self._once("answers", self._make_leaf_answers)

    _make_leaf_answers, _leaf_weights = several.leaf_answers, several.leaf_weights

    def _label_of(self, answer: Floats) -> Any:
        """The class or number that such an answer means."""
        return float(answer[0]) if self._kind == "regressor" else self.classes_[answer.argmax()]

    def _scores(self, X: Array) -> Floats:
        return self._predictor.total(X, self._leaf_answers())

    def _proba_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        shares = self._scores(block.X)
        shares /= len(self.nodes_)
        return shares

    def _predict_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        totals = self._scores(block.X)
        if self._kind == "regressor":
            means: Array = (totals if self.n_outputs_ > 1 else totals[:, 0]) / len(self.nodes_)
            return means
        return several.labels_said(self, totals)

    _by_target = several.by_target

    def _scored_block(self, block: Block) -> Array:
        """Codes of the labels and log shares, which the trees are asked for once."""
        several.refuse_several(self, "A score for each class")
        self._refuse_infinite(block)
        totals = self._scores(block.X)
        return np.column_stack([totals.argmax(axis=1), safe_log(totals / len(self.nodes_))])

    def _nodes_block(self, block: Block) -> Array:
        """(m, T): the leaves, as nodes of all trees."""
        self._refuse_infinite(block)
        return self._predictor.nodes(block.X)

    def _refuse_infinite(self, block: Block) -> None:
        refuse_non_finite(block.X, block.start, self._column_names(), nan=False)

    @property
    def _trees(self) -> Trees:
        kept = getattr(self, "sets_", None)
        sets = NO_SETS if kept is None else kept
        parts = (self.feature_, self.cut_, self.missing_left_, self.leaf_, sets, self.nodes_, self.table_)
        return Trees(*parts, getattr(self, "gain_", None))

    @property
    def _predictor(self) -> TreePredictor:
        return self._once("predictor", lambda: TreePredictor(self._trees, self.n_features_in_, category_codes(self)))

    def _names_in_words(self) -> list[str]:
        names = self._column_names()
        return [f"column {j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    # --- what fits keep, and files hold ---------------------------------------------------------------------------------

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels | None:
        """The classes of a classifier; of several targets those of all together."""
        if not isinstance(self, Classifier):
            return None
        if not afresh and several.classes_of_targets(self) is not None:
            return Labels.of(kept(self, "classes_"))
        return self._classes_of(engine, rows, afresh, classes)

    def _layout(self) -> Layout:
        return (
            self.layout if not hasattr(self, "table_") or self.n_outputs_ == 1 else several.several_layout(self.layout)
        )

    @classmethod
    def layout_of(cls, record: Record) -> Layout:
        """With several targets leaves hold more."""
        return several.layout_in(record, cls.layout, cls._kind == "regressor")

    def _seed(self) -> int:
        return 0 if self.random_state is None else int(self.random_state)

    def _keep_trees(self, trees: Trees, training_data: TrainingData) -> None:
        self._keep_parts(trees)
        self._keep_columns(training_data)
        if training_data.classes is not None:
            self.target_classes_, self.class_of_ = training_data.classes

    def _keep_parts(self, trees: Trees) -> None:
        vars(self).update(parts_of(trees))

    def _keep_columns(self, training_data: TrainingData) -> None:
        """What of the columns is needed to walk any tree of these rows."""
        self.category_code_ = training_data.categories.code if len(training_data.categories.code) else None
        lacking = training_data.survey.missing
        self.missing_columns_ = lacking.astype(np.uint8) if lacking.any() else None

    def _once(self, name: str, make: Callable[[], Made]) -> Made:
        if name not in self._made:
            self._made[name] = make()
        found: Made = self._made[name]
        return found

    def _drop_caches(self) -> None:
        self._made = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: {} if name == "_made" else value for name, value in vars(self).items()}

    def _forget(self) -> None:
        super()._forget()
        self._drop_caches()

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        by_sets = bool((self.feature_ < -1).any())
        codes = category_codes(self)
        if by_sets:
            column = -2 - self.feature_[self.feature_ < -1]
            if codes is None or not (codes.levels[column] > 0).all():
                raise ModelFileError("The model file splits columns by categories that have none.")
        if not (self._leaf_weights() > 0).all():
            raise ModelFileError("The model file has a leaf without any weight.")
        several.check_targets(self)
        assert self._predictor is not None


class DecisionTree(TreeModel):
    """A single tree."""

    max_depth: int | None = attribute()
    max_leaf_nodes: int | None = attribute()
    ccp_alpha: float | str = attribute()
    folds: int = attribute()
    alpha_: float = attribute()
    leaf_rows_: Array | None = attribute()
    _impurity: Floats | None = attribute(default=None)  # of leaves, or of all nodes, of numbers
    _node_answer: Floats | None = attribute(default=None)  # of each node, where the leaves below do not tell
    pruning_curve_: Floats = attribute()
    coverage = TREE_COVERAGE
    _shared: SharedTree | None = attribute(default=None)  # what `fit_each` lets settings have in common
    step_word = "split"

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        from assay.families.trees.fit_tree import learn

        learn(self, engine, rows, afresh, classes)

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings, bit for bit as `fit` makes it; those that differ in how a tree is cut share one grown tree."""
        from assay.families.trees.fit_tree import SharedTree, all_but_cutting

        models = [type(self)(**{**self.get_params(), **changed}) for changed in settings]
        shared: dict[str, SharedTree] = {}
        for model in models:
            shared.setdefault(all_but_cutting(model.get_params()), SharedTree()).hold(model)
        for model in models:
            model._shared = shared[all_but_cutting(model.get_params())]
            try:
                yield model.fit(X)  # type: ignore[attr-defined]
            finally:
                del model._shared

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever more leaves."""
        if kind != cls._kind:
            return None
        return SearchSpace(
            search=tuple({"max_leaf_nodes": k} for k in LEAVES),
            cost=0.2,  # they share one tree
            categories="native",
        )

    def cost_complexity_pruning_path(self, X: Any, y: Any = None, sample_weight: Any = None) -> PruningPath:
        """The values of ccp_alpha at which the tree of these rows changes, and the impurity of its leaves from each on.

        As scikit-learn's, but each alpha once: cuts whose alphas differ by rounding alone are one.
        """
        from assay.families.trees.fit_tree import pruning_path

        return pruning_path(self, X, y, sample_weight)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The tree split by split, the one that gains most next: node, question, gain, leaves, impurity and error of the training rows."""
        from assay.families.trees.steps import tree_steps

        return some_of(tree_steps(self, X, y, sample_weight), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """As many as leaves, once these are known."""
        return shown_of(len(self.leaf_), every) if hasattr(self, "leaf_") else None

    def _coverage_of(self, claims: tuple[Claim, ...]) -> Coverage:
        return tree_coverage(self, claims)

    def _make_claims(self) -> tuple[Claim, ...]:
        if not hasattr(self, "training_loss_"):  # taken out of a forest
            return ()
        return tree_claims(self)

    # --- explaining ---------------------------------------------------------------------------------------------------

    def apply(self, X: Any, check_input: bool = True) -> Array:
        """The node (in preorder, the root is 0) of the leaf where each row ends. `check_input` is accepted for scikit-learn's sake."""
        return super().apply(X)[:, 0]

    tree_, max_features_ = property(tree_view.view_of), property(tree_view.max_features)

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
        from assay.families.trees.text import shape_of

        self._check_fitted()
        return shape_of(self)

    def decision_path(self, X: Any, check_input: bool = True) -> Any:
        """(n, nodes) as a sparse matrix: 1 where a row passes a node."""
        from assay.families.trees.text import nodes_passed

        return nodes_passed(self, X)

    def explain_path(self, x: Any) -> PathOfRow:
        """The way of one row: each question with the row's value, the answer, the gain, and what the answer changed; made to be printed."""
        from assay.families.trees.text import path_of_row

        return path_of_row(self, x)


class Forest(TreeModel):
    """Many trees."""

    slow_rows = 2500
    step_word = "tree"
    coverage = FOREST_COVERAGE

    n_estimators: int | str = attribute()
    bootstrap: bool = attribute()
    max_samples: Any = attribute()
    oob_score: Any = attribute()
    warm_start: bool = attribute()
    max_leaf_nodes: int | None = attribute()
    ccp_alpha: float = attribute()
    quantiles: bool = attribute(default=False)
    alike_: bool = attribute()
    weighted_: bool = attribute()
    _counted: Array | None = attribute()  # the rows of positive weight, where some have none
    random_splits: bool = attribute(default=False)

    def left_out_scores(self) -> Floats | None:
        """The log shares of the trees that did not see a row."""
        shares: Floats | None = getattr(self, "oob_decision_function_", None)
        return None if shares is None or self.n_outputs_ > 1 else safe_log(shares)

    @property
    def depends_on_order(self) -> bool:
        """Whether trees draw rows by their numbers."""
        return bool(self.bootstrap) or self.max_samples is not None

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Leaves of ever fewer rows."""
        if kind != cls._kind:
            return None
        least = max(1, features.rows // 50_000)  # of long tables, or a forest takes more memory than the table
        settings = ({},) if features.rows < FEW_ROWS else tuple({"min_samples_leaf": k} for k in (5 * least, least))
        return SearchSpace(
            search=settings,
            categories="native",
            rough={"n_estimators": 25, "oob_score": False},  # settings are compared by small forests
            cost=8.0,
        )

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, afresh: bool = True, classes: Any = None) -> Any:
        again = self.warm_start and hasattr(self, "n_features_in_")
        super()._fit(X, y, sample_weight, afresh=not again, classes=classes)
        if callable(self.oob_score):  # a file holds no functions
            self._fitted_with = {**self._fitted_with, "oob_score": True}
        return self

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        from assay.families.trees.forest_builder import learn

        learn(self, engine, rows, afresh, classes)

    def _coverage_of(self, claims: tuple[Claim, ...]) -> Coverage:
        return forest_coverage(self, claims)

    def _make_claims(self) -> tuple[Claim, ...]:
        return forest_claims(self)

    def _restore(self, record: Record) -> None:
        from assay.families.trees.predict import check_members

        super()._restore(record)
        check_members(self, record.arrays)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The forest tree by tree: leaves and depth of the new one, and the loss on the rows that the trees so far did not see."""
        from assay.families.trees.steps import forest_steps

        return some_of(forest_steps(self, X, y, sample_weight), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """As many as trees; None where the rows decide how many these are, until they have."""
        trees = len(self.nodes_) if hasattr(self, "nodes_") else self.n_estimators
        return None if trees == "auto" else shown_of(int(trees), every)

    # --- explaining ---------------------------------------------------------------------------------------------------

    def tree(self, number: int) -> DecisionTree:
        """Tree `number` of the forest as a decision tree of its own, which answers, draws and explains itself."""
        from assay.families.trees.text import tree_of_forest

        self._check_fitted()
        return tree_of_forest(self, number)

    estimators_ = property(forest_trees.estimators_of)
    estimator_, estimators_samples_ = property(forest_trees.estimator_of), property(forest_trees.estimators_samples)
    __getitem__, __iter__ = forest_trees.tree_at, forest_trees.iter_trees
    __len__, __bool__ = forest_trees.count_of, forest_trees.is_a_model

    def tree_shape(self, number: int = 0) -> TreeShape:
        """Tree `number` as arrays, as `assay.plots.tree_drawing` draws it."""
        return self.tree(number).tree_shape()

    def decision_path(self, X: Any) -> tuple[Any, Array]:
        """((n, nodes) as a sparse matrix: 1 where a row passes a node, where the nodes of each tree begin), as in scikit-learn."""
        from assay.families.trees.text import nodes_passed

        return nodes_passed(self, X), np.concatenate([[0], np.cumsum(self.nodes_)])

    oob_importance = forest_trees.oob_importance
