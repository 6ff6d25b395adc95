"""Linear models of a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import Engine, Rows
from assay.hypotheses.linear.model import LinearModel
from assay.hypotheses.linear.scores import linear_scores
from assay.hypotheses.linear.targets import Targets
from assay.learner import Regressor
from assay.numerics import Array, Floats


class LinearRegressor(LinearModel, Regressor):
    """w·x + b; `coef_` is (1, d) and `intercept_` (1,)."""

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Targets:
        return Targets(None, np.ones(1))

    def _values(self, X: Array) -> Floats:
        return linear_scores(X, self.coef_, self.intercept_)[:, 0]
