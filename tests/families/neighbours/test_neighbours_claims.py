"""Certificates of nearest neighbours on tables where rows are equal, far from zero, or of any scale."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from cases import file_bytes

import assay
from assay.errors import DataError, ParameterError
from assay.store import decode

METRICS = ["euclidean", "manhattan", "chebyshev", "hamming"]


def verified(model, X, y, w=None):
    """The verdicts on a model that was saved and loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = type(model).from_record(decode(file_bytes(model.fit(X, y, sample_weight=w))))
        verdicts = model.certificate_.verify(X, y, w)
    assert model.certificate_.holds
    assert verdicts.holds, str(verdicts)
    return verdicts


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [2, "auto"])
def test_of_equal_rows_each_leaves_itself_out(k, weights, metric):
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(60, 2)).astype(float)
    w = rng.choice([0.0, 0.5, 1.0, 2.0], size=60)
    for weight in (None, w):
        verified(assay.KNeighborsClassifier(k, weights=weights, metric=metric), X, rng.integers(3, size=60), weight)
        verified(assay.KNeighborsRegressor(k, weights=weights, metric=metric), X, rng.normal(size=60), weight)


def test_rows_that_are_all_equal():
    verified(assay.KNeighborsClassifier(2), [[0.0]] * 4, [0, 1, 1, 0])


def test_rows_in_another_order_are_still_found():
    X = np.arange(40.0)[:, None] ** 2
    model = assay.KNeighborsRegressor(3).fit(X, np.arange(40.0))
    assert model.certificate_.verify(X[::-1], np.arange(40.0)[::-1]).holds


def test_a_row_of_two_votes_alone():
    verified(assay.KNeighborsRegressor(1), [[3.0]], [1.0], [2.0])


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("metric", [{"metric": "cosine"}, {"p": 1.5}, {"p": 3}, {"p": 9}])
def test_rows_of_any_scale(metric, scale):
    rng = np.random.default_rng(1)
    verified(assay.KNeighborsClassifier(3, **metric), scale * rng.normal(size=(50, 2)), rng.integers(2, size=50))


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_targets_of_any_scale(scale):
    rng = np.random.default_rng(1)
    verified(assay.KNeighborsRegressor("auto"), rng.normal(size=(40, 1)), scale * rng.normal(size=40))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_targets_whose_squares_are_no_numbers(scale):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 1)), scale * rng.normal(size=40)
    verified(assay.KNeighborsRegressor(3), X, y, rng.integers(3, size=40).astype(float))
    with pytest.raises(DataError, match="Squares of the target leave the range"):
        assay.KNeighborsRegressor("auto").fit(X, y)


def test_whitened_rows_far_from_zero():
    rng = np.random.default_rng(1)
    verified(
        assay.KNeighborsClassifier(3, metric="mahalanobis"), 1e9 + rng.normal(size=(60, 3)), rng.integers(2, size=60)
    )


def test_roots_that_overflow_are_refused():
    with pytest.raises(ParameterError, match="too small for 2 columns"):
        assay.KNeighborsRegressor(1, p=0.0002).fit([[36.0, 40.0], [29.0, 42.0]], [1.0, 2.0])


def test_numbers_of_neighbours_that_differ_by_rounding_are_each_the_least():
    """Rows that are all alike have the same error for every k, but for the rounding of its sum."""
    rng = np.random.default_rng(2)
    y, w = rng.integers(0, 3, 29) + 0.1 * rng.standard_normal(29), rng.random(29) * 1e10
    for rule in ("best", "one-se"):
        verified(assay.KNeighborsRegressor("auto", metric="hamming", rule=rule), np.zeros((29, 3)), y, w)


def test_losses_that_are_rounding_alone_are_verified():
    rng = np.random.default_rng(0)
    X, w = np.zeros((26, 2)), rng.random(26)
    X[4, 1], X[9, 0] = 0.0828, 0.0829
    for y in (np.full(26, -3e7), np.full(26, -3e7) + 1e-7 * rng.standard_normal(26)):
        model = assay.KNeighborsRegressor(n_neighbors="auto").fit(X, y, w)
        assert model.certificate_.verify(X, y, w).holds, model.certificate_.verify(X, y, w)
