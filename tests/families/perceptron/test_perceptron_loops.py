"""Rows against weights, dense and sparse, compiled and not: the same bits as the order of summation that is stated."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from assay.certify.rows import CsrBlock
from assay.compiled import jit
from assay.compiled.simd.rows import plain_score, row_add, row_score, row_square
from assay.families.perceptron.check import _score
from assay.families.perceptron.loops import Csr


@jit
def scores_of(A, n, W, b, k):
    return np.array([row_score(A, i, W, b, k) for i in range(n)])


@jit
def squares_of(A, n):
    return np.array([row_square(A, i) for i in range(n)])


@jit
def add_one(A, i, c, W, k):
    row_add(A, i, c, W, k)


def rows(kind, n, d, dtype):
    X = np.random.default_rng(d).normal(size=(n, d)).astype(dtype)
    if kind == "dense":
        return X, X, X
    X = np.where(np.abs(X) > 0.7, X, 0).astype(dtype)
    S = sp.csr_matrix(X)
    parts = S.data, S.indices.astype(np.int32), S.indptr.astype(np.int64)
    return X, Csr(*parts), CsrBlock(*parts, d)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 7, 8, 9, 16, 50])
def test_scores_are_summed_in_the_stated_order(kind, dtype, d):
    X, A, checked = rows(kind, 30, d, dtype)
    rng = np.random.default_rng(1)
    W, b = rng.normal(size=(3, d)), rng.normal(size=3)
    got = scores_of(A, 30, W, b, 1)
    np.testing.assert_allclose(got, X.astype(float) @ W[1] + b[1], rtol=1e-12, atol=1e-12)
    assert np.array_equal(got, [plain_score(A, i, W, b, 1) for i in range(30)])
    wanted = checked if isinstance(checked, CsrBlock) else checked.astype(np.float64)
    assert np.array_equal(got, _score(wanted, float(b[1]), W[1]))
    np.testing.assert_allclose(squares_of(A, 30), (X.astype(float) ** 2).sum(axis=1), rtol=1e-12)
    before = W.copy()
    add_one(A, 4, -0.3, W, 2)
    before[2] += -0.3 * X[4].astype(float)
    assert np.array_equal(W, before)


CODE = """
import hashlib, warnings, numpy as np, scipy.sparse as sp
warnings.simplefilter("ignore")
from assay.families.perceptron.estimators import Perceptron
from assay.store import encode
rng = np.random.default_rng(0)
X = rng.normal(size=(70, 11)); y = np.arange(70) % 3
for settings in ({}, {"order": "random"}, {"order": "first-mistake"}, {"order": "batch"}, {"variant": "averaged"}, {"variant": "voted"}):
    for labels in (y, y > 0):
        for rows in (X, X.astype(np.float32), sp.csr_matrix(np.where(abs(X) > 1, X, 0))):
            record = Perceptron(max_iter=3, **settings).fit(rows, labels, 1 + y % 2).to_record()
            print(hashlib.sha256(encode(record)).hexdigest())
"""


def test_fits_are_the_same_bytes_without_the_compiler():
    def output(**environment: str) -> str:
        run = subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert output() == output(NUMBA_DISABLE_JIT="1")
