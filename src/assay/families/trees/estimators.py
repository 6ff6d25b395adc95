"""Decision trees and random forests.

Shape: of a tree repeated fold (a level a fold) where the rows are many, otherwise one task a subtree; of a forest independent tasks, one a tree.

    tree:    h(x) = label(C(x)),   splits maximise   u(C) − (p_L u(C_L) + p_R u(C_R)),   u(C) = −Σ_y p_y log p_y     (or Gini, …)
    forest:  h(x) = 1/T Σ_t label(C_t(x))        (majority;  soft: the mean of the leaves' shares)

Tree t of a forest is grown from m rows drawn with replacement by (seed, t), and tries √d columns at each node.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from assay.estimator.classifier import Classifier
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import N_JOBS, attribute
from assay.estimator.regressor import Regressor
from assay.families.trees.hyper_parameters import (
    BINS,
    BOOTSTRAP,
    CATEGORICAL_FEATURES,
    CCP_ALPHA,
    CLASS_WEIGHTS,
    CRITERION_OF_CLASSES,
    CRITERION_OF_NUMBERS,
    FOLDS,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAF_NODES,
    MAX_SAMPLES,
    MIN_IMPURITY_DECREASE,
    MIN_SAMPLES_LEAF,
    MIN_SAMPLES_SPLIT,
    MIN_WEIGHT_FRACTION_LEAF,
    MONOTONIC_CST,
    N_ESTIMATORS,
    OOB_SCORE,
    PRUNING_ALPHA,
    QUANTILES,
    RANDOM_STATE,
    SPLITTER,
    VERBOSE,
    VOTING,
    WARM_START,
)
from assay.families.trees.model import DecisionTree, Forest
from assay.families.trees.predict import OF_QUANTILES, predict_quantiles
from assay.numerics import Floats

NODES: Layout = {
    "feature_": Tensor(("N",), dtype="<i4", index="d", mirrored=True, doc="of each of the N nodes of all trees the column that it asks about; −1: a leaf, −2 − j: categories of column j"),
    "cut_": Tensor(("S",), finite=False, doc="the threshold of each split: rows up to it go left"),
    "missing_left_": Tensor(("S",), dtype="|u1", high=1, doc="1 for each split that sends missing values left"),
    "leaf_": Tensor(("L",), dtype="<u4", index="R", doc="of each leaf the row of `table_` that it answers with"),
    "sets_": Tensor(("Q", 4), dtype="<u8", optional=True, doc="of each split by categories the set of those that go left, as 256 bits; None without such splits"),
    "nodes_": Tensor(("T",), dtype="<i8", most="N", low=1, doc="the number of nodes of each tree"),
    "category_code_": Tensor(("c",), dtype="|u1", optional=True, doc="the codes that the categories of all columns have inside the trees; None without categories"),
    "missing_columns_": Tensor(("d",), dtype="|u1", high=1, optional=True, doc="1 for each column that had missing values at the fit; None where none had"),
}  # fmt: skip
OF_CLASSES: Layout = {
    **NODES,
    "table_": Tensor(("R", "K"), low=0, high=1e200, doc="what leaves hold: the weight of each class among the rows that reached them"),
}  # fmt: skip
OF_NUMBERS: Layout = {
    **NODES,
    "table_": Tensor(("R", 2), doc="what leaves hold: weight and answer of the rows that reached them"),
}
ROWS: Layout = {
    "weight_": Fact(float, low=0, doc="the total weight of the rows of the fit"),
    "rows_": Fact(int, low=1, doc="the number of rows of the fit"),
}
OF_TREES: Layout = {
    **ROWS,
    "exact_": Fact(bool, optional=True, doc="whether all thresholds were tried, and not those between bins alone"),
    "training_loss_": Fact(float, low=0, optional=True, doc="the training error: share of wrong answers, or mean squared (absolute, Poisson) error"),
    "gain_": Tensor(("S",), optional=True, doc="what each split gained in purity"),
    "leaf_rows_": Tensor(("L",), dtype="<i8", low=0, optional=True, doc="the number of rows in each leaf, where rows or classes have weights; else None"),
    "alpha_": Fact(float, low=0, optional=True, doc="of ccp_alpha='cv': the alpha that cross-validation chose"),
    "pruning_curve_": Tensor(("g", 3), low=0, optional=True, doc="of ccp_alpha='cv': alphas, the cross-validated risk at each, and its standard error"),
}  # fmt: skip
OF_FORESTS: Layout = {
    **ROWS,
    "oob_loss_": Fact(float, low=0, optional=True, doc="the out-of-bag error: of rows judged only by trees that did not see them; absent where no row was left out, or where warm_start mixed draws that are not known"),
    "oob_error_of_loss_": Fact(float, low=0, optional=True, doc="the standard error of the out-of-bag error, were rows judged independently"),
    "oob_rows_": Fact(int, low=0, optional=True, doc="the number of rows that some tree did not see"),
    "oob_curve_": Tensor(("g", 2), low=0, optional=True, doc="of n_estimators='auto': numbers of trees and the out-of-bag error at each"),
    "gain_": Tensor(("S",), optional=True, doc="what each split gained, where the leaves do not tell; else None"),
    "alike_": Fact(bool, doc="whether all trees come from the same rows and settings; warm_start may mix them"),
    "weighted_": Fact(bool, doc="whether the rows of the fit had weights"),
    "draws_": Fact(int, low=1, optional=True, doc="the rows drawn for each tree; absent where trees see all rows"),
    "oob_trees_": Fact(int, low=0, doc="the trees that judged rows which they did not see"),
}  # fmt: skip
OOB_DECISION_FUNCTION = attribute("the probabilities of each class for each row, from the trees that did not see the row; of shape (n_rows, n_classes)")  # fmt: skip
OOB_PREDICTION = attribute("the answer for each row from the trees that did not see it, of shape (n_rows,)")
ACCURACY, R2 = attribute("the out-of-bag accuracy, 1 − oob_loss_"), attribute("R² of the out-of-bag answers")


class DecisionTreeClassifier(DecisionTree, Classifier):
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

    title = "Decision tree"
    name = "decision-tree"
    layout: ClassVar[Layout] = {**OF_CLASSES, **OF_TREES}
    criterion: str = CRITERION_OF_CLASSES
    splitter: str = SPLITTER
    max_depth: int | None = MAX_DEPTH
    min_samples_split: Any = MIN_SAMPLES_SPLIT
    min_samples_leaf: Any = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = replace(MAX_FEATURES, default=None)
    random_state: int | None = RANDOM_STATE
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    class_weight: Any = CLASS_WEIGHTS
    ccp_alpha: float | str = PRUNING_ALPHA
    folds: int = FOLDS
    monotonic_cst: Any = MONOTONIC_CST
    bins: Any = BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    n_jobs: int | None = N_JOBS


class DecisionTreeRegressor(DecisionTree, Regressor):
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

    title = "Regression tree"
    name = "tree-regressor"
    layout: ClassVar[Layout] = {**OF_NUMBERS, **OF_TREES}
    criterion: str = CRITERION_OF_NUMBERS
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


class RandomForestClassifier(Forest, Classifier):
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

    title = "Random forest"
    name = "random-forest"
    layout: ClassVar[Layout] = {**OF_CLASSES, **OF_FORESTS}
    n_estimators: int | str = N_ESTIMATORS
    criterion: str = CRITERION_OF_CLASSES
    voting: str = VOTING
    max_depth: int | None = MAX_DEPTH
    min_samples_split: Any = MIN_SAMPLES_SPLIT
    min_samples_leaf: Any = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = MAX_FEATURES
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    bootstrap: bool = BOOTSTRAP
    oob_score: Any = OOB_SCORE
    n_jobs: int | None = N_JOBS
    random_state: int | None = RANDOM_STATE
    verbose: int = VERBOSE
    warm_start: bool = WARM_START
    class_weight: Any = CLASS_WEIGHTS
    ccp_alpha: float = CCP_ALPHA
    max_samples: Any = MAX_SAMPLES
    monotonic_cst: Any = MONOTONIC_CST
    bins: Any = BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    oob_decision_function_: Floats = OOB_DECISION_FUNCTION
    oob_score_: float = ACCURACY


class ExtraTreesClassifier(Forest, Classifier):
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

    title = "Extra trees"
    name = "extra-trees"
    random_splits = True
    layout: ClassVar[Layout] = {**OF_CLASSES, **OF_FORESTS}
    n_estimators: int | str = N_ESTIMATORS
    criterion: str = CRITERION_OF_CLASSES
    voting: str = VOTING
    max_depth: int | None = MAX_DEPTH
    min_samples_split: Any = MIN_SAMPLES_SPLIT
    min_samples_leaf: Any = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = MAX_FEATURES
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    bootstrap: bool = replace(BOOTSTRAP, default=False)
    oob_score: Any = OOB_SCORE
    n_jobs: int | None = N_JOBS
    random_state: int | None = RANDOM_STATE
    verbose: int = VERBOSE
    warm_start: bool = WARM_START
    class_weight: Any = CLASS_WEIGHTS
    ccp_alpha: float = CCP_ALPHA
    max_samples: Any = MAX_SAMPLES
    monotonic_cst: Any = MONOTONIC_CST
    bins: Any = BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    oob_decision_function_: Floats = OOB_DECISION_FUNCTION
    oob_score_: float = ACCURACY


class RandomForestRegressor(Forest, Regressor):
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

    title = "Random forest"
    name = "forest-regressor"
    layout: ClassVar[Layout] = {**OF_NUMBERS, **OF_FORESTS, **OF_QUANTILES}
    n_estimators: int | str = N_ESTIMATORS
    criterion: str = CRITERION_OF_NUMBERS
    max_depth: int | None = MAX_DEPTH
    min_samples_split: Any = MIN_SAMPLES_SPLIT
    min_samples_leaf: Any = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = replace(MAX_FEATURES, default=1.0)
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    bootstrap: bool = BOOTSTRAP
    oob_score: Any = OOB_SCORE
    n_jobs: int | None = N_JOBS
    random_state: int | None = RANDOM_STATE
    verbose: int = VERBOSE
    warm_start: bool = WARM_START
    ccp_alpha: float = CCP_ALPHA
    max_samples: Any = MAX_SAMPLES
    monotonic_cst: Any = MONOTONIC_CST
    bins: Any = BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    quantiles: bool = QUANTILES
    oob_prediction_: Floats = OOB_PREDICTION
    oob_score_: float = R2

    predict_quantiles = predict_quantiles


class ExtraTreesRegressor(Forest, Regressor):
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

    title = "Extra trees"
    name = "extra-regressor"
    random_splits = True
    layout: ClassVar[Layout] = {**OF_NUMBERS, **OF_FORESTS, **OF_QUANTILES}
    n_estimators: int | str = N_ESTIMATORS
    criterion: str = CRITERION_OF_NUMBERS
    max_depth: int | None = MAX_DEPTH
    min_samples_split: Any = MIN_SAMPLES_SPLIT
    min_samples_leaf: Any = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = replace(MAX_FEATURES, default=1.0)
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    bootstrap: bool = replace(BOOTSTRAP, default=False)
    oob_score: Any = OOB_SCORE
    n_jobs: int | None = N_JOBS
    random_state: int | None = RANDOM_STATE
    verbose: int = VERBOSE
    warm_start: bool = WARM_START
    ccp_alpha: float = CCP_ALPHA
    max_samples: Any = MAX_SAMPLES
    monotonic_cst: Any = MONOTONIC_CST
    bins: Any = BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    quantiles: bool = QUANTILES
    oob_prediction_: Floats = OOB_PREDICTION
    oob_score_: float = R2

    predict_quantiles = predict_quantiles
