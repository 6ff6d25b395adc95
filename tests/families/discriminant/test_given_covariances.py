"""Covariances that an estimator of the user's gives: densities follow from them, and nothing more is claimed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import blobs
from sklearn.covariance import OAS, ShrunkCovariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as TheirLDA

from assay import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, load
from assay.certify import Certificate
from assay.errors import DataError, ParameterError

X, Y = blobs(90, 3, 2)


class Gives:
    """Any object with fit and covariance_."""

    def __init__(self, covariance):
        self.given = covariance

    def fit(self, X):
        self.covariance_ = self.given


@pytest.mark.parametrize("cls", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_shrinking_by_an_estimator_is_shrinking_by_a_share(cls):
    given = cls(covariance_estimator=ShrunkCovariance(shrinkage=0.3)).fit(X, Y)
    shrunk = cls(shrinkage=0.3).fit(X, Y)
    np.testing.assert_allclose(given.covariance_, shrunk.covariance_, rtol=1e-12)
    np.testing.assert_allclose(given.predict_proba(X), shrunk.predict_proba(X), atol=1e-10)


def test_answers_are_those_of_scikit_learn():
    ours = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS()).fit(X, Y)
    theirs = TheirLDA(solver="lsqr", covariance_estimator=OAS()).fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("cls", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_the_certificate_says_that_covariances_are_unchecked_and_refuses_others(cls, tmp_path):
    model = cls(covariance_estimator=OAS()).fit(X, Y)
    claims = model.certificate_
    assert "as covariance_estimator gave them" in claims.claims[0].statement
    assert claims.verify(X, Y).holds
    assert "whiten_" in claims.covers.nothing
    assert "state.mean" in claims.covers.proof
    model.save(tmp_path / "m.assay")
    again = load(tmp_path / "m.assay")
    assert again.certificate_.verify(X, Y).holds
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    claim = claims.claims[0]
    for wrong in (claim.witness["estimated"] * 1.01, claim.witness["estimated"][:2], np.full_like(model.estimated_, np.nan)):  # fmt: skip
        told = replace(claim, witness={**claim.witness, "estimated": wrong})
        assert not Certificate((told,), model.predict, None, None).verify(X, Y).holds


def test_a_singular_covariance_is_pooled_all_the_way():
    model = QuadraticDiscriminantAnalysis(covariance_estimator=Gives(np.diag([1.0, 1.0, 0.0]))).fit(X, Y)
    assert model.pooled_share_ == 1.0
    assert model.certificate_.verify(X, Y).holds


@pytest.mark.parametrize(
    ("settings", "weights", "error", "says"),
    [
        ({"covariance_estimator": OAS(), "shrinkage": 0.1}, None, ParameterError, "Only one of the two"),
        ({"covariance_estimator": Gives(np.eye(2))}, None, DataError, "class 0 no covariance"),
        ({"covariance_estimator": object()}, None, ParameterError, "an object with fit"),
        ({"covariance_estimator": OAS()}, np.arange(90) + 1.0, ParameterError, "without weights"),
    ],
)
def test_what_gives_no_covariance_is_refused(settings, weights, error, says):
    with pytest.raises(error, match=says):
        LinearDiscriminantAnalysis(**settings).fit(X, Y, weights)


def test_more_rows_cannot_be_learnt_from():
    with pytest.raises(ParameterError, match="use fit"):
        LinearDiscriminantAnalysis(covariance_estimator=OAS()).fit(X, Y).partial_fit(X, Y)
