"""Gradient boosting.

Shape: repeated fold (a stage: slopes of the loss, and sums of them by column and code).

    F_0 = the best constant,    F_s = F_{s−1} + rate · step_s · Σ_j v_sj [x in leaf j of tree s]

Tree s is grown for the slopes g and curvatures h of the loss at F_{s−1}: splits maximise S(G_L)²/(H_L + l2) + S(G_R)²/(H_R + l2), leaves answer with the
Newton step v = −S(G)/(H + l2), G and H the sums over a leaf's rows, S(G) = sign(G) max(|G| − l1, 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from assay.engines import Block
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Layout
from assay.estimator.params import CLASS_WEIGHT, N_JOBS
from assay.estimator.regressor import Regressor
from assay.families.boosting.hyper_parameters import (
    ALPHA,
    CAT_L2,
    CAT_SMOOTH,
    COLSAMPLE,
    FOLDS,
    IMPORTANCE_TYPE,
    INTERACTION_CST,
    L1,
    L2,
    LAYOUT,
    LEARNING_RATE,
    LOSS_OF_CLASSES,
    LOSS_OF_NUMBERS,
    MAX_BINS,
    MAX_DEPTH,
    MAX_LEAF_NODES,
    MAX_SECONDS,
    MIN_GAIN,
    MIN_SAMPLES_LEAF,
    MIN_SUM_HESSIAN,
    N_ESTIMATORS,
    N_ITER_NO_CHANGE,
    POWER,
    QUANTILE,
    SAMPLING,
    SUBSAMPLE,
    TOL,
    VALIDATION_FRACTION,
    VERBOSE,
    WARM_START,
)
from assay.families.boosting.model import BoostedTrees
from assay.families.trees.estimators import NODES
from assay.families.trees.hyper_parameters import CATEGORICAL_FEATURES, MONOTONIC_CST, RANDOM_STATE
from assay.numerics import Array, Floats, safe_log


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
