"""Random forests. Shape: independent tasks, one a tree.

    h(x) = 1/T Σ_t label(C_t(x))        (majority;  soft: the mean of the leaves' shares)

Tree t is grown from m rows drawn with replacement by (seed, t), and tries √d columns at each node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from assay.engines import Engine, Rows
from assay.hypotheses.trees.bagged import Bagged, samples_asked
from assay.hypotheses.trees.ground import EXACT_BELOW, prepare
from assay.hypotheses.trees.growing import Drawing
from assay.hypotheses.trees.model import TreeClassifier, TreeModel, TreeRegressor
from assay.hypotheses.trees.nodes import Tree, split_trees, together
from assay.hypotheses.trees.orchard import Orchard, grow_saplings
from assay.hypotheses.trees.settings import BOOTSTRAP, SHARED
from assay.layout import Fact, Layout, Tensor
from assay.learner.prospect import Features, Prospect
from assay.numerics import Floats
from assay.params import CLASS_WEIGHT, Choice, Flag, Free, Param, Range

MOST_TREES = 100_000
GROUP, LEAST, ENOUGH = 20, 60, 1000  # trees added at a time, at least, at most where their number is "auto"
FOREST: Mapping[str, Param] = {
    "n_estimators": Range(
        kind=int, low=1, high=MOST_TREES, words=("auto",), doc="trees; 'auto': until the out-of-bag error no longer falls"
    ),
    "bootstrap": BOOTSTRAP,
    "max_samples": Free(
        what="a whole number ≥ 1, or a share > 0",
        words=(None,),
        check=lambda v: isinstance(v, int | float | np.number) and not isinstance(v, bool) and v > 0,
        doc="m, the rows drawn for each tree; None: as many as there are",
    ),
    "oob_score": Flag(doc="judge each row by the trees that did not see it"),
    "warm_start": Flag(doc="keep the trees of the fit before and add to them"),
    "verbose": Range(kind=int, low=0, doc="accepted for scikit-learn's sake"),
}
PARTS: Layout = {
    "weight_": Fact(float, low=0),
    "rows_": Fact(int, low=1),
    "oob_loss_": Fact(float, low=0, optional=True),
    "oob_error_of_loss_": Fact(float, low=0, optional=True),
    "oob_rows_": Fact(int, low=0, optional=True),
    "oob_curve_": Tensor(("g", 2), low=0, optional=True),
}


class _Forest(TreeModel):
    """Growing many trees."""

    n_estimators: int | str
    bootstrap: bool
    max_samples: Any
    oob_score: bool
    warm_start: bool
    max_leaf_nodes: int | None
    ccp_alpha: float
    quantiles: bool = False

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, afresh: bool = True, classes: Any = None) -> Any:
        again = self.warm_start and hasattr(self, "n_features_in_")
        return super()._fit(X, y, sample_weight, afresh=not again, classes=classes)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        labels = self._labels(engine, rows, afresh, classes)  # type: ignore[attr-defined]
        drawn = samples_asked(self, rows, engine)
        ground = prepare(self, engine, rows, labels, drawn.most, EXACT_BELOW)
        drawing = Drawing(self._seed(), drawn.m, bool(self.bootstrap))
        spared = drawn.m is not None and bool(self.oob_score)
        kept: list[Tree] = [] if afresh else split_trees(self._trees)
        bag = self._bag(ground, afresh)
        orchard = Orchard(ground, drawing, self.max_leaf_nodes, float(self.ccp_alpha), spared, bool(self.quantiles))
        for target in self._sizes(len(kept), spared):
            for number, sapling in enumerate(grow_saplings(engine, orchard, len(kept), target), len(kept)):
                bag.add(sapling, number, None if self.n_estimators == "auto" else target)
                kept.append(sapling.tree)
            if bag.flat():
                break
        self._keep_trees(together(kept), ground.categories)
        self.weight_, self.rows_ = ground.total, ground.survey.n
        self._bagged = bag
        if spared:
            self._judge(bag)
        self._provenance = {"fingerprint": ground.survey.mark.hex()}
        self._claims = self._make_claims()

    def _sizes(self, have: int, spared: bool) -> list[int]:
        """The numbers of trees after which to look whether that is enough."""
        from assay.errors import ParameterError

        name = type(self).__name__
        if self.n_estimators != "auto":
            if int(self.n_estimators) < have:
                raise ParameterError(
                    f"{name}: n_estimators={self.n_estimators} is less than the {have} trees of the fit before (warm_start): give at "
                    f"least {have}, or fit with warm_start=False."
                )
            return [int(self.n_estimators)]
        if not spared:
            raise ParameterError(
                f"{name}: n_estimators='auto' looks at the rows that trees did not see: it needs oob_score=True and bootstrap=True or "
                "max_samples."
            )
        return list(range(max(have + GROUP, LEAST), ENOUGH + 1, GROUP))

    def _bag(self, ground: Any, afresh: bool) -> Bagged:
        before = None if afresh else self.__dict__.get("_bagged")
        return before if before is not None else Bagged(ground, self.n_estimators == "auto")

    def _judge(self, bag: Bagged) -> None:
        """Keep what the rows that trees did not see say."""
        loss, error, rows = bag.loss()
        if not rows:
            return
        self.oob_loss_, self.oob_error_of_loss_, self.oob_rows_ = loss, error, rows
        if bag.curve:
            self.oob_curve_ = np.array(bag.curve, dtype=np.float64)
        self._keep_answers(bag)

    def _keep_answers(self, bag: Bagged) -> None:
        raise NotImplementedError

    def _make_claims(self) -> Any:
        return ()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_walker", "_shares", "_answers_of_leaves")}


class _Trees(_Forest, TreeClassifier):
    """Forests of classes."""

    layout: ClassVar[Layout] = {**TreeClassifier.layout, **PARTS}
    params: ClassVar[Mapping[str, Param]] = {
        **FOREST,
        "criterion": Choice(options=("gini", "entropy", "log_loss"), doc="impurity u; 'entropy' is that of the lecture notes"),
        "voting": Choice(
            options=("soft", "majority"), doc="mean of the leaves' shares, or the share of trees as in the lecture notes"
        ),
        **SHARED,
        "class_weight": CLASS_WEIGHT,
    }
    voting: str

    def _keep_answers(self, bag: Bagged) -> None:
        self.oob_decision_function_ = bag.answers()
        self.oob_score_ = 1.0 - self.oob_loss_

    def _answer_table(self) -> Floats:
        if self._fitted_with["voting"] == "soft":
            return self._shares
        label = np.zeros_like(self.table_)
        label[np.arange(len(label)), self.table_.argmax(axis=1)] = 1.0
        return label

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Leaves of ever fewer rows."""
        if kind != "classifier":
            return None
        return Prospect(search=({"min_samples_leaf": 5}, {"min_samples_leaf": 1}), categories="native", rough={"n_estimators": 30})


class _NumberTrees(_Forest, TreeRegressor):
    """Forests of numbers."""

    layout: ClassVar[Layout] = {**TreeRegressor.layout, **PARTS}
    params: ClassVar[Mapping[str, Param]] = {
        **FOREST,
        "criterion": Choice(options=("squared_error", "absolute_error", "poisson"), doc="what a split makes small"),
        **SHARED,
    }

    def _keep_answers(self, bag: Bagged) -> None:
        self.oob_prediction_ = bag.answers()[:, 0]
        there = (bag.count > 0) & (bag.weight > 0)
        y, w = bag.truth[there], bag.weight[there]
        spread = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
        self.oob_score_ = 1.0 - self.oob_loss_ / spread if spread > 0 else float(self.oob_loss_ == 0)

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Leaves of ever fewer rows."""
        if kind != "regressor":
            return None
        return Prospect(search=({"min_samples_leaf": 5}, {"min_samples_leaf": 1}), categories="native", rough={"n_estimators": 30})


class RandomForestClassifier(_Trees):
    """Many trees, each grown from other rows and other columns, that vote.

    >>> X = [[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]]
    >>> RandomForestClassifier(n_estimators=20).fit(X, [0, 0, 0, 1, 1, 1]).predict([[0.1], [2.3]]).tolist()
    [0, 1]
    """

    name = "random-forest"

    def __init__(
        self,
        *,
        n_estimators: int | str = 100,
        criterion: str = "gini",
        voting: str = "soft",
        max_depth: int | None = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool = True,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        bins: Any = "auto",
        categorical_features: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.voting = voting
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.bins = bins
        self.categorical_features = categorical_features


class ExtraTreesClassifier(_Trees):
    """A forest whose thresholds are drawn at random; each tree sees all rows unless told otherwise.

    >>> X = [[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]]
    >>> ExtraTreesClassifier(n_estimators=20).fit(X, [0, 0, 0, 1, 1, 1]).predict([[0.1], [2.3]]).tolist()
    [0, 1]
    """

    name = "extra-trees"
    random_splits = True

    def __init__(
        self,
        *,
        n_estimators: int | str = 100,
        criterion: str = "gini",
        voting: str = "soft",
        max_depth: int | None = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool = True,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        bins: Any = "auto",
        categorical_features: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.voting = voting
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.bins = bins
        self.categorical_features = categorical_features


class RandomForestRegressor(_NumberTrees):
    """The mean of many trees, each grown from other rows.

    >>> model = RandomForestRegressor(n_estimators=50).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0])
    >>> bool(model.predict([[0.1]])[0] < 2 < model.predict([[2.9]])[0])
    True
    """

    name = "random-forest-regressor"

    def __init__(
        self,
        *,
        n_estimators: int | str = 100,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool = True,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        bins: Any = "auto",
        categorical_features: Any = None,
        quantiles: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.bins = bins
        self.categorical_features = categorical_features
        self.quantiles = quantiles


class ExtraTreesRegressor(_NumberTrees):
    """A forest of numbers whose thresholds are drawn at random.

    >>> model = ExtraTreesRegressor(n_estimators=50).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0])
    >>> bool(model.predict([[0.1]])[0] < 2 < model.predict([[2.9]])[0])
    True
    """

    name = "extra-trees-regressor"
    random_splits = True

    def __init__(
        self,
        *,
        n_estimators: int | str = 100,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: Any = 2,
        min_samples_leaf: Any = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool = True,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        bins: Any = "auto",
        categorical_features: Any = None,
        quantiles: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.bins = bins
        self.categorical_features = categorical_features
        self.quantiles = quantiles
