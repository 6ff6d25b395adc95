"""On finite numbers of any size a fit ends in a model whose probabilities add up to one, or in an error of ours."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import assay
from assay.errors import AssayError, ConvergenceWarning
from assay.numerics import log_softmax

INF = float("inf")
CLASSIFIERS = [
    assay.LinearSVC(max_iter=20),
    assay.LinearSVC(loss="hinge", max_iter=20),
    assay.LinearSVC(C=INF, max_iter=20),
    assay.LogisticRegression(max_iter=20),
    assay.LogisticRegression(C=INF, max_iter=20),
    assay.Perceptron(max_iter=20),
    assay.GaussianNB(),
    assay.MultinomialNB(),
    assay.LinearDiscriminantAnalysis(),
    assay.QuadraticDiscriminantAnalysis(),
    assay.RectangleClassifier(),
    assay.Baseline(),
]
REGRESSORS = [
    assay.Ridge(),
    assay.LinearRegression(),
    assay.ERM(loss="squared", max_iter=20),
    assay.BaselineRegressor(),
]
SCALES = [1e-300, 1e-160, 1e-150, 1e148, 1e151, 1e154, 1e300]


def fitted(model, X, y):
    """The model, and its answers; None where it refuses the rows. Any other warning or error is one too many."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return model.fit(X, y), model.predict(X)
        except AssayError:
            return None


def rows():
    X = np.random.default_rng(0).standard_normal((30, 3))
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_a_classifier_answers_or_refuses(model, scale):
    X, y = rows()
    X = (np.abs(X) if isinstance(model, assay.MultinomialNB) else X) * scale
    found = fitted(model, X, y)
    if found is not None and hasattr(found[0], "predict_proba"):
        assert np.allclose(found[0].predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_a_regressor_answers_or_refuses(model, scale):
    X, _ = rows()
    for x, y in ((X * scale, X[:, 0]), (X, X[:, 0] * scale), (X * scale, X[:, 1] * scale)):
        found = fitted(model, x, y)
        assert found is None or np.isfinite(found[1]).all()


def test_scores_that_are_equal_and_huge_share_one():
    assert log_softmax(np.array([[1e200, 1e200, -np.inf]])).tolist() == [[-np.log(2), -np.log(2), -np.inf]]
    counts = [[1e20, 2e20], [2e20, 1e20], [1e20, 1e20]]
    shares = assay.MultinomialNB().fit(counts, [0, 1, 0]).predict_proba(counts)
    assert np.allclose(shares.sum(axis=1), 1)
