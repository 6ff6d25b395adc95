"""L-BFGS reaches the minimum whatever the units of the columns, and its gap tells the truth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from solvers.problems import make_problem, make_softmax, two_classes

from assay.errors import ParameterError
from assay.risk.terms import Penalty
from assay.solvers.lbfgs import lbfgs
from assay.solvers.newton import newton
from assay.solvers.preconditioner import diagonal_preconditioner, gram_preconditioner, preconditioner, root_of_inverse
from assay.solvers.problem import last


def solve(problem, tol=1e-10, max_iter=300, precondition=None):
    start = np.zeros(getattr(problem, "shape", problem.scale.shape))
    return last(lbfgs(problem, start, tol, max_iter, precondition or preconditioner(problem)))


@pytest.mark.parametrize("loss", ["log", "squared hinge", "huber", "squared"])
@pytest.mark.parametrize("make", [gram_preconditioner, diagonal_preconditioner])
def test_it_ends_where_newtons_method_ends(loss, make):
    X, t = two_classes(400, 7)
    problem = make_problem(X, t, loss, l2=0.7)
    ours = solve(problem, precondition=make(problem))
    theirs = last(newton(problem, np.zeros(8), 1e-12, 100))
    assert ours.done
    assert ours.gap <= 1e-10
    np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_logistic_regression_agrees_with_scikit_learn(sparse):
    X, t = two_classes(500, 6)
    X[X < 0] = 0.0
    problem = make_problem(X, t, l2=1.0, sparse=sparse)
    at = solve(problem, 1e-12)
    peer = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, t)
    np.testing.assert_allclose(at.w[:-1], peer.coef_[0], atol=1e-6)
    np.testing.assert_allclose(at.w[-1] - at.w[:-1] @ problem.centre, peer.intercept_[0], atol=1e-6)


@pytest.mark.parametrize("loss", ["log", "squared hinge"])
def test_wide_sparse_rows_agree_with_scikit_learn(loss):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((300, 400)) < 0.05, rng.random((300, 400)), 0.0)
    t = np.where(X @ rng.normal(size=400) + 0.2 * rng.normal(size=300) > 0, 1.0, -1.0)
    problem = make_problem(X, t, loss, l2=1.0, intercept=1.0, sparse=True, centred=False)
    at = solve(problem, 1e-10)
    peer = LogisticRegression(solver="liblinear", tol=1e-10) if loss == "log" else LinearSVC(tol=1e-10, max_iter=10**6)
    peer.fit(X, t)
    np.testing.assert_allclose(at.w, np.append(peer.coef_, peer.intercept_), atol=2e-4)


@pytest.mark.parametrize("loss", ["log", "squared hinge", "softmax"])
def test_the_gap_bounds_what_is_left_at_every_step(loss):
    X, t = two_classes(300, 5)
    if loss == "softmax":
        problem = make_softmax(X, np.random.default_rng(0).integers(0, 3, 300) + (t > 0), l2=0.5)
    else:
        problem = make_problem(X, t, loss, l2=0.5)
    start = np.zeros(getattr(problem, "shape", problem.scale.shape))
    steps = list(lbfgs(problem, start, 1e-13, 300, preconditioner(problem)))
    least = min(at.objective for at in steps)
    assert steps[-1].gap < 1e-9
    for at in steps:
        assert at.objective * (1 - at.gap) <= least * (1 + 1e-12)


@pytest.mark.parametrize("span", [4, 8])
@pytest.mark.parametrize("loss", ["log", "softmax"])
def test_badly_scaled_columns_cost_few_more_steps_and_no_digits(loss, span):
    """Columns × 10^±span with strengths × 10^±2span is the same problem in other units."""
    X, t = two_classes(2000, 12, seed=5)
    y = ((t > 0) + 2 * (X[:, 1] > 0.5)).astype(np.int64)
    units = 10.0 ** np.random.default_rng(1).uniform(-span, span, 12)
    found = []
    for u in (np.ones(12), units):
        penalty = Penalty(np.zeros(13), np.append(u**2, 0.0))
        make = (
            (lambda X, p: make_softmax(X, y, penalty=p))
            if loss == "softmax"
            else (lambda X, p: make_problem(X, t, penalty=p))
        )
        problem = make(X * u, penalty)
        found.append(solve(problem, 1e-9))
    assert found[1].number <= found[0].number + 3
    np.testing.assert_allclose(found[1].objective, found[0].objective, rtol=1e-9)
    np.testing.assert_allclose(found[1].w[..., :-1] * units, found[0].w[..., :-1], atol=1e-4)


def test_without_penalty_the_measure_is_the_preconditioned_slope():
    X, t = two_classes(500, 4, noise=3.0)
    problem = make_problem(X, t)
    at = solve(problem, 1e-14)
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(X, t)
    assert at.done
    assert 0 <= at.gap <= 1e-14
    np.testing.assert_allclose(at.w[:-1], peer.coef_[0], atol=1e-4)


@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_constant_and_repeated_columns_do_no_harm(l2):
    X, t = two_classes(400, 4, noise=3.0)
    plain = solve(make_problem(X, t, l2=l2), 1e-10)
    odd = np.column_stack([X, X[:, 0], np.full(400, 0.1), np.zeros(400), 1e6 * X[:, 1]])
    at = solve(make_problem(odd, t, l2=l2), 1e-10)
    assert at.done
    assert np.isfinite(at.w).all()
    assert at.objective <= plain.objective * (1 + 1e-9)


def test_it_stops_where_rounding_stops_it():
    X, t = two_classes(300, 5)
    at = solve(make_problem(X, t, l2=1.0), tol=0.0, max_iter=1000)
    assert at.done
    assert at.number < 200
    assert at.gap < 1e-13


def test_it_stops_after_max_iter_without_claiming_to_be_done():
    X, t = two_classes(300, 5)
    at = solve(make_problem(X, t, l2=1.0), 1e-12, max_iter=2)
    assert (at.number, at.done) == (2, False)
    assert at.gap > 1e-12


def test_it_starts_anywhere():
    X, t = two_classes(300, 5)
    problem = make_problem(X, t, l2=1.0)
    far = last(lbfgs(problem, np.full(6, 1e3), 1e-10, 300, preconditioner(problem)))
    np.testing.assert_allclose(far.w, solve(problem).w, atol=1e-5)


def test_an_intercept_that_is_not_fitted_stays_where_it_is():
    from dataclasses import replace

    X, t = two_classes(300, 5)
    problem = replace(make_problem(X, t, l2=1.0, centred=False), intercept=False)
    for make in (gram_preconditioner, diagonal_preconditioner):
        at = solve(problem, 1e-12, precondition=make(problem))
        peer = LogisticRegression(fit_intercept=False, tol=1e-10).fit(X, t)
        assert at.w[-1] == 0.0
        np.testing.assert_allclose(at.w[:-1], peer.coef_[0], atol=1e-6)


def test_an_l1_part_is_refused():
    X, t = two_classes(50, 3)
    problem = make_problem(X, t, l1=1.0)
    with pytest.raises(ParameterError, match="smooth penalty"):
        solve(problem)


@pytest.mark.parametrize("loss", ["log", "softmax"])
def test_equal_bits_on_any_number_of_threads(loss):
    X, t = two_classes(20_000, 300)
    y = ((t > 0) + 2 * (X[:, 1] > 0.5)).astype(np.int64)
    make = (
        (lambda k: make_softmax(X, y, l2=1.0, threads=k))
        if loss == "softmax"
        else (lambda k: make_problem(X, t, l2=1.0, threads=k))
    )
    bits = {solve(make(k), 1e-6).w.tobytes() for k in (1, 2, 5)}
    assert len(bits) == 1


def test_the_root_inverts_on_the_directions_that_are_real():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 6)) * 10.0 ** np.array([-9, -4, 0, 4, 8, 0])
    M = A.T @ A
    root = root_of_inverse(M, np.zeros(6))
    np.testing.assert_allclose(root.T @ M @ root, np.eye(6), atol=1e-8)
    twice = np.column_stack([A, A[:, 2]])
    M = twice.T @ twice
    root = root_of_inverse(M, np.zeros(7))
    np.testing.assert_allclose(
        M @ root @ root.T @ M, M, rtol=1e-6, atol=1e-6 * np.sqrt(np.outer(M.diagonal(), M.diagonal())).max() * 1e-10
    )
