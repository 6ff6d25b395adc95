"""R² has no value for one row, is exact where the target does not vary, and survives numbers of any size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import r2_score as theirs

import assay
from assay.estimator.regressor import r2_score

REGRESSORS = [
    assay.BaselineRegressor(),
    assay.LinearRegression(),
    assay.Ridge(),
    assay.ERM(loss="squared"),
    assay.DecisionTreeRegressor(),
    assay.KNeighborsRegressor(1),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_the_score_of_one_row_is_nan_with_a_warning(model):
    model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0])
    with pytest.warns(UndefinedMetricWarning, match="less than two samples"):
        assert math.isnan(model.score([[1.0]], [5.0]))
    with pytest.warns(UndefinedMetricWarning, match="less than two samples"):
        assert math.isnan(model.score([[1.0], [2.0]], [5.0, 6.0], [0.3, 0.0]))


def test_a_target_that_does_not_vary_gives_one_or_zero_whatever_the_weights():
    y, w = np.full(3, 0.1), np.array([0.1, 0.3, 0.7])
    assert r2_score(y, y, w) == 1.0
    assert r2_score(y, y + 1, w) == 0.0
    assert r2_score(y, y + 1) == 0.0


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_numbers_of_any_size_have_the_score_that_scikit_learn_gives_ordinary_ones(scale):
    rng = np.random.default_rng(0)
    y, p, w = rng.normal(size=9), rng.normal(size=9), rng.random(9)
    assert np.isclose(r2_score(y * scale, p * scale, w), theirs(y, p, sample_weight=w), rtol=1e-12)
