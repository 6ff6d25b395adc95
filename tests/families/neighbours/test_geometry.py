"""Metrics are maps and norms; a matrix that is no metric is refused with what is wrong about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from assay.errors import DataError, ParameterError
from assay.families.neighbours.metrics import Geometry, root_of
from assay.families.neighbours.search import HAMMING, reduced_distances

RNG = np.random.default_rng(1)
X, Q = RNG.normal(size=(40, 4)), RNG.normal(size=(9, 4))


@pytest.mark.parametrize(
    ("geometry", "peer"),
    [
        (Geometry(2.0), {"metric": "euclidean"}),
        (Geometry(1.0), {"metric": "cityblock"}),
        (Geometry(np.inf), {"metric": "chebyshev"}),
        (Geometry(3.0), {"metric": "minkowski", "p": 3}),
        (Geometry(2.0, unit=True), {"metric": "cosine"}),
    ],
)
def test_distances_are_the_peers(geometry, peer):
    r = reduced_distances(geometry.rows(X), geometry.rows(Q), geometry.norm)
    assert np.allclose(geometry.distances(r, 4), cdist(Q, X, **peer), rtol=1e-12, atol=1e-14)


def test_a_quadratic_metric_is_a_map():
    A = RNG.normal(size=(4, 4))
    W = A @ A.T
    geometry = Geometry(2.0, root_of(W, 4), X.mean(axis=0))
    r = reduced_distances(geometry.rows(X), geometry.rows(Q), 2.0)
    assert np.allclose(geometry.distances(r, 4), cdist(Q, X, "mahalanobis", VI=W), rtol=1e-10)


def test_a_row_is_mapped_alike_alone_and_among_others():
    geometry = Geometry(2.0, root_of(np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1, 4), X.mean(axis=0))
    assert np.array_equal(geometry.rows(X)[7], geometry.rows(X[7:8])[0])


def test_hamming_counts_columns():
    A, B = RNG.integers(0, 3, (30, 5)).astype(float), RNG.integers(0, 3, (6, 5)).astype(float)
    geometry = Geometry(HAMMING)
    assert np.array_equal(geometry.distances(reduced_distances(A, B, HAMMING), 5), cdist(B, A, "hamming"))


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf, 3.0])
def test_a_radius_is_reduced_without_losing_rows_on_its_edge(norm):
    geometry = Geometry(norm)
    r = reduced_distances(X, Q, norm).ravel()
    for value in r[:50]:
        distance = float(geometry.distances(np.float64(value), 4))
        assert geometry.reduced(distance, 4) >= value


def test_matrices_that_are_no_metric_are_refused():
    with pytest.raises(ParameterError, match=r"least eigenvalue is -1"):
        root_of(np.diag([2.0, -1.0]), 2)
    with pytest.raises(ParameterError, match=r"not symmetric: \[0, 1\]"):
        root_of([[1.0, 2.0], [0.0, 1.0]], 2)
    with pytest.raises(ParameterError, match="shape"):
        root_of(np.eye(3), 2)
    with pytest.raises(ParameterError, match="zero"):
        root_of(np.zeros((2, 2)), 2)
    with pytest.raises(DataError, match="Row 1 is all zeros"):
        Geometry(2.0, unit=True).rows(np.array([[1.0, 0.0], [0.0, 0.0]]))


@pytest.mark.parametrize("norm", [2.0, 1.0, np.inf, 3.0])
@pytest.mark.parametrize("size", [2.0**1000, 2.0**660, 1.0, 2.0**-600, 2.0**-1000])
def test_rows_of_any_size_have_the_distances_of_the_same_rows_at_size_one(norm, size):
    usual, plain = Geometry(norm), Geometry(norm)
    expected = usual.distances(reduced_distances(X, Q, norm), 4)
    other = plain.scaled((X * size).min(axis=0), (X * size).max(axis=0))
    assert (other.scale == 1.0) == (size == 1.0 or (norm in (1.0, np.inf) and size < 2.0**900))
    r = reduced_distances(other.rows(X * size), other.rows(Q * size), norm)
    assert np.allclose(other.distances(r, 4) / size, expected, rtol=1e-15)
    assert all(other.reduced(float(other.distances(np.float64(value), 4)), 4) >= value for value in r.ravel()[:20])


def test_directions_of_rows_of_any_size_are_compared():
    cosine = Geometry(2.0, unit=True)
    assert np.array_equal(cosine.rows(X * 2.0**900), cosine.rows(X))
    assert np.array_equal(cosine.rows(X * 2.0**-900), cosine.rows(X))
    assert cosine.scaled(X.min(axis=0), X.max(axis=0)) is cosine


@pytest.mark.parametrize("norm", [0.007, 0.5, 1.5, 2.0, 3.0, 60.0])
@pytest.mark.parametrize("distance", [0.0, 1e-200, 0.3, 7.0, 1e200])
def test_the_greatest_reduced_distance_is_found_among_all_floats(norm, distance):
    geometry, calls = Geometry(norm), []
    counted = replace(geometry)
    object.__setattr__(counted, "distances", lambda r, d: calls.append(r) or geometry.distances(r, d))
    with np.errstate(all="ignore"):
        r = counted.reduced(distance, 2)
        assert geometry.distances(np.float64(r), 2) <= distance
        assert np.isinf(r) or geometry.distances(np.nextafter(r, np.inf), 2) > distance
    assert len(calls) < 200
