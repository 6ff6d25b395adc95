"""A network's fit that ends before its time, by Ctrl-C or by the clock, keeps what it has and says so; and tells of itself on the way."""

from __future__ import annotations

import os
import signal
import threading
import tracemalloc

import numpy as np
import pytest

import assay
from assay.errors import ConvergenceWarning
from assay.families.networks.epochs import Epoch, LearningRate
from assay.families.networks.steps import TrainingProgress

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((3000, 20)), RNG.integers(0, 3, 3000)


@pytest.mark.parametrize(
    "words",
    [{"n_iter_no_change": 10_000}, {"early_stopping": True, "n_iter_no_change": 10_000}, {"solver": "lbfgs"}],
    ids=str,
)
def test_a_budget_of_seconds_ends_the_fit_with_what_it_has(words):
    assay.MLPClassifier((50,), max_iter=2).fit(X, Y)  # compiled
    with pytest.warns(ConvergenceWarning, match=r"ran out of its max_seconds=0.3"):
        model = assay.MLPClassifier((50,), max_iter=100_000, tol=0, max_seconds=0.3, **words).fit(X, Y)
    assert model.n_iter_ >= 1
    assert not model.converged_
    assert np.isfinite(model.predict_proba(X)).all()


def test_an_interrupt_ends_the_fit_with_what_it_has():
    assay.MLPClassifier((50,), max_iter=2).fit(X, Y)
    before = signal.getsignal(signal.SIGINT)
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = assay.MLPClassifier((50,), max_iter=10**6, tol=0, n_iter_no_change=10**6).fit(X, Y)
    assert signal.getsignal(signal.SIGINT) is before
    assert model.n_iter_ >= 1
    assert np.isfinite(model.predict_proba(X)).all()


def test_memory_does_not_grow_with_the_epochs():
    words = {"tol": 0, "n_iter_no_change": 10**6, "batch_size": 60, "early_stopping": False}
    peaks = []
    for epochs in (1000, 4000):  # 25 kB of states each
        tracemalloc.start()
        with pytest.warns(ConvergenceWarning):
            assay.MLPClassifier((50,), max_iter=epochs, **words).fit(X[:60], Y[:60])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + (4 << 20)


def test_a_fit_that_is_ended_keeps_its_best_epoch(monkeypatch, tmp_path):
    """Ctrl-C right after an epoch that was worse than the one before."""
    states = {}

    def goes_on(pace, loss, score, seen):
        worse = loss > pace.best_loss
        pace.best_loss = min(pace.best_loss, loss)
        if worse:
            signal.raise_signal(signal.SIGINT)
        return True

    monkeypatch.setattr(LearningRate, "goes_on", goes_on)
    model = assay.MLPClassifier((20,), solver="sgd", learning_rate_init=0.2, max_iter=500)
    with pytest.warns(ConvergenceWarning, match="was interrupted .* the weights after epoch"):
        model.fit(X, Y)
    curve = model.loss_curve_
    assert model.best_epoch_ == len(curve) - 1 == int(curve.argmin()) + 1
    for step in model.steps(X, Y):
        states[step.number] = step.values["coefs"]
        if step.number == len(curve):
            break
    assert np.allclose(model.coefs_[0], states[model.best_epoch_][0])
    assert not np.allclose(model.coefs_[0], states[len(curve)][0])
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert again.kept_best_
    assert again.certificate_.verify(X, Y).holds
    assert "the weights after it" in " ".join(str(again.certificate_).split())


def test_the_limit_of_epochs_is_said():
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=3"):
        assay.MLPClassifier((5,), max_iter=3).fit(X, Y)


def test_a_long_fit_tells_of_itself_once_a_second():
    now, said = [0.0], []
    progress = TrainingProgress(100, None, said.append, lambda: now[0])
    for number in range(1, 31):
        now[0] += 0.1
        progress.epoch_ended(Epoch(number, 0.5 / number, 0.25, 0.75 if number > 15 else None, np.empty(0)))
    assert len(said) == 2 or len(said) == 3
    assert said[0].startswith("epoch 1")
    assert "25.00 % wrong" in said[0]
    assert "validation 0.7500" in said[-1]
    assert "s left" in said[0]


def test_progress_is_heard_by_whoever_listens(monkeypatch, capsys):
    from assay.families.networks import steps

    monkeypatch.setattr(steps, "EVERY", 0.0)
    heard = []
    model = assay.MLPClassifier((5,), max_iter=4, verbose=True)
    model.on_progress = heard.append
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    assert len(heard) == 4
    with pytest.warns(ConvergenceWarning):
        assay.MLPRegressor((5,), max_iter=4, verbose=True).fit(X, X[:, 0])
    assert capsys.readouterr().err.count("epoch") == 4
