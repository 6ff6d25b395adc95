"""ERM with a loss of one's own: it fits as the named loss does, says what is wrong with it, and cannot be saved."""

from __future__ import annotations

import pickle
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse
from cases import blobs, lines
from scipy.optimize import minimize
from sklearn.base import clone

import assay
from assay.errors import ConvergenceWarning, EngineError, ModelFileError, ParameterError
from assay.families.linear.erm import ERM
from assay.risk.custom_surrogate import surrogate


def log_value(z, t):
    return np.logaddexp(0.0, -t * z)


def log_slope(z, t):
    return -t / (1.0 + np.exp(np.minimum(t * z, 500.0)))


def log_curvature(z, t):
    e = np.exp(-np.abs(z))
    return e / (1.0 + e) ** 2


def pinball(z, t):
    return np.where(z < t, 0.9 * (t - z), 0.1 * (z - t))


def pinball_slope(z, t):
    return np.where(z < t, -0.9, 0.1)


def late_value(z, t):
    """A loss whose slope is wrong beyond a score of 8 only, where the grid does not see it."""
    return 0.5 * (z - t) ** 2


def late_slope(z, t):
    return np.where(z > 8.0, 2.0, 1.0) * (z - t)


def bounded(z, t):
    return np.tanh(-t * z) + 1.0


def bounded_slope(z, t):
    return -t / np.cosh(t * z) ** 2


LOG = surrogate(log_value, log_slope, name="my log")
CURVED = surrogate(log_value, log_slope, curvature=log_curvature, name="my log")
HALF_SQUARED = surrogate(late_value, lambda z, t: z - t, kind="regression")


def two(n=200, d=4, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    y = (X @ np.arange(1.0, d + 1) + 3 * rng.standard_normal(n) > 4).astype(int)
    return X, y


@pytest.mark.parametrize(
    ("loss", "penalty", "solver"),
    [
        (LOG, "l2", "lbfgs"),
        (LOG, None, "lbfgs"),
        (CURVED, "l2", "newton"),
        (CURVED, None, "newton"),
        (CURVED, "l2", "auto"),
        (LOG, "l1", "auto"),
        (LOG, "elasticnet", "proximal-gradient"),
        (LOG, "l2", "gd"),
        (LOG, "l2", "subgradient"),
    ],
)
def test_it_fits_as_the_named_loss_does(loss, penalty, solver):
    X, y = two()
    slow = solver in ("gd", "subgradient")
    model = ERM(loss, penalty, solver, lam=0.1 if slow else 0.01, max_iter=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    named = ERM("log", penalty, lam=model.lam).fit(X, y)
    assert model.risk_ == pytest.approx(named.risk_, rel=1e-2 if slow else 2e-6)
    assert np.mean(model.predict(X) == named.predict(X)) > 0.98
    if solver != "subgradient":
        assert model.converged_
        assert [claim.kind for claim in model.certificate_] == ["estimate"]
        assert model.certificate_.verify(X, y).holds
    assert not hasattr(model, "predict_proba")


def test_other_weights_are_refused_by_the_certificate():
    X, y = two()
    model = ERM(LOG).fit(X, y)
    model.coef_[0, 0] += 1e-2
    assert not model.certificate_.verify(X, y).holds


def test_many_classes_and_regression():
    X, y = blobs(150, 4, 3)
    assert np.allclose(ERM(LOG, tol=1e-9).fit(X, y).coef_, ERM("log", tol=1e-9).fit(X, y).coef_, atol=1e-4)
    X, y = lines(150, 4, 3)
    model = ERM(HALF_SQUARED, lam=0.01, tol=1e-9).fit(X, y)
    assert np.allclose(model.coef_, ERM("squared", lam=0.02).fit(X, y).coef_, atol=1e-4)
    assert model.score(X, y) > 0.9
    assert not hasattr(model, "decision_function")


def test_a_quantile_by_a_loss_with_a_kink():
    X, y = lines(200, 1, 3)
    X = X - X.mean()
    loss = surrogate(pinball, pinball_slope, kind="regression", name="pinball")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ERM(loss, "l2", lam=1e-3, eta=0.1, max_iter=5000).fit(X, y)
    assert model.solver_ == "subgradient"

    def risk(v):
        return np.mean(pinball(X @ v[:-1] + v[-1], y)) + 1e-3 * v[:-1] @ v[:-1]

    best = min(minimize(risk, [0.0, y.mean()], method="Nelder-Mead", options={"maxiter": 4000}).fun, model.risk_)
    assert model.risk_ <= 1.05 * best
    with pytest.raises(ParameterError, match=r"'newton' needs.*custom with a kink.*subgradient"):
        ERM(loss, "l2", "newton").fit(X, y)


def test_solvers_that_need_more_than_a_slope_are_refused():
    X, y = two()
    for solver in ("newton", "smoothing", "dual-coordinate", "proximal-newton"):
        with pytest.raises(ParameterError, match=f"solver='{solver}' needs"):
            ERM(LOG, "l2", solver).fit(X, y)


def test_a_slope_that_is_wrong_only_on_the_rows_is_named():
    X, y = lines(150, 4, 3)
    loss = surrogate(late_value, late_slope, kind="regression")
    with pytest.raises(ParameterError, match=r"slope.*does not agree with its value: at z="):
        ERM(loss).fit(X, 20 + np.abs(y))


def test_a_loss_that_is_not_convex_is_an_estimate_with_a_warning():
    X, y = two()
    with pytest.warns(UserWarning, match="not convex: its slope falls between"):
        loss = surrogate(bounded, bounded_slope, name="sigmoid")
    model = ERM(loss, lam=0.01).fit(X, y)
    assert "not convex" in model.certificate_["slope"].statement
    assert model.certificate_.verify(X, y).holds
    assert model.score(X, y) > 0.6


def test_it_cannot_be_saved_but_it_can_be_copied(tmp_path):
    X, y = two()
    model = ERM(LOG).fit(X, y)
    with pytest.raises(ModelFileError, match=r"no code.*coef_"):
        model.save(tmp_path / "model.assay")
    assert not list(tmp_path.iterdir())
    assert clone(model).get_params()["loss"].label == "my log"
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_sparse_rows_weights_and_equal_bits():
    X, y = two()
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    dense, sparse = (ERM(CURVED, tol=1e-9).fit(A, y) for A in (X, scipy.sparse.csr_matrix(X)))
    assert np.allclose(dense.coef_, sparse.coef_, atol=1e-6)
    c = np.arange(len(y)) % 3
    repeated = ERM(LOG, tol=1e-9).fit(np.repeat(X, c, axis=0), np.repeat(y, c))
    assert np.allclose(ERM(LOG, tol=1e-9).fit(X, y, sample_weight=c).coef_, repeated.coef_, atol=1e-5)
    big, target = np.tile(X, (100, 1)), np.tile(y, 100)
    found = set()
    for name, workers in (("threads", 1), ("threads", 3), ("stream", 2)):
        with assay.engine(name, workers=workers):
            found.add(ERM(LOG).fit(big, target).coef_.tobytes())
    assert len(found) == 1


def test_the_path_takes_it_too():
    X, y = two()
    found = ERM(LOG).path(X, y, lams=[0.1, 0.01])
    assert found.objectives[1] == pytest.approx(ERM("log", lam=0.01).fit(X, y).risk_, rel=3e-6)


def test_a_cluster_needs_functions_that_can_be_sent(client):
    X, y = two()
    lock = threading.Lock()

    def held(z, t):
        with lock:
            return log_value(z, t)

    with assay.engine("cluster", client):
        with pytest.raises(EngineError, match="picklable"):
            ERM(surrogate(held, log_slope)).fit(X, y)
        on_cluster = ERM(
            surrogate(lambda z, t: np.logaddexp(0.0, -t * z), lambda z, t: -t / (1.0 + np.exp(t * z)))
        ).fit(X, y)
    assert np.allclose(on_cluster.coef_, ERM(LOG).fit(X, y).coef_, rtol=1e-6)
