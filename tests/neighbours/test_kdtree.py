"""A k-d tree gives the rows and the bits that comparing with every row gives, whatever the rows are like."""

from __future__ import annotations

import numpy as np
import pytest

from assay.engines.threads import Threads
from assay.neighbours.kdtree import Tree
from assay.neighbours.plain import nearest

RNG = np.random.default_rng(0)


def rows_like(kind: str, n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng([n, d, len(kind)])
    Z = rng.normal(size=(n, d))
    if kind == "tied":
        return np.round(Z)
    if kind == "equal":
        return np.ones((n, d))
    if kind == "clustered":
        return Z * 1e-3 + rng.integers(0, 4, (n, 1)) * 10.0
    if kind == "far from zero":
        return 1e8 + Z * 1e-6
    if kind == "scaled":
        return Z * 10.0 ** rng.integers(-6, 7, d)
    return Z


@pytest.mark.parametrize("kind", ["normal", "tied", "equal", "clustered", "far from zero", "scaled"])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 2), (16, 3), (17, 3), (129, 1), (1000, 2), (4099, 4), (2500, 9)])
def test_the_nearest_rows_are_those_of_all_rows(kind, n, d):
    Z = rows_like(kind, n, d)
    Q = np.vstack([Z[: min(n, 60)], Z[RNG.integers(0, n, 40)] + 1e-7, rows_like(kind, 20, d) * 50])
    tree = Tree(Z, Threads(2))
    for k in {1, min(5, n), n if n < 200 else 33}:
        r, index = tree.nearest(Q, k)
        expected = nearest(Z, Q, k, 2.0)
        assert np.array_equal(index, expected[1])
        assert np.array_equal(r, expected[0])


def test_a_row_can_be_left_out_of_its_own_neighbours():
    Z = rows_like("tied", 700, 3)
    own = np.arange(700)
    own[::7] = -1
    r, index = Tree(Z, Threads(2)).nearest(Z, 4, own)
    expected = nearest(Z, Z, 4, 2.0, own)
    assert np.array_equal(index, expected[1])
    assert np.array_equal(r, expected[0])


def test_queries_beyond_all_bounds_still_have_neighbours():
    Z = rows_like("normal", 500, 2)
    Q = np.array([[1e100, 0.0], [-1e30, 1e25], [0.0, 1e19]])
    r, index = Tree(Z, Threads(1)).nearest(Q, 3)
    expected = nearest(Z, Q, 3, 2.0)
    assert np.array_equal(index, expected[1])
    assert np.array_equal(r, expected[0])


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_threads_changes_nothing(workers):
    Z, Q = rows_like("normal", 3000, 3), rows_like("normal", 1300, 3)
    r, index = Tree(Z, Threads(workers)).nearest(Q, 5)
    alone = Tree(Z, Threads(2)).nearest(Q[700:701], 5)
    assert np.array_equal(index[700], alone[1][0])
    assert np.array_equal(r[700], alone[0][0])
