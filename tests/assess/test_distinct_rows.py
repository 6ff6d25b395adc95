"""What the answers of several fits are worth."""

from __future__ import annotations

import numpy as np
import pytest

from assay.assess.distinct_rows import effective_rows, independent_share, of_distinct_rows, of_groups
from assay.assess.score import Score, proportion
from assay.certify.held_out import clopper_pearson


def test_fits_that_share_rows_are_worth_fewer_answers_and_intervals_say_so():
    worth = effective_rows(300, 270)
    assert 1 / worth == pytest.approx(1 / 300 + 0.5 / 270)
    error = of_distinct_rows(proportion("error", 30, 300), worth)
    assert (error.low, error.high) == pytest.approx(clopper_pearson(0.1 * worth, worth))
    mse = of_distinct_rows(Score("MSE", 4.0, 3.0, 5.0, "approximate", "low", 300), worth)
    assert mse.high - 4.0 == pytest.approx(np.sqrt(300 / worth))


def test_intervals_of_a_cross_validation_cover_the_error_of_the_model_handed_over():
    """The mean of ten folds as a classifier of noisy labels by the nearest centre: a fixed simulation, quick enough for every run.

    Without the correction 88 % are covered (`python -m bench coverage` has real tables and models).
    """
    rng, plain, wide = np.random.default_rng(5), 0, 0
    for _ in range(400):
        y = np.arange(60) % 2
        X = rng.normal(size=(60, 12)) + 0.35 * y[:, None]
        wrong = sum(
            int((_nearest(X[f != k], y[f != k], X[f == k]) != y[f == k]).sum())
            for f in [np.arange(60) // 6]
            for k in range(10)
        )
        w = np.diff(_centres(X, y), axis=0)[0]
        b = _centres(X, y).mean(axis=0) @ w
        # of normal rows the error of a hyperplane is known: P(w·x < b) of the one class, P(w·x > b) of the other
        from scipy.special import ndtr

        size = np.linalg.norm(w)
        error = 0.5 * ndtr(-(0.35 * w.sum() - b) / size) + 0.5 * ndtr(-b / size)
        worth = effective_rows(60, 54)
        low, high = clopper_pearson(wrong, 60)
        plain += low <= error <= high
        low, high = clopper_pearson(wrong / 60 * worth, worth)
        wide += low <= error <= high
    assert plain < 0.93 * 400
    assert 0.94 * 400 <= wide <= 0.98 * 400


def _centres(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.stack([X[y == k].mean(axis=0) for k in (0, 1)])


def _nearest(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    return ((new[:, None] - _centres(X, y)) ** 2).sum(axis=2).argmin(axis=1)


def test_rows_of_a_group_that_are_alike_count_once():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), 5)
    alike, apart = np.repeat(rng.random(200) < 0.2, 5).astype(float), (rng.random(1000) < 0.2).astype(float)
    assert independent_share(alike, groups) == pytest.approx(0.2, rel=0.02)
    assert independent_share(apart, groups) == pytest.approx(1.0, abs=0.2)
    assert independent_share(np.zeros(1000), groups) == pytest.approx(
        0.2
    )  # no error tells nothing of how rows hang together
    assert of_groups(alike, groups).mean() == pytest.approx(alike.mean())
    assert independent_share(apart, np.arange(1000)) == pytest.approx(1.0)
