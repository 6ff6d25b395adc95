"""The hinge loss: smooth hinges, then the rows near the margin exactly. Its multipliers prove the gap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from solvers.problems import make_problem, two_classes

from assay.risk.terms import HINGE
from assay.solvers.problem import last
from assay.solvers.smoothing import smoothing


def solve(problem, tol=1e-9, max_iter=1000):
    return last(smoothing(problem, np.zeros(len(problem.scale)), tol, max_iter))


def linear_program(X, t, c, l1):
    """The least Σ c max(0, 1 − tz) + l1·‖w‖₁, as a linear programme."""
    n, d = X.shape
    A = np.column_stack([-t[:, None] * X, t[:, None] * X, -t, t, -np.eye(n)])
    cost = np.concatenate([np.full(2 * d, l1), [0, 0], c])
    return linprog(cost, A_ub=A, b_ub=-np.ones(n), bounds=(0, None), method="highs").fun


def dual_value(X, t, l2, penalised=False):
    """The greatest Σα − ‖Σ α t x‖²/2l2 with 0 ≤ α ≤ 1, Σ α t = 0, by SciPy."""
    Q = (X * t[:, None]) @ (X * t[:, None]).T / l2
    found = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1),
        np.full(len(t), 0.5),
        jac=True,
        bounds=[(0, 1)] * len(t),
        constraints={"type": "eq", "fun": lambda a: a @ t, "jac": lambda a: t},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return -found.fun


@pytest.mark.parametrize("l2", [0.1, 1.0, 30.0])
def test_the_minimum_is_that_of_the_dual_quadratic_programme(l2):
    X, t = two_classes(60, 3)
    assert solve(make_problem(X, t, "hinge", l2=l2)).objective == pytest.approx(dual_value(X, t, l2), rel=1e-6)


@pytest.mark.parametrize("l1", [0.1, 3.0, 1000.0])
@pytest.mark.parametrize("n", [200, 3500])
def test_the_minimum_with_an_l1_penalty_is_that_of_the_linear_programme(n, l1):
    X, t = two_classes(n, 20)
    at = solve(make_problem(X, t, "hinge", l1=l1), tol=1e-8)
    assert at.gap <= 1e-8
    assert at.objective == pytest.approx(linear_program(X, t, np.ones(n), l1), rel=1e-7)


def test_many_rows_pass_through_both_parts():
    X, t = two_classes(9000, 20)
    states = list(smoothing(make_problem(X, t, "hinge", l2=1.0), np.zeros(21), 1e-9, 1000))
    widths = [at.width for at in states]
    assert widths[0] == 2.0
    assert widths[-1] == 0.0
    assert states[-1].done
    assert 0 < len(states[-1].support.rows) < 9000


@pytest.mark.parametrize("n", [300, 9000])
def test_the_multipliers_prove_the_gap(n):
    """0 ≤ α ≤ c, Σ α t = 0, and Σα − ‖Σ α t x‖²/2l2 is the objective but for the gap."""
    X, t = two_classes(n, 20)
    c = np.random.default_rng(0).uniform(0, 2, n) * (np.arange(n) % 9 > 0)
    at = solve(make_problem(X, t, "hinge", l2=1.0, c=c))
    p = c @ X / c.sum()
    z = (X - p) @ at.w[:-1] + at.w[-1]
    alpha = np.where(t * z < 1, c, 0.0)
    alpha[at.support.rows] = at.support.values
    assert np.all((alpha >= 0) & (alpha <= c))
    assert abs(alpha @ t) < 1e-7 * c.sum()
    dual = alpha.sum() - 0.5 * np.sum((alpha * t @ (X - p)) ** 2)
    primal = c @ HINGE.value(z, t, 1.0) + 0.5 * at.w[:-1] @ at.w[:-1]
    assert primal == pytest.approx(at.objective, rel=1e-12)
    assert dual == pytest.approx(primal, rel=1e-8)


@pytest.mark.parametrize("strengths", [{"l2": 1.0}, {"l1": 1.0}, {"l1": 1.0, "l2": 0.5}, {"l2": 1.0, "intercept": 1.0}])
@pytest.mark.parametrize("n", [300, 8000])
def test_no_weights_are_better_by_more_than_the_gap(n, strengths):
    X, t = two_classes(n, 15, seed=1)
    problem = make_problem(X, t, "hinge", **strengths)
    states = list(smoothing(problem, np.zeros(16), 1e-9, 1000))
    least = states[-1].objective
    assert states[-1].gap <= 1e-9
    for at in states:
        if at.width > 0 or at is states[-1]:
            assert at.objective * (1 - at.gap) <= least * (1 + 1e-9)


@pytest.mark.parametrize("l2", [1e-6, 1e-3, 1.0, 1e3, 1e7])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 5.0])
def test_any_strength_and_any_overlap_is_solved(noise, l2):
    for n in (300, 6000):
        X, t = two_classes(n, 20, seed=2, noise=noise)
        at = solve(make_problem(X, t, "hinge", l2=l2), tol=1e-6)
        assert at.done
        assert at.gap <= 1e-6


@pytest.mark.parametrize("strengths", [{"l2": 1e6}, {"l2": 10.0}, {"l1": 1e5}, {"l1": 1e2}])
@pytest.mark.parametrize("share", [0.499, 0.3])
def test_labels_that_have_nothing_to_do_with_the_rows_are_no_trouble(strengths, share):
    """All rows then lie far outside a narrow hinge's width: there is no curvature to follow, only a slope in b."""
    rng = np.random.default_rng(1)
    X, t = rng.normal(size=(6000, 20)), np.where(rng.random(6000) < share, 1.0, -1.0)
    at = solve(make_problem(X, t, "hinge", **strengths), tol=1e-6)
    assert at.done
    assert at.objective <= 2 * (t == 1).sum() * (1 + 1e-6)  # that of w = 0, b = −1


def test_rows_all_on_the_margin_and_rows_with_both_labels():
    X = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 20, axis=0)
    t = np.repeat([1.0, -1.0], 20)
    assert solve(make_problem(X, t, "hinge", l2=1.0)).objective == pytest.approx(0.5, rel=1e-8)
    both = make_problem(np.concatenate([X, X]), np.concatenate([t, -t]), "hinge", l2=1.0)
    assert solve(both).objective == pytest.approx(80.0, rel=1e-8)


def test_the_limit_of_steps_is_kept():
    for n in (300, 8000):
        X, t = two_classes(n, 20)
        for most in (1, 3, 10):
            at = solve(make_problem(X, t, "hinge", l2=1.0), max_iter=most)
            assert at.number <= most


def test_rounding_ends_it_not_the_limit():
    for n in (300, 8000):
        X, t = two_classes(n, 20)
        at = solve(make_problem(X, t, "hinge", l2=1.0), tol=0.0)
        assert at.number < 150
        assert at.gap < 1e-12
