"""Weights at the ends of the numbers: refused for what they are, or certified rightly."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.errors import DataError

rng = np.random.default_rng(8)
Y = np.arange(90) % 3
X = rng.normal(size=(90, 2)) + Y[:, None]
B = (X > 1).astype(float)
MODELS = [
    (assay.BernoulliNB, B),
    (assay.MultinomialNB, B),
    (assay.CategoricalNB, B),
    (assay.GaussianNB, X),
    (assay.GaussianNB, np.ones_like(X)),
    (assay.QuadraticDiscriminantAnalysis, X),
    (assay.QuadraticDiscriminantAnalysis, np.ones_like(X)),
    (assay.LinearDiscriminantAnalysis, X),
    (assay.LinearRegression, X),
    (assay.Ridge, X),
]


@pytest.mark.parametrize(("model", "data"), MODELS)
def test_weights_whose_sum_overflows_are_named_as_the_cause(model, data):
    with pytest.raises(DataError, match="the weights are so large that their sum overflows: divide them by a constant"):
        model().fit(data, Y, sample_weight=np.full(len(Y), 1e307))


@pytest.mark.parametrize("model", [assay.QuadraticDiscriminantAnalysis, assay.GaussianNB, assay.LinearRegression])
def test_values_that_overflow_are_still_the_columns_fault(model):
    far = X.copy()
    far[:, 1] *= 1e200
    for w in (None, np.full(len(Y), 2.0)):
        with pytest.raises(DataError, match="Column 1 holds"):
            model().fit(far, Y, sample_weight=w)


def test_values_whose_sums_overflow_are_refused_by_counts():
    with pytest.raises(DataError, match="overflow"):
        assay.MultinomialNB().fit(np.full((90, 2), 1e307), Y)


@pytest.mark.parametrize("weight", [1e-307, 1e-200, 1e100])
@pytest.mark.parametrize("model", [assay.QuadraticDiscriminantAnalysis, assay.LinearDiscriminantAnalysis])
def test_weights_that_are_tiny_or_huge_but_sum_up_are_certified(model, weight):
    w = np.full(len(Y), weight)
    certificate = model().fit(X, Y, sample_weight=w).certificate_
    assert certificate.holds
    verdicts = certificate.verify(X, Y, w)
    assert verdicts.holds, str(verdicts)


@pytest.mark.parametrize(("model", "part"), [(assay.BernoulliNB, "bernoulli_prob_"), (assay.GaussianNB, "theta_")])
def test_parameters_that_are_not_finite_are_never_claimed(model, part):
    fitted = model().fit(B, Y)
    setattr(fitted, part, np.full_like(getattr(fitted, part), np.nan))
    assert not all(c.holds for c in fitted._make_claims())
    fitted.class_prior_ = np.full(3, np.nan)
    assert not next(c for c in fitted._make_claims() if c.name == "class priors").holds


def test_a_variance_that_fell_back_is_told_of_in_the_proof():
    data = np.column_stack([np.where(Y == 1, 5.0, X[:, 0]), np.ones(90)])
    claim = assay.GaussianNB(var_smoothing=0.0).fit(data, Y).certificate_["gaussian maximum likelihood"]
    assert "4 variance(s) of zero are taken as 1e-9 of the column's, or as 1 where it never varies" in claim.statement
    smoothed = assay.GaussianNB().fit(data, Y).certificate_["gaussian maximum likelihood"]
    assert "taken as" not in smoothed.statement
    gaps = np.where(Y[:, None] == 2, np.nan, X)
    model = assay.GaussianNB().fit(gaps, Y)
    assert "2 mean(s) and variance(s) of no values" in model.certificate_["gaussian maximum likelihood"].statement
    assert model.certificate_.verify(gaps, Y).holds
