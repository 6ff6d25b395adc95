"""Standard errors, intervals and what refuses them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from families.least_squares.problems import OAKS_AGE, OAKS_DBH, problem
from scipy.stats import norm

import assay
from assay.errors import NotFittedError, ParameterError


def test_standard_errors_and_intervals_are_the_textbook_ones():
    from scipy import stats

    fit = stats.linregress(OAKS_AGE, OAKS_DBH)
    model = assay.LinearRegression().fit(pd.DataFrame({"age": OAKS_AGE}), OAKS_DBH)
    assert model.std_errors_[0] == pytest.approx(fit.stderr)
    assert model.intercept_std_error_ == pytest.approx(fit.intercept_stderr)
    assert model.p_values_[0] == pytest.approx(fit.pvalue)
    t = stats.t.ppf(0.975, 10)
    np.testing.assert_allclose(model.conf_int()[0], [fit.slope - t * fit.stderr, fit.slope + t * fit.stderr])
    x, s = 60.0, np.sqrt(12 * model.sigma2_ / 10)
    half = t * s * np.sqrt(1 + 1 / 12 + (x - OAKS_AGE.mean()) ** 2 / (12 * OAKS_AGE.var()))
    low, high = model.predict_interval(pd.DataFrame({"age": [x]}))[0]
    assert high - low == pytest.approx(2 * half)
    table = model.summary()
    assert "age" in table
    assert "intercept" in table


def test_prediction_intervals_cover_as_often_as_they_say():
    X, y = problem(4000, 3, seed=8)
    model = assay.LinearRegression().fit(X[:1000], y[:1000])
    low, high = model.predict_interval(X[1000:], level=0.9).T
    assert 0.88 < np.mean((low <= y[1000:]) & (y[1000:] <= high)) < 0.92


def test_ridge_refuses_intervals_and_says_why():
    X, y = problem()
    ridge = assay.Ridge().fit(X, y)
    for ask in (ridge.predict_interval, ridge.conf_int, ridge.summary):
        with pytest.raises(ParameterError, match="penalty pulls the coefficients towards zero"):
            ask(X)


def test_an_impossible_level_is_refused():
    X, y = problem()
    with pytest.raises(ParameterError, match="level=95"):
        assay.LinearRegression().fit(X, y).conf_int(95)


def test_inference_before_fit_says_so():
    with pytest.raises(NotFittedError):
        _ = assay.LinearRegression().summary()


def test_least_squares_is_maximum_likelihood_whatever_the_variance():
    oaks = assay.dataset("oaks")
    model = assay.LinearRegression().fit(oaks.X, oaks.y)
    best = model.log_likelihood()
    assert best == pytest.approx(model.log_likelihood(oaks.X, oaks.y))
    assert best == pytest.approx(float(norm.logpdf(oaks.y, model.predict(oaks.X), np.sqrt(model.sigma2_)).sum()))
    assert all(model.log_likelihood(sigma2=s) < best for s in (0.5 * model.sigma2_, 2.0 * model.sigma2_))
    for variance in (0.1, 1.0, 100.0):
        least = model.log_likelihood(sigma2=variance)
        for move in (-0.01, 0.01):
            residuals = oaks.y - model.predict(oaks.X) - move * oaks.X[:, 0]
            assert float(norm.logpdf(residuals, 0.0, np.sqrt(variance)).sum()) < least
