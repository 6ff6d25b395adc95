"""A fit that is interrupted or out of time keeps the best it found, says its gap, and answers."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

import numpy as np
import pytest
from cases import blobs, lines, pairs

import assay
from assay.errors import ConvergenceWarning
from assay.estimator.progress import LEAST, Stopping
from assay.families.kernel.svm import fit, solve
from assay.families.kernel.svm.dual import DualState
from assay.families.kernel.svm.smo import smo
from assay.families.kernel.svm.solve import SolverProgress, seconds_left


def slowed(seconds, each=lambda number: None):
    def solver(name):
        def slow(problem, tol, **more):
            for number, state in enumerate(smo(problem, tol, **more)):
                yield state
                each(number)
                time.sleep(seconds)

        return slow

    return solver


def interrupt(number):
    if number == 1:
        raise KeyboardInterrupt


def true_gap(model, X, y):
    K = model._kernel().block(model.support_vectors_, model.support_vectors_)
    square = float(model.dual_coef_[0] @ K @ model.dual_coef_[0])
    t = np.where(y == 1, 1, -1)
    primal = 0.5 * square + model.C * np.maximum(0.0, 1.0 - t * model.decision_function(X)).sum()
    return (primal - np.abs(model.dual_coef_).sum() + 0.5 * square) / primal


def test_an_interrupt_within_the_solver_keeps_the_best_so_far(monkeypatch):
    X, y = pairs(3000, 3, 0)
    monkeypatch.setattr(solve, "solver_of", slowed(0.0, interrupt))
    with pytest.warns(ConvergenceWarning, match="was interrupted at a relative gap of"):
        model = assay.SVC(C=100.0, tol=1e-7).fit(X, y)
    assert not model.converged_
    assert model.gap_[0] == pytest.approx(true_gap(model, X, y), rel=1e-3)
    assert model.score(X, y) > 0.6


@pytest.mark.skipif(os.name == "nt", reason="signals are sent to a process group there")
def test_ctrl_c_ends_a_fit_and_leaves_its_handler_as_it_was(monkeypatch):
    X, y = blobs(3000, 3, 0)
    sent = []

    def ctrl_c(number):  # within the fit, and once
        if number == 1 and not sent:
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    monkeypatch.setattr(solve, "solver_of", slowed(0.001, ctrl_c))
    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(ConvergenceWarning, match=r"was interrupted .* in \d of 3 problems; the best found is kept"):
        model = assay.SVC(C=1e4, tol=1e-12, n_jobs=1).fit(X, y)
    assert signal.getsignal(signal.SIGINT) is before
    assert np.all(np.isfinite(model.gap_))
    assert model.score(X, y) > 0.5


def test_a_budget_of_seconds_is_shared_between_the_problems(monkeypatch):
    X, y = blobs(1500, 3, 0)
    seconds = []  # one that a state takes
    monkeypatch.setattr(solve, "solver_of", slowed(0.0, lambda number: seconds.append(0.05)))
    monkeypatch.setattr(fit, "Stopping", partial(Stopping, clock=lambda: sum(seconds)))
    with pytest.warns(ConvergenceWarning, match=r"ran out of its max_seconds=0.9 .* in 3 of 3 problems"):
        model = assay.SVC(C=1e4, tol=1e-13, max_seconds=0.9, n_jobs=1).fit(X, y)
    assert sum(seconds) > 0.5  # it is used, not cut short
    assert np.all(model.n_iter_ >= LEAST - 1)
    assert model.n_iter_.min() > 0.2 * model.n_iter_.max()
    assert model.predict(X[:5]).shape == (5,)


def test_a_regression_ends_in_time_too(monkeypatch):
    X, y = lines(1500, 3, 0)
    monkeypatch.setattr(solve, "solver_of", slowed(0.05))
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = assay.SVR(C=1e4, tol=1e-13, max_seconds=0.2).fit(X, y)
    assert model.gap_[0] > 1e-13
    assert np.all(np.isfinite(model.predict(X)))


def test_shares_of_the_time_that_is_left():
    now = [0.0]
    stopping = Stopping(12.0, problems=3, workers=1, clock=lambda: now[0])
    assert stopping.begin() == 4.0
    now[0] = 2.0  # the first was quick
    assert stopping.begin() == 7.0
    now[0] = 7.0
    assert stopping.begin() == 12.0
    assert not stopping.over(7.0, LEAST - 1)
    assert stopping.over(7.0, LEAST)
    assert Stopping(None).begin() is None


def state(number, gap):
    nothing = np.empty(0, dtype=np.int64)
    return DualState(number, np.array([1.0, 0.0, 2.0]), np.zeros(3), 0.0, 1.0, 1.0 - gap, gap, nothing, 0)


def test_the_time_left_follows_from_how_the_gap_falls():
    times = [float(i) for i in range(20)]
    assert seconds_left(times, [10.0**-i for i in range(20)], 1e-25) == pytest.approx(6.0)
    wild = [10.0 ** -(i - (3 if i % 4 == 1 else 0)) for i in range(20)]  # now and then the gap jumps up
    assert seconds_left(times, wild, 1e-25) == pytest.approx(6.0, rel=0.35)
    assert seconds_left(times, [0.5] * 20, 1e-3) == np.inf
    assert np.isnan(seconds_left([0.0], [0.5], 1e-3))
    assert seconds_left(times, [10.0**-i for i in range(20)], 1e-3) == 0.0


def test_progress_says_a_line_a_second():
    now, said = [0.0], []
    progress = SolverProgress(1, 1e-6, said.append, lambda: now[0])
    for number in range(40):
        now[0] += 0.1
        progress.record(0, state(number, 10.0 ** (-number / 10)))
    assert len(said) in (3, 4)
    assert "2 support rows" in said[0]
    assert "iteration" in said[0]
    assert "about" in said[-1]
    assert "s left" in said[-1]


def test_a_fit_that_is_watched_says_what_it_does(monkeypatch, capsys):
    X, y = pairs(600, 3, 0)
    monkeypatch.setattr("assay.families.kernel.svm.solve.EVERY", 0.0)
    assay.SVC(C=100.0, verbose=True).fit(X, y)
    assert "support rows" in capsys.readouterr().err
    heard = []
    model = assay.SVC(C=100.0)
    model.on_progress = heard.append
    model.fit(X, y)
    assert heard
    assert capsys.readouterr().err == ""
