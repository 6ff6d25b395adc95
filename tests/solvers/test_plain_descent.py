"""Gradient and subgradient descent go as the lecture notes write them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from solvers.problems import make_problem, make_softmax, two_classes

from assay.errors import ParameterError
from assay.solvers.gradient_descent import gradient_descent, safe_step, subgradient_descent
from assay.solvers.newton import newton
from assay.solvers.problem import last


def test_the_steps_are_those_of_note_004():
    """∂L/∂w = Σ (−y x)(1 − P(y | x; w)) with P = 1/(1 + e^(−y⟨w, x⟩)); w ← w − η ∂L/∂w."""
    X, t = two_classes(50, 3)
    with_one = np.column_stack([X, np.ones(50)])
    w = np.array([0.1, -0.2, 0.3, 0.0])
    for at in gradient_descent(make_problem(X, t, centred=False), w, 0.0, 10, eta=0.01):
        np.testing.assert_allclose(at.w, w, rtol=1e-12)
        likely = 1 / (1 + np.exp(-t * (with_one @ w)))
        assert at.objective == pytest.approx(-np.log(likely).sum())
        w = w - 0.01 * (-t * (1 - likely)) @ with_one
    assert at.number == 10


def test_the_steps_for_many_classes_are_those_of_note_004():
    """∂L/∂w_k = Σ x (P(k | x; w) − [y = k])."""
    X, y = load_iris(return_X_y=True)
    with_one = np.column_stack([X, np.ones(150)])
    W = np.zeros((3, 5))
    for at in gradient_descent(make_softmax(X, y, centred=False), W, 0.0, 5, eta=1e-4):
        np.testing.assert_allclose(at.w, W, rtol=1e-10, atol=1e-15)
        P = np.exp(with_one @ W.T)
        P /= P.sum(axis=1, keepdims=True)
        W = W - 1e-4 * (P - np.eye(3)[y]).T @ with_one


def test_the_automatic_step_never_raises_the_objective_and_reaches_the_minimum():
    X, t = two_classes(200, 3)
    for loss in ("log", "squared hinge", "squared", "huber"):
        problem = make_problem(X, t, loss, centred=False, l2=2.0)
        iterates = list(gradient_descent(problem, np.zeros(4), 1e-6, 5000))
        values = [at.objective for at in iterates]
        assert np.all(np.diff(values) <= 1e-12 * values[0])
        assert iterates[-1].done
        assert values[-1] == pytest.approx(last(newton(problem, np.zeros(4), 1e-10, 50)).objective, rel=1e-6)
    X, y = load_iris(return_X_y=True)
    values = [
        at.objective for at in gradient_descent(make_softmax(X, y, centred=False, l2=1.0), np.zeros((3, 5)), 0.0, 200)
    ]
    assert np.all(np.diff(values) < 0)


def test_a_step_too_long_ends_without_a_warning_or_a_claim():
    X, t = two_classes(50, 3)
    end = last(gradient_descent(make_problem(X, t, "squared", centred=False), np.zeros(4), 1e-6, 10_000, eta=10.0))
    assert not end.done
    assert np.isfinite(end.objective)


def test_the_perceptrons_subgradient_step_is_that_of_note_004():
    """w ← w + η Σ y x over the mistakes; on separable rows it ends with no loss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    X = X[np.abs(X[:, 0] - X[:, 1]) > 0.3]
    t = np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
    problem = make_problem(X, t, "perceptron", centred=False)
    start = np.array([-1.0, 0.5, 0.1])
    wrong = t * (X @ start[:2] + start[2]) < 0
    first = start + 0.1 * t[wrong] @ np.column_stack([X, np.ones(len(X))])[wrong]
    iterates = list(subgradient_descent(problem, start, 0.0, 1000, eta=0.1, falling=False))
    np.testing.assert_allclose(iterates[1].w, first)
    assert iterates[-1].done
    assert iterates[-1].objective == 0
    values = [at.objective for at in iterates]
    assert np.all(np.diff(values) <= 0)


def test_subgradients_of_the_hinge_come_near_the_minimum_and_their_gap_is_honest():
    from assay.solvers.smoothing import smoothing

    X, t = two_classes(200, 3)
    problem = make_problem(X, t, "hinge", centred=False, l2=5.0)
    least = last(smoothing(problem, np.zeros(4), 1e-9, 200)).objective
    iterates = list(subgradient_descent(problem, np.zeros(4), 1e-3, 3000, eta=0.02))
    for at in iterates:
        assert at.gap >= (at.objective - least) / at.objective - 1e-9
    assert iterates[-1].objective <= least * 1.01


@pytest.mark.parametrize("eta", [0.0, -1.0, np.inf, np.nan, "quick"])
def test_a_step_that_is_none_is_refused(eta):
    X, t = two_classes(50, 3)
    with pytest.raises(ParameterError, match="is no step"):
        last(gradient_descent(make_problem(X, t), np.zeros(4), 1e-6, 3, eta=eta))


@pytest.mark.parametrize("loss", ["log", "squared", "perceptron", "hinge"])
def test_the_centre_of_the_problem_does_not_show(loss):
    X, t = two_classes(100, 4)
    descend = subgradient_descent if loss in ("perceptron", "hinge") else gradient_descent
    start, p = np.array([0.1, -0.1, 0.2, 0.0, 0.3]), None
    ends = []
    for centred in (False, True):
        problem = make_problem(X + 3.0, t, loss, centred=centred, l2=0.5)
        p = problem.centre
        w = last(descend(problem, start + np.append(np.zeros(4), start[:4] @ p), 0.0, 20)).w
        ends.append(w - np.append(np.zeros(4), w[:4] @ p))
    np.testing.assert_allclose(*ends, atol=1e-10)


def test_the_automatic_step_is_below_one_over_the_curvature():
    X, t = two_classes(100, 5)
    problem = make_problem(X, t, centred=False, l2=1.0)
    H = problem.evaluate(np.zeros(6), hessian=True).hessian + np.diag(problem.penalty.l2)
    assert safe_step(problem) <= 1 / np.linalg.eigvalsh(H)[-1]
