"""One pass over a block: losses, gradient and Hessian are those of NumPy, dense or sparse, compiled or not."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from assay.engines import Block
from assay.engines.csr import SparseMatrix
from assay.risk.terms import SURROGATES
from assay.solvers.problem import evaluate_block, merge_evaluations

KINDS = ("float64", "float32", "sparse", "sparse float32")
CASES = [
    (d, kind) for d in (1, 7, 8, 63, 300) for kind in KINDS[: 2 if d > 256 else 4]
]  # wide sparse rows: test_sparse_sweep.py


def rows(d, n=101, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.4, rng.normal(size=(n, d)), 0.0).astype(dtype)
    X[5] = 0.0
    w = rng.normal(size=d + 1) / np.sqrt(d)
    return (
        X,
        np.where(rng.random(n) < 0.5, 1.0, -1.0),
        rng.uniform(0, 2, n) * (np.arange(n) % 7 > 0),
        w,
        rng.normal(size=d),
    )


def sparse_of(X):
    at, columns = np.nonzero(X)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(X, axis=1))]).astype(np.int64)
    return SparseMatrix(X[at, columns], columns.astype(np.int32), indptr, X.shape[1])


def expected(loss, X, t, c, w, p, width):
    A = np.column_stack([X.astype(np.float64) - p, np.ones(len(t))])
    z = A @ w
    g = A.T @ (c * loss.slope(z, t, width))
    bend = loss.curvature(z, t, width) if loss.curvature is not None else None
    if loss.name == "hinge":
        bend = np.where((t * z < 1) & (1 - t * z < width), 1 / width, 0.0)
    H = None if bend is None else (A * (c * bend)[:, None]).T @ A
    return float(c @ loss.value(z, t, width)), g, H, float((t * z)[c > 0].min())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("d", "kind"), CASES)
@pytest.mark.parametrize("name", SURROGATES)
def test_a_sweep_sees_what_numpy_sees(name, d, kind, weighted):
    X, t, c, w, p = rows(d, dtype=np.float32 if "float32" in kind else np.float64)
    loss = SURROGATES[name]
    data = sparse_of(X) if "sparse" in kind else X
    evaluation = evaluate_block(loss.code, 0.5, w, p, True, Block(data, t, c if weighted else None, 0))
    value, g, H, least = expected(loss, X, t, c if weighted else np.ones(len(t)), w, p, 0.5)
    assert evaluation.loss == pytest.approx(value, rel=1e-13)
    assert evaluation.least == pytest.approx(least, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(evaluation.gradient, g, rtol=1e-12, atol=1e-11)
    if H is not None:
        np.testing.assert_allclose(evaluation.hessian, H, rtol=1e-12, atol=1e-11)
    without = evaluate_block(loss.code, 0.5, w, p, False, Block(data, t, c if weighted else None, 0))
    assert without.hessian is None
    np.testing.assert_array_equal(without.gradient, evaluation.gradient)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 97])
def test_any_number_of_rows_is_swept_whole(n):
    X, t, _, w, p = rows(5, n=max(n, 6))
    X, t = X[:n], t[:n]
    evaluation = evaluate_block(0, 1.0, w, p, True, Block(X, t, None, 0))
    value, g, H, _ = expected(SURROGATES["log"], X, t, np.ones(n), w, p, 1.0)
    assert evaluation.loss == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(evaluation.gradient, g, atol=1e-12)
    np.testing.assert_allclose(evaluation.hessian, H, atol=1e-12)


def test_the_looks_at_two_stretches_of_rows_add_up_to_that_of_both():
    X, t, c, w, p = rows(9)
    parts = [evaluate_block(0, 1.0, w, p, True, Block(X[a], t[a], c[a], 0)) for a in (slice(0, 40), slice(40, None))]
    both, whole = merge_evaluations(*parts), evaluate_block(0, 1.0, w, p, True, Block(X, t, c, 0))
    for a, b in zip(both, whole):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_rows_that_are_not_next_to_each_other_in_memory_are_swept_alike():
    X, t, _, w, p = rows(7)
    wide = np.zeros((len(X), 14))
    wide[:, ::2] = X
    a, b = (evaluate_block(0, 1.0, w, p, False, Block(np.ascontiguousarray(x), t, None, 0)) for x in (X, wide[:, ::2]))
    np.testing.assert_array_equal(a.gradient, b.gradient)


CODE = """
import sys; sys.path.insert(0, "tests/solvers")
import numpy as np
from test_sweep import Block, evaluate_block, rows, sparse_of
for code in range(6):
    for d in (1, 7, 8, 63):
        X, t, c, w, p = rows(d)
        for data in (X, X.astype(np.float32), sparse_of(X)):
            for weights in (None, c):
                evaluation = evaluate_block(code, 0.5, w, p, True, Block(data, t, weights, 0))
                parts = [evaluation.loss, evaluation.smooth, evaluation.slopes, evaluation.least, evaluation.gradient, evaluation.hessian]
                print(code, d, *(np.round(np.abs(a).sum(), 8) + 0.0 for a in parts))
"""


def test_the_sweep_is_the_same_without_the_compiler():
    def output(**environment):
        run = subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert output() == output(NUMBA_DISABLE_JIT="1")
