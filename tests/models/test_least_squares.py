"""Least squares: closed forms, the notes' numbers, published figures, agreement with scikit-learn."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model

import assay
from assay.certify import Verdict
from assay.certify.checks import checker
from assay.engines import ArrayRows
from assay.errors import ConvergenceWarning, DataError, NotFittedError, ParameterError
from assay.hypotheses.least_squares import line

OAKS_AGE = np.array([97, 93, 88, 81, 75, 57, 52, 45, 28, 15, 12, 11], dtype=float)
OAKS_DBH = np.array([12.5, 12.5, 8.0, 9.5, 16.5, 11.0, 10.5, 9.0, 6.0, 1.5, 1.0, 1.0])


def problem(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 3, d) + rng.normal(size=d)
    return X, X @ rng.normal(size=d) + 2 + 0.5 * rng.normal(size=n)


def close(model, peer, rtol=1e-9):
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=rtol, atol=rtol)


# --- closed forms and the notes ---------------------------------------------------------------------------------------


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


# --- published figures ------------------------------------------------------------------------------------------------


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


# --- agreement with scikit-learn 1.9.1 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_coefficients_agree_with_scikit_learn(intercept, weighted, dtype):
    X, y = problem()
    X = X.astype(dtype)
    w = np.random.default_rng(2).uniform(0, 3, len(y)) if weighted else None
    peer = linear_model.LinearRegression(fit_intercept=intercept).fit(X.astype(float), y, w)
    model = assay.LinearRegression(fit_intercept=intercept).fit(X, y, w)
    close(model, peer)
    assert model.rank_ == peer.rank_
    np.testing.assert_allclose(model.singular_, peer.singular_, rtol=1e-9)
    assert model.score(X, y) == pytest.approx(peer.score(X.astype(float), y), rel=1e-9)
    for alpha in (0.1, 10.0):
        peer = linear_model.Ridge(alpha, fit_intercept=intercept, solver="cholesky").fit(X.astype(float), y, w)
        close(assay.Ridge(alpha, fit_intercept=intercept).fit(X, y, w), peer)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_dependent_columns_give_the_minimum_norm_solution(weighted, intercept):
    X, y = problem()
    X = np.column_stack([X, X[:, 0] + 2 * X[:, 1], np.full(len(X), 0.1), 3 * X[:, 2]])
    w = np.random.default_rng(2).uniform(0, 3, len(y)) if weighted else None
    peer = linear_model.LinearRegression(fit_intercept=intercept).fit(X, y, w)
    model = assay.LinearRegression(fit_intercept=intercept).fit(X, y, w)
    close(model, peer, 1e-8)
    assert model.rank_ == peer.rank_ == 6 + (not intercept)
    np.testing.assert_allclose(model.singular_, peer.singular_, rtol=1e-8, atol=1e-10)
    assert model.certificate_["rank and condition"].kind == "warning"
    assert model.certificate_["minimum norm"].holds
    assert model.certificate_.verify(X, y, w).holds
    determined = np.isfinite(model.std_errors_)
    assert determined[3:6].all()
    assert not determined[[0, 1, 2, 6, 8]].any()


def test_fewer_rows_than_columns_give_the_minimum_norm_solution():
    X, y = problem(8, 20)
    peer, model = linear_model.LinearRegression().fit(X, y), assay.LinearRegression().fit(X, y)
    close(model, peer, 1e-8)
    assert model.rank_ == peer.rank_ == 7
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)
    assert model.certificate_.verify(X, y).holds
    assert np.isnan(model.residual_variance_)


def test_units_of_the_columns_do_not_matter():
    X, y = problem(500, 8)
    scale = 10.0 ** np.random.default_rng(3).uniform(-4, 4, 8)
    plain, scaled = assay.LinearRegression().fit(X, y), assay.LinearRegression().fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-11)
    assert scaled.rank_ == 8
    assert scaled.certificate_.verify(X * scale, y).holds


def test_columns_far_from_zero_keep_their_digits():
    X, y = problem(500, 4)
    plain, far = assay.LinearRegression().fit(X, y), assay.LinearRegression().fit(X + 1e6, y)
    np.testing.assert_allclose(far.coef_, plain.coef_, rtol=1e-7)
    assert far.certificate_.verify(X + 1e6, y).holds


def test_nearly_dependent_columns_are_solved_from_the_rows():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2000, 1))
    X = np.column_stack([x, x + 1e-7 * rng.normal(size=(2000, 1)), rng.normal(size=(2000, 1))])
    y = X @ [1.0, 2.0, 3.0]
    model = assay.LinearRegression().fit(X, y)
    assert model.rank_ == 3
    np.testing.assert_allclose(model.coef_, [1, 2, 3], rtol=1e-7)
    assert model.condition_ > 1e6
    assert model.certificate_.verify(X, y).holds


# --- inference ----------------------------------------------------------------------------------------------------------


def test_standard_errors_and_intervals_are_the_textbook_ones():
    from scipy import stats

    fit = stats.linregress(OAKS_AGE, OAKS_DBH)
    model = assay.LinearRegression().fit(pd.DataFrame({"age": OAKS_AGE}), OAKS_DBH)
    assert model.std_errors_[0] == pytest.approx(fit.stderr)
    assert model.intercept_std_error_ == pytest.approx(fit.intercept_stderr)
    assert model.p_values_[0] == pytest.approx(fit.pvalue)
    t = stats.t.ppf(0.975, 10)
    np.testing.assert_allclose(model.conf_int()[0], [fit.slope - t * fit.stderr, fit.slope + t * fit.stderr])
    x, s = 60.0, np.sqrt(12 * model.sigma2_ / 10)
    half = t * s * np.sqrt(1 + 1 / 12 + (x - OAKS_AGE.mean()) ** 2 / (12 * OAKS_AGE.var()))
    low, high = model.predict_interval(pd.DataFrame({"age": [x]}))[0]
    assert high - low == pytest.approx(2 * half)
    table = model.summary()
    assert "age" in table
    assert "intercept" in table


def test_prediction_intervals_cover_as_often_as_they_say():
    X, y = problem(4000, 3, seed=8)
    model = assay.LinearRegression().fit(X[:1000], y[:1000])
    low, high = model.predict_interval(X[1000:], level=0.9).T
    assert 0.88 < np.mean((low <= y[1000:]) & (y[1000:] <= high)) < 0.92


def test_ridge_refuses_intervals_and_says_why():
    X, y = problem()
    ridge = assay.Ridge().fit(X, y)
    for ask in (ridge.predict_interval, ridge.conf_int, ridge.summary):
        with pytest.raises(ParameterError, match="penalty pulls the coefficients towards zero"):
            ask(X)


def test_an_impossible_level_is_refused():
    X, y = problem()
    with pytest.raises(ParameterError, match="level=95"):
        assay.LinearRegression().fit(X, y).conf_int(95)


def test_inference_before_fit_says_so():
    with pytest.raises(NotFittedError):
        _ = assay.LinearRegression().summary()


# --- laws ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_a_weight_is_a_repetition(cls):
    X, y = problem()
    w = np.random.default_rng(4).integers(0, 4, len(y))
    weighted, repeated = cls().fit(X, y, w), cls().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    close(weighted, repeated, 1e-11)
    assert weighted.sigma2_ == pytest.approx(repeated.sigma2_, rel=1e-11)
    if cls is assay.LinearRegression:
        np.testing.assert_allclose(weighted.std_errors_, repeated.std_errors_, rtol=1e-10)


@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_partial_fit_agrees_with_fit(cls):
    X, y = problem()
    whole, parts = cls().fit(X, y), cls()
    for a in range(0, len(y), 130):
        parts.partial_fit(X[a : a + 130], y[a : a + 130])
    close(parts, whole, 1e-11)
    assert parts.certificate_.verify(X, y).holds


@pytest.mark.parametrize("ill", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_files_are_equal_on_any_number_of_threads_and_as_a_stream(tmp_path, ill, weighted):
    X, y = problem(90_000, 30)
    if ill:
        X[:, 1] = X[:, 0] + 1e-6 * X[:, 1]
    w = np.random.default_rng(6).uniform(0, 2, len(y)) if weighted else None
    files = []
    for name, workers in (("threads", 1), ("threads", 2), ("stream", 3)):
        with assay.engine(name, workers=workers):
            assay.LinearRegression().fit(X, y, w).save(tmp_path / "m.assay")
        files.append((tmp_path / "m.assay").read_bytes())
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("solver", ["normal", "gd"])
@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_a_saved_model_answers_and_learns_on_as_before(tmp_path, cls, solver):
    X, y = problem()
    model = cls(solver=solver).fit(X[:300], y[:300])
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_.verify(X[:300], y[:300]).holds
    if cls is assay.LinearRegression:
        assert again.summary() == model.summary()
    close(again.partial_fit(X[300:], y[300:]), model.partial_fit(X[300:], y[300:]), 1e-15)


def test_float32_rows_are_summed_in_float64():
    X, y = problem(70_000, 3)
    narrow = (X + 100).astype(np.float32)
    close(assay.LinearRegression().fit(narrow, y), assay.LinearRegression().fit(narrow.astype(float), y), 1e-11)


# --- certificates -------------------------------------------------------------------------------------------------------


def verdict(X, y, claim, **changes):
    """What the checker alone says of a changed claim (`verify` also compares the witness with the model)."""
    value = changes.pop("value", claim.value)
    changes = {k: v if isinstance(v, np.ndarray) else np.array([v]) for k, v in changes.items()}
    bad = replace(claim, witness={**claim.witness, **changes}, value=value)
    try:
        return checker(claim.check)(bad, ArrayRows(X, y), None)
    except ValueError as error:
        return Verdict(claim.name, False, str(error))


@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_the_certificate_holds_and_can_be_verified(cls):
    X, y = problem()
    w = np.random.default_rng(6).uniform(0, 2, len(y))
    model = cls().fit(X, y, w)
    assert model.certificate_.holds
    assert model.certificate_.verify(X, y, w).holds
    assert not model.certificate_.verify(X, y).holds
    assert not model.certificate_.verify(X, y + X[:, 0] ** 2, w).holds


def test_a_tampered_witness_is_refused():
    X, y = problem()
    model = assay.LinearRegression().fit(X, y)
    claims = model.certificate_
    nudged = model.coef_ * (1 + 1e-6)
    root = model.inverse_root_.copy()
    root[:, -1] *= 2
    for name, changes in [
        ("normal equations", {"coef": nudged}),
        ("normal equations", {"intercept": model.intercept_ + 1e-6}),
        ("normal equations", {"coef": nudged, "tolerance": 10.0}),
        ("normal equations", {"coef": model.coef_[:2]}),
        ("normal equations", {"alpha": 1.0}),
        ("normal equations", {"fit_intercept": 0.0}),
        ("rank and condition", {"inverse_root": root}),
        ("rank and condition", {"inverse_root": model.inverse_root_[:, :-1]}),
        ("rank and condition", {"inverse_root": model.inverse_root_[:, :-1], "rank": 5}),
        ("rank and condition", {"inverse_root": model.inverse_root_[:, :-1], "rank": 5, "cut": 1.0}),
        ("rank and condition", {"value": 1.0}),
        ("sigma^2", {"value": model.sigma2_ * 0.999}),
        ("sigma^2", {"value": float("nan")}),
    ]:
        assert verdict(X, y, claims[name]).holds
        assert not verdict(X, y, claims[name], **changes).holds, (name, changes)
        changed = replace(
            claims[name], witness={**claims[name].witness, **{k: v for k, v in changes.items() if k != "value"}}
        )
        if "value" not in changes:
            others = tuple(c for c in claims if c.name != name)
            assert not replace(claims, claims=(*others, changed)).verify(X, y).holds


def test_a_longer_solution_is_not_certified_as_shortest():
    X, y = problem()
    X = np.column_stack([X, X[:, 0]])
    model = assay.LinearRegression().fit(X, y)
    longer = model.coef_.copy()
    longer[0] += 1
    longer[6] -= 1
    norm = float(np.linalg.norm(longer))
    claims = model.certificate_
    root = np.column_stack([model.inverse_root_, longer])
    assert verdict(X, y, claims["minimum norm"]).holds
    assert verdict(X, y, claims["normal equations"], coef=longer).holds
    assert not verdict(X, y, claims["minimum norm"], coef=longer, value=norm).holds
    assert not verdict(X, y, claims["minimum norm"], coef=longer, value=norm, inverse_root=root).holds


# --- bad input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "w", "message"),
    [
        ([[1.0], [np.nan]], [1, 2], None, "NaN .first in row 1, column 0"),
        ([[1.0], [np.inf]], [1, 2], None, "infinity"),
        ([[1.0], [2.0]], [1, np.nan], None, "y contains NaN"),
        ([[1.0], [2.0]], ["a", "b"], None, "must be numbers"),
        ([["a"], ["b"]], [1, 2], None, "not a number"),
        ([[1.0], [2.0, 3.0]], [1, 2], None, "ragged"),
        (np.empty((0, 2)), [], None, "0 sample"),
        ([[1.0], [2.0]], [1, 2, 3], None, "inconsistent"),
        ([[1.0], [2.0]], [1, 2], [-1, 1], "Negative"),
        ([[1.0], [2.0]], [1, 2], [0, 0], "positive weight"),
        ([[1e300], [2.0]], [1, 2], None, "overflow"),
        ([[1.0], [2.0]], [1e300, 2], None, "overflow"),
        ([[1.0], [2.0]], [[1, 2], [3, 4]], None, "1d array"),
    ],
)
@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_bad_input_is_refused_by_name(cls, X, y, w, message):
    with pytest.raises(DataError, match=message):
        cls().fit(X, y, w)


def test_bad_parameters_are_refused_by_name():
    for bad in ({"positive": True}, {"solver": "svd"}, {"eta": 0.0}, {"max_iter": 0}, {"random_state": -1}):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            assay.LinearRegression(**bad).fit([[1.0], [2.0]], [1, 2])
    with pytest.raises(ParameterError, match="alpha"):
        assay.Ridge(-1.0).fit([[1.0], [2.0]], [1, 2])


def test_wrong_width_names_and_no_rows_are_refused_at_prediction():
    X, y = problem()
    model = assay.LinearRegression().fit(X, y)
    with pytest.raises(DataError, match="expecting 6 features"):
        model.predict(X[:, :5])
    with pytest.raises(DataError, match="0 sample"):
        model.predict(X[:0])
    with pytest.raises(DataError, match="NaN"):
        model.predict(np.full((1, 6), np.nan))
    named = assay.LinearRegression().fit(pd.DataFrame(X, columns=list("abcdef")), y)
    with pytest.raises(DataError, match="feature names"):
        named.predict(pd.DataFrame(X, columns=list("abcdeg")))


@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_constant_columns_and_targets_cost_nothing(cls):
    X = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    model = cls().fit(X, np.full(50, 0.3))
    np.testing.assert_array_equal(model.coef_, [0, 0])
    assert model.intercept_ == 0.3
    assert model.certificate_.verify(X, np.full(50, 0.3)).holds
    assert cls().fit(X[:1], [5.0]).predict(X[:1]) == pytest.approx([5.0])


def test_a_line_needs_points_that_differ():
    with pytest.raises(DataError, match="All x are equal"):
        line([1.0, 1.0], [1.0, 2.0])
    with pytest.raises(DataError, match="equally many"):
        line([1.0, 2.0], [1.0])


def test_many_columns_take_the_blas_path_with_the_same_sums():
    from assay.hypotheses.gram import NO_WEIGHTS, _sums_of_few, _sums_of_many

    X, y = problem(700, 40)
    for root in (NO_WEIGHTS, np.sqrt(np.random.default_rng(0).uniform(0, 2, 700))):
        few, many = (np.zeros(40, dtype=np.uint64) for _ in range(2))
        p = X[0]
        A, B = _sums_of_few(X, y, root, p, 1.0, few), _sums_of_many(X, y, root, p, 1.0, many)
        np.testing.assert_allclose(np.triu(A), np.triu(B), rtol=1e-11, atol=1e-9)
        np.testing.assert_array_equal(few, many)
    X, y = problem(1000, 200)
    close(assay.LinearRegression().fit(X, y), linear_model.LinearRegression().fit(X, y), 1e-10)
    assert assay.LinearRegression().fit(X, y).certificate_.verify(X, y).holds


def test_answering_from_a_file_needs_neither_numba_nor_scipy(tmp_path):
    X, y = problem()
    assay.LinearRegression().fit(X, y).save(tmp_path / "m.assay")
    code = (
        "import sys, assay; m = assay.load(sys.argv[1]); m.predict([[0.0] * 6]); "
        "print(sorted({'numba', 'scipy', 'sklearn', 'pyarrow'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.assay")], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"
