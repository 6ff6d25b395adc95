"""Kernel classification for tables of any length: a linear classifier in approximate kernel features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.hypotheses.kernel_features.learning import KERNEL_PARAMS
from assay.hypotheses.kernel_features.model import KernelFeaturesModel, layout_with
from assay.hypotheses.kernel_features.prospects import classifier_prospect
from assay.hypotheses.linear.classifier import LinearClassifier
from assay.hypotheses.linear_svc import LinearSVC
from assay.hypotheses.logistic import LogisticRegression
from assay.labels import Labels
from assay.layout import Layout
from assay.learner import BayesClassifier
from assay.learner.available import OnlyIf
from assay.learner.prospect import Features, Prospect
from assay.numerics import Array, Floats
from assay.params import CLASS_WEIGHT, N_JOBS, Choice, Param, Range

FEATURES = Choice(options=("nystroem", "fourier"), doc="kernels at landmarks, or random waves")

WHY = "only loss='logistic' has probabilities"


def _is_logistic(model: Any) -> bool:
    return bool(getattr(model, "_fitted_with", {}).get("loss", model.loss) == "logistic")


class KernelFeaturesClassifier(KernelFeaturesModel, BayesClassifier):
    """Logistic regression or a linear SVM in features φ with φ(x)·φ(z) ≈ K(x, z). Shape: repeated fold.

    What a kernel machine would do, at the price of a linear model: rows may be streamed or lie on a cluster. `loss="logistic"` has
    probabilities; "hinge" and "squared_hinge" are support vector machines. `approximation_error_` says how far φ(x)·φ(z) is from K.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> KernelFeaturesClassifier(gamma=1.0, C=10.0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    name = "kernel-features"
    step_word = "iteration"
    layout: ClassVar[Layout] = layout_with(LogisticRegression, LinearSVC)
    params: ClassVar[Mapping[str, Param]] = {
        "features": FEATURES,
        **KERNEL_PARAMS,
        "loss": Choice(options=("logistic", "hinge", "squared_hinge"), doc="what a row costs"),
        "C": Range(
            low=0,
            open_low=True,
            high=math.inf,
            open_high=True,
            doc="cost of a row; one over the strength of the penalty",
        ),
        "tol": Range(low=0, doc="relative duality gap at which the fit is done"),
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
    }

    intercept_: Floats

    def __init__(
        self,
        features: str = "nystroem",
        *,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int = 100,
        loss: str = "logistic",
        C: float = 1.0,
        tol: float = 1e-6,
        random_state: int = 0,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.features = features
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.loss = loss
        self.C = C
        self.tol = tol
        self.random_state = random_state
        self.class_weight = class_weight
        self.n_jobs = n_jobs

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

    predict_proba: Any = OnlyIf(BayesClassifier.predict_proba, _is_logistic, WHY)
    predict_log_proba: Any = OnlyIf(BayesClassifier.predict_log_proba, _is_logistic, WHY)
    predict_proba_blocks: Any = OnlyIf(BayesClassifier.predict_proba_blocks, _is_logistic, WHY)
    predict_both_blocks: Any = OnlyIf(BayesClassifier.predict_both_blocks, _is_logistic, WHY)
