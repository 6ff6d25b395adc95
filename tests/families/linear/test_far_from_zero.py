"""Rows far from zero: what is stated is so of the numbers that the model has, rounded as they are, and verify says the same as the fit."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import assay
from assay.families.linear.problem import about_centre, about_zero
from assay.solvers.problem import rows_back, rows_times

INF = float("inf")
FAR = [1e9, 1e12, 9.4e15]


def rows(offset, n=24, d=2, K=2, apart=100):
    rng = np.random.default_rng(7)
    y = np.arange(n) % K
    return offset + np.rint(rng.standard_normal((n, d)) * 64 + apart * y[:, None]), y


def fitted(model, X, y, w=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, w)


def agrees(model, X, y, w=None):
    """Whether certificate and verification say the same of every claim."""
    verdicts = model.certificate_.verify(X, y, w)
    return [claim.holds for claim in model.certificate_] == [verdict.holds for verdict in verdicts]


MODELS = {
    "log": lambda: assay.LogisticRegression(),
    "squared hinge": lambda: assay.LinearSVC(),
    "hinge": lambda: assay.LinearSVC(loss="hinge"),
    "l1": lambda: assay.ERM("log", "l1", lam=1e-3),
    "no penalty": lambda: assay.LogisticRegression(C=INF),
    "hard margin": lambda: assay.LinearSVC(C=INF),
}


@pytest.mark.parametrize("offset", FAR)
@pytest.mark.parametrize("name", MODELS)
def test_fit_and_verify_agree(name, offset):
    X, y = rows(offset, apart=400 if name == "hard margin" else 100)
    model = fitted(MODELS[name](), X, y)
    assert agrees(model, X, y), f"{model.certificate_}\n{model.certificate_.verify(X, y)}"


@pytest.mark.parametrize("sparse", [False, True])
def test_a_moderate_distance_costs_no_claim(sparse):
    from scipy.sparse import csr_matrix

    X, y = rows(1e9, K=3)
    X = csr_matrix(X) if sparse else X
    model = fitted(assay.LogisticRegression(), X, y)
    assert model.certificate_.holds
    assert model.certificate_.verify(X, y).holds


def test_the_objective_is_that_of_the_saved_weights():
    X = np.array([[9468256112229672.0], [9468256112226926.0]])
    model = fitted(assay.ERM(), X, np.array([1, 0]))
    z = (X[:, 0] - X[0, 0]) * float(model.coef_[0, 0]) + _at(X[0, 0], model)
    losses = np.logaddexp(0, -np.array([1.0, -1.0]) * z)
    assert model.objective_[0] == pytest.approx(losses.sum() + 0.02 * float(model.coef_[0, 0]) ** 2, rel=1e-9)


def _at(x, model):
    from fractions import Fraction

    return float(Fraction(x) * Fraction(float(model.coef_[0, 0])) + Fraction(float(model.intercept_[0])))


def test_targets_far_from_zero_are_verified():
    X, _ = rows(0.0)
    t = 1e9 + X[:, 0] / 64
    for loss in ("squared", "huber"):
        model = fitted(assay.ERM(loss), X / 64, t)
        assert agrees(model, X / 64, t), str(model.certificate_.verify(X / 64, t))


def test_what_the_survey_cannot_tell_apart_is_looked_at():
    X = 1.86479105811354e17 + 32.0 * np.array([[0], [0], [1], [0], [1], [0]])
    y = np.array([0, 1, 0, 1, 0, 1])
    model = fitted(assay.LinearSVC(), X, y)
    assert model.coef_[0, 0] != 0
    assert agrees(model, X, y)


def test_separating_weights_state_the_margin_that_they_have():
    X = np.array([[824.9432560877917], [824.943256056177], [824.9432558991808]])
    model = fitted(assay.LogisticRegression(penalty=None), X, np.array([1, 0, 0]))
    assert model.certificate_.verify(X, np.array([1, 0, 0])).holds


def test_weights_of_zero_are_not_without_mistakes():
    X, y = np.full((2, 1), 6e4), np.array(["a", "b"])
    model = fitted(assay.ERM("perceptron", None), X, y)
    assert not model.coef_.any()
    assert not model.certificate_.holds
    assert agrees(model, X, y)


def test_a_shift_far_larger_than_the_weights_leaves_none_of_itself():
    X, y = np.full((3, 1), 6e22), np.array([1, 2, 0])
    w = np.array([2.0, 1.0, 1.0])
    from scipy.sparse import csr_matrix

    model = fitted(assay.LogisticRegression(max_iter=6), csr_matrix(X), y, w)
    assert agrees(model, csr_matrix(X), y, w)


def test_intercepts_are_moved_without_rounding_but_their_own():
    w, centre = np.array([[1.0, -1.0, 0.25]]), np.array([1e16, 1e16 + 2])
    moved = about_zero(w, centre)
    assert moved[0, 2] == 2.25
    assert about_centre(moved, centre)[0, 2] == 0.25


@pytest.mark.parametrize("sparse", [False, True])
def test_products_of_rows_far_from_zero_are_those_of_differences(sparse):
    from assay.engines.csr import SparseMatrix

    X = np.array([[1e12 + 1], [1e12 - 1]])
    rows_ = SparseMatrix(X.ravel(), np.zeros(2, np.int64), np.arange(3), 1) if sparse else X
    assert rows_times(rows_, np.array([0.1, 0.5]), np.array([1e12])).tolist() == [0.6, 0.4]
    assert rows_back(rows_, np.array([0.1, 0.2]), np.array([1e12])).tolist() == pytest.approx([-0.1, 0.3], rel=1e-15)


HUGE = np.array([[1.0452010146988032e16], [9581010106712064.0], [8056757888745472.0], [6750256754589696.0]])


def exact_objective(model, X, s):
    """½‖w‖² / C + Σ max(0, 1 − s (w·x + b)), without rounding."""
    w, b = Fraction(float(model.coef_[0, 0])), Fraction(float(model.intercept_[0]))
    losses = [max(Fraction(0), 1 - t * (w * Fraction(float(x)) + b)) for t, x in zip(s, X[:, 0])]
    return w * w / 2 / Fraction(model.C) + sum(losses)


def test_weights_under_a_hinge_leave_rounding_no_loss_to_hide():
    y, model = [0, 0, 1, 1], assay.LinearSVC(loss="hinge", C=0.0014156588791234635).fit(HUGE, [0, 0, 1, 1])
    assert float(exact_objective(model, HUGE, [-1, -1, 1, 1])) == pytest.approx(float(model.objective_[0]), rel=1e-9)
    assert model.certificate_.holds
    assert model.certificate_.verify(HUGE, y).holds


def test_what_rounding_hides_of_a_hinge_is_not_proved():
    y, model = [0, 0, 1, 1], assay.LinearSVC(loss="hinge", C=0.0014156588791234635).fit(HUGE, [0, 0, 1, 1])
    claim = model.certificate_["duality gap"]
    w, b = Fraction(float(model.coef_[0, 0])), Fraction(float(model.intercept_[0]))
    least = float(min(t * (w * Fraction(float(x)) + b) for t, x in zip([-1, -1, 1, 1], HUGE[:, 0])))
    shorter = {name: np.asarray(claim.witness[name]) / least for name in ("coef", "intercept")}  # on the margin
    forged = replace(claim, witness={**claim.witness, **shorter})
    assert not replace(model.certificate_, claims=(forged,), own=None).verify(HUGE, y).holds


@pytest.mark.parametrize("C", [1e7, 1e10, 1e14])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_separable_rows_under_a_hinge_are_proved_at_any_C(C, fit_intercept):
    rng = np.random.default_rng(14)
    X = rng.standard_normal((60, 3)) * [1.0, 1e-2, 30.0]
    y = (X @ [1.0, 200.0, -0.03] > 0).astype(int)
    X += np.outer(2 * y - 1, [0.1, 1e-3, -3.0])
    model = fitted(assay.LinearSVC(loss="hinge", C=C, fit_intercept=fit_intercept), X, y)
    assert model.certificate_.holds, str(model.certificate_)
    assert model.certificate_.verify(X, y).holds, str(model.certificate_.verify(X, y))


def test_a_dual_point_is_balanced_where_slopes_nearly_cancel():
    from scipy.sparse import csr_matrix

    X = np.zeros((5, 4), np.float32)
    X[0, 0], X[2, 2], X[3, 2], X[4, 1] = 69587.99, -100058.13, -47592.773, 146211.2
    model = fitted(assay.LinearSVC(), csr_matrix(X), y := np.array([2, 0, 2, 0, 1]))
    assert model.certificate_.holds
    assert model.certificate_.verify(csr_matrix(X), y).holds, str(model.certificate_.verify(csr_matrix(X), y))


def test_slopes_that_l1_bounds_are_proved_no_nearer_than_their_rounding():
    X = np.array([[41, 43, 36, 40], [37, 48, 36, 43], [39, 42, 34, 46], [34, 36, 37, 51]], float)[[0, 0, 1, 0, 2, 0, 3]]
    y, w = [1, 1, 1, 0, 0, 0, 0], [9.8e08, 1.49e09, 1.73e09, 1.49e09, 1.16e09, 1.28e08, 6.96e08]
    model = assay.LogisticRegression(penalty="l1", solver="auto")
    with pytest.warns(UserWarning, match="standardise the columns"):
        model.fit(X, y, sample_weight=w)
    assert not model.certificate_.holds
    assert not model.certificate_.verify(X, y, w).holds


@pytest.mark.parametrize("sparse", [False, True])
def test_standard_errors_of_sparse_and_dense_rows_far_from_zero_are_proved(sparse):
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(3)
    three = 2.9e11 + np.array([[0.0, 0.0, 0.0], [0.8, 0.2, -0.3], [-4.0, -0.9, 1.1]])
    X = three[np.repeat([0, 1, 2], [20, 4, 3])]
    y = np.concatenate([rng.permutation(np.arange(20) % 2), [1, 1, 1, 0], [0, 0, 1]])
    rows_ = csr_matrix(X) if sparse else X
    model = fitted(assay.LogisticRegression(C=np.inf), rows_, y)
    assert model.certificate_.holds, str(model.certificate_)
    assert model.certificate_.verify(rows_, y).holds, str(model.certificate_.verify(rows_, y))
    assert np.allclose(model.covariance_[:3, :3], fitted(assay.LogisticRegression(C=np.inf), X, y).covariance_[:3, :3])


def test_losses_of_softmax_below_the_rounding_of_one_keep_their_digits():
    X, y = np.array([[-4.5], [-3.5], [0.3], [1.1], [8.0], [9.0]]), [0, 0, 1, 1, 2, 2]
    model = fitted(assay.LogisticRegression(C=3e9, tol=1e-2), X, y)
    assert model.objective_[0] < 1e-6 * len(y)
    assert model.certificate_.holds
    assert model.certificate_.verify(X, y).holds
    model = fitted(assay.ERM(loss="softmax", lam=0.0, tol=1e-2), X, y)
    assert agrees(model, X, y), f"{model.certificate_}\n{model.certificate_.verify(X, y)}"


@pytest.mark.parametrize("model", [assay.LinearSVC(), assay.LogisticRegression()], ids=["hinge", "softmax"])
def test_a_column_of_one_huge_number_costs_no_claim(model):
    X, y = np.full((47, 2), 7.1e64), np.arange(47) % 4
    X[:, 1] = np.random.default_rng(1).standard_normal(47)
    model = fitted(model, X, y)
    assert model.certificate_.holds
    assert model.certificate_.verify(X, y).holds, str(model.certificate_.verify(X, y))
