"""Naive Bayes and what users do wrong: each error says what, where, and what to do."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.errors import DataConversionWarning, DataError, ModelFileError, ParameterError

MODELS = ["NaiveBayes", "GaussianNB", "BernoulliNB", "MultinomialNB", "CategoricalNB"]
X = np.array([[0, 1.0], [1, 0], [1, 1], [2, 2], [2, 0], [0, 2]])
Y = np.array([0, 0, 0, 1, 1, 1])


def changed(value: float) -> np.ndarray:
    out = X.copy()
    out[3, 1] = value
    return out


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused_where_it_stands(name, value):
    model = getattr(assay, name)()
    with pytest.raises(DataError, match=r"infinity.*row 3, column 1"):
        model.fit(changed(value), Y)
    model.fit(X, Y)
    for answer in (model.predict, model.predict_proba, model.predict_joint_log_proba):
        with pytest.raises(DataError, match=r"infinity.*row 3, column 1"):
            answer(changed(value))


@pytest.mark.parametrize("name", ["MultinomialNB", "CategoricalNB"])
def test_negative_counts_and_categories_are_refused(name):
    model = getattr(assay, name)()
    with pytest.raises(DataError, match=r"Negative values in data.*value -1 in row 3, column 1"):
        model.fit(changed(-1), Y)
    with pytest.raises(DataError, match="Negative values in data"):
        model.fit(X, Y).predict(changed(-1))


@pytest.mark.parametrize(
    ("density", "value", "message"),
    [
        ("bernoulli", 2, "other than 0 and 1"),
        ("bernoulli", 0.5, "other than 0 and 1"),
        ("poisson", -1, "Negative values"),
        ("poisson", 1.5, "whole numbers"),
        ("multinomial", -0.5, "Negative values"),
        ("categorical", 0.5, "not whole"),
        ("categorical", -2, "Negative values"),
    ],
)
def test_a_value_that_a_density_cannot_have_is_refused_in_fit_and_predict(density, value, message):
    ones = np.minimum(X, 1)
    bad = ones.copy()
    bad[4, 0] = value
    with pytest.raises(DataError, match=message + r".*row 4, column 0"):
        assay.NaiveBayes(density).fit(bad, Y)
    with pytest.raises(DataError, match=message + r".*row 4, column 0"):
        assay.NaiveBayes(density).fit(ones, Y).predict(bad)


def test_the_refused_column_has_its_own_number_in_a_mixed_table():
    bad = np.column_stack([X[:, 0] + 0.5, changed(-3)])
    with pytest.raises(DataError, match="row 3, column 2"):
        assay.NaiveBayes({0: "gaussian", 1: "gaussian", 2: "poisson"}).fit(bad, Y)


def test_fractions_of_categories_are_cut_off_with_a_warning():
    with pytest.warns(DataConversionWarning, match="not whole"):
        cut = assay.CategoricalNB().fit(X + 0.4, Y)
    assert cut.category_prob_.tolist() == assay.CategoricalNB().fit(X, Y).category_prob_.tolist()
    assert cut.certificate_.verify(X + 0.4, Y).holds
    assert cut.predict(X + 0.4).tolist() == cut.predict(X).tolist()


def test_a_huge_category_is_refused_instead_of_making_a_huge_table():
    with pytest.raises(DataError, match="category above"):
        assay.CategoricalNB().fit(changed(5e9), Y)
    assert len(assay.CategoricalNB().fit(X, Y).predict(changed(5e9))) == 6


@pytest.mark.parametrize("name", ["GaussianNB", "NaiveBayes"])
def test_values_whose_squares_overflow_are_refused(name):
    with pytest.raises(DataError, match=r"1e\+300.*Rescale"):
        getattr(assay, name)().fit(changed(1e300), Y)
    with pytest.raises(DataError, match="Rescale"):
        assay.GaussianNB().fit(X, Y).predict(changed(1e300))
    constant = X.copy()
    constant[:, 1] = 1e300  # huge but without any spread
    assert assay.GaussianNB().fit(constant, Y).predict(constant).shape == (6,)


def test_an_overflow_between_blocks_is_refused_too():
    far = np.where(np.arange(140_000) < 70_000, 1e200, -1e200)[:, None]
    with pytest.raises(DataError, match="overflow"):
        assay.GaussianNB().fit(far, np.arange(140_000) % 2)


def test_huge_counts_do_not_overflow():
    model = assay.MultinomialNB().fit(changed(1e300), Y)
    assert np.isfinite(model.feature_log_prob_).all()


@pytest.mark.parametrize("name", MODELS)
def test_one_class_is_the_answer_for_certain(name):
    model = getattr(assay, name)().fit(X, np.zeros(6, dtype=int))
    assert (model.predict_proba(X) == 1.0).all()
    assert model.certificate_.holds
    without = getattr(assay, name)().fit(X, Y, sample_weight=[1, 1, 1, 0, 0, 0])
    assert (without.predict_proba(X)[:, 1] == 0.0).all()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, -1, 1, 1, 1], "Negative"),
        ([0] * 6, "zero"),
        ([1, np.nan, 1, 1, 1, 1], "NaN"),
        ([1, 1], "one weight a row"),
    ],
)
def test_impossible_weights_are_refused(name, weights, message):
    with pytest.raises(DataError, match=message):
        getattr(assay, name)().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("name", MODELS)
def test_wrong_width_and_wrong_names_are_refused(name):
    import pandas as pd

    model = getattr(assay, name)().fit(X, Y)
    with pytest.raises(DataError, match=r"3 features.*expecting 2"):
        model.predict(np.ones((2, 3)))
    model.fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    with pytest.raises(DataError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=["a", "c"]))
    with pytest.raises(DataError, match="0 sample"):
        model.predict(np.ones((0, 2)))
    with pytest.raises(DataError, match="inconsistent"):
        model.fit(X, Y[:-1])


def test_text_is_refused_by_the_models_of_numbers_and_taken_by_those_of_categories():
    import pandas as pd

    frame = pd.DataFrame({"c": ["a", "b", "a", "b", "b", "a"]})
    with pytest.raises(DataError, match="'c' contains 'a'"):
        assay.GaussianNB().fit(frame, Y)
    assert assay.NaiveBayes().fit(frame, Y).columns_ == ["categorical"]


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("GaussianNB", {"priors": [0.5, 0.4]}, "sum of the priors should be 1"),
        ("GaussianNB", {"priors": [0.2, 0.3, 0.5]}, "Number of priors must match"),
        ("GaussianNB", {"priors": [1.5, -0.5]}, "priors="),
        ("GaussianNB", {"var_smoothing": -1}, "var_smoothing=-1"),
        ("MultinomialNB", {"class_prior": [0.5, 0.4]}, "sum of the priors should be 1"),
        ("MultinomialNB", {"alpha": [1.0, 1.0, 1.0]}, "alpha has 3 values"),
        ("MultinomialNB", {"alpha": -1.0}, "alpha=-1"),
        ("BernoulliNB", {"alpha": [1.0, -1.0]}, "alpha="),
        ("BernoulliNB", {"binarize": "x"}, "binarize='x'"),
        ("CategoricalNB", {"min_categories": [1, 2, 3]}, "min_categories"),
        ("CategoricalNB", {"min_categories": 1.5}, "min_categories=1.5"),
        ("CategoricalNB", {"alpha": [1.0]}, "alpha="),
        ("NaiveBayes", {"class_weight": {7: 1.0}}, "class 7"),
        ("NaiveBayes", {"class_weight": {0: 0, 1: 0}}, "weight zero"),
        ("GaussianNB", {"class_weight": {0: -1}}, "class_weight="),
    ],
)
def test_impossible_hyper_parameters_are_refused(name, params, message):
    with pytest.raises(ParameterError, match=message):
        getattr(assay, name)(**params).fit(X, Y)


@pytest.mark.parametrize("name", MODELS)
def test_partial_fit_wants_the_classes_first_and_the_same_ones_later(name):
    with pytest.raises(DataError, match="classes must be passed on the first call"):
        getattr(assay, name)().partial_fit(X, Y)
    model = getattr(assay, name)().partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(DataError, match="is not the same as on last call to partial_fit"):
        model.partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(DataError, match="do not exist in the initial classes"):
        model.partial_fit(X, Y + 1)


@pytest.mark.parametrize("name", MODELS)
def test_constant_columns_are_no_trouble(name):
    model = getattr(assay, name)().fit(np.ones((6, 2)), Y)
    np.testing.assert_allclose(model.predict_proba(np.ones((3, 2))), 0.5)
    assert model.certificate_.verify(np.ones((6, 2)), Y).holds


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-200, -7e11])
@pytest.mark.parametrize("smoothing", [0.0, 1e-9])
def test_a_constant_that_has_no_exact_mean_is_still_constant(value, smoothing):
    rng = np.random.default_rng(0)
    y, w = rng.integers(0, 3, 701), rng.random(701)
    for points in (np.full((701, 2), value), np.column_stack([np.full(701, value), rng.normal(size=701)])):
        model = assay.GaussianNB(var_smoothing=smoothing).fit(points, y, w)
        assert model.theta_[:, 0].tolist() == [value] * 3
        assert model.certificate_.verify(points, y, w).holds
        assert "3 of them zero" in str(model.certificate_) or "6 of them zero" in str(model.certificate_)


def test_a_variance_of_zero_without_smoothing_still_tells_the_classes_apart():
    points = np.array([[0.0, 5], [0, 6], [1, 5], [1, 6]])
    model = assay.GaussianNB(var_smoothing=0).fit(points, [0, 0, 1, 1])
    assert model.predict(points).tolist() == [0, 0, 1, 1]
    assert model.certificate_.verify(points, [0, 0, 1, 1]).holds


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("columns_", ["gaussian"]),
        ("columns_", ["gaussian", "normal"]),
        ("category_offsets_", np.array([0, 3, 2])),
        ("category_offsets_", np.array([1, 2, 6])),
        ("class_prior_", np.array([0.0, 0.0])),
        ("theta_", np.zeros((2, 1))),
    ],
)
def test_a_model_file_whose_parts_do_not_fit_together_is_refused(part, value):
    record = assay.CategoricalNB().fit(X, Y).to_record()
    (record.facts if part == "columns_" else record.arrays)[part] = value
    with pytest.raises(ModelFileError):
        assay.CategoricalNB.from_record(record)
