"""Statistics and log densities of sparse rows are those of the array, for any rows, weights and missing values."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from assay.families.naive_bayes.densities import gaussian
from assay.families.naive_bayes.densities.columns import ColumnsOfClasses
from assay.families.naive_bayes.densities.counts import Linear, absorb_ranges
from assay.inputs.rows import as_sparse

SHAPES = st.tuples(st.integers(1, 25), st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.9, 1.0]))


def parts(shape, weighted):
    """The same rows as an array and as a sparse matrix."""
    n, d, seed, density = shape
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, d)) * (rng.random((n, d)) < density) * 1.0
    X[rng.random((n, d)) < 0.1] = np.nan
    codes = rng.integers(0, 3, n)
    w = np.where(rng.random(n) < 0.2, 0.0, 10.0 ** rng.integers(-9, 9, n) * rng.random(n)) if weighted else None
    return [ColumnsOfClasses(a, codes, w, 3, np.arange(d), 0, None) for a in (X, as_sparse(sp.csr_matrix(X)))]


@given(SHAPES, st.booleans())
def test_sums_and_ranges(shape, weighted):
    (dense, columns), (sparse, others) = (absorb_ranges(part) for part in parts(shape, weighted))
    for a, b in zip((*dense.sums, *columns), (*sparse.sums, *others)):
        np.testing.assert_allclose(b, a, rtol=1e-13)


@given(SHAPES, st.booleans())
def test_moments(shape, weighted):
    (dense, _), (sparse, hashes) = (gaussian.absorb(part) for part in parts(shape, weighted))
    assert hashes is None
    seen = dense.n > 0
    assert np.array_equal(sparse.n > 0, seen)
    np.testing.assert_allclose(sparse.n, dense.n, rtol=1e-13)
    np.testing.assert_allclose(sparse.mean[seen], dense.mean[seen], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sparse.m2, dense.m2, rtol=1e-11)


@given(SHAPES, st.integers(0, 10**6))
def test_log_densities(shape, seed):
    dense, sparse = (part.X for part in parts(shape, False))
    rng = np.random.default_rng(seed)
    theta, p = rng.normal(size=(3, shape[1])), rng.integers(0, 4, (3, shape[1])) / 4
    normal = gaussian.Gaussian.of(theta, 10.0 ** rng.integers(-12, 3, theta.shape))
    np.testing.assert_allclose(normal.log_density(sparse), normal.log_density(dense), rtol=1e-12, atol=1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        coins = Linear.of(np.log(p) - np.log(1 - p), np.log(1 - p), top=3.0, whole=True)
    np.testing.assert_allclose(coins.log_density(sparse), coins.log_density(dense), rtol=1e-12, atol=1e-12)
