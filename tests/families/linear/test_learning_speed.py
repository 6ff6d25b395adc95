"""The learning speed of plain gradient descent: one rule for all models, and said in the help of each."""

from __future__ import annotations

import numpy as np
import pytest

from assay import ERM, LinearRegression, LogisticRegression

X = np.array([[0.0, 1.0], [1.0, -1.0], [2.0, 0.5], [-1.0, 0.3], [0.5, 2.0]])
Y = np.array([0, 1, 1, 0, 1])
START = np.array([0.2, -0.1, 0.3])
ETA = 0.05


def _sum_of_log_losses(w):
    s = np.where(Y == 1, 1.0, -1.0)
    return np.log1p(np.exp(-s * (w[0] + X @ w[1:]))).sum()


def _mean_of_log_losses(w):
    return _sum_of_log_losses(w) / len(X)


def _half_sum_of_squares(w):
    return 0.5 * ((w[0] + X @ w[1:] - Y) ** 2).sum()


@pytest.mark.parametrize(
    ("model", "objective"),
    [
        (LogisticRegression(solver="gd", C=1e12, eta=ETA, init=START, max_iter=1), _sum_of_log_losses),
        (ERM(loss="log", penalty=None, solver="gd", eta=ETA, init=START, max_iter=1), _mean_of_log_losses),
        (LinearRegression(solver="gd", eta=ETA, init=START, max_iter=1), _half_sum_of_squares),
    ],
)
def test_a_step_is_eta_times_the_gradient_of_the_objective_that_the_class_states(model, objective):
    step = 1e-6
    slope = [(objective(START + step * e) - objective(START - step * e)) / (2 * step) for e in np.eye(3)]
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        model.fit(X, Y)
    found = np.append(np.ravel(model.intercept_), np.ravel(model.coef_))
    assert found == pytest.approx(START - ETA * np.array(slope), abs=1e-7)


@pytest.mark.parametrize(("cls", "word"), [(LogisticRegression, "sum"), (ERM, "mean"), (LinearRegression, "sum")])
def test_the_help_says_of_what_the_speed_is(cls, word):
    assert f"gradient of the {word} over the rows" in cls.params["eta"].doc


@pytest.mark.parametrize("cls", [LogisticRegression, ERM])
def test_a_random_start_is_drawn_close_to_zero(cls):
    given = cls(solver="gd", init="random", max_iter=100000, tol=1e-4).fit(X, Y)
    zeros = cls(solver="gd", max_iter=100000, tol=1e-4).fit(X, Y)
    assert np.ravel(given.coef_) == pytest.approx(np.ravel(zeros.coef_), rel=0.05)
    first = next(iter(cls(solver="gd", init="random").steps(X, Y)))
    drawn = np.append(np.ravel(first.values["intercept_"]), np.ravel(first.values["coef_"]))
    assert 0 < np.abs(drawn).max() < 0.1
