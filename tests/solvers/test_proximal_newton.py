"""Proximal Newton: optimality, agreement with scikit-learn, honest gaps, units that do not matter, equal bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from solvers.problems import make_problem, make_softmax, sparse_of, two_classes, worst_violation

from assay.numerics import log_softmax
from assay.risk.terms import Penalty
from assay.solvers.problem import last
from assay.solvers.proximal_newton import (
    FlatSoftmax,
    by_column_blocks,
    choose_columns,
    minimise_model,
    proximal_newton,
    proximal_newton_on_all,
    softmax_newton,
)

STRENGTHS = [{"l1": 5.0}, {"l1": 0.5, "l2": 1.0}, {"l1": 200.0}]
LOSSES = ["log", "squared hinge", "squared", "huber"]


def solved(problem, tol=1e-10, max_iter=100):
    return last(proximal_newton(problem, np.zeros(len(problem.scale)), tol, max_iter))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("strengths", STRENGTHS)
def test_the_conditions_of_a_minimum_hold(loss, strengths):
    X, t = two_classes(800, 20)
    problem = make_problem(X, t, loss, **strengths)
    end = solved(problem)
    assert end.done
    assert end.gap <= 1e-10
    assert end.number <= 15
    assert worst_violation(problem, end.w) < 1e-6 * len(X)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_log_loss_agrees_with_scikit_learn(l1_ratio):
    X, t = two_classes(400, 8)
    peer = LogisticRegression(C=0.1, solver="saga", l1_ratio=l1_ratio, penalty="elasticnet", tol=1e-12, max_iter=50_000)
    peer.fit(X, t)
    problem = make_problem(X, t, "log", l1=10 * l1_ratio, l2=10 * (1 - l1_ratio))
    theirs = np.append(peer.coef_[0], peer.intercept_ + problem.centre @ peer.coef_[0])
    end = solved(problem)
    assert end.objective <= problem.objective(problem.evaluate(theirs), theirs) * (1 + 1e-14)
    np.testing.assert_allclose(end.w, theirs, atol=1e-6)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.3])
def test_squared_loss_agrees_with_scikit_learn(l1_ratio):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12)) + 5.0
    f = X[:, 0] - 2 * X[:, 3] + rng.normal(size=300)
    peer = Lasso(0.1, tol=1e-14) if l1_ratio == 1 else ElasticNet(0.1, l1_ratio=l1_ratio, tol=1e-14)
    peer.fit(X, f)
    end = solved(make_problem(X, f, "squared", l1=30 * l1_ratio, l2=30 * (1 - l1_ratio)))
    assert end.number == 1  # the model is the loss itself
    np.testing.assert_allclose(end.w[:-1], peer.coef_, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_is_never_below_what_is_left_to_gain(loss):
    X, t = two_classes(500, 15, seed=3)
    for strengths in STRENGTHS:
        problem = make_problem(X, t, loss, **strengths)
        iterates = list(proximal_newton(problem, np.zeros(16), 1e-12, 100))
        least = iterates[-1].objective
        for at in iterates:
            assert at.gap >= (at.objective - least) / at.objective - 1e-14


@pytest.mark.parametrize("loss", LOSSES)
def test_units_of_columns_do_not_matter(loss):
    """With the penalty in the same units the path of the solver is the same; with one strength for all it is not much longer."""
    X, t = two_classes(600, 20, seed=1)
    units = 10 ** np.random.default_rng(5).uniform(-4, 4, 20)
    for l1, l2 in ((5.0, 0.0), (1.0, 1.0)):
        plain = solved(make_problem(X, t, loss, l1=l1, l2=l2))
        same = Penalty(np.append(l1 * units, 0.0), np.append(l2 * units**2, 0.0))
        other = solved(make_problem(X * units, t, loss, penalty=same))
        assert abs(other.number - plain.number) <= 1
        assert other.objective == pytest.approx(plain.objective, rel=1e-10)
        skewed = solved(make_problem(X * units, t, loss, l1=l1, l2=l2))
        assert skewed.gap <= 1e-10
        assert skewed.number <= 2 * plain.number + 5


def test_columns_that_are_copies_or_constant_do_no_harm():
    X, t = two_classes(300, 6)
    X = np.column_stack([X, X[:, 0], X[:, 1] + 1e-9 * X[:, 2], np.full(300, 7.0)])
    for strengths in STRENGTHS:
        end = solved(make_problem(X, t, "log", **strengths))
        assert end.gap <= 1e-10
        assert end.w[-2] == 0


def test_weights_are_repeated_rows():
    X, t = two_classes(200, 5)
    c = np.random.default_rng(0).integers(0, 4, 200).astype(float)
    one = solved(make_problem(X, t, "log", c=c, l1=3.0))
    other = solved(make_problem(np.repeat(X, c.astype(int), axis=0), np.repeat(t, c.astype(int)), "log", l1=3.0))
    np.testing.assert_allclose(one.w, other.w, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True])
def test_of_many_columns_a_set_gives_the_same_minimum(loss, sparse, monkeypatch):
    X, t = two_classes(300, 600, informative=10)
    X *= np.random.default_rng(3).random(X.shape) < 0.1
    problem = make_problem(X, t, loss, sparse=sparse, centred=not sparse, l1=3.0, l2=0.1)
    end = solved(problem)
    assert end.done
    assert end.gap <= 1e-10
    whole = make_problem(X, t, loss, l1=3.0, l2=0.1)
    assert end.objective == pytest.approx(
        last(proximal_newton_on_all(whole, np.zeros(601), 1e-10, 100)).objective, rel=1e-9
    )
    monkeypatch.setattr("assay.solvers.proximal_newton.MOST_CHOSEN", 10)
    rough = solved(problem, tol=1e-4, max_iter=3000)
    assert rough.gap <= 1e-4
    assert rough.objective == pytest.approx(end.objective, rel=1e-4)


@pytest.mark.parametrize("loss", [*LOSSES, "hinge"])
def test_chosen_columns_of_sparse_and_dense_rows_see_the_same(loss):
    X, t = two_classes(200, 300)
    X *= np.random.default_rng(3).random(X.shape) < 0.2
    chosen, c = np.array([0, 1, 5, 77, 299]), np.random.default_rng(4).random(200)
    dense, sparse = (make_problem(X, t, loss, c=c, sparse=s, l1=1.0) for s in (False, True))
    w = np.random.default_rng(1).normal(size=6)
    a, b = (choose_columns(p, chosen, np.zeros(301)).evaluate(w, hessian=True) for p in (dense, sparse))
    everything = np.zeros(301)
    everything[[*chosen, 300]] = w
    evaluation = dense.evaluate(everything, hessian=True)
    for other in (b, evaluation):
        assert other.loss == pytest.approx(a.loss)
        assert other.smooth == pytest.approx(a.smooth)
        assert other.least == pytest.approx(a.least)
    np.testing.assert_allclose(b.gradient, a.gradient, atol=1e-9)
    np.testing.assert_allclose(b.hessian, a.hessian, atol=1e-9)
    np.testing.assert_allclose(evaluation.hessian[np.ix_([*chosen, 300], [*chosen, 300])], a.hessian, atol=1e-9)


@pytest.mark.parametrize("d", [20, 600])
def test_one_two_and_five_threads_give_equal_bits(d):
    X, t = two_classes(9000, d, informative=10)
    one, *others = (solved(make_problem(X, t, "log", threads=k, l1=20.0), tol=1e-8).w for k in (1, 2, 5))
    assert all(np.array_equal(one, w) for w in others)


def test_the_model_is_minimised_even_where_columns_are_nearly_alike():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 1)) + 1e-4 * rng.normal(size=(50, 30))
    H, g, w = A.T @ A, A.T @ rng.normal(size=50), rng.normal(size=30)
    penalty = Penalty(np.append(np.full(29, 0.001), 0.0), np.full(30, 1e-6))
    v = minimise_model(H, g, w, penalty)
    q = g + H @ (v - w) + penalty.l2 * v
    off = np.where(v != 0, np.abs(q + penalty.l1 * np.sign(v)), np.maximum(np.abs(q) - penalty.l1, 0))
    assert np.count_nonzero(v) > 5
    assert off.max() < 1e-9


def softmax_objective(problem, X, y, W):
    Z = (X - problem.centre) @ W[:, :-1].T + W[:, -1]
    return -log_softmax(Z)[np.arange(len(y)), y].sum() + problem.penalty.value(W)


def test_softmax_hessian_is_the_derivative_of_the_gradient():
    X, y = load_iris(return_X_y=True)
    for sparse in (False, True):
        flat = FlatSoftmax(make_softmax(X, y, sparse=sparse, l1=1.0))
        rng = np.random.default_rng(0)
        w, v = rng.normal(size=15), rng.normal(size=15)
        v.reshape(3, 5)[...] -= v.reshape(3, 5).mean(
            axis=0
        )  # the direction to which the loss is blind has its own curvature
        slope = (flat.evaluate(w + 1e-6 * v).gradient - flat.evaluate(w - 1e-6 * v).gradient) / 2e-6
        np.testing.assert_allclose(flat.evaluate(w, hessian=True).hessian @ v, slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("strengths", [{"l1": 1.0}, {"l1": 0.5, "l2": 0.5}])
def test_softmax_reaches_its_gap_in_few_folds(strengths):
    for X, y in (load_iris(return_X_y=True), load_digits(return_X_y=True)):
        problem = make_softmax(X, y, **strengths)
        end = last(softmax_newton(problem, np.zeros(problem.shape), 1e-8, 50))
        assert end.done
        assert end.gap <= 1e-8
        assert end.number <= 20
        assert end.objective == pytest.approx(softmax_objective(problem, X, y, end.w))


def test_softmax_agrees_with_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    peer = LogisticRegression(C=1.0, solver="saga", penalty="elasticnet", l1_ratio=0.5, tol=1e-10, max_iter=20_000).fit(
        X, y
    )
    problem = make_softmax(X, y, l1=0.5, l2=0.5)
    end = last(softmax_newton(problem, np.zeros((3, 5)), 1e-9, 50))
    theirs = softmax_objective(problem, X, y, np.column_stack([peer.coef_, peer.intercept_]))
    assert end.objective == pytest.approx(theirs, rel=1e-7)
    np.testing.assert_allclose(end.w[:, :-1], peer.coef_, atol=1e-3)


def test_softmax_gives_equal_bits_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140_000, 3))
    y = (X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(140_000, 3))).argmax(1)
    one, *others = (
        last(softmax_newton(make_softmax(X, y, threads=k, l1=50.0), np.zeros((3, 4)), 1e-8, 50)).w for k in (1, 2, 5)
    )
    assert all(np.array_equal(one, w) for w in others)


def test_sparse_of_keeps_the_matrix():
    X = np.random.default_rng(0).integers(-1, 2, (20, 7)).astype(float)
    np.testing.assert_array_equal(sparse_of(X).toarray(), X)


@pytest.mark.parametrize("l1", [5.0, 100.0])
def test_the_hinge_with_l1_reaches_the_optimum_of_its_linear_programme(l1):
    from scipy.optimize import linprog

    from assay.solvers.smoothing import smoothing

    X, t = two_classes(300, 8)
    end = last(smoothing(make_problem(X, t, "hinge", l1=l1), np.zeros(9), 1e-7, 300))
    A = np.column_stack([t[:, None] * X, t, np.eye(300)])
    doubled = np.column_stack([A[:, :9], -A[:, :9], A[:, 9:]])
    cost = np.concatenate([np.append(np.full(8, l1), 0.0)] * 2 + [np.ones(300)])
    least = linprog(cost, -doubled, -np.ones(300), method="highs").fun
    assert end.gap <= 1e-7
    assert end.objective == pytest.approx(least, rel=1e-7)


def test_an_intercept_that_is_not_to_move_stays():
    X, t = two_classes(300, 600)
    for loss, sparse, d in (("log", False, 10), ("log", False, 600), ("squared hinge", True, 600)):
        problem = replace(make_problem(X[:, :d], t, loss, sparse=sparse, centred=False, l1=3.0), intercept=False)
        end = solved(problem, tol=1e-8)
        assert end.gap <= 1e-8
        assert end.w[-1] == 0
    y = (t > 0).astype(int) + (X[:, 0] > 0)
    softmax = replace(make_softmax(X[:, :6], y, centred=False, l1=3.0), intercept=False)
    end = last(proximal_newton(softmax, np.zeros((3, 7)), 1e-8, 50))
    assert end.gap <= 1e-8
    assert not end.w[:, -1].any()


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_of_columns_in_turn_reach_the_same_minimum(loss, monkeypatch):
    X, t = two_classes(300, 300, informative=10)
    X *= np.random.default_rng(3).random(X.shape) < 0.1
    monkeypatch.setattr("assay.solvers.proximal_newton.BLOCK", 40)
    for strengths in ({"l1": 2.0}, {"l1": 0.5, "l2": 1.0}):
        problem = make_problem(X, t, loss, sparse=True, centred=False, **strengths)
        iterates = list(by_column_blocks(problem, np.zeros(301), 1e-7, 300))
        assert iterates[-1].done
        assert iterates[-1].gap <= 1e-7
        assert iterates[-1].objective == pytest.approx(solved(problem).objective, rel=1e-7)
        assert np.all(np.diff([at.objective for at in iterates]) <= 1e-12 * iterates[0].objective)


def test_of_dense_rows_no_weight_outside_of_the_chosen_is_ignored():
    X, t = two_classes(50, 5)
    with pytest.raises(AssertionError, match="all other weights must be zero"):
        choose_columns(make_problem(X, t, l1=1.0), np.array([0, 2]), np.ones(6)).evaluate(np.zeros(3))
