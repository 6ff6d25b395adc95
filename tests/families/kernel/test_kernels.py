"""Kernel functions: their values, their γ, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import pairwise

from assay.errors import DataError, ParameterError
from assay.families.kernel.check import is_positive, kernel_sums, kernel_values
from assay.families.kernel.expansion import Expansion
from assay.families.kernel.functions import KERNELS, Kernel, check_own_kernel, check_precomputed, resolve
from assay.families.kernel.svm.claims import kernel_witness

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(40, 5)), rng.normal(size=(30, 5))
FORMULAS = {
    "linear": (Kernel("linear"), lambda A, B: pairwise.linear_kernel(A, B)),
    "affine": (Kernel("affine"), lambda A, B: 1.0 + pairwise.linear_kernel(A, B)),
    "poly": (Kernel("poly", 0.7, 3.0, 0.5), lambda A, B: pairwise.polynomial_kernel(A, B, 3, 0.7, 0.5)),
    "rbf": (Kernel("rbf", 0.3), lambda A, B: pairwise.rbf_kernel(A, B, 0.3)),
    "laplacian": (Kernel("laplacian", 0.3), lambda A, B: pairwise.laplacian_kernel(A, B, 0.3)),
    "sigmoid": (Kernel("sigmoid", 0.1, 3.0, 0.2), lambda A, B: pairwise.sigmoid_kernel(A, B, 0.1, 0.2)),
    "own": (Kernel("own", own=pairwise.cosine_similarity), pairwise.cosine_similarity),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values_are_those_of_scikit_learn(name):
    kernel, formula = FORMULAS[name]
    np.testing.assert_allclose(kernel.block(X, Z), formula(X, Z), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(formula(X, X)), rtol=1e-10)


@pytest.mark.parametrize("name", FORMULAS)
def test_checkers_evaluate_the_same_kernel_in_their_own_way(name):
    kernel, _ = FORMULAS[name]
    witness = kernel_witness(kernel)
    np.testing.assert_allclose(kernel_values(witness, X, Z), kernel.block(X, Z), rtol=1e-10, atol=1e-13)
    coef = rng.normal(size=(2, len(Z)))
    np.testing.assert_allclose(kernel_sums(witness, X, Z, coef), kernel.block(X, Z) @ coef.T, atol=1e-10)


@pytest.mark.parametrize("name", FORMULAS)
def test_single_precision_rows_and_no_rows(name):
    kernel, formula = FORMULAS[name]
    found = kernel.block(X.astype(np.float32), Z)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, formula(X.astype(np.float32).astype(float), Z), rtol=1e-10, atol=1e-13)
    if name != "own":
        assert kernel.block(X[:0], Z).shape == (0, len(Z))
        assert kernel.diagonal(X[:0]).shape == (0,)


def test_a_centre_keeps_the_digits_of_rows_far_from_zero():
    far = X + 1e6
    exact = pairwise.rbf_kernel(far - 1e6, far - 1e6, 0.3)
    centred = Kernel("rbf", 0.3, centre=far.mean(axis=0)).block(far, far)
    np.testing.assert_allclose(centred, exact, atol=1e-8)
    np.testing.assert_allclose(kernel_values(kernel_witness(Kernel("rbf", 0.3)), far, far), exact, atol=1e-8)


def test_wide_rows_are_compared_by_products_only_where_that_loses_nothing():
    wide = rng.normal(size=(20, 300))
    witness = kernel_witness(Kernel("rbf", 1 / 300))
    gap = ((wide[:, None] - wide[None]) ** 2).sum(axis=2)
    for shift in (0.0, 1e7):
        moved = wide + shift
        exact = np.exp(-((moved[:, None] - moved[None]) ** 2).sum(axis=2) / 300)
        np.testing.assert_allclose(kernel_values(witness, moved, moved), exact, atol=1e-9)
    spread = wide * 1e4
    found = kernel_values({**witness, "gamma": 1e-6}, spread, spread)
    np.testing.assert_allclose(found, np.exp(-gap * 100), atol=1e-9)


def test_a_precomputed_kernel_is_looked_up():
    K = X @ X.T
    kernel = Kernel("precomputed")
    np.testing.assert_array_equal(kernel.block(K[3:7], np.array([1, 5])), K[3:7][:, [1, 5]])
    np.testing.assert_array_equal(kernel.diagonal(K), np.diag(K))
    np.testing.assert_array_equal(kernel_values(kernel_witness(kernel), K[3:7], np.array([1, 5])), K[3:7][:, [1, 5]])
    for wrong in (np.array([40]), np.array([-1]), np.array([0.0])):
        with pytest.raises(ValueError, match="no such columns"):
            kernel_values(kernel_witness(kernel), K, wrong)


def test_an_expansion_is_the_sum_of_its_kernels():
    for kernel, formula in FORMULAS.values():
        coef, b = rng.normal(size=(3, len(X))), rng.normal(size=3)
        np.testing.assert_allclose(Expansion(kernel, X, coef, b).values(Z), formula(Z, X) @ coef.T + b, atol=1e-9)


# --- γ ---------------------------------------------------------------------------------------------------------------


def test_gamma_is_that_of_scikit_learn():
    assert resolve("rbf", "scale", 3, 0.0, X).gamma == pytest.approx(1 / (5 * X.var()))
    assert resolve("rbf", "auto", 3, 0.0, X).gamma == 0.2
    assert resolve("poly", 2, 3, 0.0, X).gamma == 2.0
    assert resolve("rbf", "scale", 3, 0.0, np.ones((4, 2))).gamma == 1.0


def test_gamma_of_the_median_distance():
    i, j = np.triu_indices(len(X), 1)
    apart = X[i] - X[j]
    euclidean, city = np.sort(np.linalg.norm(apart, axis=1)), np.sort(np.abs(apart).sum(axis=1))
    middle = (len(i) - 1) // 2
    assert resolve("rbf", "median", 3, 0.0, X).gamma == pytest.approx(1 / (2 * euclidean[middle] ** 2))
    assert resolve("laplacian", "median", 3, 0.0, X).gamma == pytest.approx(1 / city[middle])
    assert resolve("rbf", "median", 3, 0.0, np.ones((4, 2))).gamma == 0.5
    many = np.repeat(X, 100, axis=0)
    assert resolve("rbf", "median", 3, 0.0, many).gamma == pytest.approx(1 / (2 * np.median(euclidean) ** 2), rel=0.1)


@pytest.mark.parametrize("gamma", ["scale", "auto", "median", 0.7])
def test_a_weight_is_a_number_of_copies_for_gamma(gamma):
    w = rng.integers(0, 4, len(X))
    weighted = resolve("rbf", gamma, 3, 0.0, X, w.astype(float))
    copies = resolve("rbf", gamma, 3, 0.0, np.repeat(X, w, axis=0))
    assert weighted.gamma == pytest.approx(copies.gamma)
    np.testing.assert_allclose(weighted.centre, copies.centre)


def test_names_and_functions_are_understood():
    for name in KERNELS:
        assert resolve(name, "scale", 3, 0.0, X).name == name
    assert resolve(pairwise.rbf_kernel, "scale", 3, 0.0, X).own is pairwise.rbf_kernel


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0, -1.0, math.inf, math.nan, "wide", None, True, [1.0]])
def test_a_gamma_that_is_not_possible(gamma):
    with pytest.raises(ParameterError, match="gamma="):
        resolve("rbf", gamma, 3, 0.0, X)


def test_a_kernel_that_is_not_known():
    with pytest.raises(ParameterError, match="rbf"):
        resolve("gauss", "scale", 3, 0.0, X)


def test_values_that_overflow_say_what_to_do():
    for kernel in (Kernel("linear"), Kernel("poly", 1.0)):
        with pytest.raises(DataError, match="standardise"):
            kernel.block(X * 1e200, X * 1e200)
        with pytest.raises(DataError, match="standardise"):
            kernel.diagonal(X * 1e200)
    with pytest.raises(DataError, match="variance"):
        resolve("rbf", "scale", 3, 0.0, X * 1e200)
    with pytest.raises(DataError, match="whole degree"):
        Kernel("poly", 1.0, 2.5).block(X, Z)


def test_a_function_must_return_finite_numbers_of_the_right_shape():
    for wrong, words in ((lambda A, B: A, "shape"), (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN")):
        with pytest.raises(DataError, match=words):
            Kernel("own", own=wrong).block(X, Z)


def test_a_function_must_be_symmetric_and_positive_semidefinite():
    check_own_kernel(Kernel("own", own=pairwise.rbf_kernel), X)
    with pytest.raises(DataError, match="not symmetric"):
        check_own_kernel(Kernel("own", own=lambda A, B: A[:, :1] + 2 * B[:, 0]), X)
    with pytest.raises(DataError, match="not positive semidefinite"):
        check_own_kernel(Kernel("own", own=lambda A, B: -(A @ B.T)), X)


def test_a_given_matrix_must_be_square_symmetric_and_finite():
    K = X @ X.T
    check_precomputed(K)
    with pytest.raises(DataError, match="square"):
        check_precomputed(K[:, :-1])
    lopsided = K.copy()
    lopsided[3, 7] += 1.0
    with pytest.raises(DataError, match=r"K\[3, 7\]|K\[7, 3\]"):
        check_precomputed(lopsided)
    with pytest.raises(DataError, match="NaN"):
        check_precomputed(np.where(np.eye(len(K)) > 0, np.nan, K))


def test_which_formulas_have_a_feature_space():
    due = {"linear": True, "affine": True, "poly": True, "rbf": True, "laplacian": True, "sigmoid": False, "own": None}
    assert {name: is_positive(kernel_witness(kernel)) for name, (kernel, _) in FORMULAS.items()} == due
    assert is_positive(kernel_witness(Kernel("poly", 1.0, 3.0, -0.1))) is False
    assert is_positive(kernel_witness(Kernel("poly", 1.0, 2.5, 1.0))) is False
    assert is_positive(kernel_witness(Kernel("precomputed"))) is None


def test_the_words_of_every_kernel_name_its_numbers():
    assert Kernel("poly", 0.5, 2.0, 1.0).words() == "(0.5 x.z + 1)^2"
    assert all(Kernel(name).words() for name in (*KERNELS, "own"))
