"""Regressors: numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from assay.engines import Block
from assay.estimator.estimator import Estimator
from assay.inputs import as_regression_target, refuse_non_finite
from assay.numerics import Array, Floats


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
        """R²: the share of the target's variance that is explained."""
        answers = self.predict(X)
        target, weights = self._truth(X, y, sample_weight, len(answers))
        truth = as_regression_target(target)
        mean = np.average(truth, weights=weights)
        residual = np.average((truth - answers) ** 2, weights=weights)
        spread = np.average((truth - mean) ** 2, weights=weights)
        return float(1 - residual / spread) if spread > 0 else float(residual == 0)
