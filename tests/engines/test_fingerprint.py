"""The fingerprint changes with any cell, label, weight or order, and with nothing else."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from other_processes import printed

import assay
from assay.engines.fingerprint import _mix_few, bits, column_hashes, join, leaf


def mark(X, y, w=None, model=None):
    return (model or assay.GaussianNB()).fit(X, y, sample_weight=w).to_record().provenance["fingerprint"]


def rows(n=50, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), np.arange(n) % 3, 0.5 + rng.random(n)


@settings(max_examples=60)
@given(i=st.integers(0, 49), j=st.integers(0, 2), factor=st.sampled_from([1 + 2**-52, -1.0, 2.0]))
def test_every_cell_counts(i, j, factor):
    X, y, w = rows()
    other = X.copy()
    other[i, j] *= factor
    assert mark(other, y) != mark(X, y)
    assert mark(other, y, w) != mark(X, y, w)
    single = X.astype(np.float32)
    other = single.copy()
    other[i, j] = np.nextafter(other[i, j], np.float32(9))
    assert mark(other, y) != mark(single, y)


@given(i=st.integers(0, 49))
def test_every_label_and_weight_counts(i):
    X, y, w = rows()
    labels, weights = y.copy(), w.copy()
    labels[i] = (labels[i] + 1) % 3
    weights[i] = np.nextafter(weights[i], 9)
    assert mark(X, labels) != mark(X, y)
    assert mark(X, labels, w) != mark(X, y, w)
    assert mark(X, y, weights) != mark(X, y, w)


@given(i=st.integers(0, 49), j=st.integers(0, 49))
def test_the_order_of_rows_and_columns_counts(i, j):
    if i == j:
        return
    X, y, w = rows()
    order = np.arange(50)
    order[[i, j]] = order[[j, i]]
    assert mark(X[order], y[order], w[order]) != mark(X, y, w)
    assert mark(X[:, [1, 0, 2]], y, w) != mark(X, y, w)


def test_weights_of_one_differ_from_no_weights_and_widths_differ():
    X, y, _ = rows()
    assert mark(X, y, np.ones(50)) != mark(X, y)
    assert mark(X.astype(np.float32), y) != mark(X.astype(np.float32).astype(np.float64), y)
    assert mark(X[:-1], y[:-1]) != mark(X, y)
    assert mark(np.c_[X, X[:, 0]], y) != mark(X, y)


def test_names_of_the_labels_do_not_count_but_their_codes_do():
    X, y, _ = rows()
    assert mark(X, np.array(["a", "b", "c"])[y]) == mark(X, y)


def test_the_fingerprint_is_the_same_on_every_engine(client):
    X, y, w = rows(4000, 600)
    marks = set()
    for name, option in [("threads", {"workers": 1}), ("threads", {"workers": 4}), ("stream", {"workers": 2})]:
        with assay.engine(name, **option):
            marks.add(mark(X, y, w))
    with assay.engine("cluster", client):
        marks.add(mark(X, y, w))
    assert len(marks) == 1


def test_random_columns_do_not_collide():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (64, 20_000)).astype(np.float64)
    assert len(set(column_hashes(X).tolist())) == len({column.tobytes() for column in X.T})


@pytest.mark.parametrize("n", [1, 2, 3, 64, 65])
def test_the_hash_of_a_column_does_not_depend_on_its_neighbours(n):
    X = np.random.default_rng(n).random((n, 5))
    together = column_hashes(X)
    assert [column_hashes(np.ascontiguousarray(X[:, [j]]))[0] for j in range(5)] == together.tolist()


def test_joining_is_not_symmetric():
    X, y, w = rows()
    a, b = (leaf(column_hashes(A), A, y, w) for A in (X, X + 1))
    assert join(a, b) != join(b, a)
    assert len(join(a, b)) == 16


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 5), (64, 33)])
def test_few_numbers_have_the_same_hash_without_the_compiler(shape, dtype):
    X = np.random.default_rng(0).normal(size=shape).astype(dtype)
    compiled = column_hashes(X)
    assert "numba" in sys.modules
    np.testing.assert_array_equal(_mix_few(*bits(X)), compiled)


def test_a_model_without_loops_is_fitted_without_the_compiler():
    code = (
        "import sys, numpy as np; from assay import Baseline; X = np.ones((60, 3)); y = np.arange(60) % 2; w = y + 0.5; "
        "print(Baseline().fit(X, y, w).predict(X[:1]), 'numba' in sys.modules)"
    )
    assert printed(code) == "[1] False\n"
