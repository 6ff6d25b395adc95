"""Naive Bayes on numbers of any scale: a model that its certificate proves, or an error that says what to do."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import assay
from assay.errors import DataError, ParameterError

Y = np.array([0, 0, 1, 1])


def verified(model, X, y, w=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = model.fit(X, y, sample_weight=w)
        assert model.certificate_.holds
        assert model.certificate_.verify(X, y, w).holds
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-9)
    return model


@pytest.mark.parametrize(
    "model",
    [
        assay.CategoricalNB(alpha=np.inf),
        assay.CategoricalNB(alpha=1e300),
        assay.BernoulliNB(alpha=1e300),
        assay.NaiveBayes(alpha=np.inf),
        assay.GaussianNB(var_smoothing=np.inf),
    ],
    ids=repr,
)
def test_smoothing_that_leaves_nothing_of_the_rows_is_refused(model):
    with pytest.raises(ParameterError, match=r"alpha|var_smoothing"):
        model.fit([[0.0], [1.0], [1.0], [2.0]], Y)


def test_large_counts_have_probabilities_that_add_up_to_one():
    verified(assay.MultinomialNB(), np.full((2, 2), 8e9), [1, 2])


def test_columns_so_far_from_zero_that_means_are_rounded_are_verified():
    X = np.array([[-7.0000000000000036], [-7.0], [-7.0000000000000036]])
    model = verified(assay.GaussianNB(), X, np.array([-1, -1, 7]))
    assert "far from zero" in str(model.certificate_)


def test_a_variance_that_the_rows_do_not_have_is_refused_far_from_zero_too():
    X, y = 1e15 + np.array([[0.0], [0.5], [0.125], [0.25], [0.0], [0.375]]), np.arange(6) % 2
    model = verified(assay.GaussianNB(), X, y)
    model.var_ = model.var_ * 1.5
    model._claims = model._make_claims()
    assert not model.certificate_.verify(X, y).holds


@pytest.mark.parametrize("accessor", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("values", [[0.0, 1e-170, 0.0, 3e-170], [0.0, 1e-150, 0.0, 3e-150]], ids=["lost", "some left"])
def test_differences_whose_squares_underflow_are_refused(accessor, values):
    with pytest.raises(DataError, match=r"Column 1 .*underflow.*multiply"):
        assay.GaussianNB().fit(accessor(np.array([[0.0, v] for v in values])), Y)


def test_classes_that_differ_by_so_little_are_refused_and_equal_ones_are_not():
    with pytest.raises(DataError, match="underflow"):
        assay.GaussianNB().fit([[0.0], [0.0], [1e-170], [1e-170]], Y)
    verified(assay.GaussianNB(), np.full((4, 1), 1e-170), Y)


@pytest.mark.parametrize(
    ("X", "w"), [([[0.0], [1e152], [0.0], [2e152]], np.full(4, 1e-20)), ([[1e200]] * 2 + [[-1e200]] * 2, None)]
)
def test_variances_that_overflow_are_refused(X, w):
    with pytest.raises(DataError, match=r"overflow.*divide"):
        assay.GaussianNB().fit(X, Y, w)


def test_a_row_whose_density_is_below_all_floats_in_every_class_goes_to_the_widest():
    model = assay.GaussianNB(var_smoothing=0.0).fit([[0.0], [1e-140], [5e-140], [9e-140]], Y)
    far = np.array([[-1e100], [1e50]])
    assert model.predict(far).tolist() == [1, 1]
    np.testing.assert_array_equal(model.predict_proba(far).sum(axis=1), 1.0)


def test_a_column_without_values_of_any_weight_is_verified():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [1.0, np.nan], [3.0, np.nan]])
    verified(assay.NaiveBayes(class_weight={0: 0.0, 1: 1.0}), X, Y)
    verified(assay.NaiveBayes(class_weight={0: 1.0, 1: 0.0}), X, Y[::-1])


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_scale_a_fit_is_verified_or_refused(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 3)) * 10.0 ** rng.uniform(-160, 160, 3) + 10.0 ** rng.uniform(-5, 17)
    w = rng.random(12) * 10.0 ** rng.uniform(-90, 90) if seed % 2 else None
    with contextlib.suppress(DataError):
        verified(assay.GaussianNB(), X, np.arange(12) % 3, w)


def test_a_variance_is_that_of_the_class_and_the_stated_epsilon():
    """Columns that differ in their last digits leave room for the rounding of epsilon, and none for another variance of one class."""
    X = 2.4448424269982538e81 * (1.0 + 2.0**-52 * np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 1.0]]))
    model = verified(assay.GaussianNB(), X, Y)
    claim = model.certificate_["gaussian maximum likelihood"]
    var = claim.witness["var"].copy()
    assert var[0, 0] == model.epsilon_
    var[0, 0] *= 1.1
    forged = replace(model.certificate_, claims=(replace(claim, witness={**claim.witness, "var": var}),), own=None)
    assert not forged.verify(X, Y).holds


def test_ones_that_weigh_more_than_their_rows_by_rounding_have_probability_one():
    w = np.array(
        [1.619696166818664e80, 8.795401762416952e79, 1.568224710653444e80, 3.7770105308816937e80, 9.386766168118808e79]
    )
    w = np.concatenate([w, 1.7 * w[::-1], 0.3 * w])
    X, y = sp.csr_matrix(np.ones((15, 1))), np.arange(15) % 2
    model = verified(assay.BernoulliNB(), X, y, w)
    assert assay.BernoulliNB.from_record(model.to_record()).bernoulli_prob_.max() <= 1.0
