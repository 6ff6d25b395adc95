"""Decision trees. Shape: repeated fold (a level a fold) where the rows are many, otherwise one task a subtree.

    h(x) = label(C(x)),   splits maximise   u(C) − (p_L u(C_L) + p_R u(C_R)),   u(C) = −Σ_y p_y log p_y     (or Gini, …)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from assay.engines import Engine, Rows
from assay.engines.threads import Threads
from assay.hypotheses.trees.branching import grow_tree
from assay.hypotheses.trees.ground import prepare
from assay.hypotheses.trees.growing import Drawing, entries_of, leaf_values
from assay.hypotheses.trees.model import TreeClassifier, TreeModel, TreeRegressor
from assay.hypotheses.trees.nodes import together, tree_of
from assay.hypotheses.trees.pruning import pruned
from assay.hypotheses.trees.settings import SHARED, SPLITTER, UNLIMITED
from assay.layout import Fact, Layout
from assay.learner.prospect import Features, Prospect
from assay.params import CLASS_WEIGHT, Choice, Param


class _OneTree(TreeModel):
    """Growing a single tree."""

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        labels = self._labels(engine, rows, afresh, classes)  # type: ignore[attr-defined]
        ground = prepare(self, engine, rows, labels, None, UNLIMITED)
        drawing = Drawing(self._seed())
        entries = entries_of(ground.plot, drawing.times(0, ground.plot.table.n))
        grown = grow_tree(ground.plot, entries, drawing.key(0), Threads(self.n_jobs))
        grown = pruned(grown, ground, self.max_leaf_nodes, self.ccp_alpha)  # type: ignore[attr-defined]
        self._keep_trees(together([tree_of(grown, leaf_values(ground.plot, grown, entries))]), ground.categories)
        self.weight_ = ground.total
        self._provenance = {"fingerprint": ground.survey.mark.hex()}
        self._claims = self._make_claims()

    def _make_claims(self) -> Any:
        return ()


class DecisionTreeClassifier(_OneTree, TreeClassifier):
    """A tree of questions about single columns, whose leaves answer with the classes of the rows that reached them.

    >>> DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "a"]).predict([[0.2], [1.1]]).tolist()
    ['a', 'b']
    """

    name = "decision-tree"
    layout: ClassVar[Layout] = {**TreeClassifier.layout, "weight_": Fact(float, low=0)}
    params: ClassVar[Mapping[str, Param]] = {
        "criterion": Choice(options=("gini", "entropy", "log_loss"), doc="impurity u; 'entropy' is that of the lecture notes"),
        "splitter": SPLITTER,
        **SHARED,
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: int | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        bins: Any = "auto",
        categorical_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.bins = bins
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Ever more leaves."""
        if kind != "classifier":
            return None
        return Prospect(search=tuple({"max_leaf_nodes": k} for k in (4, 8, 16, 32, 64, 128, 256)), categories="native")


class DecisionTreeRegressor(_OneTree, TreeRegressor):
    """A tree of questions about single columns, whose leaves answer with the mean (or median) of the rows that reached them.

    >>> DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 9.0]).predict([[0.2], [5.0]]).tolist()
    [2.0, 9.0]
    """

    name = "decision-tree-regressor"
    layout: ClassVar[Layout] = {**TreeRegressor.layout, "weight_": Fact(float, low=0)}
    params: ClassVar[Mapping[str, Param]] = {
        "criterion": Choice(options=("squared_error", "absolute_error", "poisson"), doc="what a split makes small"),
        "splitter": SPLITTER,
        **SHARED,
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: int | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        bins: Any = "auto",
        categorical_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.bins = bins
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Ever more leaves."""
        if kind != "regressor":
            return None
        return Prospect(search=tuple({"max_leaf_nodes": k} for k in (4, 8, 16, 32, 64, 128, 256)), categories="native")
