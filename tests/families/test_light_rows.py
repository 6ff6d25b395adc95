"""Rows of almost no weight change nothing, wherever they stand and whatever they hold."""

import numpy as np
import pytest

import assay


@pytest.mark.parametrize("name", ["gaussian-nb", "qda", "lda"])
def test_rows_of_almost_no_weight_do_not_spoil_the_spread(name):
    rng = np.random.default_rng(0)
    X, y = 1e9 + rng.normal(size=(400, 2)), np.arange(400) % 2
    w = np.ones(400)
    X[:80], w[:80] = 0.0, 1e-30
    light = assay.models()[name]().fit(X, y, sample_weight=w)
    without = assay.models()[name]().fit(X[80:], y[80:])
    np.testing.assert_allclose(light.predict_proba(X[80:]), without.predict_proba(X[80:]), rtol=1e-5, atol=1e-7)


def test_rows_of_almost_no_weight_do_not_spoil_least_squares():
    rng = np.random.default_rng(0)
    X, w = 1e9 + rng.normal(size=(800, 2)), np.ones(800)
    y = (X - 1e9) @ [1.0, 2.0]
    X[:300], w[:300] = 0.0, 1e-30
    np.testing.assert_allclose(assay.LinearRegression().fit(X, y, sample_weight=w).coef_, [1.0, 2.0], rtol=1e-5)
