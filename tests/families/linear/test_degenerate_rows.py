"""Honest fits of degenerate rows are verified, and what no loss shows is pinned."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import assay

INF = float("inf")


def rows(seed, n=36, d=2, K=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    return rng.standard_normal((n, d)), y


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("constant", [0.1, 1e6, 3e8])
def test_a_constant_column_of_softmax_without_penalty_is_verified(seed, constant):
    X, y = rows(seed)
    X = np.column_stack([X, np.full(len(X), constant)])
    certificate = assay.LogisticRegression(C=INF).fit(X, y).certificate_
    assert certificate.holds
    assert certificate.verify(X, y).holds, str(certificate.verify(X, y))


@pytest.mark.parametrize("scale", [1e8, 1e16, 1e56])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_tiny_objective_of_separable_classes_is_verified(scale, classes):
    X, y = rows(0, K=classes)
    X[:, 0] += 9 * y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certificate = assay.LogisticRegression().fit(X * scale, y).certificate_
    if certificate.holds:
        assert certificate.verify(X * scale, y).holds, str(certificate.verify(X * scale, y))


@pytest.mark.parametrize("options", [{}, {"C": INF}, {"class_weight": "balanced"}])
def test_a_shift_common_to_all_classes_is_refused(options):
    X, y = rows(1)
    for part in ("coef_", "intercept_") if "C" in options else ("intercept_",):
        model = assay.LogisticRegression(**options).fit(X, y)
        assert model.certificate_.verify(X, y).holds
        setattr(model, part, getattr(model, part) + 1.0)
        assert "shifted together" in str(model.certificate_.verify(X, y))


@pytest.mark.parametrize("options", [{}, {"C": INF}])
def test_a_fit_has_no_shift_common_to_all_classes(options):
    X, y = rows(2)
    model = assay.LogisticRegression(**options).fit(X + 3, y)
    assert abs(model.intercept_.sum()) <= 1e-6 * np.abs(model.intercept_).sum()
    assert model.certificate_.verify(X + 3, y).holds


@pytest.mark.parametrize("constant", [0.003947232849895954, 1 / 3, 3e8 + 0.1])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_column_that_varies_by_rounding_alone_has_no_variance(constant, sparse):
    import scipy.sparse

    X = np.full((19, 2), constant, dtype=np.float32)
    X[:, 1] = np.arange(19) % 4
    y = np.array([1, -1, 1, -1, 1, -1, -1, -1, 1, 1, 1, -1, 1, 1, -1, -1, -1, 1, -1])
    rows = scipy.sparse.csr_matrix(X) if sparse else X
    model = assay.LogisticRegression(penalty=None, class_weight="balanced").fit(rows, y)
    assert np.isnan(model.std_errors_[0, 0])
    assert np.isfinite(model.std_errors_[0, 1])
    assert model.certificate_.verify(rows, y).holds, str(model.certificate_.verify(rows, y))


def test_a_fit_that_comes_to_no_end_states_no_standard_errors():
    X, y, w = np.full((2, 3), 3.640173464762707e153), np.array([1, 0]), np.array([0.03, 0.04])
    start = [0.4979255044676771, 1.1661027375414292, -0.6377614063287378, -0.6144706311133726]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = assay.LogisticRegression(penalty=None, fit_intercept=False, init=start).fit(X, y, w)
    assert not model.certificate_.holds
    assert "standard errors" not in str(model.certificate_)


@pytest.mark.parametrize("model", [assay.LinearSVC(loss="hinge", fit_intercept=False), assay.LogisticRegression()])
def test_a_gap_that_the_last_digits_of_multipliers_hide_is_not_claimed(model):
    X = np.array([[5.509314069001038e20], [5.5093140690010354e20], [5.5093140690010354e20], [5.5093140690010335e20]])
    y = np.array([2, 0, 1, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certificate = model.fit(X, y).certificate_
    found = certificate.verify(X, y)
    assert all(v.holds for claim, v in zip(certificate.claims, found) if claim.holds), found


@pytest.mark.parametrize("model", [assay.ElasticNet(alpha=0.0), assay.TweedieRegressor(alpha=0.0)])
def test_rows_that_weights_without_a_penalty_meet_are_soon_met_and_verified(model):
    rng = np.random.default_rng(0)
    certified = 0
    for _ in range(12):
        n, d = rng.integers(1, 5), rng.integers(1, 5)
        X, y, w = rng.standard_normal((n, d)).round(2), rng.standard_normal(n).round(2), 1e-25 * rng.random(n)
        fitted = model.fit(X, y, w)
        assert fitted.n_iter_ < 50
        assert fitted.certificate_.verify(X, y, w).holds == fitted.certificate_.holds
        certified += fitted.certificate_.holds
    assert certified >= 10


@pytest.mark.parametrize("model", [assay.ElasticNet(alpha=0.0), assay.TweedieRegressor(alpha=0.0)])
def test_weights_that_do_not_meet_rows_as_nearly_as_rounding_are_refused(model):
    X, y = np.array([[1.0], [0.0], [0.0]]), np.array([-1.0, 0.6, 0.6])
    fitted = model.fit(X, y)
    fitted.coef_ = fitted.coef_ + 1e-9
    fitted._claims = None
    record = fitted.to_record()
    assert not type(model).from_record(record).certificate_.verify(X, y).holds


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_so_large_that_rounding_hides_slopes_are_told(loss):
    X, y = np.array([[-648.0], [-28.3], [98.6], [-60.4]]), np.array([3, 1, 0, 2])
    w = np.array([7.06e59, 6.77e59, 3.85e59, 3.26e59])
    certificate = assay.LinearSVC(loss=loss).fit(X, y, w).certificate_
    assert certificate.holds == certificate.verify(X, y, w).holds
    assert assay.LinearSVC(loss=loss).fit(X, y, w / 1e59).certificate_.verify(X, y, w / 1e59).holds
