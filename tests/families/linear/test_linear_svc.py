"""The linear support vector machine, soft and hard: the gap is really reached, and the multipliers say so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as Peer

import assay
from assay.errors import ConvergenceWarning, DataError, ParameterError

INF = float("inf")
rng = np.random.default_rng(0)
N, D = 300, 6
X = rng.normal(size=(N, D)) + 0.5 * rng.normal(size=(N, 1))
TRUE = rng.normal(size=D)
Y = (X @ TRUE + rng.logistic(size=N) > 0.3).astype(int)
Y3 = np.digitize(X @ TRUE + rng.logistic(size=N), [-1, 1])
W = rng.uniform(0, 2, N) * (np.arange(N) % 7 > 0)
APART = (X @ TRUE > 0).astype(int)
LOSSES = ["hinge", "squared_hinge"]


def fit(X, y, sample_weight=None, **params):
    return assay.LinearSVC(**params).fit(X, y, sample_weight)


def verified(model, *rows):
    verdicts = model.certificate_.verify(*rows)
    assert verdicts.holds, str(verdicts)
    return model


def objective(model, X, y, loss, C=1.0, c=1.0, scaling=None, l1=False):
    """½‖w‖² (or ‖w‖₁) + ½(b / scaling)² + C·Σ c ℓ, by NumPy."""
    a = np.maximum(0, 1 - np.where(y == model.classes_[1], 1, -1) * (X @ model.coef_[0] + model.intercept_))
    penalty = np.abs(model.coef_).sum() if l1 else 0.5 * (model.coef_**2).sum()
    bias = 0.0 if scaling is None else 0.5 * float(np.sum(model.intercept_)) ** 2 / scaling**2
    return penalty + bias + C * float((c * (a if loss == "hinge" else a * a)).sum())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_with_its_penalised_intercept_the_objective_is_that_of_scikit_learn(loss, C, fit_intercept):
    """scikit-learn 1.7 (liblinear), intercept_scaling=1, run until it stands."""
    scaling = 1.0 if fit_intercept else None
    ours = verified(fit(X, Y, W, loss=loss, C=C, fit_intercept=fit_intercept, intercept_scaling=1.0, tol=1e-9), X, Y, W)
    peer = Peer(loss=loss, C=C, fit_intercept=fit_intercept, tol=1e-9, max_iter=100_000).fit(X, Y, sample_weight=W)
    a, b = (objective(m, X, Y, loss, C, W, scaling) for m in (ours, peer))
    assert ours.objective_[0] * C == pytest.approx(a, rel=1e-12)
    assert a <= b * (1 + 1e-9)
    assert a == pytest.approx(b, rel=1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_with_a_free_intercept_the_hinge_objective_is_that_of_libsvm(C):
    ours = verified(fit(X, Y, loss="hinge", C=C), X, Y)
    peer = SVC(kernel="linear", C=C, tol=1e-8).fit(X, Y)
    a, b = (objective(m, X, Y, "hinge", C) for m in (ours, peer))
    assert a <= b * (1 + 1e-9)
    assert a == pytest.approx(b, rel=5e-6)


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_squared_hinge_with_l1_reaches_the_objective_of_scikit_learn(C):
    ours = verified(fit(X, Y, penalty="l1", C=C, fit_intercept=False, tol=1e-9), X, Y)
    peer = Peer(penalty="l1", dual=False, C=C, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, Y)
    a, b = (objective(m, X, Y, "squared_hinge", C, l1=True) for m in (ours, peer))
    assert a <= b * (1 + 1e-9)
    assert a == pytest.approx(b, rel=1e-6)


def test_the_gap_is_really_reached_where_liblinear_stops_far_above():
    """Standardised breast cancer, hinge, C = 1e4: the issue's example."""
    data, y = load_breast_cancer(return_X_y=True)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    model = verified(fit(data, y, loss="hinge", C=1e4), data, y)
    assert model.gap_[0] <= 1e-6
    assert model.objective_[0] == pytest.approx(7.558472396, rel=1e-6)  # Σ max(0, 1 − tz) + ½‖w‖²/C
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = Peer(loss="hinge", C=1e4, random_state=0).fit(data, y)
    assert objective(peer, data, y, "hinge", 1e4) / 1e4 > 1.3 * model.objective_[0]


def test_many_rows_go_through_both_phases_and_their_multipliers_verify():
    r = np.random.default_rng(1)
    data = r.normal(size=(6000, 20))
    y = (data @ r.normal(size=20) + 2 * r.normal(size=6000) > 0).astype(int)
    for params in ({}, {"penalty": "l1", "C": 0.05}, {"intercept_scaling": 1.0}, {"fit_intercept": False}):
        model = verified(fit(data, y, loss="hinge", **params), data, y)
        assert model.gap_[0] <= 1e-6
        assert 0 < len(model.dual_rows_) < 6000


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e4, 1e8])
def test_separable_and_nearly_separable_rows_reach_the_gap_at_any_cost(loss, C):
    nearly = APART.copy()
    nearly[np.argmin(np.abs(X @ TRUE))] ^= 1
    for y in (APART, nearly):
        model = verified(fit(X, y, loss=loss, C=C), X, y)
        assert model.converged_


def test_for_large_c_the_soft_margin_is_the_hard_one():
    hard = fit(X, APART, C=INF)
    for loss in LOSSES:
        np.testing.assert_allclose(fit(X, APART, loss=loss, C=1e8).coef_, hard.coef_, rtol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_awkward_rows_are_solved(loss):
    both = np.concatenate([X[:50], X[:50]]), np.repeat([0, 1], 50)
    margin = np.repeat([[1.0], [-1.0]], 20, axis=0), np.repeat([1, 0], 20)
    alone = X, (np.arange(N) == 7).astype(int)
    equal = np.ones((20, 3)), (np.arange(20) < 5).astype(int)
    for data, y in (both, margin, alone, equal):
        assert verified(fit(data, y, loss=loss, C=100.0), data, y).converged_
    assert fit(*both, loss=loss).objective_[0] == pytest.approx(100.0)
    assert fit(*margin, loss="hinge", C=100.0).objective_[0] == pytest.approx(0.5 / 100)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_rows_and_class_weights_are_weights(loss):
    counts = np.arange(N) % 3
    many = np.repeat(np.arange(N), counts)
    a, b = fit(X, Y, counts.astype(float), loss=loss, tol=1e-10), fit(X[many], Y[many], loss=loss, tol=1e-10)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)
    assert a.objective_[0] == pytest.approx(b.objective_[0], rel=1e-9)
    heavy = np.where(Y == 1, 3.0, 0.5)
    c, d = fit(X, Y, heavy, loss=loss), fit(X, Y, loss=loss, class_weight={1: 3.0, 0: 0.5})
    np.testing.assert_allclose(c.coef_, d.coef_, rtol=1e-9)
    verified(fit(X, Y, W, loss=loss, class_weight="balanced"), X, Y, W)


@pytest.mark.parametrize("loss", LOSSES)
def test_more_classes_are_each_against_the_rest(loss):
    model = verified(fit(X, Y3, loss=loss, tol=1e-9), X, Y3)
    for k in range(3):
        alone = fit(X, np.equal(Y3, k).astype(int), loss=loss, tol=1e-9)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-6)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_[0], atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


def test_every_solver_reaches_the_same_minimum():
    for loss, solvers in {
        "hinge": ["smoothing", "dual-coordinate"],
        "squared_hinge": ["newton", "lbfgs", "proximal-newton", "proximal-gradient", "dual-coordinate"],
    }.items():
        params = {"loss": loss, "intercept_scaling": 1.0}
        least = fit(X, Y, tol=1e-10, **params).objective_[0]
        for solver in solvers:
            model = verified(fit(X, Y, solver=solver, max_iter=20_000, **params), X, Y)
            assert least * (1 - 1e-9) <= model.objective_[0] <= least * (1 + 1e-6), solver


def test_too_few_iterations_are_told():
    for loss in LOSSES:
        with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
            model = fit(X, Y, loss=loss, max_iter=1)
        assert model.n_iter_ == 1
        assert not model.certificate_.verify(X, Y).holds


@pytest.mark.parametrize("loss", LOSSES)
def test_columns_of_any_unit_and_far_from_zero_cost_neither_steps_nor_digits(loss):
    s = 10.0 ** np.random.default_rng(2).uniform(-4, 4, D)
    plain = fit(X, Y, loss=loss)
    far = verified(fit(X + 1e6, Y, loss=loss), X + 1e6, Y)
    assert far.objective_[0] == pytest.approx(plain.objective_[0], rel=1e-6)
    assert verified(fit(X * s, Y, loss=loss), X * s, Y).n_iter_ <= 2 * plain.n_iter_ + 5


# --- the hard margin ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_hard_margin_is_the_least_w_with_every_row_beyond_one(fit_intercept):
    from scipy.optimize import minimize

    model = verified(fit(X, APART, C=INF, fit_intercept=fit_intercept), X, APART)
    t = np.where(APART == 1, 1.0, -1.0)
    A = t[:, None] * np.column_stack([X, np.full(N, float(fit_intercept))])
    start = np.append(model.coef_[0], model.intercept_[0]) * 1.1
    found = minimize(
        lambda u: (0.5 * u[:-1] @ u[:-1], np.append(u[:-1], 0.0)),
        start,
        jac=True,
        constraints={"type": "ineq", "fun": lambda u: A @ u - 1, "jac": lambda u: A},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert model.objective_[0] == pytest.approx(found.fun, rel=1e-6)
    assert (t * model.decision_function(X)).min() == pytest.approx(1.0, rel=1e-6)
    assert (model.intercept_[0] != 0) == fit_intercept


def test_projected_gradient_as_the_notes_write_it_finds_the_same():
    fast = fit(X, APART, C=INF)
    notes = verified(fit(X, APART, C=INF, solver="pgd", max_iter=20_000, tol=1e-4), X, APART)
    np.testing.assert_allclose(notes.coef_, fast.coef_, rtol=1e-3)
    steps = list(assay.LinearSVC(C=INF, solver="pgd", max_iter=50).steps(X, APART))
    assert steps[-1].values["objective"] <= steps[0].values["objective"] * (1 + 1e-9)


@pytest.mark.parametrize("given", ["array", "stream"])
def test_projected_gradient_refuses_more_rows_than_the_notes_would_project_on(given, tmp_path):
    data = np.column_stack([np.repeat([-1.0, 1.0], 1001), np.arange(2002) % 7])
    y = np.repeat([0, 1], 1001)
    rows = data
    if given == "stream":
        np.savetxt(tmp_path / "t.csv", np.column_stack([data, y]), delimiter=",", header="a,b,y", comments="", fmt="%g")
        rows, y = assay.rows(str(tmp_path / "t.csv"), target="y"), None
    with pytest.raises(DataError, match="at most 2000 rows"):
        fit(rows, y, C=INF, solver="pgd")


def test_rows_that_are_not_separable_have_no_hard_margin():
    with pytest.raises(DataError, match=r"hulls of rows \[.*\] meet"):
        fit(X, Y, C=INF)


def test_the_hard_margin_of_more_classes_needs_each_apart_from_the_rest():
    centres = np.array([[0.0, 8.0], [8.0, 0.0], [-8.0, -8.0]])
    y = np.arange(60) % 3
    data = centres[y] + np.random.default_rng(0).normal(size=(60, 2))
    model = verified(fit(data, y, C=INF), data, y)
    assert (model.predict(data) == y).all()


def test_leaving_a_row_out_errs_no_more_often_than_there_are_support_rows():
    data, y = X[:30], APART[:30]
    model = verified(fit(data, y, C=INF), data, y)
    bound = model.certificate_["leave-one-out error"].value
    errors = []
    for i in range(30):
        rest = np.arange(30) != i
        without = fit(data[rest], y[rest], C=INF)
        errors.append(without.predict(data[i : i + 1])[0] != y[i])
        if i not in model.dual_rows_:
            np.testing.assert_allclose(without.coef_, model.coef_, rtol=1e-6)
    assert np.mean(errors) <= bound == len(model.dual_rows_) / 30


@pytest.mark.parametrize(
    ("params", "what"),
    [
        ({"C": INF, "solver": "newton"}, "newton"),
        ({"C": 1.0, "solver": "pgd"}, "pgd"),
        ({"C": INF, "penalty": "l1"}, "hard margin"),
        ({"C": INF, "intercept_scaling": 1.0}, "hard margin"),
        ({"loss": "hinge", "solver": "newton"}, "newton"),
        ({"loss": "squared_hinge", "solver": "smoothing"}, "smoothing"),
        ({"penalty": "l1", "solver": "newton"}, "newton"),
        ({"C": 0.0}, "C"),
        ({"C": -1.0}, "C"),
        ({"loss": "hing"}, "loss"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(params, what):
    with pytest.raises(ParameterError, match=what):
        fit(X, APART, **params)


# --- sparse rows and engines ---------------------------------------------------------------------------------------------


def sparse_rows(d, n=400):
    r = np.random.default_rng(d)
    data = np.where(r.random((n, d)) < 20 / d, r.random((n, d)), 0.0)
    score = data @ r.normal(size=d)
    return data, (score + 0.3 * r.normal(size=n) > np.median(score)).astype(int)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("d", [40, 1000])
def test_sparse_rows_are_dense_rows(d, loss):
    data, y = sparse_rows(d)
    S = scipy.sparse.csr_matrix(data)
    tol = 1e-12 if loss == "squared_hinge" else 1e-9
    for params in ({}, {"intercept_scaling": 1.0}, {"fit_intercept": False}):
        a = verified(fit(data, y, loss=loss, tol=tol, max_iter=5000, **params), data, y)
        b = verified(fit(S, y, loss=loss, tol=tol, max_iter=5000, **params), S, y)
        np.testing.assert_allclose(b.coef_, a.coef_, atol=1e-5 if loss == "squared_hinge" else 1e-3)
        assert b.objective_[0] == pytest.approx(a.objective_[0], rel=1e-8)


def test_the_hard_margin_of_sparse_rows_is_that_of_dense_rows():
    data, _ = sparse_rows(40)
    y = (data @ np.random.default_rng(0).normal(size=40) > 0).astype(int)
    S = scipy.sparse.csr_matrix(data)
    a, b = verified(fit(data, y, C=INF), data, y), verified(fit(S, y, C=INF), S, y)
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-6, atol=1e-8)


def test_the_same_model_comes_of_every_engine():
    from cases import file_bytes
    from small_blocks import small_blocks

    r = np.random.default_rng(4)
    data = np.where(r.random((20_000, 8)) < 0.5, r.normal(size=(20_000, 8)), 0.0)
    y = (data @ r.normal(size=8) + r.normal(size=20_000) > 0).astype(int)
    for rows in (data, scipy.sparse.csr_matrix(data)):
        for params in ({"loss": "hinge"}, {}):
            files = set()
            for name, workers in (("threads", 1), ("threads", 2), ("threads", 5), ("stream", 1)):
                with small_blocks(), assay.engine(name, workers=workers):
                    files.add(file_bytes(verified(fit(rows, y, **params), rows, y)))
            assert len(files) == 1
