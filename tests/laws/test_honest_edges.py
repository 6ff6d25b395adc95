"""At the edges of arithmetic a fit and its verification say the same, claim by claim: what cannot be shown is not said to hold."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import assay
from assay.families import models

HEAVY = np.array([7e88, 1e90])
NEAR = np.array([[-0.9], [-0.7], [0.1], [-1.0], [1.0]])
ULP = np.array([[1.0, 1.0000000000000002], [1.0, 1.0000000000000002], [1.0, 1.0000000000000004]])
FAR = np.array([[-2.6441964024548495e19], [-2.64419640245485e19], [-2.64419640245485e19]])
EDGES = {
    "margin of heavy rows": (assay.SVC(kernel="affine"), np.array([[-1.0], [0.6]]), [0, 1], HEAVY),
    "powers that vanish": (assay.KNeighborsClassifier(p=281.47), NEAR, list("ccbab"), None),
    "squares that vanish": (assay.KNeighborsClassifier(2), np.append(np.arange(4) * 1e-119, 1e60)[:, None], [0, 1, 0, 1, 1], None),
    "a column of two neighbouring numbers": (assay.LinearDiscriminantAnalysis(), ULP, list("baa"), None),
    "a mean between two numbers": (assay.LinearDiscriminantAnalysis(), FAR, list("bba"), None),
    "pooled columns of neighbouring numbers": (assay.QuadraticDiscriminantAnalysis(), 0.1 + np.array([[2], [2], [4]]) * 2.0**-56, [0, 1, 0], None),
    "waves far from zero": (assay.KernelFeaturesRegressor(features="fourier"), np.array([[349591.40231024765, 349585.40231024765]]), [1e3], None),
    "a class without weight": (assay.Perceptron(init=[1.5, -0.8], class_weight={-1: 0.0, 1: 1.0}), np.array([[50.0], [40.0]]), [-1, 1], None),
}  # fmt: skip


@pytest.mark.parametrize("edge", EDGES)
def test_fit_and_verify_agree(edge):
    model, X, y, w = EDGES[edge]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, np.array(y), w)
    for certificate in (lambda: model.certificate_, lambda: model.certify(X, np.array(y), w)):
        made = certificate()
        verdicts = made.verify(X, np.array(y), w)
        assert [claim.holds for claim in made] == [v.holds for v in verdicts], f"{made}\n{verdicts}"


def test_what_vanishes_is_not_claimed_and_why_is_said():
    model, X, y, _ = EDGES["powers that vanish"]
    certificate = model.fit(X, np.array(y)).certificate_
    assert not certificate.holds
    assert "vanish" in str(certificate)
    assert assay.KNeighborsClassifier(p=3).fit(X, np.array(y)).certificate_.holds


@pytest.mark.parametrize("name", [name for name, cls in models().items() if "tol" in cls.params])
def test_a_tolerance_is_a_number_that_says_something(name):
    assert not models()[name].params["tol"].accepts(float("inf"))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.0}])
def test_other_factors_of_the_classes_are_refused(class_weight):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 3
    model = assay.KNeighborsClassifier(3, class_weight=class_weight).fit(X, y)
    assert model.certificate_.verify(X, y).holds
    model.class_factor_ = model.class_factor_ * np.array([1.5, 1.0, 1.0])
    model._claims = model._own_claims()
    assert not type(model).from_record(model.to_record()).certificate_.verify(X, y).holds


def test_weights_that_only_separate_are_not_said_to_be_the_only_ones():
    """Any others that separate the rows would do: a forger's too (seed 2102338)."""
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    for model in (assay.LogisticRegression(C=float("inf")), assay.ERM("perceptron", None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            covers = model.fit(X, y).certificate_.covers
        assert model.certificate_.holds
        assert "coef_" in covers.nothing
