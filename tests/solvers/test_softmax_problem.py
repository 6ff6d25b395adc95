"""Softmax regression as a problem: its gradient, its bound from below, and its minimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from solvers.problems import make_softmax

from assay.solvers.lbfgs import lbfgs
from assay.solvers.preconditioner import class_preconditioner, diagonal_preconditioner, preconditioner
from assay.solvers.problem import last


def classes(n=300, d=5, K=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    X[rng.random((n, d)) < 0.3] = 0.0
    y = (X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    return X, y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [5, 300])
def test_the_gradient_is_the_slope_of_the_loss(sparse, weighted, d):
    X, y = classes(200, d)
    rng = np.random.default_rng(1)
    problem = make_softmax(X, y, l2=1.0, c=rng.uniform(0, 2, 200) if weighted else None, sparse=sparse, centred=d < 256)
    W, V = rng.normal(size=(2, 4, d + 1)) / np.sqrt(d)
    h = 1e-5
    slope = (problem.evaluate(W + h * V).loss - problem.evaluate(W - h * V).loss) / (2 * h)
    assert (problem.evaluate(W).gradient * V).sum() == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("d", [5, 300])
def test_its_minimum_is_scikit_learns(sparse, d):
    X, y = classes(400, d)
    wide = d > 256 and sparse
    problem = make_softmax(X, y, l2=1.0, sparse=sparse, centred=not wide)
    at = last(lbfgs(problem, np.zeros(problem.shape), 1e-12, 500, preconditioner(problem)))
    peer = LogisticRegression(tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(at.w[:, :-1], peer.coef_, atol=2e-5)
    b = at.w[:, -1] - at.w[:, :-1] @ problem.centre
    np.testing.assert_allclose(b - b.mean(), peer.intercept_ - peer.intercept_.mean(), atol=1e-3)
    assert at.done


@pytest.mark.parametrize("strengths", [{"l2": 0.3}, {"l2": 0.3, "intercept": 0.3}, {"l1": 2.0}, {"l1": 1.0, "l2": 0.5}])
def test_the_bound_from_below_holds_everywhere(strengths):
    """The dual at any W is below F at any other, free intercepts or not."""
    X, y = classes()
    problem = make_softmax(X, y, **strengths)
    rng = np.random.default_rng(2)
    evaluations = [(W, problem.evaluate(W)) for W in rng.normal(size=(20, 4, 6)) * rng.uniform(0, 2, size=(20, 1, 1))]
    if problem.penalty.quadratic:
        W = last(lbfgs(problem, np.zeros((4, 6)), 1e-10, 300, preconditioner(problem))).w
        evaluations.append((W, problem.evaluate(W)))
    least = min(problem.objective(evaluation, W) for W, evaluation in evaluations)
    for W, evaluation in evaluations:
        assert problem.dual(evaluation, W) <= least * (1 + 1e-12)


def test_no_minimum_has_intercepts_further_apart_than_the_bound():
    for seed in range(5):
        X, y = classes(60, 2, 3, seed)
        X[y == 0] += 5.0
        problem = make_softmax(X, y, l2=0.01, centred=False)
        at = last(lbfgs(problem, np.zeros((3, 3)), 1e-8, 500, preconditioner(problem)))
        for iterate in lbfgs(problem, np.zeros((3, 3)), 1e-8, 500, preconditioner(problem)):
            fall = iterate.objective - at.objective * (1 - 1e-8)
            for known in (fall, iterate.objective):  # what F can fall by, and the little that is always known of it
                assert np.ptp(at.w[:, -1]) <= problem.intercept_spread(iterate.w, iterate.objective)(known)


def test_weights_count_like_repeated_rows():
    X, y = classes(100)
    c = np.random.default_rng(3).integers(0, 3, 100).astype(float)
    W = np.random.default_rng(4).normal(size=(4, 6))
    once = make_softmax(X, y, l2=1.0, c=c, centred=False).evaluate(W)
    often = make_softmax(
        np.repeat(X, c.astype(int), axis=0), np.repeat(y, c.astype(int)), l2=1.0, centred=False
    ).evaluate(W)
    assert once.loss == pytest.approx(often.loss)
    np.testing.assert_allclose(once.gradient, often.gradient, atol=1e-9)


def test_equal_bits_on_any_number_of_threads():
    X, y = classes(30_000, 300)
    W = np.random.default_rng(4).normal(size=(4, 301)) / 20
    for sparse in (False, True):
        evaluations = [
            make_softmax(X, y, l2=1.0, threads=k, sparse=sparse, centred=not sparse).evaluate(W) for k in (1, 2, 5)
        ]
        assert len({(evaluation.loss, evaluation.gradient.tobytes()) for evaluation in evaluations}) == 1


def test_classes_that_know_their_own_curvature_need_fewer_steps():
    """On the digits, scaled as they come: a certified gap of 1e-6 in less than half the steps than by the columns' scale alone."""
    X, y = load_digits(return_X_y=True)
    problem = make_softmax(X, y, l2=1.0)
    steps = {}
    for make in (class_preconditioner, diagonal_preconditioner):
        at = last(lbfgs(problem, np.zeros(problem.shape), 1e-6, 1000, make(problem)))
        assert at.done
        steps[make] = at.number
    assert steps[class_preconditioner] < 80
    assert steps[class_preconditioner] < steps[diagonal_preconditioner] / 2


@pytest.mark.parametrize("l2", [0.0, 1e-4, 1e-2])
def test_nearly_separable_classes_are_no_trouble(l2):
    X, y = load_digits(return_X_y=True)
    problem = make_softmax(X, y, l2=l2)
    at = last(lbfgs(problem, np.zeros(problem.shape), 1e-5, 250, preconditioner(problem)))
    assert at.done
    assert at.objective < 1e-6 if l2 == 0 else at.gap <= 1e-5


def test_a_start_with_something_in_common_to_all_classes_loses_it():
    X, y = classes()
    problem = make_softmax(X, y, l2=1.0)
    start = np.ones((4, 6)) * np.arange(6)
    at = last(lbfgs(problem, start, 1e-10, 300, preconditioner(problem)))
    assert at.gap <= 1e-10
    np.testing.assert_allclose(at.w[:, :-1].sum(axis=0), 0.0, atol=1e-4)


def test_without_intercepts_they_stay():
    X, y = classes()
    problem = replace(make_softmax(X, y, l2=1.0, centred=False), intercept=False)
    at = last(lbfgs(problem, np.zeros((4, 6)), 1e-12, 300, preconditioner(problem)))
    peer = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    assert not at.w[:, -1].any()
    np.testing.assert_allclose(at.w[:, :-1], peer.coef_, atol=1e-6)
