"""Naive Bayes on mixed tables: the rule of "auto", missing values, categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import assay
from assay.errors import DataError, ParameterError
from assay.store import encode


def mixed(n: int = 600) -> dict[str, list]:
    """A column of each kind, with a few values missing, and two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    columns = {
        "length": rng.normal(y, 1.0),
        "owner": rng.random(n) < 0.3 + 0.4 * y,
        "visits": rng.poisson(1 + 2 * y),
        "year": rng.integers(1900, 2000, n),
        "colour": np.array(["red", "green", "blue"])[np.minimum(2, rng.poisson(0.4 + y))],
    }
    table = {
        name: [None if i % 50 == j else v for i, v in enumerate(c.tolist())]
        for j, (name, c) in enumerate(columns.items())
    }
    return {**table, "y": np.array(["no", "yes"])[y].tolist()}


def pandas_table(n: int = 600) -> pd.DataFrame:
    return pd.DataFrame(mixed(n)).astype({"owner": "boolean", "visits": "Int64"})


DENSITIES = ["gaussian", "bernoulli", "poisson", "gaussian", "categorical"]


def test_auto_gives_each_column_the_density_of_what_it_holds_in_pandas_and_polars():
    table = mixed()
    files = []
    for frame in (pandas_table(), pl.DataFrame(table)):
        X, y = frame[list(table)[:-1]], frame["y"]
        model = assay.NaiveBayes().fit(X, y)
        assert model.columns_ == DENSITIES
        assert model.score(X, y) > 0.8
        assert model.certificate_.verify(X, y).holds
        files.append(encode(model.to_record()))
    assert files[0] == files[1]


def test_auto_is_the_same_as_naming_the_densities_by_hand(tmp_path):
    frame = pandas_table()
    X, y = frame.drop(columns="y"), frame["y"]
    auto = assay.NaiveBayes().fit(X, y).to_record()
    named = assay.NaiveBayes(dict(zip(X.columns, DENSITIES))).fit(X, y)
    numbered = assay.NaiveBayes(dict(enumerate(DENSITIES))).fit(X, y)
    assert encode(auto) == encode(_with(named.to_record(), auto)) == encode(_with(numbered.to_record(), auto))
    for model in (named, numbered):  # the densities survive the file, also where columns are given by number
        model.save(tmp_path / "m.assay")
        loaded = assay.load(tmp_path / "m.assay")
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert loaded.certificate_.verify(X, y).holds
        assert loaded.fit(X, y).columns_ == DENSITIES


def _with(record, other):
    record.params = other.params
    return record


def test_columns_that_are_not_named_are_chosen():
    frame = pandas_table()
    X, y = frame.drop(columns="y"), frame["y"]
    model = assay.NaiveBayes({"visits": "categorical", "owner": "gaussian"}).fit(X, y)
    assert model.columns_ == ["gaussian", "gaussian", "categorical", "gaussian", "categorical"]


def test_poisson_is_chosen_where_it_is_likelier_than_a_normal_density():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    X = np.column_stack([rng.poisson(2 + 3 * y), np.round(rng.normal(30 + y, 1.0)), rng.integers(0, 1000, 3000)])
    assert assay.NaiveBayes().fit(X, y).columns_ == ["poisson", "gaussian", "gaussian"]


def test_the_joint_density_of_a_mixed_row_is_the_product_of_its_columns():
    frame = pandas_table()
    X, y = frame.drop(columns="y"), frame["y"]
    whole = assay.NaiveBayes().fit(X, y)
    total = whole.class_log_prior_
    for name, density in zip(X.columns, DENSITIES):
        one = assay.NaiveBayes(density, var_smoothing=0).fit(X[[name]], y)
        total = total + one.predict_joint_log_proba(X[[name]]) - one.class_log_prior_
    np.testing.assert_allclose(whole.predict_joint_log_proba(X), total, rtol=1e-4)  # smoothing depends on all columns


@pytest.mark.parametrize("density", ["gaussian", "bernoulli", "poisson", "multinomial", "categorical"])
def test_a_missing_value_is_left_out_of_estimates_and_products(density):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (300, 4)).astype(float), rng.integers(0, 2, 300)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = assay.NaiveBayes(density, var_smoothing=0).fit(X, y)
    assert model.certificate_.verify(X, y).holds
    if density != "multinomial":  # there all columns share one urn; elsewhere each column stands for itself
        one = assay.NaiveBayes(density, var_smoothing=0).fit(X[~np.isnan(X[:, 0])][:, :1], y[~np.isnan(X[:, 0])])
        for name in ("theta_", "var_", "bernoulli_prob_", "poisson_rate_"):
            if getattr(one, name).size:
                np.testing.assert_allclose(getattr(model, name)[:, :1], getattr(one, name))
    joint = model.predict_joint_log_proba([[1, 0, 1, 0], [1, np.nan, 1, np.nan], [np.nan] * 4])
    np.testing.assert_allclose(joint[2], model.class_log_prior_)
    parts = [
        model.predict_joint_log_proba([[v if i == j else np.nan for i in range(4)]])[0] for j, v in ((0, 1), (2, 1))
    ]
    np.testing.assert_allclose(joint[1], sum(parts) - model.class_log_prior_)


@pytest.mark.parametrize("density", ["gaussian", "bernoulli", "poisson", "categorical"])
def test_a_column_missing_in_a_whole_class_says_nothing_absurd(density):
    X = np.array([[0, 1.0], [1, 0], [np.nan, 1], [np.nan, 0]])
    for alpha in (0.0, 1.0):
        model = assay.NaiveBayes(density, alpha=alpha).fit(X, [0, 0, 1, 1])
        assert np.isfinite(model.predict_proba([[1, 1]])).all()
        assert model.certificate_.verify(X, [0, 0, 1, 1]).holds


def test_a_column_without_any_value_has_no_influence():
    X = np.array([[np.nan, 0.0], [np.nan, 1], [np.nan, 8], [np.nan, 9]])
    model = assay.NaiveBayes().fit(X, [0, 0, 1, 1])
    assert model.predict([[3.0, 1.0], [np.nan, 8.5]]).tolist() == [0, 1]


def test_an_unseen_category_is_left_out_of_the_product_and_never_an_error():
    X, y = [[0, 0], [1, 0], [2, 1], [2, 1]], [0, 0, 1, 1]
    model = assay.CategoricalNB().fit(X, y)
    assert np.array_equal(
        model.predict_joint_log_proba([[9, 1], [0, 500]]), model.predict_joint_log_proba([[np.nan, 1], [0, np.nan]])
    )
    frame = pd.DataFrame({"c": ["a", "b", "b"], "d": ["u", "u", "v"]})
    text = assay.CategoricalNB().fit(frame, [0, 1, 1])
    unseen, missing = pd.DataFrame({"c": ["zzz"], "d": ["u"]}), pd.DataFrame({"c": [None], "d": ["u"]})
    assert np.array_equal(text.predict_proba(unseen), text.predict_proba(missing))


def test_categories_survive_the_file(tmp_path):
    frame = pandas_table()
    X, y = frame[["colour"]], frame["y"]
    model = assay.CategoricalNB().fit(X, y)
    model.save(tmp_path / "m.assay")
    loaded = assay.load(tmp_path / "m.assay")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert [a.tolist() for a in loaded.category_count_] == [a.tolist() for a in model.category_count_]


def test_a_row_that_no_class_allows_is_answered_by_the_priors():
    X, y = [[0, 0], [0, 0], [0, 1]], [0, 0, 1]
    for density in ("bernoulli", "poisson", "categorical"):
        model = assay.NaiveBayes(density, alpha=0.0).fit(X, y)
        assert model.predict_proba([[0, 1]]).tolist() == [[0.0, 1.0]]
        assert model.certificate_.verify(X, y).holds
    model = assay.NaiveBayes("bernoulli", alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[1, 1]]), [[2 / 3, 1 / 3]])


def test_a_mixed_real_table_with_missing_values_beats_one_normal_density_a_column(data_dir):
    table = pd.read_csv(data_dir / "titanic.csv")
    target = table.columns[-1]
    X, y = table.drop(columns=target), table[target]
    model = assay.NaiveBayes().fit(X, y)
    assert set(model.columns_) >= {"categorical", "gaussian"}
    assert model.certificate_.verify(X, y).holds
    numbers = X.select_dtypes("number")
    assert model.score(X, y) > assay.GaussianNB().fit(numbers, y).score(numbers, y)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"lenght": "gaussian"}, "Did you mean 'length'"),
        ({17: "gaussian"}, "no column"),
        ({"colour": "gaussian"}, "holds text"),
    ],
)
def test_densities_of_columns_that_cannot_be_are_refused(columns, message):
    frame = pandas_table(60)
    with pytest.raises(ParameterError, match=message):
        assay.NaiveBayes(columns).fit(frame.drop(columns="y"), frame["y"])


@pytest.mark.parametrize("columns", ["normal", {"length": "normal"}, ["gaussian"], 3, None, {1.5: "gaussian"}])
def test_words_that_name_no_density_are_refused(columns):
    with pytest.raises(ParameterError, match="columns="):
        assay.NaiveBayes(columns).fit([[0.0], [1.0]], [0, 1])


def test_a_column_taken_for_ones_and_zeros_says_so_when_a_two_comes_later():
    model = assay.NaiveBayes().partial_fit([[0], [1], [1]], [0, 1, 1], classes=[0, 1])
    with pytest.raises(DataError, match=r"bernoulli.*value 2 in row 0, column 0"):
        model.partial_fit([[2]], [1])
    assert model.predict([[1]]).tolist() == [1]


def test_a_value_that_no_chosen_density_can_have_is_left_out_where_the_choice_was_automatic():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = np.column_stack([rng.integers(0, 2, 80), rng.poisson(2 + 3 * y), rng.normal(size=80) + y]).astype(float)
    model = assay.NaiveBayes().fit(X, y)
    assert model.columns_ == ["bernoulli", "poisson", "gaussian"]
    odd = [[2.0, 3.0, 0.1], [1.0, 2.5, 0.1], [1.0, -1.0, 0.1]]
    missing = [[np.nan, 3.0, 0.1], [1.0, np.nan, 0.1], [1.0, np.nan, 0.1]]
    assert np.array_equal(model.predict_proba(odd), model.predict_proba(missing))
    named = assay.NaiveBayes(columns={0: "bernoulli"}).fit(X, y)
    with pytest.raises(ValueError, match="other than 0 and 1"):
        named.predict(odd)
