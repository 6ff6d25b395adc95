"""Least squares: closed forms, the notes' numbers, published figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from families.least_squares.problems import OAKS_AGE, OAKS_DBH, close, problem

import assay
from assay.errors import ConvergenceWarning, ParameterError
from assay.families.least_squares.estimators import line


def test_the_oaks_line_is_covariance_over_variance():
    w0, w1 = line(OAKS_AGE, OAKS_DBH)
    assert w1 == pytest.approx(np.cov(OAKS_AGE, OAKS_DBH, bias=True)[0, 1] / OAKS_AGE.var())
    model = assay.LinearRegression().fit(OAKS_AGE[:, None], OAKS_DBH)
    assert (model.intercept_, model.coef_[0]) == (pytest.approx(w0, rel=1e-12), pytest.approx(w1, rel=1e-12))


def test_gradient_descent_reaches_the_normal_equations_solution():
    age = (OAKS_AGE - OAKS_AGE.mean()) / OAKS_AGE.std()
    for cls in (assay.LinearRegression, assay.Ridge):
        exact = cls().fit(age[:, None], OAKS_DBH)
        descent = cls(solver="gd", tol=1e-12).fit(age[:, None], OAKS_DBH)
        close(descent, exact, 1e-9)
        assert descent.converged_
        assert descent.sigma2_ == pytest.approx(exact.sigma2_, rel=1e-9)
        assert descent.certificate_.verify(age[:, None], OAKS_DBH).holds


@pytest.mark.parametrize("intercept", [True, False])
def test_gradient_descent_agrees_on_several_columns_with_weights(intercept):
    X, y = problem()
    w = np.random.default_rng(1).uniform(0, 2, len(y))
    exact = assay.Ridge(3.0, fit_intercept=intercept).fit(X, y, w)
    descent = assay.Ridge(3.0, fit_intercept=intercept, solver="gd", tol=1e-12, max_iter=100_000).fit(X, y, w)
    close(descent, exact, 1e-8)


def test_a_step_of_descent_is_the_notes_formula():
    X, y = problem(30, 2)
    start, eta = np.array([0.5, -1.0, 2.0]), 1e-3
    model = assay.LinearRegression(solver="gd", eta=eta, init=start.tolist(), max_iter=3, tol=0)
    steps = list(model.steps(X, y))
    assert [s.number for s in steps] == [0, 1, 2, 3]
    A, w = np.column_stack([np.ones(len(X)), X]), start
    for step in steps:
        np.testing.assert_allclose(step.values["w"], w, rtol=1e-12)
        assert step.values["E"] == pytest.approx(0.5 * np.sum((A @ w - y) ** 2))
        w = w - eta * A.T @ (A @ w - y)


def test_descent_that_stops_early_or_diverges_warns_and_does_not_certify():
    X, y = problem(30, 2)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        early = assay.LinearRegression(solver="gd", max_iter=2).fit(X, y)
    assert not early.converged_
    assert not early.certificate_.holds
    with pytest.warns(ConvergenceWarning, match="diverges beyond"):
        wild = assay.LinearRegression(solver="gd", eta=10.0).fit(X, y)
    assert np.isfinite(wild.coef_).all()


def test_descent_after_partial_fit_uses_all_rows():
    X, y = problem()
    whole = assay.LinearRegression(solver="gd", tol=1e-10, max_iter=100_000).fit(X, y)
    parts = assay.LinearRegression(solver="gd", tol=1e-10, max_iter=100_000)
    for a in range(0, len(y), 100):
        parts.partial_fit(X[a : a + 100], y[a : a + 100])
    close(parts, whole, 1e-7)


def test_init_of_the_wrong_length_is_refused():
    X, y = problem(30, 2)
    with pytest.raises(ParameterError, match="3 finite numbers"):
        assay.LinearRegression(solver="gd", init=[1.0]).fit(X, y)


def test_steps_of_the_normal_equations_end_at_the_fit():
    X, y = problem()
    last = list(assay.LinearRegression().steps(X, y, every=50))[-1]
    np.testing.assert_allclose(last.values["coef_"], assay.LinearRegression().fit(X, y).coef_, rtol=1e-9)


def test_longley_reaches_the_nist_certified_digits(data_dir):
    table = pd.read_csv(data_dir / "longley.csv")
    model = assay.LinearRegression().fit(table.iloc[:, :-1], table["target"])
    certified = [15.0618722713733, -0.0358191792925910, -2.02022980381683, -1.03322686717359, -0.0511041056535807]
    np.testing.assert_allclose(model.coef_, [*certified, 1829.15146461355], rtol=1e-12)
    assert model.intercept_ == pytest.approx(-3482258.63459582, rel=1e-12)
    errors = [84.9149257747669, 0.0334910077722432, 0.488399681651699, 0.214274163161675, 0.226073200069370]
    np.testing.assert_allclose(model.std_errors_, [*errors, 455.478499142212], rtol=1e-10)
    assert model.intercept_std_error_ == pytest.approx(890420.383607373, rel=1e-10)
    assert np.sqrt(model.residual_variance_) == pytest.approx(304.854073561965, rel=1e-10)
    assert model.certificate_.verify(table.iloc[:, :-1], table["target"]).holds


def test_prostate_reaches_the_published_coefficients_and_test_error(data_dir):
    table = pd.read_csv(data_dir / "prostate.csv")
    train = table["train"].to_numpy() == 1
    X = table.drop(columns=["train", "target"]).to_numpy(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    y = table["target"].to_numpy(float)
    model = assay.LinearRegression().fit(X[train], y[train])
    np.testing.assert_array_equal(model.coef_.round(3), [0.680, 0.263, -0.141, 0.210, 0.305, -0.288, -0.021, 0.267])
    assert round(model.intercept_, 3) == 2.465
    assert round(assay.empirical_risk(model, X[~train], y[~train], loss="squared"), 3) == 0.521


def test_vowel_indicators_reach_the_published_errors(data_dir):
    table = pd.read_csv(data_dir / "vowel.csv")
    X, y = table.drop(columns="target").select_dtypes("number").to_numpy(float), table["target"].to_numpy()
    classes = np.unique(y)
    fits = [assay.LinearRegression().fit(X[:528], (y[:528] == k).astype(float)) for k in classes]

    def vote(rows):
        return classes[np.argmax([f.predict(rows) for f in fits], axis=0)]

    assert round(assay.empirical_risk(vote, X[:528], y[:528]), 3) == 0.477
    assert round(assay.empirical_risk(vote, X[528:], y[528:]), 3) == 0.667


def test_wampler_polynomial_has_coefficients_of_one():
    x = np.arange(21.0)
    X = np.stack([x**k for k in range(1, 6)], axis=1)
    model = assay.LinearRegression().fit(X, 1 + X.sum(axis=1))
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), 1, rtol=1e-9)
    assert model.certificate_.verify(X, 1 + X.sum(axis=1)).holds
