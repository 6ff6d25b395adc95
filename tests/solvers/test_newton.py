"""Newton's method: the minimum in few steps whatever the units, and a gap that tells the truth."""

from __future__ import annotations

import numpy as np
import pytest
from solvers.problems import make_problem, two_classes, worst_violation

import assay
from assay.solvers.newton import boxed_gap, newton, newton_step, solve_scaled
from assay.solvers.problem import last

LOSSES = ["log", "squared hinge", "huber", "squared"]


def solve(problem, tol=1e-10, max_iter=100):
    return last(newton(problem, np.zeros(len(problem.scale)), tol, max_iter))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("l2", [0.01, 1.0, 1e4])
def test_the_slope_is_zero_where_it_ends(loss, l2):
    X, t = two_classes(400, 6)
    problem = make_problem(X, t, loss, l2=l2)
    at = solve(problem)
    assert at.done
    assert at.gap <= 1e-10
    assert worst_violation(problem, at.w) < 1e-4 * max(1.0, l2)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_weights_are_better_by_more_than_the_gap(loss):
    X, t = two_classes(300, 5)
    problem = make_problem(X, t, loss, l2=0.5)
    least = solve(problem, 1e-13).objective
    for at in newton(problem, np.zeros(6), 1e-12, 50):
        assert at.objective * (1 - at.gap) <= least * (1 + 1e-12)


@pytest.mark.parametrize("loss", ["log", "squared hinge"])
def test_the_units_of_columns_do_not_matter(loss):
    """Columns × s with strengths × s² are the same problem."""
    from assay.risk.terms import Penalty

    X, t = two_classes(500, 8, seed=3)
    s = 10.0 ** np.random.default_rng(0).uniform(-4, 4, 8)
    l2 = np.append(np.full(8, 0.7), 0.0)
    plain = solve(make_problem(X, t, loss, penalty=Penalty(np.zeros(9), l2)))
    scaled = solve(make_problem(X * s, t, loss, penalty=Penalty(np.zeros(9), l2 * np.append(s, 1.0) ** 2)))
    assert scaled.number <= plain.number + 1
    np.testing.assert_allclose(scaled.w[:-1] * s, plain.w[:-1], rtol=1e-7)


def test_rounding_ends_it_not_the_limit():
    X, t = two_classes(300, 5)
    for strengths in ({"l2": 1.0}, {}):
        at = solve(make_problem(X, t, "log", **strengths), tol=0.0, max_iter=1000)
        assert at.number < 30
        assert at.gap < 1e-11


@pytest.mark.parametrize("l2", [1e-4, 1e-8])
@pytest.mark.parametrize("loss", ["log", "squared hinge"])
def test_separable_rows_with_hardly_a_penalty_are_solved_all_the_same(loss, l2):
    X, t = two_classes(300, 6, noise=0.0)
    at = solve(make_problem(X, t, loss, l2=l2), tol=1e-6)
    assert at.done
    assert at.gap <= 1e-6
    assert at.number < 60


def test_without_a_penalty_the_gap_is_that_of_a_box():
    X, t = two_classes(400, 4)
    problem = make_problem(X, t, "log")
    at = solve(problem)
    assert at.gap <= 1e-12
    worse = at.w + 1e-3
    v = newton_step(problem, problem.evaluate(worse, hessian=True), worse)
    claimed = boxed_gap(problem, worse, v)
    true = problem.evaluate(worse).loss / at.objective - 1
    assert true * (1 - 1e-6) <= claimed < 10 * true + 1e-9


def test_separated_rows_end_it_where_nothing_holds_the_weights():
    X, t = two_classes(200, 4, noise=0.0)
    at = solve(make_problem(X, t, "log"))
    assert at.done
    assert at.least > 0
    assert np.isinf(at.gap)


def test_dependent_columns_leave_what_they_leave_open_at_zero():
    X, t = two_classes(300, 3)
    doubled = solve(make_problem(np.column_stack([X, X[:, 0]]), t, "log"))
    plain = solve(make_problem(X, t, "log"))
    assert doubled.objective == pytest.approx(plain.objective, rel=1e-12)
    assert doubled.w[0] == pytest.approx(doubled.w[3], rel=1e-6)
    assert doubled.w[0] + doubled.w[3] == pytest.approx(plain.w[0], rel=1e-6)


def test_a_singular_system_is_solved_in_its_own_scale():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(6, 4))
    A = np.zeros((7, 7))
    A[:6, :6] = B @ B.T
    s = 10.0 ** rng.uniform(-6, 6, 7)
    x = A @ rng.normal(size=7)
    found = solve_scaled(A * s * s[:, None], x * s)
    np.testing.assert_allclose((A * s * s[:, None]) @ found, x * s, rtol=1e-6, atol=1e-6 * np.abs(x * s).max() * 1e-6)
    assert found[6] == 0.0


@pytest.mark.parametrize("every", [2, 3, 16])
def test_a_sampled_hessian_is_that_of_one_row_in_so_many_as_often(every):
    X, t = two_classes(1000, 5)
    problem = make_problem(X, t, "log", l2=1.0)
    w = np.linspace(-1, 1, 6)
    groups = np.arange(1000 // every + 1)
    chosen = groups * every + ((groups * 0x9E3779B1 & 0xFFFFFFFF) >> 16) % every
    chosen = chosen[chosen < 1000]
    A = np.column_stack([X - problem.centre, np.ones(1000)])[chosen]
    p = 1 / (1 + np.exp(-(A @ w)))
    evaluation = problem.evaluate(w, hessian=every)
    np.testing.assert_allclose(evaluation.hessian, every * (A * (p * (1 - p))[:, None]).T @ A, rtol=1e-10, atol=1e-9)
    np.testing.assert_array_equal(evaluation.gradient, problem.evaluate(w).gradient)


def test_weights_that_repeat_do_not_mislead_a_sampled_hessian():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(48_389, 3))
    y = X[:, 0] + rng.normal(size=len(X)) > 0
    model = assay.ERM("log", "l2").fit(X, y, sample_weight=0.5 + np.arange(len(X)) % 4)
    assert model.n_iter_ < 10
