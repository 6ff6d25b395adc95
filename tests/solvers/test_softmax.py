"""The fused sweep of softmax regression agrees with NumPy, compiled or not, for any shape and far scores."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from assay.compiled.simd.vectors import LANE
from assay.numerics import log_softmax
from assay.solvers.loops.softmax import ABSENT, add_outer, add_scores, class_products, softmax_sweep, softmax_tile
from assay.solvers.loops.sweep import padded

NONE, NO_INDEX, NO_POINTER = np.empty(0), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)


@pytest.mark.parametrize("Q", [8, 16, 24, 32, 40])
@pytest.mark.parametrize(("M", "m"), [(8, 1), (8, 8), (32, 19)])
def test_products_with_few_columns_are_numpys(Q, M, m):
    rng = np.random.default_rng(Q + m)
    T, W, R = rng.normal(size=(M, 56)), rng.normal(size=(56, Q)), rng.normal(size=(M, Q))
    Z, G = np.ones((M, Q)), np.ones((56, Q))
    add_scores(T, m, W, Z)
    add_outer(T, m, R, G)
    np.testing.assert_allclose(Z[:m], 1 + T[:m] @ W, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(G, 1 + T[:m].T @ R[:m], rtol=1e-12, atol=1e-12)


def rooms(W, d):
    K = W.shape[1]
    P, Q = padded(d), -(-K // LANE) * LANE
    weights = np.zeros((P, Q))
    weights[: d + 1, :K], weights[d, K:] = W, ABSENT
    return weights, np.zeros((softmax_tile(P), P)), np.zeros((softmax_tile(P), Q))


def rows(n, d, K, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    return X, rng.integers(0, K, n), rng.uniform(0, 2, n), rng.normal(size=(d + 1, K)), rng.normal(size=d)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "d", "K"), [(1, 1, 2), (67, 5, 3), (70, 30, 10), (40, 600, 9), (33, 7, 40)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_losses_and_gradient_are_numpys(n, d, K, weighted, dtype):
    X, y, c, W, p = rows(n, d, K, dtype)
    weights, T, Z = rooms(W, d)
    G = np.zeros_like(weights)
    total = softmax_sweep(X, NONE, NO_INDEX, NO_POINTER, y, c if weighted else NONE, K, weights, p, T, Z, G)
    c = c if weighted else np.ones(n)
    A = np.column_stack([X - p, np.ones(n)])
    L = log_softmax(A @ W)
    R = c[:, None] * (np.exp(L) - np.eye(K)[y])
    assert total == pytest.approx(-c @ L[np.arange(n), y], rel=1e-12)
    np.testing.assert_allclose(G[: d + 1, :K], A.T @ R, atol=1e-11 * np.abs(A).max() * n)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12])
def test_far_scores_stay_finite_and_a_sure_answer_is_free(far):
    X, y = np.array([[1.0], [-1.0]]), np.array([0, 1])
    W = np.array([[far, -far], [0.0, 0.0]])
    for truth, loss in ((y, 0.0), (1 - y, 4 * far)):
        weights, T, Z = rooms(W, 1)
        G = np.zeros_like(weights)
        assert softmax_sweep(X, NONE, NO_INDEX, NO_POINTER, truth, NONE, 2, weights, np.zeros(1), T, Z, G) == loss
        assert np.isfinite(G).all()


def test_products_of_columns_are_weighted_by_each_class():
    X, _, c, W, p = rows(90, 6, 3)
    weights, T, Z = rooms(W, 6)
    H = np.zeros((3, 8, 8))
    class_products(X, NONE, NO_INDEX, NO_POINTER, c, 3, weights, p, T, Z, np.zeros_like(T), H)
    A = np.column_stack([X - p, np.ones(90)])
    P = np.exp(log_softmax(A @ W))
    for k in range(3):
        full = (A * (c * P[:, k] * (1 - P[:, k]))[:, None]).T @ A
        np.testing.assert_allclose(np.triu(H[k])[:7, :7], np.triu(full), rtol=1e-9, atol=1e-11)


CODE = """
import sys; sys.path.insert(0, "tests/solvers")
import numpy as np
from test_softmax import NONE, NO_INDEX, NO_POINTER, class_products, rooms, rows, softmax_sweep
X, y, c, W, p = rows(45, 9, 3)
weights, T, Z = rooms(W, 9)
G, H = np.zeros_like(weights), np.zeros((3, 16, 16))
total = softmax_sweep(X, NONE, NO_INDEX, NO_POINTER, y, c, 3, weights, p, T, Z, G)
class_products(X, NONE, NO_INDEX, NO_POINTER, c, 3, weights, p, T, Z, np.zeros_like(T), H)
print(np.round([total, np.abs(G).sum(), np.abs(np.triu(H)).sum()], 8))
"""


def test_the_same_without_the_compiler():
    def output(**environment):
        run = subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert output() == output(NUMBA_DISABLE_JIT="1")
