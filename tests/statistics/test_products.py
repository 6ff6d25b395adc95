"""The loop that takes all products of columns agrees with NumPy, compiled or not."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from assay.compiled.simd.vectors import LANE
from assay.engines.fingerprint import bits, column_hashes
from assay.statistics.loops import TILE, add_products, add_square


@pytest.mark.parametrize("P", [8, 16, 24, 32, 40, 48, 56, 64, 104, 128])
@pytest.mark.parametrize("m", [1, 7, TILE])
def test_the_square_of_a_tile_is_numpys(P, m):
    T = np.random.default_rng(P + m).normal(size=(TILE, P))
    C = np.ones((P, P))
    add_square(T, m, C, T.reshape(-1), 0)
    np.testing.assert_allclose(np.triu(C), np.triu(1 + T[:m].T @ T[:m]), rtol=1e-12, atol=1e-12)


def products(X, y, root, p, q):
    P = -(-(X.shape[1] + 2) // LANE) * LANE
    C, h = np.zeros((P, P)), np.zeros(X.shape[1], dtype=np.uint64)
    U, shift = bits(X)
    add_products(X, U, shift, y, root, p, q, np.zeros((TILE, P)), C, h)
    return np.triu(C), h


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_shifted_scaled_and_hashed(weighted, dtype):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(333, 13)).astype(dtype), rng.normal(size=333)
    root = np.sqrt(rng.uniform(0, 2, 333)) if weighted else np.empty(0)
    p, q = rng.normal(size=13), 0.7
    C, h = products(X, y, root, p, q)
    t = np.column_stack([X - p, y - q, np.ones(333)]) * (root if weighted else np.ones(333))[:, None]
    np.testing.assert_allclose(C[:15, :15], np.triu(t.T @ t), rtol=1e-11, atol=1e-11)
    assert not C[15:].any()
    np.testing.assert_array_equal(h, column_hashes(X))


def test_uncompiled_products_are_the_same():
    code = (
        "import numpy as np; from assay.statistics.loops import add_square; "
        "T = np.arange(64.0).reshape(4, 16); C = np.zeros((16, 16)); add_square(T, 3, C, T.reshape(-1), 0); print(np.triu(C).sum())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    T = np.arange(64.0).reshape(4, 16)[:3]
    assert float(run.stdout) == np.triu(T.T @ T).sum()
