"""Kernel regression for tables of any length: ridge regression in approximate kernel features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from assay.engines import Block
from assay.hypotheses.kernel_features.classifier import FEATURES
from assay.hypotheses.kernel_features.learning import KERNEL_PARAMS
from assay.hypotheses.kernel_features.model import KernelFeaturesModel, layout_with
from assay.hypotheses.kernel_features.prospects import regressor_prospect
from assay.hypotheses.least_squares import Ridge
from assay.layout import Layout
from assay.learner import Regressor
from assay.learner.prospect import Features, Prospect
from assay.numerics import Array, Floats
from assay.params import N_JOBS, Param, Range


class KernelFeaturesRegressor(KernelFeaturesModel, Regressor):
    """Ridge regression in features φ with φ(x)·φ(z) ≈ K(x, z). Shape: one fold, after one for the map.

        min_{w, b}  Σ_k (y_k − b − w·φ(x_k))² + alpha·‖w‖²

    What kernel ridge regression would do, at the price of a linear model. `approximation_error_` says how far φ(x)·φ(z) is from K.

    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> KernelFeaturesRegressor(gamma=1.0, alpha=1e-6).fit(X, [0.0, 1.0, 0.0, 1.0]).predict(X).round(3)
    array([0., 1., 0., 1.])
    """

    name = "features-regressor"
    step_word = "block"
    layout: ClassVar[Layout] = layout_with(Ridge)
    params: ClassVar[Mapping[str, Param]] = {
        "features": FEATURES,
        **KERNEL_PARAMS,
        "alpha": Range(low=0, open_low=True, high=math.inf, open_high=True, doc="strength of the penalty"),
        "n_jobs": N_JOBS,
    }

    intercept_: float

    def __init__(
        self,
        features: str = "nystroem",
        *,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int = 100,
        alpha: float = 1.0,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.features = features
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.alpha = alpha
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """The rbf kernel with ever weaker penalties."""
        return regressor_prospect(features) if kind == "regressor" else None

    def _linear(self) -> Ridge:
        return Ridge(alpha=self.alpha, n_jobs=self.n_jobs)

    def _predict_block(self, block: Block) -> Array:
        self._refuse_non_finite(block)
        return super()._predict_block(block)

    def _values(self, X: Array) -> Floats:
        return self._map.scores(X, self.feature_coef_[None, :], np.array([self.intercept_], dtype=np.float64))[:, 0]
