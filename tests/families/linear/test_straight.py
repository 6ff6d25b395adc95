"""Support vector regression by a line, and quantile regression: scikit-learn's minima and their certificates, also on thankless rows."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from families.linear.test_elastic_net import table
from scipy.sparse import csr_array
from sklearn import linear_model, svm

import assay
from assay.certify import Certificate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def cost(model, X, y, w):
    """The objective of LinearSVR at the weights of a model."""
    short = np.maximum(0, np.abs(X @ model.coef_ + model.intercept_ - y) - model.epsilon)
    b = model.intercept_[0] if model.fit_intercept and model.intercept_scaling else 0.0
    power = 1 if model.loss == "epsilon_insensitive" else 2
    return model.C * (w @ short**power) + (model.coef_ @ model.coef_ + b * b) / 2


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("more", [{}, {"epsilon": 0.3, "C": 5.0}, {"fit_intercept": False}])
def test_no_lower_cost_than_that_of_linear_svr_is_known(loss, more):
    X, y = table("plain", d=5)
    w = (np.arange(len(y)) % 4) / 2
    ours = assay.LinearSVR(loss=loss, tol=1e-9, **more).fit(X, y, w)
    theirs = svm.LinearSVR(loss=loss, tol=1e-7, max_iter=20_000, random_state=0, **more).fit(X, y, w)
    theirs.intercept_ = np.atleast_1d(theirs.intercept_)
    assert cost(ours, X, y, w) == pytest.approx(ours.C * ours.objective_[0], rel=1e-9)
    assert cost(ours, X, y, w) <= cost(theirs, X, y, w) * (1 + 1e-9)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert ours.certificate_.verify(X, y, w).holds


@pytest.mark.parametrize(
    "more", [{"alpha": 0.0, "quantile": 0.3}, {"alpha": 0.05}, {"alpha": 0.02, "quantile": 0.9, "fit_intercept": False}]
)
def test_quantiles_are_those_of_the_linear_programme(more):
    X, y = table("plain", d=6)
    w = 0.5 + np.arange(len(y)) % 3
    ours = assay.QuantileRegressor(**more).fit(X, y, w)
    theirs = linear_model.QuantileRegressor(**more).fit(X, y, w)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-7)
    assert np.array_equal(ours.coef_ == 0, np.abs(theirs.coef_) < 1e-9)
    sparse = assay.QuantileRegressor(**more).fit(csr_array(X), y, w)
    assert np.allclose(sparse.coef_, ours.coef_, atol=1e-9)
    assert ours.certificate_.verify(X, y, w).holds


@pytest.mark.parametrize(
    "model", [assay.LinearSVR(epsilon=0.2), assay.QuantileRegressor(alpha=0.0, quantile=0.8)], ids=repr
)
def test_of_many_rows_those_near_the_fit_are_enough(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 12))
    y = X[:, 0] - 2 * X[:, 3] + rng.standard_t(2, len(X))
    model.fit(X, y)
    assert model.gap_[0] <= 1e-9
    assert 0 < len(model.dual_rows_) < 25_000
    assert model.certificate_.verify(X, y).holds


@pytest.mark.parametrize("target", ["perfect", "one number", "zero", "huge", "tiny", "far from zero"])
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
        "far from zero": 1e9 + X[:, 0] + noise,
    }[target]
    X = {"plain": X, "twice": np.column_stack([X, X[:, 0], np.ones(80)]), "small": 1e-6 * X}[columns]
    for model in (
        assay.LinearSVR(intercept_scaling=None, epsilon=0.1),
        assay.LinearSVR(loss="squared_epsilon_insensitive", intercept_scaling=None),
        assay.QuantileRegressor(alpha=0.0),
        assay.QuantileRegressor(alpha=0.1, quantile=0.2),
    ):
        model.fit(X, y)
        assert model.certificate_.holds, model
        assert model.certificate_.verify(X, y).holds, model


def test_a_forged_multiplier_or_quantile_is_refused():
    X, y = table("plain", d=3)
    model = assay.QuantileRegressor(alpha=0.01, quantile=0.7).fit(X, y)
    claim = next(iter(model.certificate_))
    for part, wrong in (
        ("dual_values", model.dual_values_ + 0.4),
        ("delta", 0.6),
        ("coef", claim.witness["coef"] * 1.001),
    ):
        forged = replace(claim, witness={**claim.witness, part: wrong})
        assert not Certificate((forged,)).verify(X, y).holds, part


def test_too_many_columns_are_refused_with_what_to_take():
    X = csr_array(np.eye(30, 2100))
    with pytest.raises(assay.errors.ParameterError, match="squared_epsilon_insensitive"):
        assay.LinearSVR().fit(X, np.arange(30.0))
    assert assay.LinearSVR(loss="squared_epsilon_insensitive").fit(X, np.arange(30.0)).converged_


@pytest.mark.parametrize("big", [2.0**50, 2.0**58])
def test_large_weights_that_cancel_do_not_excuse_what_they_lose(big):
    x = np.random.default_rng(0).integers(-8, 9, 40).astype(float)
    X, y = np.column_stack([x, x]), 2 * x + np.tile([0.25, -0.5, 0.125, 0.5], 10)
    model = assay.QuantileRegressor(alpha=0.0).fit(X, y)
    assert model.certificate_.verify(X, y).holds
    forged = copy(model)
    forged.coef_, forged.intercept_ = np.array([big, -big]), 0.0
    forged.objective_, forged.gap_ = np.array([np.abs(y).sum() / 2]), np.zeros(1)
    forged._claims = forged._own_claims()
    verdicts = assay.QuantileRegressor.from_record(forged.to_record()).certificate_.verify(X, y)
    assert not verdicts.holds, str(verdicts)
