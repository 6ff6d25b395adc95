"""Random forests. Shape: independent tasks, one a tree.

    h(x) = 1/T Σ_t label(C_t(x))        (majority;  soft: the mean of the leaves' shares)

Tree t is grown from m rows drawn with replacement by (seed, t), and tries √d columns at each node.
"""

from __future__ import annotations

from typing import Any

from assay.hypotheses.trees.forest_model import ClassForest, NumberForest


class RandomForestClassifier(ClassForest):
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


class ExtraTreesClassifier(ClassForest):
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


class RandomForestRegressor(NumberForest):
    """The mean of many trees, each grown from other rows.

    >>> model = RandomForestRegressor(n_estimators=50).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0])
    >>> bool(model.predict([[0.1]])[0] < 2 < model.predict([[2.9]])[0])
    True
    """

    name = "forest-regressor"

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


class ExtraTreesRegressor(NumberForest):
    """A forest of numbers whose thresholds are drawn at random.

    >>> model = ExtraTreesRegressor(n_estimators=50).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0])
    >>> bool(model.predict([[0.1]])[0] < 2 < model.predict([[2.9]])[0])
    True
    """

    name = "extra-regressor"
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
