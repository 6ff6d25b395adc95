"""Kernel ridge regression: scikit-learn's answers, what its certificate bounds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from cases import lines
from sklearn.kernel_ridge import KernelRidge as Theirs

import assay
from assay.errors import DataError, ModelFileError, ParameterError


@pytest.fixture(scope="module")
def rows():
    X, y = lines(60, 4, 0)
    w = np.random.default_rng(0).random(60)
    w[5] = 0.0
    return X - X.mean(axis=0), np.column_stack([y, y**2 - X[:, 0]]), w


@pytest.mark.parametrize("kernel", ["linear", "poly", "polynomial", "rbf", "laplacian", "cosine"])
@pytest.mark.parametrize("alpha", [1.0, [0.1, 3.0]])
def test_coefficients_and_answers_are_those_of_scikit_learn(rows, kernel, alpha):
    X, Y, w = rows
    y = Y if isinstance(alpha, list) else Y[:, 0]
    ours, theirs = (cls(alpha, kernel=kernel).fit(X, y, sample_weight=w) for cls in (assay.KernelRidge, Theirs))
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    assert ours.dual_coef_ == pytest.approx(theirs.dual_coef_, abs=1e-7)
    assert ours.predict(X[:9] + 0.1) == pytest.approx(theirs.predict(X[:9] + 0.1), abs=1e-7)
    assert ours.certificate_.verify(X, y, w).holds
    assert ours.errors_.max() < 1e-9


def test_a_function_of_two_rows_and_a_given_matrix_are_kernels(rows):
    X, Y, w = rows
    own = assay.KernelRidge(kernel=lambda x, z, c: (x @ z + c) ** 2, kernel_params={"c": 1.0}).fit(X, Y[:, 0], w)
    poly = assay.KernelRidge(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, Y[:, 0], w)
    K = (X @ X.T + 1.0) ** 2
    given = assay.KernelRidge(kernel="precomputed").fit(K, Y[:, 0], w)
    assert own.predict(X) == pytest.approx(poly.predict(X), rel=1e-9)
    assert given.predict(K) == pytest.approx(poly.predict(X), rel=1e-9)
    assert own.certificate_.verify(X, Y[:, 0], w).holds
    assert given.certificate_.verify(K, Y[:, 0], w).holds
    with pytest.raises(ModelFileError, match="kernel function of yours"):
        own.to_record()


def test_the_stated_share_bounds_the_distance_from_the_exact_coefficients():
    from fractions import Fraction

    X, y = [[0], [1], [3]], [1, 2, -1]
    model = assay.KernelRidge(0.5).fit(X, y)
    A = [[Fraction(a[0] * b[0]) + (Fraction(1, 2) if i == j else 0) for j, b in enumerate(X)] for i, a in enumerate(X)]
    exact = np.array([float(v) for v in solved(A, [Fraction(v) for v in y])])
    assert np.linalg.norm(model.dual_coef_ - exact) <= model.errors_[0] * np.linalg.norm(exact) * 1.0001 + 1e-16


def solved(A, y):
    """Gauss in rational numbers."""
    rows = [[*a, b] for a, b in zip(A, y)]
    for i in range(len(rows)):
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [v - rows[j][i] * u for v, u in zip(rows[j], rows[i])]
    return [row[-1] for row in rows]


def test_without_a_bound_the_certificate_only_says_what_is_left(rows):
    X, Y, _ = rows
    with pytest.warns(UserWarning, match="singular"):
        model = assay.KernelRidge(alpha=0.0).fit(X, Y[:, 0])
    (claim,) = model.certificate_
    assert (claim.check, claim.kind) == ("kernel_ridge_left", "warning")
    assert model.certificate_.verify(X, Y[:, 0]).holds
    best = np.linalg.lstsq(X, Y[:, 0], rcond=None)[0]
    assert model.predict(X) == pytest.approx(X @ best, abs=1e-6)


def test_bad_input_is_refused_with_a_sentence(rows):
    X, Y, _ = rows
    with pytest.raises(ParameterError, match="Number of targets and number of penalties"):
        assay.KernelRidge([1.0, 2.0, 3.0]).fit(X, Y)
    with pytest.raises(DataError, match="square matrix"):
        assay.KernelRidge(kernel="precomputed").fit(X, Y[:, 0])
    with pytest.raises(ParameterError, match="alpha"):
        assay.KernelRidge(-1.0).fit(X, Y)
