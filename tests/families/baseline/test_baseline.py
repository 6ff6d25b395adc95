"""The constant hypothesis: the best of all constants, from the target alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier, DummyRegressor

import assay
from assay.errors import DataError


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    return rng.standard_normal((200, 3)), rng.choice(["a", "b", "c"], 200, p=[0.2, 0.5, 0.3]), rng.random(200)


def test_it_answers_as_scikit_learns_dummies_do(rows):
    X, y, w = rows
    for weights in (None, w):
        ours = assay.Baseline().fit(X, y, sample_weight=weights)
        theirs = DummyClassifier(strategy="prior").fit(X, y, sample_weight=weights)
        assert np.array_equal(ours.predict(X), theirs.predict(X))
        assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)
        number = assay.BaselineRegressor().fit(X, X[:, 0] + 1e6, sample_weight=weights)
        mean = DummyRegressor().fit(X, X[:, 0] + 1e6, sample_weight=weights)
        assert np.allclose(number.predict(X), mean.predict(X), rtol=1e-14)


def test_no_constant_errs_less(rows):
    X, y, w = rows
    model = assay.Baseline().fit(X, y, sample_weight=w)
    error = 1 - model.score(X, y, sample_weight=w)
    assert error == pytest.approx(min(np.average(y != label, weights=w) for label in "abc"))
    assert model.certificate_["best constant"].value == pytest.approx(error)
    z = X[:, 1]
    line = assay.BaselineRegressor().fit(X, z, sample_weight=w)
    least = line.certificate_["best constant"].value
    assert least == pytest.approx(np.average((z - line.mean_[0]) ** 2, weights=w))
    assert all(np.average((z - line.mean_[0] - c) ** 2, weights=w) > least for c in (-0.1, 1e-3, 2.0))


def test_of_classes_equally_frequent_the_first_is_answered():
    assert assay.Baseline().fit([[0], [0], [0], [0]], ["b", "a", "b", "a"]).predict([[1]]).tolist() == ["a"]


def test_columns_may_hold_text_missing_values_or_nothing_but_zeros(rows):
    X, y, _ = rows
    plain = assay.Baseline().fit(X, y).class_prior_
    holes = X.copy()
    holes[::3] = np.nan
    frame = pd.DataFrame({"text": np.where(X[:, 0] > 0, "up", None), "x": holes[:, 1]})
    for table in (holes, frame, sparse.csr_array(X.shape)):
        model = assay.Baseline().fit(table, y)
        assert np.array_equal(model.class_prior_, plain)
        assert model.certificate_.verify(table, y).holds
        number = assay.BaselineRegressor().fit(table, X[:, 2])
        assert number.predict(table)[0] == pytest.approx(X[:, 2].mean())
        assert number.certificate_.verify(table, X[:, 2]).holds


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("answer", "a"),
        ("shares", np.array([0.5, 0.2, 0.3])),
        ("shares", np.array([0.5, 0.5])),
        ("classes", ["a", "b"]),
        ("tolerance", 0.5),
        ("tolerance", float("nan")),
    ],
)
def test_the_checker_alone_refuses_a_tampered_witness(rows, part, value):
    X, y, _ = rows
    certificate = assay.Baseline().fit(X, y).certificate_
    claim = certificate.claims[0]
    for changed in ({**claim.witness, part: value}, {k: v for k, v in claim.witness.items() if k != part}):
        forged = dataclasses.replace(certificate, claims=(dataclasses.replace(claim, witness=changed),), own=None)
        assert not forged.verify(X, y).holds
    better = dataclasses.replace(claim, value=claim.value - 0.01)
    assert not dataclasses.replace(certificate, claims=(better,), own=None).verify(X, y).holds


@pytest.mark.parametrize(("part", "value"), [("mean", np.array([0.5])), ("mean", np.zeros(2)), ("tolerance", 1.0)])
def test_the_checker_of_a_mean_refuses_a_tampered_witness(rows, part, value):
    X, _, w = rows
    certificate = assay.BaselineRegressor().fit(X, X[:, 0], sample_weight=w).certificate_
    assert certificate.verify(X, X[:, 0], w).holds
    claim = certificate.claims[0]
    forged = dataclasses.replace(claim, witness={**claim.witness, part: value})
    assert not dataclasses.replace(certificate, claims=(forged,), own=None).verify(X, X[:, 0], w).holds
    better = dataclasses.replace(claim, value=claim.value * 0.999)
    assert not dataclasses.replace(certificate, claims=(better,), own=None).verify(X, X[:, 0], w).holds


def test_a_constant_target_far_from_zero_is_certified():
    y = np.full(50, 0.1 + 1e9)
    model = assay.BaselineRegressor().fit(np.zeros((50, 1)), y)
    assert model.certificate_.verify(np.zeros((50, 1)), y).holds
    assert model.predict([[0.0]])[0] == y[0]


def test_bad_targets_are_refused_by_name(rows):
    X = rows[0]
    for y, word in ((np.full(200, 1e300) * np.where(np.arange(200) % 2, 1, -1), "overflow"), (X[:, 0] * np.nan, "NaN")):
        with pytest.raises(DataError, match=word):
            assay.BaselineRegressor().fit(X, y)
    with pytest.raises(DataError, match="positive weight"):
        assay.BaselineRegressor().fit(X, X[:, 0], sample_weight=np.zeros(200))
    with pytest.raises(DataError, match="one class"):
        assay.Baseline().fit(X, np.ones(200, dtype=int))


def test_it_is_as_simple_as_can_be(rows):
    X, y, _ = rows
    assert assay.Baseline().fit(X, y).complexity() == 2
    assert assay.BaselineRegressor().fit(X, X[:, 0]).complexity() == 1
