"""Polynomial kernels about a centre: the same machine, without the digits that powers of rows far from zero agree in."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from cases import file_bytes

import assay
from assay.errors import ConvergenceWarning
from assay.families.kernel import check as checker
from assay.families.kernel.functions import (
    Kernel,
    centre_values,
    exact_centre_values,
    largest_powers,
    powers_about,
    squares_about,
)
from assay.store import decode

rng = np.random.default_rng(1)
X = rng.standard_normal((40, 2))
CURVE = X @ [1.0, -1.0] + 0.4 * X[:, 0] ** 2 + 0.3 * rng.standard_normal(40)
SIDES = (CURVE > 0).astype(int)
THREE = np.digitize(CURVE, [-0.7, 0.7])


def exactly(kernel, x, z):
    """K in fractions."""
    product = sum((Fraction(float(u)) * Fraction(float(v)) for u, v in zip(x, z)), Fraction(0))
    return (Fraction(kernel.gamma) * product + Fraction(kernel.coef0)) ** int(kernel.degree)


def about(kernel, x, z):
    """K(x, z) − K(x, c) − K(c, z) + K(c, c) in fractions, rounded at the end."""
    c = kernel.centre
    return float(exactly(kernel, x, z) - exactly(kernel, x, c) - exactly(kernel, c, z) + exactly(kernel, c, c))


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5])
@pytest.mark.parametrize(("coef0", "far"), [(0.0, 1e5), (1.0, 1e3), (-2.0, 10.0), (1e6, 0.0)])
def test_both_sides_find_the_values_about_a_centre_to_nearly_all_digits(degree, coef0, far):
    rows = (X[:6] + far).round(3)
    kernel = Kernel("poly", 0.5, float(degree), coef0, centre=rows.mean(axis=0))
    witness = {"kernel": "poly", "gamma": 0.5, "degree": degree, "coef0": coef0}
    off = rows - kernel.centre
    length = np.sqrt((off**2).sum(axis=1))
    size = largest_powers(kernel, length, length)
    due = np.array([[about(kernel, x, z) for z in rows] for x in rows])
    assert (np.abs(powers_about(kernel, off, off) - due) <= 1e-13 * size).all()
    assert (np.abs(checker._about_centre(witness, off, off, kernel.centre) - due) <= 1e-13 * size).all()
    assert np.allclose(kernel.diagonal(rows), np.diag(due), rtol=0, atol=1e-13 * size.max())
    assert np.allclose(squares_about(kernel, off), np.diag(due), rtol=0, atol=1e-13 * size.max())
    moved = [float(exactly(kernel, x, kernel.centre) - exactly(kernel, kernel.centre, kernel.centre)) for x in rows]
    largest = max(map(abs, moved))
    assert [float(v) for v in exact_centre_values(kernel, rows)] == moved
    assert np.allclose(centre_values(kernel, off), moved, rtol=0, atol=1e-13 * largest)
    assert np.allclose(checker.centre_values(witness, off, kernel.centre), moved, rtol=0, atol=1e-13 * largest)


@pytest.mark.parametrize(("degree", "far"), [(2, 1e3), (3, 100.0), (5, 10.0)])
@pytest.mark.parametrize(("maker", "y"), [(assay.SVC, SIDES), (assay.SVC, THREE), (assay.SVR, CURVE)])
def test_machines_far_from_zero_prove_their_gap_and_the_file_is_verified(maker, y, degree, far):
    model = maker(kernel="poly", degree=degree, coef0=1.0, tol=1e-3).fit(X + far, y)
    loaded = maker.from_record(decode(file_bytes(model)))
    assert loaded.certificate_.holds
    verdicts = loaded.certificate_.verify(X + far, y)
    assert verdicts.holds, str(verdicts)
    assert loaded.score(X + far, y) > 0.7
    assert np.array_equal(loaded.predict(X + far), model.predict(X + far))


def test_answers_are_those_of_the_formula_about_zero():
    model = assay.SVC(kernel="poly", degree=3, coef0=1.0).fit(X + 100, SIDES)
    kernel = Kernel("poly", model.gamma_, 3.0, 1.0)
    beta = [Fraction(value) for value in model.dual_coef_[0].tolist()]
    for x in X[:5] + 100:
        due = sum((b * exactly(kernel, x, z) for b, z in zip(beta, model.support_vectors_)), Fraction(0))
        found = model.decision_function([x])[0]
        assert found == pytest.approx(float(due + Fraction(float(model.intercept_[0]))), abs=1e-5)


def test_a_forged_intercept_far_from_zero_is_refused():
    model = assay.SVR(kernel="poly", degree=3, coef0=1.0, tol=1e-3).fit(X + 100, CURVE)
    model.intercept_ = model.intercept_ + 0.5
    model._claims_made = None
    assert not model.certificate_.verify(X + 100, CURVE).holds


def test_where_nothing_can_be_proved_the_warning_names_the_remedy():
    with pytest.warns(ConvergenceWarning, match="Standardise the columns"):
        model = assay.SVC(kernel="poly", degree=5, tol=1e-6).fit(X + 1e5, SIDES)
    assert not model.certificate_.holds
    assert not model.certificate_.verify(X + 1e5, SIDES).holds
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert assay.SVC(kernel="poly", degree=5, tol=1e-6).fit(Z, SIDES).certificate_.holds
