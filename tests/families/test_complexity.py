"""The free numbers of a fit, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from cases import blobs, codes, counts, lines, pairs

import assay


@pytest.mark.parametrize(
    ("model", "data", "free"),
    [
        (assay.GaussianNB(), blobs, 3 * 2 * 5 + 2),
        (assay.GaussianNB(priors=[0.2, 0.3, 0.5]), blobs, 3 * 2 * 5),
        (assay.MultinomialNB(), counts, 3 * 4 + 2),
        (assay.BernoulliNB(), counts, 3 * 5 + 2),
        (assay.CategoricalNB(), codes, 3 * 5 * 3 + 2),
        (assay.NaiveBayes("poisson"), counts, 3 * 5 + 2),
        (assay.LinearDiscriminantAnalysis(), blobs, 3 * 5 + 15 + 2),
        (assay.LinearDiscriminantAnalysis(covariance="diagonal"), blobs, 3 * 5 + 5 + 2),
        (assay.QuadraticDiscriminantAnalysis(), blobs, 3 * (5 + 15) + 2),
        (assay.QuadraticDiscriminantAnalysis(covariance="isotropic"), blobs, 3 * (5 + 1) + 2),
        (assay.QuadraticDiscriminantAnalysis(covariance="tied"), blobs, 3 * 5 + 15 + 2),
        (assay.QuadraticDiscriminantAnalysis(reg_param=1.0), blobs, 3 * 5 + 2),
        (assay.LinearRegression(), lines, 6),
        (assay.LinearRegression(fit_intercept=False), lines, 5),
        (assay.Perceptron(max_iter=20), pairs, 6),
        (assay.LogisticRegression(C=np.inf), pairs, 6),
        (assay.LogisticRegression(C=1e12), blobs, 12),
        (assay.LinearSVC(loss="hinge"), pairs, 6),
        (assay.LinearSVC(C=1e12), blobs, 18),
    ],
    ids=lambda part: getattr(part, "__name__", None) or str(part),
)
def test_the_free_numbers_are_those_of_the_formula(model, data, free):
    X, y = data(120, 5, 0)
    assert model.fit(X, y).complexity() == pytest.approx(free, abs=1e-6)


def test_columns_that_depend_on_each_other_count_once():
    X, y = lines(50, 3, 0)
    assert assay.LinearRegression().fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y).complexity() == 4


def test_ridge_has_the_trace_of_its_hat_matrix():
    X, y = lines(40, 4, 0)
    D = X - X.mean(axis=0)
    for alpha in (0.1, 10.0, 1e4):
        hat = D @ np.linalg.solve(D.T @ D + alpha * np.eye(4), D.T)
        assert assay.Ridge(alpha=alpha).fit(X, y).complexity() == pytest.approx(np.trace(hat) + 1)


def test_a_squared_loss_of_erm_has_the_complexity_of_ridge():
    X, y = lines(40, 4, 0)
    for intercept in (True, False):
        ridge = assay.Ridge(alpha=3.0, fit_intercept=intercept).fit(X, y)
        same = assay.ERM("squared", lam=3.0 / 40, fit_intercept=intercept).fit(X, y)
        assert same.complexity() == pytest.approx(ridge.complexity())


def test_the_effective_number_bounds_that_of_the_hessian_and_is_near_it():
    X, y = pairs(200, 5, 1)
    D = X - X.mean(axis=0)
    for C in (1e-3, 1e-2, 1.0, 100.0):
        model = assay.LogisticRegression(C=C).fit(X, y)
        p = model.predict_proba(X)[:, 1]
        H = np.column_stack([D, np.ones(200)]).T @ (np.column_stack([D, np.ones(200)]) * (p * (1 - p))[:, None])
        exact = np.trace(np.linalg.solve(H + np.diag([1 / C] * 5 + [0.0]), H))
        assert exact <= model.complexity() <= exact + 0.6


def test_weights_of_zero_are_not_counted():
    X, y = pairs(120, 5, 0)
    model = assay.LogisticRegression(C=0.05, l1_ratio=1.0).fit(X, y)
    assert 0 < np.count_nonzero(model.coef_) < 5
    assert model.complexity() == np.count_nonzero(model.coef_) + 1


def test_every_voter_counts():
    X, y = pairs(60, 3, 0)
    model = assay.Perceptron(variant="voted", max_iter=2).fit(X, y)
    assert model.complexity() == np.count_nonzero(model.voters_)
