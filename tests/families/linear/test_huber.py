"""Huber regression with its scale: scikit-learn's minimum, also on thankless rows, and its certificate."""

from __future__ import annotations

import numpy as np
import pytest
from families.linear.test_elastic_net import table
from scipy.sparse import csr_array
from sklearn import linear_model

import assay

MORE = [{}, {"alpha": 0.0, "epsilon": 1.1}, {"fit_intercept": False, "alpha": 10.0}]


def rows_with_outliers(kind="plain"):
    X, y = table(kind, d=5)
    y = y.copy()
    y[::11] += 30 * y.std()
    return X, y, (np.arange(len(y)) % 4) / 2


def objective(model, X, y, w):
    r, s = y - X @ model.coef_ - model.intercept_, model.scale_
    far = np.abs(r) > model.epsilon * s
    terms = np.where(far, s + 2 * model.epsilon * np.abs(r) - model.epsilon**2 * s, s + r**2 / s)
    return w @ terms + model.alpha * (model.coef_**2).sum()


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("kind", ["plain", "unscaled", "duplicates"])
def test_the_minimum_is_that_of_scikit_learn(kind, more):
    X, y, w = rows_with_outliers(kind)
    ours = assay.HuberRegressor(tol=1e-9, **more).fit(X, y, w)
    theirs = linear_model.HuberRegressor(tol=1e-8, max_iter=20_000, **more).fit(X, y, w)
    assert ours.objective_[0] == pytest.approx(objective(ours, X, y, w), rel=1e-9)
    assert objective(ours, X, y, w) <= objective(theirs, X, y, w) * (1 + 1e-9)
    if kind == "plain":
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert ours.scale_ == pytest.approx(theirs.scale_, rel=1e-4)
        assert np.array_equal(ours.outliers_, theirs.outliers_)
        sparse = assay.HuberRegressor(tol=1e-9, **more).fit(csr_array(X), y, w)
        assert np.allclose(sparse.coef_, ours.coef_, atol=1e-6)
    assert ours.certificate_.verify(X, y, w).holds


@pytest.mark.parametrize("target", ["perfect", "one number", "zero", "huge", "tiny"])
@pytest.mark.parametrize("columns", ["plain", "twice", "small"])
def test_thankless_rows_are_fitted_and_verified(target, columns):
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((80, 4)), rng.standard_normal(80)
    y = {
        "perfect": X @ [1.0, 2.0, 3.0, 4.0] + 5,
        "one number": np.full(80, 7.0),
        "zero": np.zeros(80),
        "huge": 1e12 * (X[:, 0] + noise),
        "tiny": 1e-12 * (X[:, 0] + noise),
    }[target]
    X = {"plain": X, "twice": np.column_stack([X, X[:, 0], np.ones(80)]), "small": 1e-6 * X}[columns]
    for model in (assay.HuberRegressor(), assay.HuberRegressor(alpha=0.0)):
        model.fit(X, y)
        assert model.certificate_.holds, model
        assert model.certificate_.verify(X, y).holds, model


def test_a_warm_start_at_the_minimum_takes_no_step():
    X, y, _ = rows_with_outliers()
    model = assay.HuberRegressor(warm_start=True).fit(X, y)
    before = model.coef_
    model.fit(X, y)
    assert model.n_iter_ == 0
    assert np.allclose(model.coef_, before)


def test_a_target_of_one_number_far_from_zero_is_verified():
    y = np.full(3, 1e9)
    w = np.array([183.76531305689568, 0.1, 0.7])
    certificate = assay.HuberRegressor().fit(np.zeros((3, 1)), y, w).certificate_
    assert certificate.verify(np.zeros((3, 1)), y, w).holds == certificate.holds
