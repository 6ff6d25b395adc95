"""Ctrl-C while a trained model is being calibrated: the fit is kept as it was, without a calibration, or the interrupt is raised."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import assay
from assay.selection import trial

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2))
TABLE = {"a": X[:, 0], "b": X[:, 1], "y": np.where(X[:, 0] + 0.3 * RNG.normal(size=90) > 0, "yes", "no")}


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl-C arrives while the first inner fit is under way."""
    fit = trial._fit_and_test

    def disturbed(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return fit(*arguments)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(trial, "_fit_and_test", disturbed)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_fit_that_keeps_what_it_has_is_kept_without_a_calibration(interrupted):
    found = assay.train(TABLE, "y", assay.MLPClassifier(hidden_layer_sizes=(3,), max_iter=20))
    assert found.calibration_ is None
    assert found.model_.provenance_["ended"] == "interrupted"


def test_other_models_are_ended(interrupted):
    with pytest.raises(KeyboardInterrupt):
        assay.train(TABLE, "y", assay.LogisticRegression())
