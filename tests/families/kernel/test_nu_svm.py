"""Machines of nu: libsvm's answers, what nu bounds, the price that SVC needs for the same, and an infeasible share."""

from __future__ import annotations

import numpy as np
import pytest
from cases import blobs, lines, pairs
from sklearn.svm import NuSVC, NuSVR

import assay
from assay.errors import DataError


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("data", [pairs, blobs])
def test_decision_values_are_those_of_libsvm(kernel, data):
    X, y = data(90, 3, 0)
    nu = 0.3 if kernel == "rbf" else 0.55
    ours = assay.NuSVC(nu=nu, kernel=kernel, tol=1e-8).fit(X, y)
    theirs = NuSVC(nu=nu, kernel=kernel, tol=1e-7).fit(X, y)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=2e-3)
    assert ours.certificate_.verify(X, y).holds


@pytest.mark.parametrize("nu", [0.3, 0.9])
def test_values_are_those_of_libsvm(nu):
    X, y = lines(80, 3, 0)
    ours = assay.NuSVR(nu=nu, C=2.0, tol=1e-8).fit(X, y)
    assert ours.predict(X) == pytest.approx(NuSVR(nu=nu, C=2.0, tol=1e-7).fit(X, y).predict(X), abs=2e-3)
    assert ours.certificate_.verify(X, y).holds
    same = assay.SVR(C=2.0, epsilon=max(ours.epsilon_, 0.0), tol=1e-8).fit(X, y)
    assert ours.predict(X) == pytest.approx(same.predict(X), abs=2e-3)


def test_nu_bounds_rows_within_the_margin_and_support_vectors_and_svc_has_the_same_solution_at_its_price():
    X, y = pairs(90, 3, 0)
    model = assay.NuSVC(nu=0.3, tol=1e-8).fit(X, y)
    within = (2 * y - 1) * model.decision_function(X) < 1 - 1e-4
    assert within.mean() <= 0.3 <= len(model.support_) / len(y)
    same = assay.SVC(C=float(model.C_[0]), tol=1e-8).fit(X, y)
    assert model.decision_function(X) == pytest.approx(same.decision_function(X), abs=1e-3)


def test_an_infeasible_share_is_refused_with_the_greatest_that_is():
    X = np.arange(10.0)[:, None]
    y = np.arange(10) >= 8
    with pytest.raises(DataError, match=r"specified nu is infeasible: nu=0.5 .* at most 0.4"):
        assay.NuSVC(nu=0.5).fit(X, y)
    assert assay.NuSVC(nu=0.4).fit(X, y).predict([[0.0], [9.0]]).tolist() == [False, True]


def test_probabilities_and_sides_of_three_classes_follow():
    X, y = blobs(90, 3, 0)
    model = assay.NuSVC(nu=0.3, probability=True).fit(X, y)
    assert (model.predict_proba(X).argmax(axis=1) == model.predict(X)).all()
    assert model.certificate_.verify(X, y).holds
