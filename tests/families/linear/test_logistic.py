"""Logistic and softmax regression: optimality, agreement with peers, and what has no maximum."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from logistic_fits import INF, fit, verified
from scipy.special import expit, ndtr
from sklearn.linear_model import LogisticRegression as Peer

import assay
from assay.errors import ConvergenceWarning, DataError, ParameterError, SeparableWarning

rng = np.random.default_rng(0)
N, D = 300, 6
X = rng.normal(size=(N, D)) + 0.5 * rng.normal(size=(N, 1))
TRUE = rng.normal(size=D)
Y = (X @ TRUE + rng.logistic(size=N) > 0.3).astype(int)
Y3 = np.digitize(X @ TRUE + rng.logistic(size=N), [-1, 1])
W = rng.uniform(0.1, 2, N)
APART = (X @ TRUE > 0).astype(int)


def objective(model, X, y, C=1.0, l1_ratio=0.0, c=1.0):
    """Σ c ℓ + penalty, by NumPy."""
    Z = np.asarray(X) @ model.coef_.T + model.intercept_
    if Z.shape[1] == 1:
        loss = np.logaddexp(0, -np.where(y == model.classes_[1], 1, -1) * Z[:, 0])
    else:
        loss = np.logaddexp.reduce(Z, axis=1) - Z[np.arange(len(Z)), np.searchsorted(model.classes_, y)]
    w = model.coef_
    return float((c * loss).sum() + (l1_ratio * np.abs(w).sum() + (1 - l1_ratio) * 0.5 * (w * w).sum()) / C)


# --- agreement -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [Y, Y3], ids=["two", "three"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}])
def test_coefficients_are_those_of_scikit_learn(y, C, fit_intercept, class_weight):
    """scikit-learn 1.7, newton-cholesky at tol=1e-12."""
    params = {"C": C, "fit_intercept": fit_intercept, "class_weight": class_weight}
    for weight in (None, W):
        ours = fit(X, y, weight, tol=1e-12, **params)
        peer = Peer(solver="newton-cholesky", tol=1e-12, max_iter=10_000, **params).fit(X, y, weight)
        np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
        np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-6)
        np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("y", [Y, Y3], ids=["two", "three"])
def test_float32_rows_give_what_their_numbers_give_in_float64(y):
    small = X.astype(np.float32)
    a, b = verified(fit(small, y, tol=1e-10), small, y), fit(small.astype(np.float64), y, tol=1e-10)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)


def test_the_names_of_the_classes_do_not_matter():
    """±1, {0, 1} and words: the same likelihood, the same weights."""
    plain = fit(X, Y)
    for names in (np.array([-1, 1]), np.array(["no", "yes"]), np.array([7, 9])):
        named = fit(X, names[Y])
        np.testing.assert_array_equal(named.coef_, plain.coef_)
        np.testing.assert_array_equal(named.intercept_, plain.intercept_)


def test_two_classes_are_the_softmax_of_two():
    """The softmax of two classes with w₁ = −w₀ = w/2 has half the penalty: C there is 2C here."""
    model = fit(X, Y, C=2.0, tol=1e-12)
    Z = np.column_stack(
        [-0.5 * (X @ model.coef_[0] + model.intercept_[0]), 0.5 * (X @ model.coef_[0] + model.intercept_[0])]
    )
    np.testing.assert_allclose(np.exp(Z - np.logaddexp.reduce(Z, axis=1)[:, None]), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("y", [Y, Y3], ids=["two", "three"])
def test_every_solver_reaches_the_same_minimum(y):
    solvers = ["lbfgs", "gd", "proximal-newton", "proximal-gradient"] + (["newton"] if y is Y else [])
    least = fit(X, y, tol=1e-12).objective_[0]
    for solver in solvers:
        model = verified(fit(X, y, solver=solver, max_iter=20_000), X, y)
        assert model.converged_, solver
        assert model.solver_ == solver
        assert least * (1 - 1e-12) <= model.objective_[0] <= least * (1 + 1e-6)


def test_one_step_of_gradient_descent_is_that_of_the_notes():
    """Note 004: w ← w − η Σ (−y x)(1 − P(y | x; w)), and for more classes w_y ← w_y − η Σ x (P(y | x) − 1{y})."""
    init, eta = np.linspace(-0.3, 0.4, D + 1), 1e-3
    t, A = np.where(Y == 1, 1.0, -1.0), np.column_stack([np.ones(N), X])
    by_hand = init - eta * (-(t * (1 - expit(t * (A @ init)))) @ A)
    with pytest.warns(ConvergenceWarning):
        model = fit(X, Y, C=INF, solver="gd", eta=eta, init=init, max_iter=1)
    np.testing.assert_allclose([model.intercept_[0], *model.coef_[0]], by_hand, rtol=1e-12)
    W0 = np.linspace(-1, 1, 3 * (D + 1)).reshape(3, D + 1)
    P = np.exp(A @ W0.T) / np.exp(A @ W0.T).sum(axis=1, keepdims=True)
    by_hand = W0 - eta * (P - np.eye(3)[Y3]).T @ A
    with pytest.warns(ConvergenceWarning):
        model = fit(X, Y3, C=INF, solver="gd", eta=eta, init=W0, max_iter=1)
    np.testing.assert_allclose(np.column_stack([model.intercept_, model.coef_]), by_hand, rtol=1e-10)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.3])
@pytest.mark.parametrize("y", [Y, Y3], ids=["two", "three"])
def test_l1_and_elastic_net_reach_the_objective_of_scikit_learn(y, l1_ratio, C):
    model = verified(fit(X, y, C=C, l1_ratio=l1_ratio, tol=1e-9), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn says of its own `penalty` that it will go
        peer = Peer(penalty="elasticnet", C=C, l1_ratio=l1_ratio, solver="saga", tol=1e-10, max_iter=50_000).fit(X, y)
    theirs = objective(peer, X, y, C, l1_ratio)
    assert model.objective_[0] == pytest.approx(objective(model, X, y, C, l1_ratio), rel=1e-12)
    assert model.objective_[0] <= theirs * (1 + 1e-9)
    assert model.objective_[0] == pytest.approx(theirs, rel=1e-6)


def test_the_words_of_scikit_learn_mean_what_they_mean_there():
    np.testing.assert_array_equal(fit(X, Y, penalty="l1").coef_, fit(X, Y, l1_ratio=1.0).coef_)
    np.testing.assert_array_equal(fit(X, Y, penalty="l2").coef_, fit(X, Y).coef_)
    np.testing.assert_array_equal(fit(X, Y, penalty=None).coef_, fit(X, Y, C=INF).coef_)
    np.testing.assert_array_equal(fit(X, Y, penalty="elasticnet", l1_ratio=0.5).coef_, fit(X, Y, l1_ratio=0.5).coef_)


def test_a_row_of_weight_n_is_n_rows():
    counts = np.arange(N) % 4
    many = np.repeat(np.arange(N), counts)
    for y in (Y, Y3):
        a, b = fit(X, y, counts.astype(float), tol=1e-12), fit(X[many], y[many], tol=1e-12)
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-8)
        assert a.objective_[0] == pytest.approx(b.objective_[0], rel=1e-12)


# --- maximum likelihood ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_standard_errors_are_those_of_the_inverse_hessian(fit_intercept):
    model = verified(fit(X, Y, W, C=INF, fit_intercept=fit_intercept), X, Y, W)
    A = np.column_stack([np.ones(N), X])[:, 0 if fit_intercept else 1 :]
    w = np.append(model.intercept_, model.coef_)[0 if fit_intercept else 1 :]
    p = expit(A @ w)
    np.testing.assert_allclose(A.T @ (W * (p - Y)), 0, atol=1e-6)
    se = np.sqrt(np.diag(np.linalg.inv((A * (W * p * (1 - p))[:, None]).T @ A)))
    np.testing.assert_allclose(model.std_errors_[0], se[-D:], rtol=1e-8)
    z = w[-D:] / se[-D:]
    np.testing.assert_allclose(model.z_values_[0], z, rtol=1e-7)
    np.testing.assert_allclose(model.p_values_[0], 2 * ndtr(-np.abs(z)), rtol=1e-5)
    np.testing.assert_allclose(model.conf_int()[:, 1] - model.coef_[0], 1.959963984540054 * se[-D:], rtol=1e-7)
    assert len(model.summary().splitlines()) == 1 + len(w)
    assert (
        model.intercept_std_error_ == pytest.approx(se[0], rel=1e-8)
        if fit_intercept
        else np.isnan(model.intercept_std_error_)
    )


def test_standard_errors_need_a_fit_without_penalty():
    with pytest.raises(ParameterError, match=r"C=float\('inf'\)"):
        fit(X, Y).std_errors_  # noqa: B018


# --- no maximum ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "gd"])
def test_separable_classes_without_a_penalty_are_named_as_such(solver):
    with pytest.warns(SeparableWarning, match="separates the classes"):
        model = fit(X, APART, C=INF, solver=solver)
    assert model.separable_
    assert not model.converged_
    hard = assay.LinearSVC(C=INF).fit(X, APART)
    np.testing.assert_allclose(model.coef_, hard.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, hard.intercept_, rtol=1e-5, atol=1e-6)
    margins = np.where(APART == 1, 1, -1) * model.decision_function(X)
    assert margins.min() == pytest.approx(1.0, rel=1e-6)
    assert [c.name for c in verified(model, X, APART).certificate_] == ["no maximum likelihood"]
    with pytest.raises(ParameterError):
        model.std_errors_  # noqa: B018


def test_the_warning_points_at_the_line_that_fits():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assay.LogisticRegression(C=INF).fit(X, APART)
        assay.LogisticRegression(max_iter=1).fit(X, Y)
    assert [w.filename for w in caught] == [__file__] * 2


QUASI = {
    "one column": ([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]),
    "a rare dummy": (
        np.column_stack([X[:, 0], np.arange(N) % 50 == 0]),
        np.where(np.arange(N) % 50 == 0, 1, Y),
    ),
    "more columns than rows": (
        np.concatenate([W5 := np.random.default_rng(1).normal(size=(30, 60)), W5[:5]]),
        np.concatenate([c5 := np.arange(30) % 2, 1 - c5[:5]]),
    ),
}


@pytest.mark.parametrize("case", QUASI)
def test_classes_that_only_touch_are_named_as_well(case):
    data, y = np.asarray(QUASI[case][0], dtype=float), np.asarray(QUASI[case][1])
    with pytest.warns(SeparableWarning, match="but for rows that lie on it"):
        model = fit(data, y, C=INF)
    assert not model.separable_
    side = np.where(y == 1, 1, -1) * (data @ model.direction_[:-1] + model.direction_[-1])
    assert side.min() >= -1e-9 * side.max()
    assert side.max() > 0
    claim = verified(model, data, y).certificate_["no maximum likelihood"]
    assert claim.kind == "warning"
    with pytest.raises(ParameterError):
        model.std_errors_  # noqa: B018


def test_a_maximum_that_exists_is_not_called_missing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not fit(X, Y, C=INF).separable_
        assert not fit(np.column_stack([X, np.arange(N) % 50 == 0]), Y, C=INF).separable_


def test_separable_softmax_without_a_penalty_is_named_as_such():
    y = np.argmax(X @ np.random.default_rng(5).normal(size=(D, 3)), axis=1)
    with pytest.warns(SeparableWarning):
        model = fit(X, y, C=INF)
    assert model.separable_
    assert model.margin_ == pytest.approx(1.0)
    assert (verified(model, X, y).predict(X) == y).all()
    Z = model.decision_function(X)
    own = Z[np.arange(N), y]
    Z[np.arange(N), y] = -np.inf
    assert (own - Z.max(axis=1)).min() == pytest.approx(1.0, rel=1e-6)


def test_unpenalised_softmax_states_an_estimate():
    model = verified(fit(X, Y3, C=INF, tol=1e-10), X, Y3)
    assert not model.separable_
    assert [c.kind for c in model.certificate_] == ["estimate"]
    peer = Peer(C=INF, solver="newton-cholesky", tol=1e-12).fit(X, Y3)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)


# --- awkward rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, INF])
def test_constant_and_doubled_columns_change_nothing_of_the_objective(C):
    plain = fit(X, Y, C=C, tol=1e-10)
    constant = np.column_stack([X, np.full(N, 5.0)])
    model = verified(fit(constant, Y, C=C, tol=1e-10), constant, Y)
    assert model.objective_[0] == pytest.approx(plain.objective_[0], rel=1e-9)
    doubled = np.column_stack([X, X])
    model = verified(fit(doubled, Y, C=C / 2, tol=1e-10), doubled, Y)  # each of both takes half: half the penalty
    assert model.objective_[0] == pytest.approx(plain.objective_[0], rel=1e-9)
    np.testing.assert_allclose(model.coef_[0, :D], model.coef_[0, D:], rtol=1e-6)


@pytest.mark.parametrize("y", [Y, Y3], ids=["two", "three"])
def test_columns_of_any_unit_and_far_from_zero_cost_neither_steps_nor_digits(y):
    s = 10.0 ** np.random.default_rng(2).uniform(-4, 4, D)
    plain = fit(X, y, C=INF)
    for data in (X * s, X + 1e6, (X + 1e6) * s):
        model = verified(fit(data, y, C=INF), data, y)
        assert model.n_iter_ <= 2 * plain.n_iter_
        assert model.objective_[0] == pytest.approx(plain.objective_[0], rel=1e-6)
    far, near = fit(X + 1e6, y), fit(X, y)
    assert far.objective_[0] == pytest.approx(near.objective_[0], rel=1e-7)
    assert far.n_iter_ <= 2 * near.n_iter_
    verified(fit(X * s, y), X * s, y)
    assert fit(X * s, y).n_iter_ <= 2 * near.n_iter_


@pytest.mark.parametrize("C", [1e-300, 1e-8, 1e8, 1e14])
def test_the_weakest_and_the_strongest_penalties_are_reached(C):
    for y in (Y, APART):
        if C > 1e10 and y is APART:
            continue
        model = verified(fit(X, y, C=C), X, y)
        assert model.converged_


def test_more_columns_than_rows_and_a_class_of_one_row():
    wide = np.random.default_rng(3).normal(size=(40, 100))
    y = np.arange(40) % 2
    verified(fit(wide, y), wide, y)
    with pytest.warns(SeparableWarning):
        verified(fit(wide, y, C=INF), wide, y)
    alone = (np.arange(N) == 7).astype(int)
    verified(fit(X, alone), X, alone)
    alone3 = np.where(np.arange(N) == 7, 2, Y)
    verified(fit(X, alone3), X, alone3)


def test_a_tolerance_of_zero_ends_where_rounding_does():
    for y in (Y, Y3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(X, y, tol=0.0)
        assert model.n_iter_ < 200
        assert model.gap_[0] < 1e-11


def test_too_few_iterations_are_told():
    for y in (Y, Y3):
        with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
            model = fit(X, y, max_iter=1)
        assert not model.converged_
        assert not model.certificate_.holds
        assert not model.certificate_.verify(X, y).holds


@pytest.mark.parametrize("y", [Y, Y3], ids=["two", "three"])
def test_a_warm_start_begins_where_the_fit_before_ended(y):
    model = assay.LogisticRegression(warm_start=True, tol=1e-8).fit(X, y)
    steps = model.n_iter_
    assert model.fit(X, y).n_iter_ < steps
    model.fit(X[:, :3], y)  # rows of another width begin anew
    np.testing.assert_allclose(model.coef_, fit(X[:, :3], y, tol=1e-8).coef_)


def test_first_weights_are_taken_and_do_not_change_the_answer():
    for y, shape in ((Y, D + 1), (Y3, (3, D + 1))):
        model = fit(X, y, init=np.full(shape, 0.3), tol=1e-10)
        np.testing.assert_allclose(model.predict_proba(X), fit(X, y, tol=1e-10).predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    "init", [[1.0, 2.0], np.zeros((2, D + 1)), [np.nan] * (D + 1), [INF] * (D + 1), "zeros", [["a"]]]
)
def test_first_weights_of_another_shape_are_refused(init):
    with pytest.raises(ParameterError, match="init"):
        fit(X, Y, init=init)


@pytest.mark.parametrize("bad", [np.nan, INF, -INF])
def test_numbers_that_are_none_are_refused_by_row_and_column(bad):
    data = X.copy()
    data[17, 3] = bad
    for rows in (data, scipy.sparse.csr_matrix(data)):
        with pytest.raises(DataError, match="row 17, column 3"):
            fit(rows, Y)


def test_numbers_whose_squares_overflow_are_refused_by_column():
    data = X.copy()
    data[17, 3] = 1e200
    with pytest.raises(DataError, match="Column 3"):
        fit(data, Y)


@pytest.mark.parametrize(
    "params",
    [
        {"C": 0},
        {"C": -1.0},
        {"C": np.nan},
        {"l1_ratio": 1.1},
        {"tol": -1},
        {"solver": "newtn"},
        {"eta": 0},
        {"penalty": "l3"},
    ],
)
def test_impossible_parameters_are_refused_by_name(params):
    with pytest.raises(ParameterError, match=next(iter(params))):
        fit(X, Y, **params)


def test_solvers_that_cannot_are_refused_by_name():
    with pytest.raises(ParameterError, match="newton"):
        fit(X, Y, l1_ratio=0.5, solver="newton")
    with pytest.raises(ParameterError, match="newton"):
        fit(X, Y3, solver="newton")
