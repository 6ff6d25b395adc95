"""Poisson, gamma and Tweedie regression: scikit-learn's minima on ordinary tables, and their certificates."""

from __future__ import annotations

import numpy as np
import pytest
from families.linear.test_elastic_net import table
from sklearn import linear_model as theirs

import assay

MODELS = {
    "poisson": (assay.PoissonRegressor, theirs.PoissonRegressor, {}),
    "gamma": (assay.GammaRegressor, theirs.GammaRegressor, {}),
    "tweedie": (assay.TweedieRegressor, theirs.TweedieRegressor, {"power": 1.5}),
    "least squares": (assay.TweedieRegressor, theirs.TweedieRegressor, {"power": 0.0}),
}


def amounts(kind: str, model: str):
    X, y = table(kind, d=5)
    z = 0.3 * (y - y.mean()) / y.std()
    rng = np.random.default_rng(1)
    if model == "poisson":
        return X, rng.poisson(5 * np.exp(z)).astype(float)
    return X, 1e3 * np.exp(z) * rng.gamma(2.0, size=len(y))


@pytest.mark.parametrize("alpha", [0.1, 0.0])
@pytest.mark.parametrize("kind", ["plain", "far from zero", "duplicates"])
@pytest.mark.parametrize("name", MODELS)
def test_the_weights_are_those_of_scikit_learn(name, kind, alpha):
    ours, peer, params = MODELS[name]
    X, y = amounts(kind, name)
    w = 0.5 + np.arange(len(y)) % 3
    if kind == "duplicates" and alpha == 0:
        return  # several weights fit equally well
    a = ours(alpha=alpha, tol=1e-7 if kind == "far from zero" else 1e-9, **params).fit(X, y, w)
    shift = X.mean(axis=0)  # theirs loses digits far from zero
    b = peer(alpha=alpha, tol=1e-10, max_iter=10_000, solver="newton-cholesky", **params).fit(X - shift, y, w)
    assert np.allclose(a.coef_, b.coef_, rtol=1e-4, atol=1e-4 * np.abs(b.coef_).max())
    assert np.allclose(a.predict(X), b.predict(X - shift), rtol=1e-4)
    assert a.score(X, y, w) == pytest.approx(b.score(X - shift, y, w), rel=1e-4)
    assert a.certificate_.verify(X, y, w).holds


def test_zeros_have_a_tweedie_deviance_and_no_gamma_one():
    X, y = amounts("plain", "gamma")
    y = np.where(np.arange(len(y)) % 4 == 0, 0.0, y)
    model = assay.TweedieRegressor(power=1.3, alpha=0.01).fit(X, y)
    assert model.certificate_.verify(X, y).holds
    with pytest.raises(assay.errors.DataError, match="row 0"):
        assay.GammaRegressor().fit(X, y)
    with pytest.raises(assay.errors.DataError, match="must be ≥ 0"):
        assay.PoissonRegressor().fit(X, -y)


def test_what_is_not_convex_is_refused():
    X, y = amounts("plain", "gamma")
    for params, word in (
        ({"power": 0.5}, "between"),
        ({"power": 1.5, "link": "identity"}, "convex"),
        ({"power": 3}, "power"),
    ):
        with pytest.raises(assay.errors.ParameterError, match=word):
            assay.TweedieRegressor(**params).fit(X, y)
