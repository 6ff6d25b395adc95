"""A k-d tree gives the rows and the bits that comparing with every row gives, whatever the rows are like."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from neighbour_rows import KINDS, NORMS, queries_like, rows_like

from assay.engines.engine import Threads
from assay.families.neighbours.kdtree import BoxTree
from assay.families.neighbours.search import nearest, reduced_distances


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 2), (16, 3), (17, 3), (129, 1), (1000, 2), (4099, 4), (2500, 9)])
def test_the_nearest_rows_are_those_of_all_rows(kind, n, d):
    Z = rows_like(kind, n, d)
    Q = queries_like(kind, Z, 40)
    tree = BoxTree(Z, Threads(2))
    for k in {1, min(5, n), n if n < 200 else 33, min(n, 100)}:
        assert_same(tree.nearest(Q, k), nearest(Z, Q, k, 2.0))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(1, 2), (150, 1), (400, 3)])
def test_every_norm_is_exact(norm, kind, n, d):
    Z = rows_like(kind, n, d)
    Q = queries_like(kind, Z, 8)
    tree = BoxTree(Z, Threads(1), norm)
    assert_same(tree.nearest(Q, min(n, 6)), nearest(Z, Q, min(n, 6), norm))
    R = reduced_distances(Z, Q, norm)
    m = len(Q)
    radii = [np.sort(R, axis=1)[:, n // 5], 0.7 * R.max(axis=1)] + [np.full(m, most) for most in (0.0, -1.0, np.inf)]
    for radius in radii:
        inside = [np.flatnonzero(r <= most) for r, most in zip(R, radius)]
        inside = [rows[np.argsort(R[i, rows], kind="stable")] for i, rows in enumerate(inside)]
        count = np.array([len(rows) for rows in inside])
        start, index, r = tree.within(Q, radius)
        assert_same((np.diff(start), index), (count, np.concatenate(inside)))
        assert np.array_equal(r, np.concatenate([R[i, rows] for i, rows in enumerate(inside)]))
        assert np.array_equal(tree.count(Q, radius), count)


@pytest.mark.parametrize("norm", [2.0, 1.0, 3.0])
def test_many_rows_within_a_distance_are_found_and_counted(norm):
    Z = rows_like("tied", 9000, 3) * 0.5 + rows_like("clustered", 9000, 3)
    Q = Z[:1100]
    radius = np.linspace(0, 900, len(Q))
    R = reduced_distances(Z, Q[::50], norm)
    tree = BoxTree(Z, Threads(2), norm)
    start, index, r = tree.within(Q, radius)
    assert np.array_equal(np.diff(start), tree.count(Q, radius))
    for i, (distances, most) in enumerate(zip(R, radius[::50])):
        part = slice(start[50 * i], start[50 * i + 1])
        rows = np.flatnonzero(distances <= most)
        rows = rows[np.argsort(distances[rows], kind="stable")]
        assert_same((index[part], r[part]), (rows, distances[rows]))


@pytest.mark.parametrize("kind", ["tied", "equal", "copies", "huge"])
def test_a_row_can_be_left_out_of_its_own_neighbours(kind):
    Z = rows_like(kind, 700, 3)
    own = np.arange(700)
    own[::7] = -1
    assert_same(BoxTree(Z, Threads(2)).nearest(Z, 4, own), nearest(Z, Z, 4, 2.0, own))


def test_where_rows_are_too_few_there_is_nobody():
    Z = rows_like("normal", 3, 2)
    own = np.array([0, 1, -1])
    assert_same(BoxTree(Z, Threads(1)).nearest(Z, 3, own), nearest(Z, Z, 3, 2.0, own))


@pytest.mark.parametrize("norm", NORMS)
def test_queries_beyond_all_bounds_still_have_neighbours(norm):
    Z = rows_like("normal", 500, 2)
    Q = np.array([[1e100, 0.0], [-1e30, 1e25], [0.0, 1e19], [1.7e308, -1.7e308]])
    tree = BoxTree(Z, Threads(1), norm)
    assert_same(tree.nearest(Q, 3), nearest(Z, Q, 3, norm))
    middle = np.sort(reduced_distances(Z, Q, norm), axis=1)[:, 250]
    assert np.array_equal(tree.count(Q, middle), (reduced_distances(Z, Q, norm) <= middle[:, None]).sum(axis=1))


def test_no_queries_have_no_neighbours():
    tree = BoxTree(rows_like("normal", 50, 2), Threads(2))
    r, index = tree.nearest(np.empty((0, 2)), 3)
    start, rows, distances = tree.within(np.empty((0, 2)), np.empty(0))
    assert (r.shape, index.shape, start.tolist(), rows.size, distances.size) == ((0, 3), (0, 3), [0], 0, 0)
    assert tree.count(np.empty((0, 2)), np.empty(0)).size == 0


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_threads_changes_nothing(workers):
    Z, Q = rows_like("normal", 3000, 3), rows_like("normal", 1300, 3)
    tree, other = BoxTree(Z, Threads(workers)), BoxTree(Z, Threads(2))
    r, index = tree.nearest(Q, 5)
    assert_same([a[700:701] for a in (r, index)], other.nearest(Q[700:701], 5))
    assert_same(tree.within(Q, r[:, -1]), other.within(Q, r[:, -1]))
    assert np.array_equal(tree.count(Q, r[:, -1]), np.full(len(Q), 5))


WITHOUT = """
import sys
sys.path.insert(0, sys.argv[1])
from neighbour_rows import *
from assay.engines.engine import Threads
from assay.families.neighbours.kdtree import BoxTree
for norm in NORMS:
    for kind in ("normal", "tied", "huge", "vanishing"):
        Z = rows_like(kind, 60, 2)
        tree = BoxTree(Z, Threads(1), norm)
        r, index = tree.nearest(Z[:9], 4)
        print(tree.nodes.boxes.tobytes().hex(), r.tobytes().hex(), index.tolist())
        print([a.tolist() for a in tree.within(Z[:9], r[:, 2])], tree.count(Z[:9], r[:, 2]).tolist())
"""


def test_without_the_compiler_all_bits_are_the_same():
    def output(**settings: str) -> str:
        arguments = [sys.executable, "-W", "error::RuntimeWarning", "-c", WITHOUT, str(Path(__file__).parents[2])]
        done = subprocess.run(arguments, env={**os.environ, **settings}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert output() == output(NUMBA_DISABLE_JIT="1")
