"""Least squares on numbers of any scale: a model that its certificate proves, or an error that says what to do."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import assay
from assay.errors import ConvergenceWarning, DataError, ParameterError


def verified(model, X, y, w=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = model.fit(X, y, sample_weight=w)
        verdicts = model.certificate_.verify(X, y, w)
        for claim, verdict in zip(model.certificate_, verdicts, strict=True):
            assert claim.holds == verdict.holds, (claim, verdict)
        assert np.isfinite(model.predict(X)).all()
    return model


def test_an_infinite_penalty_is_refused():
    with pytest.raises(ParameterError, match="alpha"):
        assay.Ridge(np.inf).fit([[1.0], [2.0]], [1, 2])


def test_an_infinite_step_ends_the_descent_without_a_warning_of_arithmetic():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = assay.LinearRegression(solver="gd", eta=np.inf, max_iter=40).fit([[0.0], [0.0]], [-300.0, 1.0])
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    ("X", "y", "w", "message"),
    [
        ([[1e100, 0.0], [2.0, 1.0]], [1.0, 2.0], None, r"Column 0 .*overflow.*divide"),
        ([[0.0, 0.0], [1.0, 1e-170]], [1.0, 2.0], None, r"Column 1 .*underflow.*multiply"),
        ([[0.0], [1.0]], [1e100, 0.0], None, r"y holds .*overflow.*divide"),
        ([[0.0], [1.0]], [1e-170, 0.0], None, r"y holds .*underflow.*multiply"),
        ([[0.0], [1.0]], [1.0, 0.0], [1e-130, 1e-130], "weights add up to 2e-130"),
        ([[1e150], [-1e150]], [1.0, 0.0], None, "overflow"),
    ],
)
@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_scales_that_leave_no_room_are_refused_with_what_to_do(cls, X, y, w, message):
    with pytest.raises(DataError, match=message):
        cls().fit(X, y, w)


def test_tiny_numbers_in_some_rows_of_a_column_are_no_reason_to_refuse_it():
    verified(assay.LinearRegression(), np.array([[1e-200], [0.0], [0.5], [0.25]]), np.arange(4.0))


def test_independent_columns_of_very_different_lengths_beside_a_constant_one_are_solved_and_proved():
    X = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -2.4338570787043756], [0.0, 4e-09, 0.0]])
    model = verified(assay.LinearRegression(), X, np.array([0.9, 2.0, 2.0]))
    assert model.certificate_.holds
    np.testing.assert_allclose(model.predict(X), [0.9, 2.0, 2.0], rtol=1e-9)


def test_dependent_columns_of_very_different_lengths_are_fitted_to_the_last_digits():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((30, 3))
    X = np.column_stack([Z[:, 0], 1e6 * Z[:, 0], 1e-3 * Z[:, 1], 1e5 * Z[:, 2], Z[:, 1] + Z[:, 2]])
    y = Z @ [1.0, 2.0, 3.0]
    model = verified(assay.LinearRegression(), X, y)
    assert model.certificate_.holds
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


def test_a_column_that_varies_by_a_few_roundings_has_the_rank_that_is_claimed():
    X = 1.01191445e15 + 0.125 * np.array([[0.0], [1.0], [3.0], [1.0], [2.0], [0.0]])
    assert verified(assay.LinearRegression(), X, np.full(6, 2.237244011982033e26)).certificate_.holds


def test_a_slope_of_no_target_is_claimed_only_if_it_is_none():
    model = assay.LinearRegression(solver="gd", fit_intercept=False).fit([[42.94109986]], [0.0])
    claim = next(iter(model.certificate_))
    assert claim.holds == (model.coef_[0] == 0)
    assert next(iter(model.certificate_.verify([[42.94109986]], [0.0]))).holds == claim.holds


def test_a_target_that_rounding_drowns_is_not_claimed():
    X, y = np.arange(6.0)[:, None], 1e17 + np.array([0.0, 16.0, 0.0, 32.0, 16.0, 0.0])
    model = verified(assay.LinearRegression(), X, y)
    assert not next(iter(model.certificate_)).holds


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_scale_a_fit_says_what_verification_says_or_is_refused(seed):
    rng = np.random.default_rng(seed)
    most = (8, 40, 150)[seed % 3]
    X = rng.standard_normal((12, 4)) * 10.0 ** rng.uniform(-most, most, 4) + (seed % 2) * 10.0 ** rng.uniform(-5, 17)
    X[:, 3] = X[:, 0] * (1.0, -2.0, 0.1)[seed % 3]
    y = rng.standard_normal(12) * 10.0 ** rng.uniform(-most, most)
    with contextlib.suppress(DataError):
        verified((assay.LinearRegression(), assay.Ridge())[seed % 2], X, y, rng.random(12))


def test_descent_far_from_zero_measures_what_verification_measures():
    rng = np.random.default_rng(3)
    X, y = 1e4 + rng.standard_normal((7, 1)), rng.standard_normal(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = assay.LinearRegression(solver="gd", tol=0.0, max_iter=20, init=[0.0, 0.0]).fit(X, y)
    stated, found = next(iter(model.certificate_)), next(iter(model.certificate_.verify(X, y)))
    assert stated.holds == found.holds
    assert found.value == pytest.approx(stated.value, rel=1e-6)


def test_one_row_of_weight_after_others_without_is_verified():
    X, y = np.array([[1.0], [0.3], [0.1]]), np.array([0.27698700667538, 0.16344705568244497, 0.00665924208208616])
    assert verified(assay.LinearRegression(), X, y, np.array([0.0, 0.0, 2.0])).certificate_.holds


def test_weights_that_nearly_fit_a_constant_target_are_no_minimum():
    X, y = np.column_stack([np.arange(6.0), np.ones(6)]), np.full(6, 3e7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = assay.LinearRegression(solver="gd", tol=0.0, max_iter=40, init=[3e7, 1e-12, 0.0]).fit(X, y)
    assert model.coef_.any()
    assert not next(iter(model.certificate_)).holds
    assert not next(iter(model.certificate_.verify(X, y))).holds
