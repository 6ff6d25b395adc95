"""Missing values and categories: what a split learns of them, and where what it never saw goes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import assay
from assay import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.errors import DataError, ParameterError

MODELS = [
    DecisionTreeClassifier(),
    RandomForestClassifier(n_estimators=8, max_features=None),
    ExtraTreesClassifier(n_estimators=8),
]


@pytest.mark.parametrize("bins", ["exact", 16])
@pytest.mark.parametrize("lost", [0, 1])
def test_missing_values_go_to_the_side_that_they_belong_to(lost, bins):
    x = np.concatenate([np.arange(40.0), np.full(20, np.nan)])
    y = np.concatenate([np.repeat([0, 1], 20), np.full(20, lost)])
    for order in (1, -1):
        X = order * x[:, None]
        model = DecisionTreeClassifier(max_depth=1, bins=bins).fit(X, y)
        assert model.score(X, y) == 1.0
        assert model.predict([[np.nan]])[0] == lost
        assert DecisionTreeRegressor(max_depth=1, bins=bins).fit(X, y).predict([[np.nan]])[0] == lost


@pytest.mark.parametrize("bins", ["exact", 255])
def test_the_few_go_to_the_smaller_side_where_they_belong_to_it(bins):
    """Most rows go left, what is missing goes right, and the threshold lies between values."""
    X = np.array([*np.arange(30.0), *np.arange(100, 104.0), np.nan, np.nan])[:, None]
    y = np.array([0] * 30 + [1] * 6)
    model = DecisionTreeClassifier(bins=bins).fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.predict([[np.nan]])[0] == 1
    assert RandomForestClassifier(n_estimators=20, bins=bins).fit(X, y).predict([[np.nan]])[0] == 1


def test_being_missing_alone_can_part_the_rows():
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    y = [0, 0, 0, 1, 1]
    model = DecisionTreeClassifier().fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.predict([[-1e300], [1e300], [np.nan]]).tolist() == [0, 0, 1]
    assert assay.DecisionTreeRegressor().fit(X, y).predict([[-1e300], [1e300], [np.nan]]).tolist() == [0, 0, 1]


def test_what_was_never_missing_goes_to_the_larger_child():
    X = np.arange(10.0)[:, None]
    few_right, few_left = (X[:, 0] > 6).astype(int), (X[:, 0] > 2).astype(int)
    assert DecisionTreeClassifier().fit(X, few_right).predict([[np.nan]])[0] == 0
    assert DecisionTreeClassifier().fit(X, few_left).predict([[np.nan]])[0] == 1


def text_frames():
    colour = ["red", "blue", "green", "red", "blue", None, "grey", "grey"] * 6
    size = [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0, 8.0] * 6
    y = [int(c in ("red", "grey")) for c in colour]
    return pd.DataFrame({"colour": colour, "size": size}), pl.DataFrame({"colour": colour, "size": size}), np.array(y)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_text_is_split_as_categories_in_any_frame(model):
    pandas, polars, y = text_frames()
    said = [model.fit(frame, y).predict_proba(frame) for frame in (pandas, polars)]
    assert np.array_equal(said[0], said[1])
    assert model.score(polars, y) == 1.0
    one_split = DecisionTreeClassifier(max_depth=1).fit(pandas, y)
    assert one_split.score(pandas, y) == 1.0
    assert one_split.feature_[0] == -2


def test_a_category_that_the_fit_never_saw_counts_as_missing(tmp_path):
    pandas, _, y = text_frames()
    for model in MODELS:
        model.fit(pandas, y)
        unknown = pd.DataFrame({"colour": ["pink", None], "size": [3.0, 3.0]})
        p = model.predict_proba(unknown)
        assert np.array_equal(p[0], p[1])
        model.save(tmp_path / "m.assay")
        assert np.array_equal(assay.load(tmp_path / "m.assay").predict_proba(unknown), p)


def test_unknown_numbers_of_categories_count_as_missing():
    x = np.arange(60) % 5
    y = np.isin(x, (1, 3)).astype(int)
    gaps = np.where(np.arange(60) < 6, np.nan, x)[:, None]
    model = DecisionTreeClassifier(categorical_features=[0]).fit(gaps, y)
    assert np.array_equal(model.predict_proba([[99.0]]), model.predict_proba([[np.nan]]))
    assert np.array_equal(model.predict_proba([[-3.0]]), model.predict_proba([[np.nan]]))
    assert np.array_equal(model.predict_proba([[200.0]]), model.predict_proba([[np.nan]]))
    plain = DecisionTreeClassifier(categorical_features=[0]).fit(x[:, None], y)
    assert np.array_equal(plain.predict_proba([[200.0]]), plain.predict_proba([[np.nan]]))


@pytest.mark.parametrize("bins", ["exact", 255])
def test_more_than_255_categories_keep_the_most_frequent_apart(bins):
    rng = np.random.default_rng(0)
    kinds = np.array([f"k{i:03d}" for i in range(400)])
    often, rare = kinds[:250], kinds[250:]
    text = np.concatenate([np.repeat(often, 4), rare])
    good = np.concatenate([np.repeat(rng.integers(0, 2, 250), 4), np.ones(150, int)])
    model = DecisionTreeClassifier(bins=bins).fit(pd.DataFrame({"kind": text}), good)
    assert np.mean(model.predict(pd.DataFrame({"kind": np.repeat(often, 4)})) == good[:1000]) == 1.0
    assert len(np.unique(model.predict_proba(pd.DataFrame({"kind": rare[10:]})), axis=0)) == 1


def test_categories_are_named_by_number_or_by_name():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 8, 200), rng.standard_normal(200)])
    y = np.isin(X[:, 0], (0, 3, 5)).astype(int)
    frame = pd.DataFrame(X, columns=["kind", "size"])
    by_number = DecisionTreeClassifier(max_depth=1, categorical_features=[0]).fit(X, y)
    assert by_number.score(X, y) == 1.0
    by_name = DecisionTreeClassifier(max_depth=1, categorical_features=["kind"]).fit(frame, y)
    assert np.array_equal(by_name.predict(frame), by_number.predict(X))
    number_of_frame = DecisionTreeClassifier(max_depth=1, categorical_features=[0]).fit(frame, y)
    assert np.array_equal(number_of_frame.sets_, by_name.sets_)
    assert DecisionTreeClassifier(max_depth=1).fit(X, y).score(X, y) < 1.0


@pytest.mark.parametrize("value", [0.5, -1.0, 255.0, 1e300])
def test_numbers_that_cannot_name_a_category_are_refused_with_their_row(value):
    X = np.array([[0.0], [1.0], [value], [2.0]])
    for cls in (DecisionTreeClassifier, RandomForestClassifier):
        with pytest.raises(DataError, match=r"(?s)Column 0 .*row 2.*0 to 254"):
            cls(categorical_features=[0]).fit(X, [0, 1, 0, 1])


def test_columns_that_are_not_there_cannot_be_categories():
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    with pytest.raises(ParameterError, match="names column 2, but there are 2 columns"):
        DecisionTreeClassifier(categorical_features=[2]).fit(X, y)
    with pytest.raises(ParameterError, match="'kind' that is not there"):
        DecisionTreeClassifier(categorical_features=["kind"]).fit(X, y)
    with pytest.raises(ParameterError, match="'kind' that is not there; there are: a, b"):
        DecisionTreeClassifier(categorical_features=["kind"]).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(ParameterError, match="categorical_features='a' is not possible"):
        DecisionTreeClassifier(categorical_features="a").fit(X, y)


def test_the_rows_of_a_leaf_make_its_answer_with_missing_values_and_categories():
    """Walking down finds the leaf that growing put the row in."""
    rng = np.random.default_rng(3)
    for seed in range(10):
        X = rng.integers(0, 6, (120, 4)).astype(float)
        X[rng.random(X.shape) < 0.2] = np.nan
        y = rng.standard_normal(120)
        for bins in ("exact", 4):
            model = DecisionTreeRegressor(
                categorical_features=[1], bins=bins, min_samples_leaf=3, splitter=("best", "random")[seed % 2]
            )
            model.fit(X, y)
            leaf = model.apply(X)
            means = {k: y[leaf == k].mean() for k in np.unique(leaf)}
            assert len(means) == model.get_n_leaves()
            assert np.allclose(model.predict(X), [means[k] for k in leaf], rtol=0, atol=1e-12)


def test_a_forest_of_numbers_learns_from_missing_values():
    rng = np.random.default_rng(4)
    x = rng.standard_normal(400)
    y = np.where(rng.random(400) < 0.3, 5.0, np.sign(x))
    X = np.where(y == 5.0, np.nan, x)[:, None]
    model = RandomForestRegressor(n_estimators=20).fit(X, y)
    assert model.predict([[np.nan], [1.0], [-1.0]]) == pytest.approx([5.0, 1.0, -1.0], abs=0.2)
