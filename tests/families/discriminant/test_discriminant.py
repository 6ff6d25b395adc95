"""Discriminant analysis: closed forms of the lecture notes, the boundary's letters, agreement with scikit-learn 1.9.1."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import discriminant_analysis as peer

from assay import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from assay.errors import ParameterError

BOTH = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]


def normals(n=300, d=4, K=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    X = np.empty((n, d))
    for k in range(K):
        mix = rng.normal(size=(d, d))
        X[y == k] = rng.normal(size=((y == k).sum(), d)) @ mix + rng.normal(size=d) + 5
    return X, y


def exactly(mean, covariance, m=40, seed=0):
    """Rows whose mean and 1/N covariance are exactly (to rounding) the given ones."""
    Z = np.random.default_rng(seed).normal(size=(m, len(mean)))
    Z -= Z.mean(axis=0)
    Z = Z @ np.linalg.inv(np.linalg.cholesky(Z.T @ Z / m)).T
    return Z @ np.linalg.cholesky(np.asarray(covariance, dtype=float)).T + mean


def two_classes(mean1, cov1, mean2, cov2, m1=40, m2=40):
    X = np.vstack([exactly(mean1, cov1, m1, 1), exactly(mean2, cov2, m2, 2)])
    return X, np.repeat(["C1", "C2"], [m1, m2])


# --- the estimates of the notes ---------------------------------------------------------------------------------------


def test_priors_means_and_covariances_are_those_of_the_notes():
    X, y = normals()
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    for k in range(3):
        mine = X[y == k]
        assert np.isclose(model.priors_[k], len(mine) / len(X), rtol=1e-15)
        assert np.allclose(model.means_[k], mine.mean(axis=0), rtol=1e-13)
        assert np.allclose(model.covariance_[k], np.cov(mine.T, bias=True), rtol=1e-12)


def test_the_unbiased_option_divides_by_one_less():
    X, y = normals()
    quadratic = QuadraticDiscriminantAnalysis(unbiased=True).fit(X, y)
    linear = LinearDiscriminantAnalysis(unbiased=True).fit(X, y)
    within = sum((y == k).sum() * np.cov(X[y == k].T, bias=True) for k in range(3))
    for k in range(3):
        assert np.allclose(quadratic.covariance_[k], np.cov(X[y == k].T), rtol=1e-12)
    assert np.allclose(linear.covariance_, within / (len(X) - 3), rtol=1e-12)


def test_the_covariance_has_the_form_that_was_asked_for():
    X, y = normals()
    full = QuadraticDiscriminantAnalysis().fit(X, y).covariance_
    share = np.bincount(y) / len(y)
    tied = np.einsum("k,kij->ij", share, full)
    variance = np.diagonal(full, axis1=1, axis2=2)
    assert np.allclose(QuadraticDiscriminantAnalysis(covariance="tied").fit(X, y).covariance_[0], tied)
    diagonal = QuadraticDiscriminantAnalysis(covariance="diagonal").fit(X, y).covariance_
    assert np.allclose(diagonal, [np.diag(v) for v in variance])
    isotropic = QuadraticDiscriminantAnalysis(covariance="isotropic").fit(X, y).covariance_
    assert np.allclose(isotropic, [v.mean() * np.eye(4) for v in variance])
    assert np.allclose(LinearDiscriminantAnalysis().fit(X, y).covariance_, tied)
    one = LinearDiscriminantAnalysis(covariance="diagonal").fit(X, y).covariance_
    assert np.allclose(one, np.diag(np.diag(tied)))
    ball = LinearDiscriminantAnalysis(covariance="isotropic").fit(X, y).covariance_
    assert np.allclose(ball, np.trace(tied) / 4 * np.eye(4))


def test_diagonal_covariances_make_gaussian_naive_bayes():
    from assay import GaussianNB

    X, y = normals()
    ours = QuadraticDiscriminantAnalysis(covariance="diagonal").fit(X, y)
    assert np.allclose(ours.predict_proba(X), GaussianNB(var_smoothing=0).fit(X, y).predict_proba(X), atol=1e-10)


def test_tied_quadratic_analysis_is_linear_analysis():
    X, y = normals()
    tied = QuadraticDiscriminantAnalysis(covariance="tied").fit(X, y)
    assert np.allclose(tied.predict_log_proba(X), LinearDiscriminantAnalysis().fit(X, y).predict_log_proba(X))
    assert len(tied.rotations_) == len(tied.scalings_) == 3


# --- the four cases of the notes --------------------------------------------------------------------------------------


def test_equal_isotropic_covariances_part_the_means_at_right_angles_halfway():
    X, y = two_classes([0, 0], np.eye(2), [4, 2], np.eye(2))
    b, w, M = LinearDiscriminantAnalysis(covariance="isotropic").fit(X, y).boundary()
    assert np.array_equal(M, np.zeros((2, 2)))
    assert np.allclose(w, 2 * np.array([4, 2]))
    assert np.isclose(b, w @ [2, 1])


def test_equal_covariances_make_the_boundary_a_line():
    S = np.array([[2.0, 0.8], [0.8, 1.0]])
    X, y = two_classes([1, 0], S, [3, -1], S, 60, 20)
    b, w, M = LinearDiscriminantAnalysis().fit(X, y).boundary()
    inverse = np.linalg.inv(S)
    assert np.array_equal(M, np.zeros((2, 2)))
    assert np.allclose(w, 2 * inverse @ [2, -1])
    m1, m2 = np.array([1, 0]), np.array([3, -1])
    assert np.isclose(b, 2 * np.log(0.75 / 0.25) - m1 @ inverse @ m1 + m2 @ inverse @ m2)
    quadratic = QuadraticDiscriminantAnalysis().fit(X, y).boundary()
    assert np.allclose(quadratic.M, 0, atol=1e-12)


def test_equal_means_make_the_boundary_a_conic_about_them():
    X, y = two_classes([1, 2], np.diag([1.0, 4.0]), [1, 2], np.diag([4.0, 1.0]))
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    b, w, M = model.boundary()
    assert np.allclose(M, np.diag([1 / 4 - 1, 1 - 1 / 4]))
    assert np.allclose(w, 2 * M @ [1, 2])  # the form is (x − μ)ᵀM(x − μ): two lines that cross in the mean
    assert np.isclose(b, np.array([1, 2]) @ M @ [1, 2])
    assert np.isclose(model.decision_function([[1.0, 2.0]])[0], 0, atol=1e-12)


def test_unequal_covariances_give_the_letters_of_the_notes():
    S1, S2 = np.array([[1.0, 0.3], [0.3, 2.0]]), np.array([[3.0, -1.0], [-1.0, 1.0]])
    m1, m2 = np.array([0.0, 1.0]), np.array([2.0, -1.0])
    X, y = two_classes(m1, S1, m2, S2, 30, 50)
    b, w, M = QuadraticDiscriminantAnalysis().fit(X, y).boundary()
    P1, P2 = np.linalg.inv(S1), np.linalg.inv(S2)
    d1, d2 = np.linalg.det(S1) ** -0.5, np.linalg.det(S2) ** -0.5
    assert np.allclose(M, P2 - P1)
    assert np.allclose(w, 2 * (m2 @ P2 - m1 @ P1))
    assert np.isclose(b, 2 * np.log(3 / 8 * d1 / (5 / 8 * d2)) - m1 @ P1 @ m1 + m2 @ P2 @ m2)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "isotropic"])
def test_the_boundary_form_is_twice_the_log_odds_of_the_first_class(covariance):
    X, y = normals(K=2)
    model = QuadraticDiscriminantAnalysis(covariance=covariance, priors=[0.3, 0.7]).fit(X, y)
    b, w, M = line = model.boundary()
    form = b - X @ w + np.einsum("ij,jk,ik->i", X, M, X)
    P = model.predict_log_proba(X)
    assert np.allclose(form, 2 * (P[:, 0] - P[:, 1]), atol=1e-8)
    assert np.allclose(line.form(X), form)
    assert np.allclose(model.decision_function(X), -form / 2, atol=1e-8)
    assert np.array_equal(model.predict(X) == model.classes_[0], form > 0)


@pytest.mark.parametrize("model", BOTH)
def test_the_boundary_of_three_classes_is_an_error_that_says_so(model):
    with pytest.raises(ParameterError, match="between two classes; this model has 3"):
        model().fit(*normals()).boundary()


# --- scikit-learn -----------------------------------------------------------------------------------------------------

AGREEMENTS = [
    ("QuadraticDiscriminantAnalysis", {}),
    ("QuadraticDiscriminantAnalysis", {"reg_param": 0.3}),
    ("QuadraticDiscriminantAnalysis", {"solver": "eigen", "shrinkage": 0.4}),
    ("QuadraticDiscriminantAnalysis", {"solver": "eigen", "shrinkage": "auto"}),
    ("QuadraticDiscriminantAnalysis", {"priors": "given"}),
    ("LinearDiscriminantAnalysis", {}),
    ("LinearDiscriminantAnalysis", {"priors": "given"}),
    ("LinearDiscriminantAnalysis", {"solver": "lsqr", "priors": "given"}),
    ("LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": "auto"}),
    ("LinearDiscriminantAnalysis", {"solver": "eigen", "shrinkage": 0.2, "priors": "given"}),
]


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize(("name", "options"), AGREEMENTS)
def test_probabilities_agree_with_scikit_learn(name, options, K):
    X, y = normals(K=K)
    if "priors" in options:
        options = {**options, "priors": np.arange(1, K + 1) / (K * (K + 1) / 2)}
    theirs = getattr(peer, name)(**options).fit(X, y)
    ours = {"Q": QuadraticDiscriminantAnalysis, "L": LinearDiscriminantAnalysis}[name[0]](**options).fit(X, y)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    scores, known = ours.decision_function(X), theirs.decision_function(X)
    if K > 2 and options.get("solver") in ("lsqr", "eigen"):  # there the scores differ by a constant of the row
        scores, known = (Z - Z.mean(axis=1, keepdims=True) for Z in (scores, known))
    assert np.allclose(scores, known, atol=1e-6)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.allclose(ours.means_, theirs.means_)
    assert np.allclose(ours.priors_, theirs.priors_)


@pytest.mark.parametrize("K", [2, 4])
def test_coefficients_and_directions_agree_with_scikit_learn(K):
    X, y = normals(K=K, d=6)
    theirs = peer.LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    ours = LinearDiscriminantAnalysis().fit(X, y)
    for name in ("coef_", "intercept_", "xbar_", "covariance_", "explained_variance_ratio_"):
        assert getattr(ours, name).shape == getattr(theirs, name).shape
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-9), name
    assert np.allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-6)
    few = LinearDiscriminantAnalysis(n_components=1)
    assert np.array_equal(few.fit_transform(X, y), few.transform(X))
    assert few.transform(X).shape == (len(X), 1)
    assert list(few.get_feature_names_out()) == ["lineardiscriminantanalysis0"]


def test_principal_axes_agree_with_scikit_learn():
    X, y = normals()
    theirs = peer.QuadraticDiscriminantAnalysis(store_covariance=True, tol=0).fit(X, y)
    ours = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for k in range(3):
        assert np.allclose(ours.scalings_[k], theirs.scalings_[k])
        assert np.allclose(np.abs(ours.rotations_[k]), np.abs(theirs.rotations_[k]))
        assert np.allclose(ours.covariance_[k], theirs.covariance_[k])


def test_projected_rows_have_unit_within_covariance_and_no_correlation():
    X, y = normals(K=4, d=6)
    model = LinearDiscriminantAnalysis().fit(X, y)
    Z = model.transform(X)
    within = sum((y == k).mean() * np.cov(Z[y == k].T, bias=True) for k in range(4))
    assert np.allclose(within, np.eye(3), atol=1e-10)


# --- numerics ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", BOTH)
def test_columns_far_from_zero_lose_no_digits(model):
    X, y = normals()
    here = model().fit(X, y)
    there = model().fit(X + 2.0**30, y)
    assert np.allclose(there.covariance_, here.covariance_, rtol=1e-6)
    assert np.allclose(there.predict_proba(X + 2.0**30), here.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("model", BOTH)
def test_the_units_of_a_column_change_nothing(model):
    X, y = normals()
    scale = np.array([1e-9, 1.0, 1e9, 1e-3])
    here, there = model().fit(X, y), model().fit(X * scale, y)
    assert not there.added_.any()
    assert np.allclose(there.predict_proba(X * scale), here.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"shrinkage": "auto"}])
@pytest.mark.parametrize("model", BOTH)
def test_many_blocks_give_what_one_gives(model, options):
    from assay.engines import Block
    from assay.inputs.labels import Labels
    from assay.statistics.scatter import absorb_scatter, merge_scatter

    X, y = normals(K=2)
    labels = Labels.of(np.array([0, 1]))
    whole = absorb_scatter(labels, None, True, Block(X, y, None, 0))
    parts = [absorb_scatter(labels, None, True, Block(X[a : a + 7], y[a : a + 7], None, a)) for a in range(0, 300, 7)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merge_scatter(merged, part)
    for name in ("class_count", "mean", "scatter", "third", "fourth"):
        assert np.allclose(getattr(merged, name), getattr(whole, name), rtol=1e-10), name


def test_fourth_moments_are_those_of_the_definition():
    from assay.engines import Block
    from assay.inputs.labels import Labels
    from assay.statistics.scatter import absorb_scatter

    X, y = normals(K=2)
    w = 0.5 + np.arange(len(y)) % 3
    s = absorb_scatter(Labels.of(np.array([0, 1])), None, True, Block(X, y, w, 0))
    for k in range(2):
        v = w[y == k]
        U = X[y == k] - np.average(X[y == k], axis=0, weights=v)
        assert np.allclose(s.third[k], (U**2).T @ (v[:, None] * U), atol=1e-9)
        assert np.allclose(s.fourth[k], (U**2).T @ (v[:, None] * U**2), rtol=1e-10)
