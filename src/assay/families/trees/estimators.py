"""Decision trees. Shape: repeated fold (a level a fold) where the rows are many, otherwise one task a subtree.

h(x) = label(C(x)),   splits maximise   u(C) − (p_L u(C_L) + p_R u(C_R)),   u(C) = −Σ_y p_y log p_y     (or Gini, …)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.engines.threads import Threads
from assay.estimator.docstrings import attribute
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Step, shown_of, some_of
from assay.families.trees.claims import EVIDENCE
from assay.families.trees.explain import ExplainedTree
from assay.families.trees.fit import TreeClassifier, TreeRegressor
from assay.families.trees.forest import ClassForest, NumberForest
from assay.families.trees.hyper_parameters import (
    BINS,
    BOOTSTRAP,
    CATEGORICAL_FEATURES,
    FOLDS,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAF_NODES,
    MIN_IMPURITY_DECREASE,
    MIN_SAMPLES_LEAF,
    MIN_SAMPLES_SPLIT,
    MIN_WEIGHT_FRACTION_LEAF,
    MONOTONIC_CST,
    PRUNING_ALPHA,
    RANDOM_STATE,
    SPLITTER,
    TOO_WIDE,
)
from assay.numerics import Floats

if TYPE_CHECKING:
    from assay.families.trees.pruning import PruningPath
    from assay.families.trees.unpruned import SharedTree


PARTS: Layout = {
    **EVIDENCE,
    "alpha_": Fact(float, low=0, optional=True, doc="of ccp_alpha='cv': the alpha that cross-validation chose"),
    "pruning_curve_": Tensor(("g", 3), low=0, optional=True, doc="of ccp_alpha='cv': alphas, the cross-validated risk at each, and its standard error"),
}  # fmt: skip
LEAVES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)  # of one tree, cut again and again


class _OneTree(ExplainedTree):
    """Growing a single tree."""

    max_depth: int | None = attribute()
    max_leaf_nodes: int | None = attribute()
    ccp_alpha: float | str = attribute()
    folds: int = attribute()
    alpha_: float = attribute()
    pruning_curve_: Floats = attribute()
    _shared: SharedTree | None = attribute(default=None)  # what `fit_each` lets settings have in common
    step_word = "split"

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        from assay.families.trees.fit_tree import learn

        learn(self, engine, rows, afresh, classes)

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings, bit for bit as `fit` makes it; those that differ in how a tree is cut share one grown tree."""
        from assay.families.trees.unpruned import SharedTree, all_but_cutting

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

    def cost_complexity_pruning_path(self, X: Any, y: Any = None, sample_weight: Any = None) -> PruningPath:
        """The values of ccp_alpha at which the tree of these rows changes, and the impurity of its leaves from each on.

        As scikit-learn's, but each alpha once: cuts whose alphas differ by rounding alone are one.
        """
        from assay.estimator.estimator import fresh_and_rows
        from assay.families.trees.fit_tree import grow

        fresh, rows = fresh_and_rows(self, X, y, sample_weight)
        return grow(fresh, Threads(self.n_jobs), rows, True, None).cut(self.max_depth, self.max_leaf_nodes).path()

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The tree split by split, the one that gains most next: node, question, gain, leaves, impurity and error of the training rows."""
        from assay.families.trees.steps import tree_steps

        return some_of(tree_steps(self, X, y, sample_weight), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """As many as leaves, once these are known."""
        return shown_of(len(self.leaf_), every) if hasattr(self, "leaf_") else None

    def _make_claims(self) -> tuple[Claim, ...]:
        if not hasattr(self, "training_loss_"):  # taken out of a forest
            return ()
        from assay.families.trees.claims import tree_claims

        return tree_claims(self)


class DecisionTreeClassifier(_OneTree, TreeClassifier):
    """A tree of questions about single columns, whose leaves answer with the classes of the rows that reached them.

        h(x) = the class of most weight in the leaf C(x);   splits maximise  u(C) − (p_L u(C_L) + p_R u(C_R)),
        u(C) = 1 − Σ_k p_k²  (gini)  or  −Σ_k p_k log p_k  (entropy)

    Certificate
    -----------
    The leaves hold what the rows that reach them say, each split gains as much as is stated, and no threshold that the settings
    allow gains more (at all splits, or at a sample of many).

    See Also
    --------
    RandomForestClassifier : the mean of many trees.
    DecisionTreeRegressor : the same for a number.

    Examples
    --------
    >>> DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "a"]).predict([[0.2], [1.1]]).tolist()
    ['a', 'b']
    """

    name = "decision-tree"
    layout: ClassVar[Layout] = {**TreeClassifier.layout, **PARTS}
    criterion: str = param("impurity u; 'entropy' is that of the lecture notes", default="gini", check=Choice(("gini", "entropy", "log_loss")))  # fmt: skip
    splitter: str = SPLITTER
    max_depth: int | None = MAX_DEPTH
    min_samples_split: Any = MIN_SAMPLES_SPLIT
    min_samples_leaf: Any = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = replace(MAX_FEATURES, default=None)
    random_state: int | None = RANDOM_STATE
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    class_weight: Any = CLASS_WEIGHT
    ccp_alpha: float | str = PRUNING_ALPHA
    folds: int = FOLDS
    monotonic_cst: Any = MONOTONIC_CST
    bins: Any = BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever more leaves."""
        if kind != "classifier":
            return None
        return SearchSpace(
            search=tuple({"max_leaf_nodes": k} for k in LEAVES),
            categories="native",
            unfit=TOO_WIDE if features.text else None,
        )


class DecisionTreeRegressor(_OneTree, TreeRegressor):
    """A tree of questions about single columns, whose leaves answer with the mean (or median) of the rows that reached them.

        h(x) = the mean of y in the leaf C(x);   splits maximise  u(C) − (p_L u(C_L) + p_R u(C_R)),   u(C) = the variance of y in C

    Certificate
    -----------
    The leaves hold what the rows that reach them say, each split gains as much as is stated, and no threshold that the settings
    allow gains more (at all splits, or at a sample of many).

    See Also
    --------
    RandomForestRegressor : the mean of many trees.
    DecisionTreeClassifier : the same for classes.

    Examples
    --------
    >>> DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 9.0]).predict([[0.2], [5.0]]).tolist()
    [2.0, 9.0]
    """

    name = "tree-regressor"
    layout: ClassVar[Layout] = {**TreeRegressor.layout, **PARTS}
    criterion: str = param("the error that a split makes small: squared, absolute, or the Poisson deviance", default="squared_error", check=Choice(("squared_error", "absolute_error", "poisson")))  # fmt: skip
    splitter: str = SPLITTER
    max_depth: int | None = MAX_DEPTH
    min_samples_split: Any = MIN_SAMPLES_SPLIT
    min_samples_leaf: Any = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = replace(MAX_FEATURES, default=None)
    random_state: int | None = RANDOM_STATE
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    ccp_alpha: float | str = PRUNING_ALPHA
    folds: int = FOLDS
    monotonic_cst: Any = MONOTONIC_CST
    bins: Any = BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever more leaves."""
        if kind != "regressor":
            return None
        return SearchSpace(
            search=tuple({"max_leaf_nodes": k} for k in LEAVES),
            categories="native",
            unfit=TOO_WIDE if features.text else None,
        )


# Random forests. Shape: independent tasks, one a tree.
#
#     h(x) = 1/T Σ_t label(C_t(x))        (majority;  soft: the mean of the leaves' shares)
#
# Tree t is grown from m rows drawn with replacement by (seed, t), and tries √d columns at each node.


class RandomForestClassifier(ClassForest):
    """Many trees, each grown from other rows and other columns, that vote.

        p(k | x) = 1/T Σ_t (share of class k in leaf C_t(x)),   tree t grown from m rows drawn with replacement by (seed, t)

    Certificate
    -----------
    Each tree was grown from the rows that (seed, number of the tree) draw, and its leaves hold what these rows say; the out-of-
    bag error is an estimate with an interval.

    See Also
    --------
    ExtraTreesClassifier : random thresholds, and all rows for each tree.
    DecisionTreeClassifier : a single tree.

    Examples
    --------
    >>> X = [[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]]
    >>> RandomForestClassifier(n_estimators=20).fit(X, [0, 0, 0, 1, 1, 1]).predict([[0.1], [2.3]]).tolist()
    [0, 1]
    """

    name = "random-forest"


class ExtraTreesClassifier(ClassForest):
    """A forest whose thresholds are drawn at random; each tree sees all rows unless told otherwise.

        p(k | x) = 1/T Σ_t (share of class k in leaf C_t(x)),   each split the best of one random threshold a column

    Certificate
    -----------
    Each tree was grown from the stated rows, and its leaves hold what these rows say; where trees draw rows, the out-of-bag error
    is an estimate with an interval.

    See Also
    --------
    RandomForestClassifier : best thresholds, and rows drawn for each tree.
    DecisionTreeClassifier : a single tree.

    Examples
    --------
    >>> X = [[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]]
    >>> ExtraTreesClassifier(n_estimators=20).fit(X, [0, 0, 0, 1, 1, 1]).predict([[0.1], [2.3]]).tolist()
    [0, 1]
    """

    name = "extra-trees"
    random_splits = True

    bootstrap: bool = replace(BOOTSTRAP, default=False)


class RandomForestRegressor(NumberForest):
    """The mean of many trees, each grown from other rows.

        h(x) = 1/T Σ_t (mean of y in leaf C_t(x)),   tree t grown from m rows drawn with replacement by (seed, t)

    Certificate
    -----------
    Each tree was grown from the rows that (seed, number of the tree) draw, and its leaves hold what these rows say; the out-of-
    bag error is an estimate with an interval.

    See Also
    --------
    ExtraTreesRegressor : random thresholds, and all rows for each tree.
    DecisionTreeRegressor : a single tree.

    Examples
    --------
    >>> model = RandomForestRegressor(n_estimators=50).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0])
    >>> bool(model.predict([[0.1]])[0] < 2 < model.predict([[2.9]])[0])
    True
    """

    name = "forest-regressor"


class ExtraTreesRegressor(NumberForest):
    """A forest of numbers whose thresholds are drawn at random.

        h(x) = 1/T Σ_t (mean of y in leaf C_t(x)),   each split the best of one random threshold a column

    Certificate
    -----------
    Each tree was grown from the stated rows, and its leaves hold what these rows say; where trees draw rows, the out-of-bag error
    is an estimate with an interval.

    See Also
    --------
    RandomForestRegressor : best thresholds, and rows drawn for each tree.
    DecisionTreeRegressor : a single tree.

    Examples
    --------
    >>> model = ExtraTreesRegressor(n_estimators=50).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0])
    >>> bool(model.predict([[0.1]])[0] < 2 < model.predict([[2.9]])[0])
    True
    """

    name = "extra-regressor"
    random_splits = True

    bootstrap: bool = replace(BOOTSTRAP, default=False)
