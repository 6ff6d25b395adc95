"""Ridge regression with a chosen strength, ridge classifiers and logistic regression with a chosen penalty: scikit-learn's answers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from families.linear.test_elastic_net import table
from sklearn import linear_model as theirs
from sklearn.model_selection import StratifiedKFold

import assay
from assay.certify import Certificate
from assay.errors import ParameterError

ALPHAS = np.logspace(-3, 3, 9)
KINDS = ["plain", "far from zero", "unscaled", "duplicates"]


def classes_of(y, K):
    return np.array(["ash", "birch", "elm"])[np.digitize(y, np.quantile(y, [0.5] if K == 2 else [0.3, 0.6]))]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_leave_one_out_chooses_as_scikit_learn_does(kind, weighted, fit_intercept):
    if kind == "far from zero" and not fit_intercept:
        return  # nothing is to be learnt there
    X, y = table(kind)
    w = 0.5 + np.arange(len(y)) % 3 if weighted else None
    ours = assay.RidgeCV(ALPHAS, fit_intercept=fit_intercept).fit(X, y, w)
    peer = theirs.RidgeCV(ALPHAS, fit_intercept=fit_intercept, gcv_mode="svd").fit(X, y, w)
    assert ours.alpha_ == peer.alpha_
    assert ours.best_score_ == pytest.approx(peer.best_score_, rel=1e-5)
    assert np.allclose(ours.coef_, peer.coef_, rtol=1e-6, atol=1e-8)
    assert ours.certificate_.verify(X, y, w).holds


def test_an_error_on_a_row_left_out_is_that_of_the_fit_without_it():
    X, y = table("plain", 20, 3)
    model = assay.RidgeCV([0.7]).fit(X, y)
    left = [
        assay.Ridge(0.7).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] - y[i] for i in range(20)
    ]
    assert model.left_out_[0] == pytest.approx(np.mean(np.square(left)))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_ridge_classifiers_have_the_weights_of_scikit_learn(kind, K):
    X, y = table(kind)
    labels = classes_of(y, K)
    for balance in (None, "balanced"):
        ours = assay.RidgeClassifier(2.0, class_weight=balance).fit(X, labels)
        peer = theirs.RidgeClassifier(2.0, class_weight=balance, solver="svd").fit(X, labels)
        assert np.allclose(ours.coef_, np.atleast_2d(peer.coef_), rtol=1e-6, atol=1e-8)
        assert np.array_equal(ours.predict(X), peer.predict(X))
        assert ours.certificate_.verify(X, labels).holds


@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("K", [2, 3])
def test_ridge_classifiers_choose_as_scikit_learn_does(K, cv):
    X, y = table("plain")
    labels = classes_of(y, K)
    ours, peer = (module.RidgeClassifierCV(ALPHAS, cv=cv).fit(X, labels) for module in (assay, theirs))
    assert ours.alpha_ == peer.alpha_
    assert ours.best_score_ == pytest.approx(peer.best_score_)
    assert ours.certificate_.verify(X, labels).holds


def test_folds_choose_a_strength_as_in_scikit_learn():
    X, y = table("plain")
    ours, peer = (module.RidgeCV(ALPHAS, cv=4).fit(X, y) for module in (assay, theirs))
    assert (ours.alpha_, ours.best_score_) == pytest.approx((peer.alpha_, peer.best_score_))
    assert ours.certificate_.verify(X, y).holds


@pytest.mark.parametrize("K", [2, 3])
def test_logistic_regression_chooses_as_scikit_learn_does(K, tmp_path):
    X, y = table("plain", 150, 6)
    labels = classes_of(y, K)
    ours = assay.LogisticRegressionCV(Cs=5).fit(X, labels)
    peer = theirs.LogisticRegressionCV(
        Cs=5, tol=1e-9, max_iter=10_000, scoring="accuracy", use_legacy_attributes=False, l1_ratios=(0,)
    ).fit(X, labels)
    assert pytest.approx(peer.C_) == ours.C_
    assert np.allclose(ours.scores_, peer.scores_)
    assert np.allclose(ours.coef_, peer.coef_, atol=1e-3)
    folds = StratifiedKFold(5)
    given = assay.LogisticRegressionCV(Cs=5, cv=folds).fit(X, labels)
    assert np.array_equal(given.scores_, ours.scores_)
    for model in (ours, given):
        model.save(tmp_path / "m.assay")
        assert assay.load(tmp_path / "m.assay").certificate_.verify(X, labels).holds


@pytest.mark.parametrize("K", [2, 3])
def test_the_log_loss_of_folds_is_that_of_scikit_learn_and_is_verified(K):
    X, y = table("plain", 150, 6)
    labels = classes_of(y, K)
    same = {"Cs": [0.1, 1.0, 10.0], "scoring": "neg_log_loss", "cv": 3, "use_legacy_attributes": False}
    ours = assay.LogisticRegressionCV(**same, tol=1e-9).fit(X, labels)
    peer = theirs.LogisticRegressionCV(**same, tol=1e-9, max_iter=10_000, l1_ratios=(0,)).fit(X, labels)
    assert ours.C_ == peer.C_
    assert np.allclose(ours.scores_, peer.scores_, rtol=1e-5)
    assert ours.certificate_.verify(X, labels).holds
    claim = ours.certificate_.claims[-1]
    assert "the least log loss" in claim.statement
    wrong = dataclasses.replace(claim, witness={**claim.witness, "errors": claim.witness["errors"] * 1.001})
    assert not Certificate((wrong,), ours.predict, None, None).verify(X, labels).holds
    with pytest.raises(ParameterError, match="scoring='f1'"):
        assay.LogisticRegressionCV(scoring="f1").fit(X, labels)


def test_classes_that_are_not_balanced_alike_in_all_folds_are_verified():
    X, y = table("plain", 150, 6)
    labels = classes_of(y, 3)
    model = assay.LogisticRegressionCV(Cs=2, class_weight="balanced", l1_ratios=[0.0, 0.5]).fit(X, labels)
    assert model.certificate_.verify(X, labels).holds
    assert model.scores_.shape == (5, 2, 2)


def test_errors_on_rows_left_out_of_columns_in_units_far_apart_are_verified():
    rng = np.random.default_rng(0)
    units = np.array([1e7, 1.0, 1e-7])
    X = rng.standard_normal((12, 3)) * units
    y = X @ (1 / units) + rng.standard_normal(12)
    for model, target in ((assay.RidgeCV(), y), (assay.RidgeClassifierCV(), y > 0)):
        certificate = model.fit(X, target).certificate_
        assert certificate.holds
        assert certificate.verify(X, target).holds, str(certificate.verify(X, target))


def test_errors_on_rows_left_out_are_claimed_where_rounding_does_not_decide_them():
    X = np.array([[-0.2, 7e6, 3e-7], [-0.4, -2e7, -7e-8], [0.4, -2e7, 8e-8], [-0.2, 6e6, -8e-8]])
    y = np.array([2.0, 1.0, 1.0, 0.06])
    certificate = assay.RidgeCV().fit(X, y).certificate_
    assert certificate.verify(X, y).holds, str(certificate.verify(X, y))
    collinear = np.column_stack([1e8 * X, 1e8 * (X[:, 0] + X[:, 1])])
    assert not assay.RidgeCV().fit(collinear, y).certificate_["leave-one-out"].holds


@pytest.mark.parametrize("model", [assay.LassoCV(cv=2), assay.RidgeCV(cv=2)])
def test_nothing_is_claimed_of_errors_of_folds_so_far_from_zero_that_rounding_shows(model):
    X = 171373614965.0 + np.array([[0.0], [1.0], [-1.0], [0.0], [0.0], [1.0]])
    y = np.array([2.13, 1.08, 2.14, 1.11, 0.4, 3.0])
    fitted = model.fit(X, y)
    assert not fitted.certificate_["cross-validation"].holds
    assert model.fit(X - 171373614965.0, y).certificate_.verify(X - 171373614965.0, y).holds


def test_liblinear_penalises_the_intercept_of_every_fold_and_of_the_choice():
    X, y = np.array([[6e-08], [-2e-07], [1e-07], [-7e-08], [-6.0]]), np.array([0, 0, 1, 0, 1])
    model = assay.LogisticRegressionCV(solver="liblinear").fit(X, y)
    assert model.certificate_.verify(X, y).holds, str(model.certificate_.verify(X, y))
    alone = assay.LogisticRegression(C=model.C_, solver="liblinear").fit(X, y)
    assert np.allclose(model.intercept_, alone.intercept_, rtol=1e-4)
