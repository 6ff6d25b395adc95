"""Gradient boosting.

Shape: repeated fold (a stage: slopes of the loss, and sums of them by column and code).

    F_0 = the best constant,    F_s = F_{s−1} + rate · step_s · Σ_j v_sj [x in leaf j of tree s]

Tree s is grown for the slopes g and curvatures h of the loss at F_{s−1}: splits maximise S(G_L)²/(H_L + l2) + S(G_R)²/(H_R + l2), leaves answer with the
Newton step v = −S(G)/(H + l2), G and H the sums over a leaf's rows, S(G) = sign(G) max(|G| − l1, 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from assay.engines import Block
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Free, Range, param
from assay.estimator.regressor import Regressor
from assay.families.boosting.model import BoostedTrees
from assay.families.trees.estimators import NODES
from assay.families.trees.hyper_parameters import CATEGORICAL_FEATURES, MONOTONIC_CST, RANDOM_STATE
from assay.families.trees.hyper_parameters import MAX_DEPTH as TREE_DEPTH
from assay.numerics import Array, Floats, safe_log
from assay.risk.custom_surrogate import CustomSurrogate


def _groups(value: Any) -> bool:
    plain = isinstance(value, Sequence | set) and not isinstance(value, Mapping)
    return plain and all(isinstance(g, Sequence | set) and all(isinstance(c, str | Integral) for c in g) for g in value)


LOSSES_OF_NUMBERS = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")
LOSSES_OF_CLASSES = ("log_loss", "exponential")


def _loss(options: tuple[str, ...]) -> Any:
    what = "a loss made by assay.surrogate(value, slope)"
    return Free(what, words=options, check=lambda given: isinstance(given, CustomSurrogate))


SHARE = Range(low=0, open_low=True, high=1)
LOSS_OF_NUMBERS = param("the loss that is made small; one of your own by assay.surrogate(value, slope, kind='regression')", default="squared_error", check=_loss(LOSSES_OF_NUMBERS))  # fmt: skip
LOSS_OF_CLASSES = param("the loss that is made small: the log loss, AdaBoost's exponential one, or one of your own for two classes", default="log_loss", check=_loss(LOSSES_OF_CLASSES))  # fmt: skip
QUANTILE = param("of loss='quantile': the share of rows that lie below the answer", default=0.5, check=Range(low=0, high=1, open_low=True, open_high=True))  # fmt: skip
ALPHA = param("of loss='huber': the share of rows whose errors count squared at the start", default=0.9, check=Range(low=0, high=1, open_low=True, open_high=True))  # fmt: skip
POWER = param("of loss='tweedie': the variance grows with this power of the mean", default=1.5, check=Range(low=1, high=2, open_low=True, open_high=True))  # fmt: skip
LEARNING_RATE = param("what the answers of a stage's leaves are multiplied with", default=0.1, says="rate {}", check=Range(low=0, open_low=True, high=1))  # fmt: skip
N_ESTIMATORS = param("stages, a tree each (of more than two classes one a class); 'auto': until rows that are held out are answered no better; 'cv': as many as are best by cross-validation, of all rows", default=100, says="{} stages", check=Range(int, low=1, high=100_000, words=("auto", "cv")))  # fmt: skip
MAX_LEAF_NODES = param("most leaves of a tree: the leaf whose split gains most is split next; None: no limit", default=31, says="{} leaves", check=Range(int, low=2, words=(None,)))  # fmt: skip
MAX_DEPTH = replace(TREE_DEPTH)
MIN_SAMPLES_LEAF = param("least rows of a leaf", default=20, says="leaves of {}+ rows", check=Range(int, low=1))
MIN_SUM_HESSIAN = param("least sum of curvatures of the loss in a leaf", default=1e-3, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
L1 = param("strength of the L1 penalty on the leaves' answers", default=0.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
L2 = param("strength of the L2 penalty on the leaves' answers, in units of curvature (0, as in LightGBM, trusts small leaves)", default=1.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
MIN_GAIN = param(
    "splits that gain less than this are not made; the gain is that of twice the second-order loss",
    default=0.0,
    check=Range(low=0, high=math.inf, open_high=True),
)
SUBSAMPLE = param("share of the rows that a stage sees, drawn by (seed, stage)", default=1.0, check=SHARE)
SAMPLING = param("how the rows of a stage are drawn where subsample < 1: all alike, or those of larger gradients more often, counted less (in the place of GOSS)", default="uniform", check=Choice(("uniform", "gradient_based")))  # fmt: skip
COLSAMPLE = param("share of the columns that a stage may ask about, drawn by (seed, stage)", default=1.0, check=SHARE)
CAT_SMOOTH = param("curvature with which the order of categories is smoothed; those of fewer rows at a node are not told apart", default=10.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
CAT_L2 = param("L2 penalty of splits by categories besides", default=10.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
MAX_BINS = param("quantile bins of a column of numbers", default=255, check=Range(int, low=2, high=255))
INTERACTION_CST = param("groups of columns: a way through a tree asks about columns of one group alone", default=None, check=Free("a list of lists of columns, by name or number", words=(None, "pairwise", "no_interactions"), check=_groups))  # fmt: skip
N_ITER_NO_CHANGE = param("hold rows out, and end after so many stages that answer them no better, with the best stage; None: do all stages (of 'auto' and 'cv': 20)", default=None, check=Range(int, low=1, words=(None,)))  # fmt: skip
FOLDS = param("of n_estimators='cv': the number of folds", default=5, check=Range(int, low=2))
VALIDATION_FRACTION = param("share of the rows that are held out for n_iter_no_change", default=0.1, check=Range(low=0, high=1, open_low=True, open_high=True))  # fmt: skip
TOL = param("a loss of held-out rows that falls by less than this share is no better", default=1e-7, check=Range(low=0, high=1))  # fmt: skip
WARM_START = param("keep the trees of the fit before and add to them", default=False)
MAX_SECONDS = param("the fit ends then with what it has; None: no limit", default=None, check=Range(low=0, open_low=True, high=math.inf, open_high=True, words=(None,)))  # fmt: skip
VERBOSE = param("1: tell of stage, loss and time left every second", default=0, check=Range(int, low=0))
IMPORTANCE_TYPE = param("what feature_importances_ counts: what a column's splits gain, or how many they are", default="gain", check=Choice(("gain", "split")))  # fmt: skip

LAYOUT: Layout = {
    "table_": Tensor(("R", 2), doc="what leaves hold: what they add to the score, and the weight of the rows that reached them"),
    "gain_": Tensor(("S",), low=0, doc="what each split gained: S(G_L)²/(H_L + l2) + S(G_R)²/(H_R + l2) − S(G)²/(H + l2)"),
    "baseline_": Tensor(("C",), doc="the constant that the scores begin with, one a tree of a stage"),
    "step_": Tensor(("s",), low=0, high=1, doc="of each stage what its leaves were multiplied with besides the rate: halved until the training loss did not rise"),
    "loss_curve_": Tensor(("t",), low=0, doc="the training loss before the first and after each stage"),
    "validation_curve_": Tensor(("v",), low=0, optional=True, doc="the loss of the rows held out, before the first and after each stage; None where none were"),
    "cv_curve_": Tensor(("u",), low=0, optional=True, doc="of n_estimators='cv' the loss of all rows, each answered by the folds that have not seen it, before the first and after each stage; else None"),
    "held_error_": Tensor((2,), low=0, optional=True, doc="standard error of the loss of the rows held out at the chosen stage, and how many they are; None where none were"),
    "delta_": Fact(float, low=0, optional=True, doc="of loss='huber': the error from which on errors count as they are, and not squared"),
    "weight_": Fact(float, low=0, doc="the total weight of the rows that the trees learnt from"),
    "rows_": Fact(int, low=1, doc="the number of rows of the fit"),
    "mixed_": Fact(bool, doc="whether warm_start has added stages of other settings or rows"),
}  # fmt: skip


class GradientBoostingClassifier(BoostedTrees, Classifier):
    """Many small trees that are added up, each grown for what the ones before it still get wrong.

        p(k | x) ∝ exp F_k(x),   F = constant + rate · Σ_s step_s · tree_s(x),   tree_s a Newton step of the log loss at the sum before it

    Two classes have one score and a tree a stage, more have one of each a class. Missing values go to the side where they gain more; categories are
    split by the order of their gradients.

    Certificate
    -----------
    The training loss after every stage is as stated and never rises; each leaf of every stage answers with the stated Newton step for the rows
    that reach it; each split gains what is stated, and none between the bins gains more (at all nodes, or at a sample of many). Early stopping: the
    loss of the rows held out, an estimate with an interval.

    See Also
    --------
    RandomForestClassifier : the mean of many large trees.
    GradientBoostingRegressor : the same for a number.

    Examples
    --------
    >>> X = [[float(i)] for i in range(60)]
    >>> model = GradientBoostingClassifier(n_estimators=20, min_samples_leaf=5).fit(X, [int(20 <= i < 40) for i in range(60)])
    >>> model.predict([[5.0], [30.0], [55.0]]).tolist()
    [0, 1, 0]
    """

    title = "Gradient boosting"
    name = "gradient-boosting"
    layout: ClassVar[Layout] = {**NODES, **LAYOUT}
    loss: Any = LOSS_OF_CLASSES
    learning_rate: float = LEARNING_RATE
    n_estimators: int | str = N_ESTIMATORS
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    max_depth: int | None = MAX_DEPTH
    min_samples_leaf: int = MIN_SAMPLES_LEAF
    min_sum_hessian: float = MIN_SUM_HESSIAN
    l1_regularization: float = L1
    l2_regularization: float = L2
    min_gain_to_split: float = MIN_GAIN
    subsample: float = SUBSAMPLE
    sampling_method: str = SAMPLING
    colsample_bytree: float = COLSAMPLE
    max_bins: int = MAX_BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    cat_smooth: float = CAT_SMOOTH
    cat_l2: float = CAT_L2
    monotonic_cst: Any = MONOTONIC_CST
    interaction_cst: Any = INTERACTION_CST
    class_weight: Any = CLASS_WEIGHT
    n_iter_no_change: int | None = N_ITER_NO_CHANGE
    validation_fraction: float = VALIDATION_FRACTION
    folds: int = FOLDS
    tol: float = TOL
    max_seconds: float | None = MAX_SECONDS
    warm_start: bool = WARM_START
    importance_type: str = IMPORTANCE_TYPE
    random_state: int | None = RANDOM_STATE
    verbose: int = VERBOSE
    n_jobs: int | None = N_JOBS

    def _why_no_probabilities(self) -> str | None:
        return None if isinstance(self.loss, str) else "the scores of a loss of one's own are no probabilities"

    def _proba_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        return np.ascontiguousarray(self._fitted_loss().answer(self._raw(block.X)).T)

    def _scored_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        F = self._raw(block.X)
        codes = (F[0] > 0).astype(np.int64) if len(F) == 1 else F.argmax(axis=0)
        if not self.has_probabilities:
            return np.column_stack([codes, -F[0] / 2, F[0] / 2])
        return np.column_stack([codes, safe_log(self._fitted_loss().answer(F).T)])

    def decision_function(self, X: Any) -> Array:
        """The scores: of two classes one a row, (n,), positive for the second class; of more (n, K)."""
        return self._answer(X, self._decision_block)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """`decision_function` after each stage."""
        return (F[0] if len(F) == 1 else np.ascontiguousarray(F.T) for F in self._staged(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` after each stage."""
        loss = self._fitted_loss()
        return (np.ascontiguousarray(loss.answer(F).T) for F in self._staged(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """`predict` after each stage."""
        for F in self._staged(X):
            yield self.classes_[(F[0] > 0).astype(np.int64) if len(F) == 1 else F.argmax(axis=0)]


class GradientBoostingRegressor(BoostedTrees, Regressor):
    """Many small trees of numbers that are added up, each grown for what the ones before it leave.

        h(x) = constant + rate · Σ_s step_s · tree_s(x),   tree_s a Newton step of the loss at the sum before it  (counts: e to that)

    Losses: squared_error, absolute_error, huber, quantile, poisson, gamma, tweedie, or one of your own by `assay.surrogate(value, slope,
    kind="regression")`. Of absolute_error and quantile the leaves answer with the median, or the quantile, of what is left.

    Certificate
    -----------
    The training loss after every stage is as stated and never rises; each leaf of every stage answers with the stated minimiser for the rows
    that reach it; each split gains what is stated, and none between the bins gains more (at all nodes, or at a sample of many). Early stopping: the
    loss of the rows held out, an estimate with an interval.

    See Also
    --------
    RandomForestRegressor : the mean of many large trees.
    GradientBoostingClassifier : the same for classes.

    Examples
    --------
    >>> X = [[float(i)] for i in range(60)]
    >>> model = GradientBoostingRegressor(n_estimators=50, min_samples_leaf=5).fit(X, [float(i >= 30) for i in range(60)])
    >>> model.predict([[5.0], [55.0]]).round(2).tolist()
    [0.0, 1.0]
    """

    title = "Gradient boosting"
    name = "boosting-regressor"
    layout: ClassVar[Layout] = {**NODES, **LAYOUT}
    loss: Any = LOSS_OF_NUMBERS
    learning_rate: float = LEARNING_RATE
    n_estimators: int | str = N_ESTIMATORS
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    max_depth: int | None = MAX_DEPTH
    min_samples_leaf: int = MIN_SAMPLES_LEAF
    min_sum_hessian: float = MIN_SUM_HESSIAN
    l1_regularization: float = L1
    l2_regularization: float = L2
    min_gain_to_split: float = MIN_GAIN
    subsample: float = SUBSAMPLE
    sampling_method: str = SAMPLING
    colsample_bytree: float = COLSAMPLE
    quantile: float = QUANTILE
    alpha: float = ALPHA
    power: float = POWER
    max_bins: int = MAX_BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    cat_smooth: float = CAT_SMOOTH
    cat_l2: float = CAT_L2
    monotonic_cst: Any = MONOTONIC_CST
    interaction_cst: Any = INTERACTION_CST
    n_iter_no_change: int | None = N_ITER_NO_CHANGE
    validation_fraction: float = VALIDATION_FRACTION
    folds: int = FOLDS
    tol: float = TOL
    max_seconds: float | None = MAX_SECONDS
    warm_start: bool = WARM_START
    importance_type: str = IMPORTANCE_TYPE
    random_state: int | None = RANDOM_STATE
    verbose: int = VERBOSE
    n_jobs: int | None = N_JOBS

    def _values(self, X: Array) -> Floats:
        return self._fitted_loss().answer(self._raw(X))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """`predict` after each stage."""
        loss = self._fitted_loss()
        return (loss.answer(F) for F in self._staged(X))


# the names under which people know boosting by histograms
HistGradientBoostingClassifier, HistGradientBoostingRegressor = GradientBoostingClassifier, GradientBoostingRegressor
