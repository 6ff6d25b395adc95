"""The sweeps over sparse rows say what the sweeps over dense rows say, compiled or not."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from assay.numerics import log_softmax
from assay.risk.terms import SURROGATES
from assay.solvers.loops.sparse import sparse_dot, sparse_softmax_sweep, sparse_sweep

NONE = np.empty(0)


def compressed(X):
    rows, columns = np.nonzero(X)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(X, axis=1))]).astype(np.int64)
    return X[rows, columns], columns.astype(np.int32), indptr


def rows(n=150, d=20, dtype=np.float64):
    rng = np.random.default_rng(n)
    X = np.where(rng.random((n, d)) < 0.3, rng.normal(size=(n, d)), 0.0).astype(dtype)
    X[7] = 0.0  # a row without entries
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.uniform(0, 2, n), rng.normal(size=d + 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SURROGATES)
def test_losses_and_slopes_are_those_of_the_formula(name, weighted, dtype):
    X, t, c, w = rows(dtype=dtype)
    loss = SURROGATES[name]
    g, sums = np.zeros(len(w)), np.array([0.0, 0.0, 0.0, np.inf])
    sparse_sweep(loss.code, 0.5, *compressed(X), t, c if weighted else NONE, w, g, sums)
    c = c if weighted else np.ones(len(t))
    A = np.column_stack([X, np.ones(len(t))])
    z = A @ w
    assert sums[0] == pytest.approx(c @ loss.value(z, t, 0.5), rel=1e-12)
    assert sums[3] == pytest.approx((t * z).min(), rel=1e-12)
    np.testing.assert_allclose(g, A.T @ (c * loss.slope(z, t, 0.5)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_softmax_losses_and_gradient_are_numpys(weighted):
    X, _, c, _ = rows()
    rng = np.random.default_rng(1)
    y, W, G = rng.integers(0, 5, len(X)), rng.normal(size=(21, 5)), np.zeros((21, 5))
    total = sparse_softmax_sweep(*compressed(X), y, c if weighted else NONE, W, G)
    c = c if weighted else np.ones(len(X))
    A = np.column_stack([X, np.ones(len(X))])
    L = log_softmax(A @ W)
    assert total == pytest.approx(-c @ L[np.arange(len(X)), y], rel=1e-12)
    np.testing.assert_allclose(G, A.T @ (c[:, None] * (np.exp(L) - np.eye(5)[y])), atol=1e-11)


@pytest.mark.parametrize("length", range(10))
def test_a_product_takes_all_entries(length):
    data, indices = np.arange(1.0, length + 1), np.arange(length, dtype=np.int32)[::-1].copy()
    w = np.random.default_rng(length).normal(size=length + 1)
    assert sparse_dot(data, indices, 0, length, w) == pytest.approx(data @ w[indices])


CODE = """
import sys; sys.path.insert(0, "tests/solvers")
import numpy as np
from test_sparse_sweep import compressed, rows, sparse_softmax_sweep, sparse_sweep
X, t, c, w = rows()
g, sums, G = np.zeros(len(w)), np.array([0.0, 0.0, 0.0, np.inf]), np.zeros((len(w), 2))
sparse_sweep(0, 1.0, *compressed(X), t, c, w, g, sums)
total = sparse_softmax_sweep(*compressed(X), (t > 0).astype(np.int64), c, np.column_stack([w, -w]), G)
print(np.round([sums[0], sums[3], np.abs(g).sum(), total, np.abs(G).sum()], 8))
"""


def test_the_same_without_the_compiler():
    def output(**environment):
        run = subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert output() == output(NUMBA_DISABLE_JIT="1")
