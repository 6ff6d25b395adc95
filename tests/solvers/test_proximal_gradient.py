"""Proximal gradients: the same minimum as proximal Newton, for one score and for many, whatever the columns' units."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from solvers.problems import make_problem, make_softmax, two_classes

from assay.risk.terms import Penalty
from assay.solvers.gradient_descent import proximal_gradient, shrunk_step
from assay.solvers.problem import last
from assay.solvers.proximal_newton import proximal_newton


@pytest.mark.parametrize("loss", ["log", "squared hinge", "squared", "huber"])
@pytest.mark.parametrize("strengths", [{"l1": 5.0}, {"l1": 0.5, "l2": 1.0}, {"l2": 3.0}])
def test_it_reaches_the_minimum_and_its_gap_is_honest(loss, strengths):
    X, t = two_classes(500, 12)
    problem = make_problem(X, t, loss, **strengths)
    least = last(proximal_newton(problem, np.zeros(13), 1e-11, 100)).objective
    iterates = list(proximal_gradient(problem, np.zeros(13), 1e-7, 2000))
    assert iterates[-1].done
    assert iterates[-1].gap <= 1e-7
    for at in iterates:
        assert at.gap >= (at.objective - least) / at.objective - 1e-12


@pytest.mark.parametrize("strengths", [{"l1": 1.0}, {"l1": 0.5, "l2": 0.5}])
@pytest.mark.parametrize("sparse", [False, True])
def test_softmax_reaches_the_minimum(strengths, sparse):
    X, y = load_iris(return_X_y=True)
    problem = make_softmax(X, y, sparse=sparse, **strengths)
    end = last(proximal_gradient(problem, np.zeros((3, 5)), 1e-6, 2000))
    assert end.gap <= 1e-6
    assert end.objective == pytest.approx(
        last(proximal_newton(problem, np.zeros((3, 5)), 1e-9, 100)).objective, rel=1e-6
    )


def test_units_of_columns_do_not_matter():
    X, t = two_classes(500, 12)
    units = 10 ** np.random.default_rng(5).uniform(-4, 4, 12)
    plain = last(proximal_gradient(make_problem(X, t, l1=5.0), np.zeros(13), 1e-6, 2000))
    same = Penalty(np.append(5.0 * units, 0.0), np.zeros(13))
    other = last(proximal_gradient(make_problem(X * units, t, penalty=same), np.zeros(13), 1e-6, 2000))
    assert other.number <= 2 * plain.number
    assert other.objective == pytest.approx(plain.objective, rel=1e-6)


def test_weights_that_should_be_zero_end_at_zero():
    X, t = two_classes(500, 12)
    problem = make_problem(X, t, l1=60.0)
    exact = last(proximal_newton(problem, np.zeros(13), 1e-11, 100)).w
    np.testing.assert_array_equal(last(proximal_gradient(problem, np.zeros(13), 1e-8, 5000)).w == 0, exact == 0)


def test_a_step_is_the_least_point_of_its_model():
    rng = np.random.default_rng(0)
    y, g, a = rng.normal(size=50), rng.normal(size=50), rng.random(50)
    a[:5] = 0.0
    penalty = Penalty(rng.random(50), rng.random(50))
    x = shrunk_step(y, g, a, penalty)

    def model(x):
        return g * (x - y) + 0.5 * a * (x - y) ** 2 + penalty.l1 * np.abs(x) + 0.5 * penalty.l2 * x * x

    for e in (1e-4, -1e-4):
        assert np.all(model(x)[5:] <= model(x + e)[5:])
    np.testing.assert_array_equal(x[:5], y[:5])


def test_one_two_and_five_threads_give_equal_bits():
    X, t = two_classes(140_000, 3)
    one, *others = (
        last(proximal_gradient(make_problem(X, t, threads=k, l1=20.0), np.zeros(4), 1e-6, 500)).w for k in (1, 2, 5)
    )
    assert all(np.array_equal(one, w) for w in others)
