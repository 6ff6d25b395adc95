"""Dual coordinate descent: α is a dual point, the gap follows from it, and the minimum is scikit-learn's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC
from solvers.problems import make_problem, two_classes

from assay.errors import ParameterError
from assay.solvers.dual_coordinate import dual_coordinate
from assay.solvers.problem import last


def solve(problem, tol=1e-8, max_iter=5000):
    return last(dual_coordinate(problem, np.zeros(len(problem.scale)), tol, max_iter))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared hinge"])
def test_its_minimum_is_scikit_learns(loss, sparse):
    X, t = two_classes(300, 6, noise=2.0)
    X[X < -0.5] = 0.0
    problem = make_problem(X, t, loss, l2=1.0, intercept=1.0, sparse=sparse, centred=False)
    at = solve(problem)
    peer = LinearSVC(loss=loss.replace(" ", "_"), tol=1e-9, max_iter=10**7).fit(X, t)
    assert at.done
    np.testing.assert_allclose(at.w, np.append(peer.coef_, peer.intercept_), atol=2e-3)


def test_a_free_intercept_is_that_of_libsvm():
    X, t = two_classes(200, 4, noise=2.0)
    at = solve(make_problem(X, t, "hinge", l2=1.0, centred=False), 1e-7)
    peer = SVC(kernel="linear", tol=1e-8).fit(X, t)
    assert at.done
    assert abs(float(at.alpha @ t)) < 1e-3
    np.testing.assert_allclose(at.w, np.append(peer.coef_, peer.intercept_), atol=5e-3)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared hinge"])
def test_alpha_is_feasible_and_the_gap_bounds_what_is_left(loss, free):
    X, t = two_classes(200, 5, noise=2.0)
    c = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    problem = make_problem(X, t, loss, l2=0.5, intercept=0.0 if free else 2.0, c=c, centred=False)
    steps = list(dual_coordinate(problem, np.zeros(6), 1e-8, 5000))
    least = min(at.objective for at in steps)
    for at in steps:
        assert (at.alpha >= 0).all()
        assert (at.alpha <= (c if loss == "hinge" else np.where(c > 0, np.inf, 0))).all()
        np.testing.assert_allclose(at.w[:-1], X.T @ (at.alpha * t) / 0.5, atol=1e-8)
        assert at.objective * (1 - at.gap) <= least * (1 + 1e-12)
    assert steps[-1].gap <= 1e-8


def test_rows_that_say_nothing_do_no_harm():
    X, t = two_classes(100, 3)
    X[5] = X[9] = 0.0
    problem = replace(make_problem(X, t, "hinge", l2=1.0, sparse=True, centred=False), intercept=False)
    at = solve(problem, 1e-6)
    assert at.done
    assert at.w[-1] == 0.0
    assert at.alpha[5] == at.alpha[9] == 1.0


def test_equal_bits_on_any_number_of_threads():
    X, t = two_classes(20_000, 5, noise=2.0)
    found = [
        solve(
            make_problem(X, t, "hinge", l2=1.0, intercept=1.0, sparse=True, centred=False, threads=k), 1e-3
        ).w.tobytes()
        for k in (1, 2, 5)
    ]
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [({"loss": "log", "l2": 1.0}, "hinge losses"), ({"loss": "hinge", "l1": 1.0}, "l2"), ({"loss": "hinge"}, "l2")],
)
def test_what_it_cannot_do_is_refused(options, words):
    X, t = two_classes(50, 3)
    with pytest.raises(ParameterError, match=words):
        solve(make_problem(X, t, centred=False, **options))
