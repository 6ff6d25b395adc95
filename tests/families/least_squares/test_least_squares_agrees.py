"""Least squares as scikit-learn 1.9.1 has it, also where columns depend on each other or are far from zero."""

from __future__ import annotations

import numpy as np
import pytest
from families.least_squares.problems import close, problem
from sklearn import linear_model

import assay


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_coefficients_agree_with_scikit_learn(intercept, weighted, dtype):
    X, y = problem()
    X = X.astype(dtype)
    w = np.random.default_rng(2).uniform(0, 3, len(y)) if weighted else None
    peer = linear_model.LinearRegression(fit_intercept=intercept).fit(X.astype(float), y, w)
    model = assay.LinearRegression(fit_intercept=intercept).fit(X, y, w)
    close(model, peer)
    assert model.rank_ == peer.rank_
    np.testing.assert_allclose(model.singular_, peer.singular_, rtol=1e-9)
    assert model.score(X, y) == pytest.approx(peer.score(X.astype(float), y), rel=1e-9)
    for alpha in (0.1, 10.0):
        peer = linear_model.Ridge(alpha, fit_intercept=intercept, solver="cholesky").fit(X.astype(float), y, w)
        close(assay.Ridge(alpha, fit_intercept=intercept).fit(X, y, w), peer)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_dependent_columns_give_the_minimum_norm_solution(weighted, intercept):
    X, y = problem()
    X = np.column_stack([X, X[:, 0] + 2 * X[:, 1], np.full(len(X), 0.1), 3 * X[:, 2]])
    w = np.random.default_rng(2).uniform(0, 3, len(y)) if weighted else None
    peer = linear_model.LinearRegression(fit_intercept=intercept).fit(X, y, w)
    model = assay.LinearRegression(fit_intercept=intercept).fit(X, y, w)
    close(model, peer, 1e-8)
    assert model.rank_ == peer.rank_ == 6 + (not intercept)
    np.testing.assert_allclose(model.singular_, peer.singular_, rtol=1e-8, atol=1e-10)
    assert model.certificate_["rank and condition"].kind == "warning"
    assert model.certificate_["minimum norm"].holds
    assert model.certificate_.verify(X, y, w).holds
    determined = np.isfinite(model.std_errors_)
    assert determined[3:6].all()
    assert not determined[[0, 1, 2, 6, 8]].any()


def test_fewer_rows_than_columns_give_the_minimum_norm_solution():
    X, y = problem(8, 20)
    peer, model = linear_model.LinearRegression().fit(X, y), assay.LinearRegression().fit(X, y)
    close(model, peer, 1e-8)
    assert model.rank_ == peer.rank_ == 7
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)
    assert model.certificate_.verify(X, y).holds
    assert np.isnan(model.residual_variance_)


def test_units_of_the_columns_do_not_matter():
    X, y = problem(500, 8)
    scale = 10.0 ** np.random.default_rng(3).uniform(-4, 4, 8)
    plain, scaled = assay.LinearRegression().fit(X, y), assay.LinearRegression().fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-11)
    assert scaled.rank_ == 8
    assert scaled.certificate_.verify(X * scale, y).holds


def test_columns_far_from_zero_keep_their_digits():
    X, y = problem(500, 4)
    plain, far = assay.LinearRegression().fit(X, y), assay.LinearRegression().fit(X + 1e6, y)
    np.testing.assert_allclose(far.coef_, plain.coef_, rtol=1e-7)
    assert far.certificate_.verify(X + 1e6, y).holds


def test_nearly_dependent_columns_are_solved_from_the_rows():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2000, 1))
    X = np.column_stack([x, x + 1e-7 * rng.normal(size=(2000, 1)), rng.normal(size=(2000, 1))])
    y = X @ [1.0, 2.0, 3.0]
    model = assay.LinearRegression().fit(X, y)
    assert model.rank_ == 3
    np.testing.assert_allclose(model.coef_, [1, 2, 3], rtol=1e-7)
    assert model.condition_ > 1e6
    assert model.certificate_.verify(X, y).holds
