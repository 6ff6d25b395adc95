"""Regularisation paths: warm equals cold, any order, and the strongest penalty is the last that leaves nothing but zeros."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from solvers.problems import make_problem, make_softmax, two_classes

from assay.errors import ParameterError
from assay.families.linear.paths import grid, path, strongest
from assay.risk.terms import Penalty
from assay.solvers.problem import last
from assay.solvers.proximal_newton import proximal_newton


def solve(problem, start):
    return proximal_newton(problem, start, 1e-9, 200)


def scaled(problem):
    """Of a strength, the problem with all strengths multiplied by it."""
    return lambda s: replace(problem, penalty=Penalty(s * problem.penalty.l1, s * problem.penalty.l2))


@pytest.mark.parametrize(("loss", "d"), [("log", 10), ("squared", 10), ("squared hinge", 10), ("log", 600)])
def test_a_warm_path_equals_cold_fits_in_the_given_order(loss, d):
    X, t = two_classes(300, d)
    make = scaled(make_problem(X, t, loss, l1=1.0, l2=0.1))
    strengths = [3.0, 50.0, 10.0, 3.0, 100.0]
    found = path(make, strengths, solve, np.zeros(d + 1))
    assert len(found) == 5
    for strength, at in zip(strengths, found):
        cold = last(solve(make(strength), np.zeros(d + 1)))
        assert at.gap <= 1e-9
        assert at.objective == pytest.approx(cold.objective, rel=2e-9)
    assert np.array_equal(found[0].w, found[3].w)


def test_a_warm_path_takes_fewer_steps_than_cold_fits():
    X, t = two_classes(500, 30)
    make = scaled(make_problem(X, t, l1=1.0))
    strengths = grid(strongest(make(1.0), solve, np.zeros(31)), 20, 1e-2)
    warm = sum(at.number for at in path(make, strengths, solve, np.zeros(31)))
    assert warm < sum(last(solve(make(s), np.zeros(31))).number for s in strengths)


@pytest.mark.parametrize(
    ("loss", "d", "sparse"), [("log", 10, False), ("squared", 10, False), ("huber", 600, False), ("log", 600, True)]
)
def test_the_strongest_penalty_is_the_least_that_leaves_only_zeros(loss, d, sparse):
    X, t = two_classes(300, d)
    problem = make_problem(X, t, loss, sparse=sparse, centred=not sparse, l1=1.0)
    top = strongest(problem, solve, np.zeros(d + 1))
    make = scaled(problem)
    assert np.count_nonzero(last(solve(make(1.0001 * top), np.zeros(d + 1))).w[:-1]) == 0
    assert np.count_nonzero(last(solve(make(0.999 * top), np.zeros(d + 1))).w[:-1]) > 0


def test_it_is_the_same_for_many_classes():
    X, y = load_iris(return_X_y=True)
    problem = make_softmax(X, y, l1=1.0)
    top = strongest(problem, solve, np.zeros((3, 5)))
    for factor, zeros in ((1.0001, True), (0.999, False)):
        at = last(solve(scaled(problem)(factor * top), np.zeros((3, 5))))
        assert (np.count_nonzero(at.w[:, :-1]) == 0) == zeros


def test_what_cannot_be_is_refused():
    X, t = two_classes(50, 3)
    problem = make_problem(X, t, l2=1.0)
    with pytest.raises(ParameterError, match="Only an L1 part"):
        strongest(problem, solve, np.zeros(4))
    with pytest.raises(ParameterError, match="at least one"):
        path(scaled(problem), [], solve, np.zeros(4))
    for strength in (-1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="not possible"):
            path(scaled(problem), [1.0, strength], solve, np.zeros(4))
    with pytest.raises(ParameterError, match="between 0 and 1"):
        grid(1.0, 10, 1.0)
