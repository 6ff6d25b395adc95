"""Kernel regression for tables of any length: ridge regression in approximate kernel features."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from assay.engines import Block
from assay.hypotheses.kernel_features.learning import COEF0, DEGREE, GAMMA, KERNEL, N_COMPONENTS, SEED
from assay.hypotheses.kernel_features.model import KernelFeaturesModel, layout_with
from assay.hypotheses.kernel_features.prospects import regressor_prospect
from assay.hypotheses.least_squares import Ridge
from assay.layout import Layout
from assay.learner import Regressor, attribute
from assay.learner.prospect import Features, Prospect
from assay.numerics import Array, Floats
from assay.params import N_JOBS, Choice, Range, param


class KernelFeaturesRegressor(KernelFeaturesModel, Regressor):
    """Ridge regression in features φ with φ(x)·φ(z) ≈ K(x, z). Shape: one fold, after one for the map.

        min_{w, b}  Σ_k (y_k − b − w·φ(x_k))² + alpha·‖w‖²

    What kernel ridge regression would do, at the price of a linear model. `approximation_error_` says how far φ(x)·φ(z) is from K.

    Certificate
    -----------
    The normal equations in the features hold to rounding; rank, condition number and σ² are as stated; how far φ(x)·φ(z) is from
    K(x, z) on pairs of rows (estimate).

    See Also
    --------
    SVR : the kernel itself, with a tube in which errors cost nothing.
    Ridge : the same for the columns as they are.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> KernelFeaturesRegressor(gamma=1.0, alpha=1e-6).fit(X, [0.0, 1.0, 0.0, 1.0]).predict(X).round(3)
    array([0., 1., 0., 1.])
    """

    name = "features-regressor"
    step_word = "block"
    layout: ClassVar[Layout] = layout_with(Ridge)
    features: str = param("how kernels become features: kernels at landmarks, or random waves", default="nystroem", kw_only=False, check=Choice(("nystroem", "fourier")))  # fmt: skip
    kernel: str = KERNEL
    gamma: float | str = GAMMA
    degree: int = DEGREE
    coef0: float = COEF0
    n_components: int = N_COMPONENTS
    alpha: float = param("strength of the penalty on the length of the weights", default=1.0, check=Range(low=0, open_low=True, high=math.inf, open_high=True))  # fmt: skip
    random_state: int = SEED
    n_jobs: int | None = N_JOBS

    intercept_: float = attribute()

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
