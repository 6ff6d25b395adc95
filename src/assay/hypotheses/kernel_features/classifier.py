"""Kernel classification for tables of any length: a linear classifier in approximate kernel features."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.hypotheses.kernel_features.learning import COEF0, DEGREE, GAMMA, KERNEL, N_COMPONENTS, SEED
from assay.hypotheses.kernel_features.model import KernelFeaturesModel, layout_with
from assay.hypotheses.kernel_features.prospects import classifier_prospect
from assay.hypotheses.linear.classifier import LinearClassifier
from assay.hypotheses.linear_svc import LinearSVC
from assay.hypotheses.logistic import LogisticRegression
from assay.labels import Labels
from assay.layout import Layout
from assay.learner import BayesClassifier, attribute
from assay.learner.available import OnlyIf
from assay.learner.prospect import Features, Prospect
from assay.numerics import Array, Floats
from assay.params import CLASS_WEIGHT, N_JOBS, Choice, Range, param

WHY = "only loss='logistic' has probabilities"


def _is_logistic(model: Any) -> bool:
    return bool(getattr(model, "_fitted_with", {}).get("loss", model.loss) == "logistic")


class KernelFeaturesClassifier(KernelFeaturesModel, BayesClassifier):
    """Logistic regression or a linear SVM in features φ with φ(x)·φ(z) ≈ K(x, z). Shape: repeated fold.

        min_{w, b}  ½‖w‖² + C Σ_i c_i ℓ(t_i (w·φ(x_i) + b)),      ℓ(m) = log(1 + e^−m),  max(0, 1 − m)  or  max(0, 1 − m)²

    What a kernel machine would do, at the price of a linear model: rows may be streamed or lie on a cluster. `loss="logistic"` has
    probabilities; "hinge" and "squared_hinge" are support vector machines. `approximation_error_` says how far φ(x)·φ(z) is from K.

    Certificate
    -----------
    The objective in the features is at most a share of tol above the least value there is, by a dual bound; how far φ(x)·φ(z) is
    from K(x, z) on pairs of rows (estimate).

    See Also
    --------
    SVC : the kernel itself, for tables of some ten thousand rows.
    Nystroem : the features of landmarks alone.
    RandomFourier : the features of random waves alone.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> KernelFeaturesClassifier(gamma=1.0, C=10.0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    name = "kernel-features"
    step_word = "iteration"
    layout: ClassVar[Layout] = layout_with(LogisticRegression, LinearSVC)
    features: str = param("how kernels become features: kernels at landmarks, or random waves", default="nystroem", kw_only=False, check=Choice(("nystroem", "fourier")))  # fmt: skip
    kernel: str = KERNEL
    gamma: float | str = GAMMA
    degree: int = DEGREE
    coef0: float = COEF0
    n_components: int = N_COMPONENTS
    loss: str = param("what a row costs by its score; only 'logistic' has probabilities", default="logistic", check=Choice(("logistic", "hinge", "squared_hinge")))  # fmt: skip
    C: float = param("cost of a row; one over the strength of the penalty", default=1.0, check=Range(low=0, open_low=True, high=math.inf, open_high=True))  # fmt: skip
    tol: float = param("relative duality gap at which the fit is done", default=1e-6, check=Range(low=0))
    random_state: int = SEED
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS

    intercept_: Floats = attribute()

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """The rbf kernel with ever weaker penalties."""
        return classifier_prospect(features) if kind == "classifier" else None

    def _linear(self) -> LinearClassifier:
        shared = {"C": self.C, "tol": self.tol, "class_weight": self.class_weight, "n_jobs": self.n_jobs}
        return LogisticRegression(**shared) if self.loss == "logistic" else LinearSVC(loss=self.loss, **shared)

    def _labels(self, engine: Engine, rows: Rows, classes: Any) -> Labels | None:
        return self._classes_of(engine, rows, True, classes)

    # --- answering --------------------------------------------------------------------------------------------------

    def _checked_scores(self, block: Block) -> Floats:
        self._refuse_non_finite(block)
        return super()._checked_scores(block)

    def _scores(self, X: Array) -> Floats:
        Z = self._map.scores(X, self.feature_coef_, self.intercept_)
        return np.concatenate([np.zeros_like(Z), Z], axis=1) if Z.shape[1] == 1 else Z

    def decision_function(self, X: Any) -> Floats:
        """w·φ(x) + b: (n,) for two classes (positive: the greater class), (n, K) for more."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 1] - Z[:, 0] if len(self.classes_) == 2 else Z

    predict_proba: ClassVar[Any] = OnlyIf(BayesClassifier.predict_proba, _is_logistic, WHY)
    predict_log_proba: ClassVar[Any] = OnlyIf(BayesClassifier.predict_log_proba, _is_logistic, WHY)
    predict_proba_blocks: ClassVar[Any] = OnlyIf(BayesClassifier.predict_proba_blocks, _is_logistic, WHY)
    predict_both_blocks: ClassVar[Any] = OnlyIf(BayesClassifier.predict_both_blocks, _is_logistic, WHY)
