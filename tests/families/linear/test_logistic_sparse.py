"""Logistic and softmax regression of sparse rows are those of the same rows written out, on every engine."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from cases import file_bytes
from logistic_fits import INF, fit, verified
from small_blocks import small_blocks

import assay
from assay.errors import SeparableWarning


def sparse_rows(d, n=400):
    r = np.random.default_rng(d)
    data = np.where(r.random((n, d)) < 20 / d, r.random((n, d)), 0.0)
    score = data @ r.normal(size=d)
    return (
        data,
        (score + 0.3 * r.normal(size=n) > np.median(score)).astype(int),
        np.digitize(score, np.quantile(score, [0.3, 0.7])),
    )


@pytest.mark.parametrize("d", [40, 1000])
@pytest.mark.parametrize("params", [{}, {"fit_intercept": False}, {"l1_ratio": 0.5}], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_rows_are_dense_rows(d, params, classes):
    data, y, y3 = sparse_rows(d)
    y = y if classes == 2 else y3
    S = scipy.sparse.csr_matrix(data)
    a, b = (fit(rows, y, tol=1e-12, **params) for rows in (data, S))
    np.testing.assert_allclose(b.coef_, a.coef_, atol=1e-5)  # what a gap of 1e-12 leaves open
    np.testing.assert_allclose(b.predict_proba(S), a.predict_proba(data), atol=1e-5)


def test_sparse_rows_of_few_columns_are_dense_rows_to_the_last_digits():
    data, _, _ = sparse_rows(40)
    y = (data[:, 0] + np.random.default_rng(0).random(400) > 0.8).astype(int)
    a, b = (fit(rows, y, C=INF) for rows in (data, scipy.sparse.csr_matrix(data)))
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(b.std_errors_, a.std_errors_, rtol=1e-8)


@pytest.mark.parametrize("d", [40, 1000])
@pytest.mark.parametrize("C", [1.0, INF])
def test_fits_of_sparse_rows_verify(d, C):
    data, y, y3 = sparse_rows(d)
    S = scipy.sparse.csr_matrix(data)
    for target in (y, y3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparableWarning)
            verified(fit(S, target, C=C), S, target)


def test_the_same_model_comes_of_every_engine():
    r = np.random.default_rng(4)
    data = np.where(r.random((20_000, 8)) < 0.5, r.normal(size=(20_000, 8)), 0.0)
    score = data @ r.normal(size=8) + r.logistic(size=20_000)
    y, y3 = (score > 0).astype(int), np.digitize(score, [-1, 1])
    for rows in (data, scipy.sparse.csr_matrix(data)):
        for target, params in ((y, {}), (y3, {}), (y, {"C": INF}), (y, {"l1_ratio": 0.5})):
            files = set()
            for name, workers in (("threads", 1), ("threads", 2), ("threads", 5), ("stream", 1)):
                with small_blocks(), assay.engine(name, workers=workers):
                    files.add(file_bytes(verified(fit(rows, target, **params), rows, target)))
            assert len(files) == 1
