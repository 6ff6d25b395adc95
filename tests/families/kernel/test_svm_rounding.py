"""Kernel machines on rows far from zero: what float64 cannot tell is not claimed, and what it can is proved."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from cases import file_bytes

import assay
from assay.errors import ConvergenceWarning
from assay.families.kernel.functions import Kernel, far_centre
from assay.families.kernel.svm.dual import classes_problem, extended_values, value_errors
from assay.store import decode

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
T = X[:, 0] + 0.5 * rng.normal(size=60)
CONSTANT = np.column_stack([X, np.full(60, 3e8)])


def verified(model, X, y):
    """The model after save and load, whose certificate must hold, and be found to hold."""
    loaded = type(model).from_record(decode(file_bytes(model)))
    assert loaded.certificate_.holds
    verdicts = loaded.certificate_.verify(X, y)
    assert verdicts.holds, str(verdicts)
    return loaded


@pytest.mark.parametrize("kernel", ["linear", "affine"])
@pytest.mark.parametrize("maker", [assay.SVC, assay.SVR])
def test_a_great_constant_column_changes_nothing(maker, kernel):
    y = Y if maker is assay.SVC else T
    plain, model = (maker(kernel=kernel, tol=1e-6).fit(Z, y) for Z in (X, CONSTANT))
    model = verified(model, CONSTANT, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=2e-6)
    assert np.allclose(model.intercept_, plain.intercept_, atol=2e-3)
    assert np.array_equal(model.predict(CONSTANT) > 0.5, plain.predict(X) > 0.5)


@pytest.mark.parametrize("far", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_far_from_zero_are_told_apart_as_they_are_near_it(classes, multi_class, far):
    y = Y if classes == 2 else np.digitize(T, [-0.5, 0.5])
    how = {"kernel": "linear", "multi_class": multi_class, "probability": classes == 3, "tol": 1e-5}
    near = assay.SVC(**how).fit(X, y)
    model = verified(assay.SVC(**how).fit(X + far, y), X + far, y)
    assert model.objective_ == pytest.approx(near.objective_, rel=1e-4)
    assert np.mean(model.predict(X + far) == near.predict(X)) > 0.95
    if classes == 2:
        plain = (X + far) @ model.coef_[0] + model.intercept_[0]
        assert np.allclose(model.decision_function(X + far), plain, atol=1e-15 * far * 20)


def test_the_false_certificate_of_rounded_products_is_refused():
    model = assay.SVC(kernel="linear").fit(CONSTANT, Y)
    sides = [np.flatnonzero(k == Y)[:25] for k in (0, 1)]
    model.support_, model.n_support_ = np.concatenate(sides), np.array([25, 25])
    model.support_vectors_, model.dual_coef_ = CONSTANT[model.support_], np.repeat([[-1.0, 1.0]], 25, axis=1)
    model.intercept_, model.gap_ = np.array([-1.0]), np.array([0.0])
    model.objective_ = model.dual_objective_ = np.array([50.0])
    model._claims_made = None
    gap = next(v for v in model.certificate_.verify(CONSTANT, Y) if v.claim == "duality gap")
    assert not gap.holds


def test_the_smallest_tube():
    rows, y = [[-1.9723097403554246], [-13.03511811878546]], [-1.1050499867738812, 0.44296960793771367]
    verified(assay.SVR(kernel="affine").fit(rows, y), rows, y)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kernel", ["linear", "affine", "poly"])
def test_columns_in_units_of_their_own(kernel, seed):
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(30, 3)) * 10.0 ** draw.integers(-1, 3, size=3) + 5 * draw.normal(size=3)
    C, y = 10.0 ** draw.integers(-2, 3), draw.integers(2, size=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = assay.SVC(kernel=kernel, C=C).fit(rows, y), assay.SVR(kernel=kernel, C=C).fit(rows, rows[:, 0] + y)
    for model, target in zip(models, (y, rows[:, 0] + y)):
        if model.certificate_.holds:
            verified(model, rows, target)
        else:
            assert not model.certificate_.verify(rows, target).holds


@pytest.mark.parametrize("n", [60, 600])
def test_what_rounding_hides_is_not_claimed(n):
    draw = np.random.default_rng(2)
    rows, y = 1e5 + draw.normal(size=(n, 3)), draw.integers(2, size=n)
    with pytest.warns(ConvergenceWarning):
        model = assay.SVC(kernel="poly", degree=4, gamma=1.0).fit(rows, y)
    assert not model.converged_
    assert not model.certificate_["duality gap"].holds
    assert not model.certificate_.verify(rows, y).holds


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_two_clusters_far_apart(kernel):
    rows = np.concatenate([X, X + 1e8])
    y = np.concatenate([Y, 1 - Y])
    verified(assay.SVC(kernel=kernel, gamma=1.0).fit(rows, y), rows, y)


def test_products_are_taken_about_the_mean_of_far_rows_alone():
    assert far_centre(X + 10.0) is None
    assert np.allclose(far_centre(X + 1e3), 1e3, rtol=1e-3)
    assert far_centre(CONSTANT)[3] == 3e8
    assert far_centre(np.full((5, 2), 1e200)).tolist() == [1e200, 1e200]
    assert far_centre(np.zeros((5, 2))) is None


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("linear"),
        Kernel("affine"),
        Kernel("poly", 0.5, 3.0, 1.0),
        Kernel("poly", 0.5, 2.0, 0.0),
        Kernel("sigmoid", 0.01, coef0=0.5),
        Kernel("rbf", 0.5),
        Kernel("laplacian", 0.5),
    ],
    ids=lambda k: k.words(),
)
def test_values_are_off_by_no_more_than_the_bound(kernel):
    rows = 30.0 + 5.0 * X
    problem = classes_problem(kernel, rows, np.where(Y, 1.0, -1.0), np.ones(60))
    beta = rng.normal(size=60) * 10.0 ** rng.integers(-3, 3, size=60)
    off = np.abs(kernel.block(rows, rows) @ beta - extended_values(problem, beta))
    assert np.all(off <= value_errors(problem, beta))


@pytest.mark.parametrize("scale", [1e-150, 1e-50, 1e50, 1e70])
@pytest.mark.parametrize("kernel", ["linear", "affine", "rbf", "laplacian", "sigmoid"])
def test_rows_of_any_scale_are_learnt_without_a_warning_of_numbers(kernel, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        for model, y in ((assay.SVC(kernel=kernel), Y), (assay.SVR(kernel=kernel, solver="sqp"), T)):
            model.fit(scale * X, y)
            assert np.isfinite(model.predict(scale * X)).all()
            assert model.certificate_.holds == model.certificate_.verify(scale * X, y).holds


@pytest.mark.parametrize("solver", ["smo", "sqp"])
def test_targets_far_from_zero_are_not_claimed_to_more_digits_than_they_have(solver):
    rows, y = [[500.0], [100.0]], [1000000000.4373469, 999999999.4837462]
    with pytest.warns(ConvergenceWarning):
        model = assay.SVR(tol=1e-7, solver=solver).fit(rows, y)
    assert not model.certificate_.holds
    verified(assay.SVR(tol=1e-3, solver=solver).fit(rows, y), rows, y)


def test_rows_at_their_bound_have_a_say_in_whether_float32_suffices():
    draw = np.random.default_rng(49)
    n, d = int(draw.integers(600, 1500)), int(draw.integers(1, 8))
    rows = draw.normal(size=(n, d)) * 10.0 ** draw.integers(-1, 2, size=d) + draw.choice([0, 5, 1e3])
    y = (rows[:, 0] + 0.3 * rows[:, 0].std() * draw.normal(size=n) > rows[:, 0].mean()).astype(int)
    for kernel in ("linear", "affine"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = assay.SVC(kernel=kernel, C=10.0, max_iter=400).fit(rows, y)
        assert model.certificate_.holds == model.certificate_.verify(rows, y).holds


def test_a_far_row_that_hardly_counts_does_not_cost_the_claims():
    """Rows at zero beside some at 1e38: those have multipliers of 1e-76, and the others are counted from where they are."""
    far = np.zeros((11, 5), dtype=np.float32)
    far[[0, 8], 4] = far[[1, 4, 5], 1] = 1e38
    far[[3, 6, 8], 2] = 1.8e-31
    y = np.array([1, -1, -1, 1, -1, -1, 1, -1, 1, -1, 1])
    verified(assay.SVC(kernel="affine", probability=True).fit(far, y), far, y)


def test_probabilities_of_decision_values_that_rounding_hides_are_not_claimed():
    """Equal rows of two classes at 7e6: decision values have three digits, and so has the log loss."""
    near, away = (
        [-0.3062745796194686, 0.007364312560281627, -7100196.818279749, -42613.605497952456],
        [0.5, 0.0, -2.1e7, -51204.0],
    )
    rows, y = np.array([near, near, near, away]), np.array(["c", "a", "a", "b"])
    with pytest.warns(ConvergenceWarning):
        model = assay.SVC(kernel="affine", probability=True, max_iter=40, solver="sqp").fit(rows, y)
    assert not model.certificate_["probabilities"].holds
    verdicts = list(model.certificate_.verify(rows, y))
    assert [claim.holds for claim in model.certificate_] == [verdict.holds for verdict in verdicts]


def test_a_gap_that_allows_for_more_rounding_than_there_was_is_no_lie():
    Z = np.array(
        [
            [0.0032188836485147476, 9.28629087866284e-05, 394653.125],
            [0.003393068676814437, -2.652809416758828e-05, -1833297.625],
        ]
    )
    Z = Z[[0, 1, 0, 0]].astype(np.float32)
    y, w = (
        np.array([1, 1, -1, -1]),
        np.array([0.9385965235896845, 0.3643508917336822, 0.6210902195974469, 0.8103092957568895]),
    )
    certificate = assay.SVC(kernel="affine").fit(Z, y, w).certificate_
    assert certificate.holds
    assert certificate.verify(Z, y, w).holds
