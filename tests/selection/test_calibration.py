"""Scores become probabilities that say what they mean, agree with the labels, and never say never."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import ModelFileError
from assay.numerics import log_softmax
from assay.selection.calibration import Calibration, agreed, calibrate, log_loss, mixing_share, smoothed_prior


def drawn(n: int = 3000, classes: int = 3, seed: int = 0):
    """Log probabilities, and classes drawn by them."""
    rng = np.random.default_rng(seed)
    L = log_softmax(2 * rng.normal(size=(n, classes)))
    y = (np.exp(L).cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    return L, np.minimum(y, classes - 1)


def calibrated(S, y, log_probabilities=True):
    return calibrate(S, y, smoothed_prior(np.bincount(y, minlength=S.shape[1])), log_probabilities)


def test_probabilities_that_are_right_stay_as_they_are():
    L, y = drawn()
    found = calibrated(L, y)
    assert found.temperature == pytest.approx(1.0, abs=0.1)
    assert found.after == pytest.approx(found.before, abs=0.003)


@pytest.mark.parametrize("factor", [0.1, 7.0])
def test_probabilities_that_are_too_sure_or_not_sure_enough_are_mended(factor):
    L, y = drawn()
    found = calibrated(log_softmax(factor * L), y)
    P = found.proba(log_softmax(factor * L), L.argmax(axis=1))
    assert found.after < found.before - 0.05
    assert np.abs(P - np.exp(L)).mean() < 0.02


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_decision_values_mean_the_same_in_any_unit(factor):
    L, y = drawn()
    here, there = calibrated(L, y, False), calibrated(factor * L, y, False)
    codes = L.argmax(axis=1)
    assert here.before is None
    assert np.allclose(here.proba(L, codes), there.proba(factor * L, codes), atol=1e-4)


def test_single_neighbours_are_as_sure_as_they_are_right():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=500)
    said = np.where(rng.random(500) < 0.8, y, 1 - y)  # right four times of five, and always certain
    S = np.where(np.arange(2) == said[:, None], 0.0, -np.inf)
    found = calibrated(S, y)
    P = found.proba(S, said)
    assert P[np.arange(500), said] == pytest.approx(0.8, abs=0.06)
    assert found.after < 0.6 < 5 < found.before


def test_classes_told_apart_without_error_leave_a_doubt_of_one_in_the_rows():
    y = np.arange(60) % 3
    S = 5.0 * np.eye(3)[y] + 0.1 * np.random.default_rng(0).normal(size=(60, 3))
    P = calibrated(S, y, False).proba(S, y)
    assert np.isfinite(P).all()
    assert 1 / 6000 < 1 - P.max(axis=1).mean() < 0.1


def test_rows_of_a_class_that_no_fit_has_seen_do_not_make_it_likely():
    L, y = drawn(300)
    y[:3] = 2
    L[:, 2] = -np.inf
    y[3:] = np.minimum(y[3:], 1)
    P = calibrated(L, y).proba(L, L.argmax(axis=1))
    assert (P > 0).all()
    assert P[:, 2].max() < 0.05


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_most_probable_class_is_the_label_whatever_it_was(data):
    K, n = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 6))
    few = st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-16, 3.0])  # many ties
    W = np.array(data.draw(st.lists(st.lists(few, min_size=K, max_size=K), min_size=n, max_size=n))) + 1e-12
    codes = np.array(data.draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    P = W / W.sum(axis=1, keepdims=True)
    for dtype in (np.float64, np.float32):
        found = agreed(P.astype(dtype), codes)
        assert found.dtype == dtype
        assert (found.argmax(axis=1) == codes).all()
        assert np.allclose(found.sum(axis=1), 1.0, atol=1e-6)
        assert (found >= 0).all()
        kept = P.argmax(axis=1) == codes
        assert np.allclose(found[kept], P[kept], atol=1e-6)


def test_log_probabilities_agree_too_and_rows_keep_their_order():
    f = np.linspace(-0.4, 0.4, 41)
    S, codes = np.column_stack([-f, f]), (f >= 0).astype(int)
    found = Calibration(0.0, 2.0, np.array([-1.0, 1.0]), np.array([0.4, 0.6]), 100, None, 0.5)
    assert (found.log_proba(S, codes).argmax(axis=1) == codes).all()
    P = found.proba(S, codes)[:, 1]
    assert (np.diff(P) > 0).all()  # those that were brought to the label's side as well
    assert ((P > 0.5) == codes).all()


def test_the_mixing_share_is_the_likeliest():
    L, y = drawn()
    P, prior = np.exp(log_softmax(5 * L)), smoothed_prior(np.bincount(y, minlength=3))
    share = mixing_share(P, y, prior)
    losses = [log_loss((1 - s) * P + s * prior, y) for s in (share / 2, share, min(1.0, 1.5 * share))]
    assert np.argmin(losses) == 1


GOOD = Calibration(0.1, 2.0, np.array([0.5, -0.5]), np.array([0.4, 0.6]), 50, 0.7, 0.5).to_data()


def test_a_calibration_is_the_same_after_it_was_plain_data():
    assert Calibration.from_data(GOOD, 2).to_data() == GOOD


@pytest.mark.parametrize(
    "change",
    [
        {"slope": -1.0},
        {"slope": float("nan")},
        {"slope": "1"},
        {"share": 1.5},
        {"rows": -1},
        {"rows": 1.5},
        {"rows": True},
        {"after": None},
        {"offset": [1.0]},
        {"offset": [1.0, float("inf")]},
        {"prior": [0.0, 1.0]},
        {"prior": [0.7, 0.7]},
        {"more": 1},
    ],
)
def test_a_calibration_that_cannot_be_is_refused(change):
    with pytest.raises(ModelFileError, match="calibration"):
        Calibration.from_data({**GOOD, **change}, 2)


@pytest.mark.parametrize("data", [None, [], 3, {}, {k: v for k, v in GOOD.items() if k != "prior"}])
def test_something_else_than_a_calibration_is_refused(data):
    with pytest.raises(ModelFileError, match="calibration"):
        Calibration.from_data(data, 2)
