"""Decision trees. Shape: repeated fold (a level a fold) where the rows are many, otherwise one task a subtree.

h(x) = label(C(x)),   splits maximise   u(C) − (p_L u(C_L) + p_R u(C_R)),   u(C) = −Σ_y p_y log p_y     (or Gini, …)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.engines.threads import Threads
from assay.hypotheses.trees.evidence import EVIDENCE
from assay.hypotheses.trees.explain import ExplainedTree
from assay.hypotheses.trees.model import TreeClassifier, TreeRegressor
from assay.hypotheses.trees.settings import CUT, SHARED, SPLITTER, TOO_WIDE
from assay.layout import Fact, Layout
from assay.learner import Step, Tensor
from assay.learner.prospect import Features, Prospect
from assay.learner.step import shown_of, some_of
from assay.numerics import Floats
from assay.params import CLASS_WEIGHT, Choice, Param

if TYPE_CHECKING:
    from assay.hypotheses.trees.pruning import PruningPath
    from assay.hypotheses.trees.tall import Shared

PARTS: Layout = {
    **EVIDENCE,
    "alpha_": Fact(float, low=0, optional=True),
    "pruning_curve_": Tensor(("g", 3), low=0, optional=True),
}
LEAVES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)  # of one tree, cut again and again


class _OneTree(ExplainedTree):
    """Growing a single tree."""

    max_depth: int | None
    max_leaf_nodes: int | None
    ccp_alpha: float | str
    folds: int
    alpha_: float
    pruning_curve_: Floats  # of each alpha the cross-validated risk and its standard error
    _shared: Shared | None = None  # what `fit_each` lets settings have in common
    step_word = "split"

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        from assay.hypotheses.trees.one_tree import learn

        learn(self, engine, rows, afresh, classes)

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings, bit for bit as `fit` makes it; those that differ in how a tree is cut share one grown tree."""
        from assay.hypotheses.trees.tall import Shared, all_but_cutting

        models = [type(self)(**{**self.get_params(), **changed}) for changed in settings]
        shared: dict[str, Shared] = {}
        for model in models:
            shared.setdefault(all_but_cutting(model.get_params()), Shared()).hold(model)
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
        from assay.hypotheses.trees.one_tree import grow
        from assay.learner.beginning import fresh_and_rows

        fresh, rows = fresh_and_rows(self, X, y, sample_weight)
        return grow(fresh, Threads(self.n_jobs), rows, True, None).cut(self.max_depth, self.max_leaf_nodes).path()

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The tree split by split, the one that gains most next: node, question, gain, leaves, impurity and error of the training rows."""
        from assay.hypotheses.trees.steps import tree_steps

        return some_of(tree_steps(self, X, y, sample_weight), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """As many as leaves, once these are known."""
        return shown_of(len(self.leaf_), every) if hasattr(self, "leaf_") else None

    def _make_claims(self) -> tuple[Claim, ...]:
        if not hasattr(self, "training_loss_"):  # taken out of a forest
            return ()
        from assay.hypotheses.trees.claims import tree_claims

        return tree_claims(self)


class DecisionTreeClassifier(_OneTree, TreeClassifier):
    """A tree of questions about single columns, whose leaves answer with the classes of the rows that reached them.

    >>> DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "a"]).predict([[0.2], [1.1]]).tolist()
    ['a', 'b']
    """

    name = "decision-tree"
    layout: ClassVar[Layout] = {**TreeClassifier.layout, **PARTS}
    params: ClassVar[Mapping[str, Param]] = {
        "criterion": Choice(
            options=("gini", "entropy", "log_loss"), doc="impurity u; 'entropy' is that of the lecture notes"
        ),
        "splitter": SPLITTER,
        **SHARED,
        **CUT,
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
        ccp_alpha: float | str = 0.0,
        folds: int = 5,
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
        self.folds = folds
        self.monotonic_cst = monotonic_cst
        self.bins = bins
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Ever more leaves."""
        if kind != "classifier":
            return None
        return Prospect(
            search=tuple({"max_leaf_nodes": k} for k in LEAVES),
            categories="native",
            unfit=TOO_WIDE if features.text else None,
        )


class DecisionTreeRegressor(_OneTree, TreeRegressor):
    """A tree of questions about single columns, whose leaves answer with the mean (or median) of the rows that reached them.

    >>> DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 9.0]).predict([[0.2], [5.0]]).tolist()
    [2.0, 9.0]
    """

    name = "tree-regressor"
    layout: ClassVar[Layout] = {**TreeRegressor.layout, **PARTS}
    params: ClassVar[Mapping[str, Param]] = {
        "criterion": Choice(options=("squared_error", "absolute_error", "poisson"), doc="what a split makes small"),
        "splitter": SPLITTER,
        **SHARED,
        **CUT,
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
        ccp_alpha: float | str = 0.0,
        folds: int = 5,
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
        self.folds = folds
        self.monotonic_cst = monotonic_cst
        self.bins = bins
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Ever more leaves."""
        if kind != "regressor":
            return None
        return Prospect(
            search=tuple({"max_leaf_nodes": k} for k in LEAVES),
            categories="native",
            unfit=TOO_WIDE if features.text else None,
        )
