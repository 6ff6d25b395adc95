"""The dual of kernel machines: what its measures promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.dual import (
    best_intercept,
    classes_problem,
    equal_rows_apart,
    measure,
    numbers_problem,
    why_not_separable,
)
from assay.families.kernel.svm.sqp import sqp

INF = float("inf")
rng = np.random.default_rng(0)
N = 40
X = rng.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
RBF = Kernel("rbf", 0.5)
K = RBF.block(X, X)
CLASSES = classes_problem(RBF, X, Y, rng.uniform(0.5, 2.0, N))
NUMBERS = numbers_problem(RBF, X, np.sin(X[:, 0]), rng.uniform(0.5, 2.0, N), 0.1)


def feasible(problem):
    """Some α within its bounds with Σ s α = 0."""
    alpha = rng.random(len(problem.upper)) * np.minimum(problem.upper, 1.0)
    up = problem.sign > 0
    alpha[up] *= min(1.0, alpha[~up].sum() / alpha[up].sum())
    alpha[~up] *= min(1.0, alpha[up].sum() / alpha[~up].sum())
    return alpha


@pytest.mark.parametrize("problem", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_no_dual_value_is_above_a_primal_one(problem):
    for _ in range(50):
        alpha, other = feasible(problem), feasible(problem)
        f = K @ problem.coefficients(other)
        primal = measure(problem, other, f, rng.normal()).primal
        assert measure(problem, alpha, K @ problem.coefficients(alpha), 0.0).dual <= primal + 1e-12


def test_the_objectives_are_those_of_the_definition():
    alpha = feasible(CLASSES)
    beta = Y * alpha
    found = measure(CLASSES, alpha, K @ beta, 0.3)
    slack = np.maximum(0.0, 1 - Y * (K @ beta + 0.3))
    assert found.primal == pytest.approx(0.5 * beta @ K @ beta + CLASSES.upper @ slack)
    assert found.dual == pytest.approx(alpha.sum() - 0.5 * beta @ K @ beta)
    assert found.gap == pytest.approx((found.primal - found.dual) / found.primal)
    assert found.bound == INF
    alpha, y = feasible(NUMBERS), np.sin(X[:, 0])
    beta = alpha[:N] - alpha[N:]
    found = measure(NUMBERS, alpha, K @ beta, 0.3)
    beyond = np.maximum(0.0, np.abs(y - K @ beta - 0.3) - 0.1)
    assert found.primal == pytest.approx(0.5 * beta @ K @ beta + NUMBERS.upper[:N] @ beyond)
    assert found.dual == pytest.approx(y @ beta - 0.1 * alpha.sum() - 0.5 * beta @ K @ beta)


@pytest.mark.parametrize("problem", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_no_intercept_has_a_smaller_primal_than_the_best(problem):
    for _ in range(10):
        alpha = feasible(problem)
        f = K @ problem.coefficients(alpha)
        found = measure(problem, alpha, f, best_intercept(problem, f)).primal
        other = minimize_scalar(
            lambda b, a=alpha, v=f: measure(problem, a, v, b).primal, bounds=(-9, 9), method="bounded"
        )
        assert found <= other.fun + 1e-9


def test_the_best_intercept_of_a_hard_margin_is_midway_between_the_classes():
    two = classes_problem(Kernel("linear"), np.array([[1.0], [4.0]]), np.array([-1.0, 1.0]), np.full(2, INF))
    assert best_intercept(two, np.array([1.0, 4.0]) * 2 / 3) == pytest.approx(-5 / 3)


def test_a_hard_margin_is_bounded_by_the_means_of_any_weights():
    apart = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = classes_problem(Kernel("linear"), X, apart, np.full(N, INF))
    *_, state = sqp(problem, 1e-10)
    w = problem.coefficients(state.alpha) @ X
    margin = (apart * (X @ w + state.intercept)).min() / np.linalg.norm(w)
    assert state.bound == pytest.approx(margin)
    for _ in range(20):
        alpha = feasible(problem)
        f = X @ (problem.coefficients(alpha) @ X)
        assert measure(problem, alpha, f, 0.0).bound >= margin * (1 - 1e-9)


def test_equal_rows_of_opposite_labels_are_found():
    Z = np.array([[0.0, 1.0], [2.0, 3.0], [-0.0, 1.0], [2.0, 3.0]])
    assert equal_rows_apart(Z, np.array([1.0, 1.0, -1.0, 1.0])) == (0, 2)
    assert equal_rows_apart(Z, np.array([1.0, 1.0, 1.0, -1.0])) == (1, 3)
    assert equal_rows_apart(Z, np.array([1.0, -1.0, 1.0, -1.0])) is None
    assert equal_rows_apart(Z, np.array([1.0, -1.0, 0.0, -1.0])) is None


@pytest.mark.parametrize("given", [False, True])
def test_two_equal_rows_say_why_there_is_no_hard_margin(given):
    Z, y = X.copy(), np.where(X[:, 0] > 0, 1.0, -1.0)
    Z[7], y[7] = Z[3], -y[3]
    kernel = Kernel("precomputed") if given else RBF
    problem = classes_problem(kernel, RBF.block(Z, Z) if given else Z, y, np.full(N, INF))
    *_, state = sqp(problem, 1e-6)
    assert state.gap == INF
    assert why_not_separable(problem, state).startswith("rows 3 and 7 have equal features and opposite labels")
    assert "rows 103 and 107 " in why_not_separable(problem, state, np.arange(N) + 100)


def test_weights_of_rows_say_why_there_is_no_hard_margin():
    Z = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    problem = classes_problem(Kernel("linear"), Z, np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, INF))
    *_, state = sqp(problem, 1e-6)
    assert state.bound < 1e-7
    why = why_not_separable(problem, state)
    assert why.startswith("the weighted means of rows 0, 1 of one class and of rows 2, 3 of the other come within ")
