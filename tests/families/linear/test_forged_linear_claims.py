"""Certificates of linear models that lie in ways a review once found: each must be refused, or the file not be read."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import assay
from assay.errors import ModelFileError, SeparableWarning
from assay.risk import terms
from assay.risk.terms import farthest

RNG = np.random.default_rng(5)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + 0.7 * RNG.normal(size=80) > 0).astype(int)


def reclaimed(model):
    """The model with the claims that follow from its (altered) parts."""
    model._claims = model._own_claims()
    return model.certificate_


def test_a_refit_with_other_parameters_makes_the_claims_of_the_refit():
    points, sides = np.array([[-3.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    model = assay.LinearSVC(C=np.inf).fit(points, sides).set_params(fit_intercept=False).fit(points, sides)
    assert model.certificate_.verify(points, sides).holds


def test_weights_of_classes_come_from_the_hyper_parameter_not_from_the_file():
    plain = assay.LogisticRegression().fit(X, Y)
    heavy = assay.LogisticRegression(class_weight={0: 50.0}).fit(X, Y)
    for part in ("coef_", "intercept_", "multipliers_", "objective_", "gap_", "weight_"):
        setattr(plain, part, getattr(heavy, part))
    assert not reclaimed(plain).verify(X, Y).holds
    balanced = assay.LogisticRegression(class_weight="balanced").fit(X, Y)
    for part in ("coef_", "intercept_", "multipliers_", "objective_", "gap_", "weight_"):
        setattr(balanced, part, getattr(heavy, part))
    assert not reclaimed(balanced).verify(X, Y).holds


def test_the_strength_of_a_penalty_is_counted_by_the_weight_of_the_rows():
    weak, strong = assay.ERM(lam=1e-3).fit(X, Y), assay.ERM(lam=1.0).fit(X, Y)
    for part in ("coef_", "intercept_", "objective_", "gap_"):
        setattr(weak, part, getattr(strong, part))
    weak.weight_ *= 1000
    assert not reclaimed(weak).verify(X, Y).holds


def test_without_rows_of_a_class_nothing_bounds_the_intercept():
    assert farthest(terms.SQUARED_HINGE, 5.0, 0.0, (0.0, 5.0), (0.0, 0.0)) == np.inf
    assert np.isfinite(farthest(terms.SQUARED, 5.0, 0.0, (5.0, 0.0), (0.0, 0.0)))


def test_a_multiplier_of_a_row_without_weight_proves_nothing():
    points, sides = np.array([[-5.0], [-0.5], [0.5], [5.0]]), np.array([0, 0, 1, 1])
    model = assay.LinearSVC(C=np.inf).fit(points, sides)
    assert model.certificate_.verify(points, sides).holds
    assert not model.certificate_.verify(points, sides, np.array([1.0, 0.0, 0.0, 1.0])).holds


def test_multipliers_out_of_balance_far_from_zero_are_charged():
    points, sides = np.array([[2e9 - 1], [2e9 + 1]]), np.array([0, 1])
    model = assay.LinearSVC(C=np.inf).fit(points, sides)
    claim = model.certificate_.claims[0]
    forged = {**claim.witness, "coef": np.array([[2.0]]), "intercept": np.array([-4e9])}
    forged |= {"dual_rows": np.array([0, 1]), "dual_problem": np.array([0, 0])}
    forged["dual_values"] = np.array([1 - 5e-10, 1 + 5e-10])
    lie = dataclasses.replace(claim, witness=forged)
    certificate = dataclasses.replace(model.certificate_, claims=(lie,), own=None)
    assert not certificate.verify(points, sides).holds


@pytest.mark.parametrize("part", ["start_", "class_factor_"])
def test_a_perceptron_file_that_starts_elsewhere_is_not_read(part):
    model = assay.Perceptron(max_iter=50).fit(X, (X[:, 0] > 0).astype(int))
    setattr(model, part, getattr(model, part) + 1.0)
    with pytest.raises(ModelFileError, match="hyper-parameter"):
        type(model).from_record(model.to_record())


def test_a_sparse_table_without_any_entry_fits():
    from scipy.sparse import csr_matrix

    assert not assay.LogisticRegression().fit(csr_matrix((10, 3)), [0, 1] * 5).coef_.any()


def test_softmax_names_a_class_that_parts_from_the_rest():
    from sklearn.datasets import load_iris

    points, kinds = load_iris(return_X_y=True)
    with pytest.warns(SeparableWarning, match="class 0 from the rest"):
        model = assay.LogisticRegression(C=np.inf).fit(points, kinds)
    assert [claim.kind for claim in model.certificate_.claims] == ["estimate", "warning"]
    assert model.certificate_.verify(points, kinds).holds
