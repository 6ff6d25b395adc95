"""Products in float32 and direct loops give the rows and the bits that the definition gives, whatever the rows are like."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import assay.families.neighbours.brute as brute
from assay.compiled import jit
from assay.engines.engine import Threads
from assay.families.neighbours.brute import Brute
from assay.families.neighbours.loops.brute import LARGEST, cuts, narrow
from assay.families.neighbours.search import HAMMING, NO_ROW, nearest, reduced_distances

NORMS = [2.0, 1.0, math.inf, HAMMING]
KINDS = [
    "normal",
    "copies",
    "equal",
    "grid",
    "clustered",
    "huge",
    "tiny",
    "vanishing",
    "mixed columns",
    "mixed rows",
    "far from zero",
    "one far row",
    "spread over all floats",
    "nearly the greatest floats",
]


def rows_like(kind: str, n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([n, d, len(kind), seed])
    Z = rng.normal(size=(n, d))
    if kind == "copies":
        return Z[rng.integers(0, max(1, n // 10), n)]
    if kind == "equal":
        return np.full((n, d), 1.7)
    if kind == "grid":
        return np.round(Z)
    if kind == "clustered":
        return Z * 1e-4 + rng.integers(0, 3, (n, 1)) * 10.0
    if kind == "one far row":
        Z[n // 2] = 1e200
        return Z
    if kind == "mixed columns":
        return Z * 10.0 ** rng.integers(-9, 10, d)
    if kind == "mixed rows":
        return Z * 10.0 ** rng.integers(-30, 31, (n, 1))
    if kind == "far from zero":
        return 1e8 + Z * 1e-8
    if kind == "spread over all floats":
        return Z * 10.0 ** rng.integers(-300, 300, (n, d))
    if kind == "nearly the greatest floats":
        return np.sign(Z) * 1.7e308
    return Z * {"huge": 1e200, "tiny": 1e-30, "vanishing": 1e-200}.get(kind, 1.0)


def asked_of(Z: np.ndarray, kind: str) -> np.ndarray:
    """Queries that are rows, that are nearly rows, and that are neither."""
    near = Z[: min(len(Z), 30)]
    return np.vstack([near, near * (1 + 1e-9), rows_like(kind, 20, Z.shape[1], 1)])


def equal(found, expected) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(found, expected))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 2), (64, 1), (65, 3), (513, 9), (1100, 20), (700, 130), (530, 800)])
def test_the_nearest_rows_are_those_of_the_definition(kind, n, d):
    Z = rows_like(kind, n, d)
    Q = asked_of(Z, kind)
    for norm in NORMS if n * d < 20_000 else [2.0]:
        search = Brute(Z, Threads(2), norm)
        for k in {1, min(5, n), n}:
            assert equal(search.nearest(Q, k), nearest(Z, Q, k, norm)), (norm, k)


@pytest.mark.parametrize("kind", ["normal", "grid", "clustered", "mixed columns", "tiny", "far from zero"])
@pytest.mark.parametrize("k", [1, 5, 127, 129, 600])
def test_many_tiles_and_any_number_of_neighbours(kind, k):
    Z = rows_like(kind, 2600, 12)
    Q = np.vstack([asked_of(Z, kind), rows_like(kind, 1500, 12, 2)])
    assert equal(Brute(Z, Threads(2)).nearest(Q, k), nearest(Z, Q, k, 2.0))


def cuts_of(r, B, s, d):
    beta = np.empty(r.shape, np.float32)
    for j in range(r.shape[1]):
        cuts(r[:, j], B, s, d, beta[:, j])
    return beta


@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("d", [1, 3, 40, 700])
def test_no_row_is_ruled_out_by_its_own_distance(kind, d):
    Z, Q = rows_like(kind, 128, d), asked_of(rows_like(kind, 128, d), kind)
    search, groups, B = Brute(Z, Threads(1)), np.empty((len(Q), d, 1), np.float32), np.empty(len(Q))
    assert search.products
    if narrow(Q, search.centre, search.scale, groups, B) * search.scale > LARGEST:
        return
    a, b = search.a.transpose(0, 2, 1).reshape(128, d), groups[:, :, 0]
    r = reduced_distances(Z, Q, 2.0)
    beta = cuts_of(r, B, search.scale, d)
    terms = b[:, None, :] * a[None]
    for G in (b @ a.T, np.cumsum(terms, axis=2)[:, :, -1], np.cumsum(terms[:, :, ::-1], axis=2)[:, :, -1]):
        assert not (G - search.alpha < beta).any()
    if kind == "normal" and d > 1:  # and most others are, by a distance that is a thousandth less
        assert (b @ a.T - search.alpha < cuts_of(0.999 * r, B, search.scale, d)).mean() > 0.9


def test_products_are_used_where_they_can_be(monkeypatch):
    compared = []
    scan = brute.scan
    monkeypatch.setattr(brute, "scan", lambda *given: compared.append(scan(*given)) or compared[-1])
    Z = rows_like("normal", 20_000, 16)
    for scale in (1.0, 1e-150, 1e150):
        compared.clear()
        _, index = Brute(scale * Z, Threads(1)).nearest(scale * Z[:300], 5)
        assert 2 * 300 < sum(compared) < 100 * 300
        assert np.array_equal(index[:, 0], np.arange(300))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", ["grid", "equal", "huge", "normal"])
def test_a_row_can_be_left_out_of_its_own_neighbours(kind, norm):
    Z = rows_like(kind, 700, 5)
    own = np.arange(700)
    own[::7] = -1
    search = Brute(Z, Threads(2), norm)
    for k in (1, 4, 699):
        assert equal(search.nearest(Z, k, own), nearest(Z, Z, k, norm, own))


def test_where_there_are_too_few_rows_there_is_none():
    Z = np.array([[0.0], [1.0]])
    for r, index in (Brute(Z, Threads(1)).nearest(Z, 2, np.arange(2)), nearest(Z, Z, 2, 2.0, np.arange(2))):
        assert np.array_equal(r, [[1.0, np.inf], [1.0, np.inf]])
        assert np.array_equal(index, [[1, NO_ROW], [0, NO_ROW]])


def test_queries_beyond_all_bounds_still_have_neighbours():
    Z = rows_like("normal", 600, 2)
    Q = np.array([[1e100, 0.0], [-1e30, 1e25], [0.0, 1e19], [1e300, -1e300], [0.1, 0.2]])
    for i in range(5):
        assert equal(Brute(Z, Threads(1)).nearest(Q[i:], 3), nearest(Z, Q[i:], 3, 2.0))


def test_no_queries_have_no_neighbours():
    search = Brute(np.ones((3, 2)), Threads(2))
    r, index = search.nearest(np.empty((0, 2)), 2)
    assert r.shape == index.shape == (0, 2)
    start, index, r = search.within(np.empty((0, 2)), np.empty(0))
    assert start.tolist() == [0]
    assert len(index) == len(r) == len(search.count(np.empty((0, 2)), np.empty(0))) == 0


@pytest.mark.parametrize("norm", [*NORMS, 2.5])
@pytest.mark.parametrize("kind", ["normal", "grid", "equal", "clustered", "huge", "tiny"])
def test_all_rows_within_a_radius_in_order(kind, norm):
    Z = rows_like(kind, 1200 if norm != 2.5 else 200, 4)
    Q = asked_of(Z, kind)
    far = reduced_distances(Z, Q, norm)
    radius = np.sort(far, axis=1)[np.arange(len(Q)), np.arange(len(Q)) * 7 % len(Z)]
    radius[3], radius[4] = -1.0, np.inf
    search = Brute(Z, Threads(2), norm)
    start, index, r = search.within(Q, radius)
    assert np.array_equal(np.diff(start), search.count(Q, radius))
    for i in range(len(Q)):
        order = np.argsort(far[i], kind="stable")
        order = order[far[i, order] <= radius[i]]
        assert np.array_equal(index[start[i] : start[i + 1]], order)
        assert np.array_equal(r[start[i] : start[i + 1]], far[i, order])


@pytest.mark.parametrize("norm", [2.0, 1.0])
def test_the_number_of_threads_changes_nothing(norm):
    Z, Q = rows_like("normal", 1500, 7), rows_like("normal", 1300, 7)
    expected = Brute(Z, Threads(2), norm).nearest(Q, 5)
    radius = expected[0][:, 3]
    around = Brute(Z, Threads(2), norm).within(Q, radius)
    for workers in (1, 3):
        search = Brute(Z, Threads(workers), norm)
        assert equal(search.nearest(Q, 5), expected)
        assert equal(search.within(Q, radius), around)
    alone = Brute(Z, Threads(1), norm).nearest(Q[700:701], 5)
    assert equal(alone, (expected[0][700:701], expected[1][700:701]))


@pytest.mark.parametrize("p", [0.5, 1.5, 3.0, 4.0, 17.0])
@pytest.mark.parametrize("kind", ["normal", "grid", "huge", "vanishing"])
def test_any_power_gives_the_bits_of_the_c_library(kind, p):
    Z = rows_like(kind, 300, 6)
    Q = asked_of(Z, kind)
    assert equal(Brute(Z, Threads(2), p).nearest(Q, 7), nearest(Z, Q, 7, p))


def test_compiled_powers_are_the_c_librarys():
    @jit
    def powers(x, p):
        out = np.empty(len(x))
        for i in range(len(x)):
            out[i] = x[i] ** p
        return out

    x = np.abs(np.random.default_rng(0).normal(size=20_000)) * 10.0 ** np.arange(-10, 10).repeat(1000)
    for p in (0.1, 1.5, 2.5, 3.0, 4.0, 7.3):
        assert np.array_equal(powers(x, p), [math.pow(t, p) for t in x])


def test_the_loops_say_the_same_without_the_compiler():
    code = """
import numpy as np
from assay.engines.engine import Threads
from assay.families.neighbours.brute import Brute
from assay.families.neighbours.search import nearest
rng = np.random.default_rng(0)
Z = np.round(rng.normal(size=(70, 3)), 1)
own = np.arange(12)
for norm in (2.0, 1.0, np.inf, 0.0, 3.0):
    search = Brute(Z, Threads(1), norm)
    r, index = search.nearest(Z[:12], 4, own)
    expected = nearest(Z, Z[:12], 4, norm, own)
    assert np.array_equal(r, expected[0]) and np.array_equal(index, expected[1]), norm
    start, index, far = search.within(Z[:12], r[:, 3])
    assert np.array_equal(np.diff(start), search.count(Z[:12], r[:, 3])) and (np.diff(start) >= 4).all()
Brute(np.array([[1e300], [0.0]]), Threads(1)).nearest(np.array([[3.0]]), 1)
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert run.returncode == 0, run.stderr
