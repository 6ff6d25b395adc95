"""Regressors: numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from assay.engines import Block
from assay.errors import UndefinedMetricWarning, as_seen_by_sklearn, warn
from assay.estimator.estimator import Estimator
from assay.inputs import as_regression_target, refuse_non_finite
from assay.numerics import Array, Floats

UNDEFINED = "R^2 score is not well-defined with less than two samples."  # scikit-learn's words


class Regressor(Estimator):
    """A model of a number. Subclasses give `_values(X)`."""

    _kind = "regressor"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on rows X and numbers y (or on `assay.rows`)."""
        return self._fit(X, y, sample_weight)

    def _values(self, X: Array) -> Floats:
        raise NotImplementedError

    def _predict_block(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._values(block.X)
        if not np.isfinite(values).all():
            refuse_non_finite(block.X, block.start, self._column_names())
        return values

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R²: the share of the target's variance that is explained; of several targets the mean."""
        answers = self.predict(X)
        target, weights = self._truth(X, y, sample_weight, len(answers))
        truth = as_regression_target(target)
        if answers.ndim == 2:
            return float(np.mean([r2_score(t, a, weights) for t, a in zip(truth.T, answers.T)]))
        return r2_score(truth, answers, weights)


def r2_score(truth: Array, answers: Array, weights: Array | None = None) -> float:
    """1 − Σ w(y − ŷ)² / Σ w(y − ȳ)²; of a target that does not vary 1 where all is right, else 0; NaN with a warning of one row."""
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
        truth, answers, weights = truth[weights > 0], answers[weights > 0], weights[weights > 0]
    if len(truth) < 2:
        warn(UNDEFINED, as_seen_by_sklearn(UndefinedMetricWarning))
        return float("nan")
    scale = _scale(truth, answers)
    truth, answers = truth / scale, answers / scale
    mean = np.average(truth, weights=weights)
    residual = np.average((truth - answers) ** 2, weights=weights)
    if np.all(truth == truth[0]):  # the mean of equal numbers may be off by rounding
        return float(residual == 0)
    spread = np.average((truth - mean) ** 2, weights=weights)
    with np.errstate(over="ignore"):
        return float(1 - residual / spread) if spread > 0 else float(residual == 0)


def _scale(truth: Array, answers: Array) -> float:
    """One; a power of two near the numbers where their squares would over- or underflow."""
    most = float(max(np.abs(truth).max(), np.abs(answers).max()))
    return 1.0 if most == 0 or 1e-100 < most < 1e100 else 2.0 ** float(np.floor(np.log2(most)))
