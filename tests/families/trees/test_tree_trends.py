"""Monotonic constraints: answers that must not fall, or not rise, with a column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import assay
from assay.errors import ParameterError

FAMILIES = ("DecisionTree", "RandomForest", "ExtraTrees")


def curved(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] - X[:, 2] ** 2 + 0.5 * rng.standard_normal(n)
    X[rng.random(X.shape) < 0.03] = np.nan
    return X, y


def answers_along(model, column, seed=1):
    """Answers (places, grid) along a column, from several places of the others."""
    places = np.random.default_rng(seed).uniform(-2, 2, (30, 3))
    grid = np.linspace(-2.5, 2.5, 60)
    rows = np.repeat(places, len(grid), axis=0)
    rows[:, column] = np.tile(grid, len(places))
    said = model.predict_proba(rows)[:, 1] if hasattr(model, "predict_proba") else model.predict(rows)
    return said.reshape(len(places), len(grid))


def made(family, kind, **params):
    more = {} if family == "DecisionTree" else {"n_estimators": 8}
    return getattr(assay, family + kind)(**more, **params)


SETTINGS = [
    ("Regressor", {"criterion": "squared_error"}),
    ("Regressor", {"criterion": "poisson"}),
    ("Classifier", {"criterion": "gini"}),
    ("Classifier", {"criterion": "entropy"}),
]


@pytest.mark.parametrize("bins", ["exact", 16])
@pytest.mark.parametrize(("kind", "params"), SETTINGS, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_answers_go_one_way_only(family, kind, params, bins):
    X, y = curved()
    target = (y > 0).astype(int) if kind == "Classifier" else y - y.min() if params["criterion"] == "poisson" else y
    for w in (None, np.random.default_rng(2).random(len(y))):
        model = made(family, kind, monotonic_cst=[1, 0, -1], bins=bins, **params).fit(X, target, sample_weight=w)
        up, down = np.diff(answers_along(model, 0)), np.diff(answers_along(model, 2))
        assert up.min() >= -1e-12
        assert down.max() <= 1e-12
        assert up.max() > 0
        free = made(family, kind, bins=bins, **params).fit(X, target, sample_weight=w)
        assert np.diff(answers_along(free, 0)).min() < -1e-3


def test_pruned_and_small_trees_go_one_way_too():
    X, y = curved()
    for more in (
        {"max_leaf_nodes": 12},
        {"ccp_alpha": 0.01},
        {"max_depth": 3},
        {"splitter": "random"},
        {"max_features": 1},
    ):
        model = assay.DecisionTreeRegressor(monotonic_cst=[1, 0, 0], **more).fit(X, y)
        assert model.get_n_leaves() > 2
        assert np.diff(answers_along(model, 0)).min() >= -1e-12


@pytest.mark.parametrize("weights", ["none", "whole"])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("DecisionTreeRegressor", {"max_leaf_nodes": 20}),
        ("ExtraTreeRegressor", {}),
        ("RandomForestRegressor", {"n_estimators": 3}),
    ],
)
def test_medians_go_one_way_too_and_verify(name, more, weights):
    X, y = curved(150)
    w = None if weights == "none" else np.random.default_rng(2).integers(1, 4, len(y))
    asked = {"criterion": "absolute_error", "monotonic_cst": [1, 0, -1], "random_state": 0, **more}
    model = getattr(assay, name)(**asked).fit(X, y, w)
    up, down = np.diff(answers_along(model, 0)), np.diff(answers_along(model, 2))
    assert up.min() >= 0
    assert up.max() > 0
    assert down.max() <= 0
    assert model.certificate_.verify(X, y, w).holds
    if name == "DecisionTreeRegressor":  # no other tree's splits are all tried again
        model.table_ = model.table_.copy()
        model.table_[0, 0] += 0.01
        assert not model.certificate_.verify(X, y, w).holds


def test_inner_nodes_of_a_tree_with_trends_say_what_they_would_as_leaves():
    X, y = curved(150)
    for criterion in ("squared_error", "absolute_error"):
        whole = assay.DecisionTreeRegressor(monotonic_cst=[1, 0, -1], criterion=criterion, max_depth=4).fit(X, y)
        for depth in (1, 2, 3):
            cut = assay.DecisionTreeRegressor(monotonic_cst=[1, 0, -1], criterion=criterion, max_depth=depth).fit(X, y)
            there = whole.tree_.decision_path(X).toarray().astype(bool)
            depths = whole.tree_.compute_node_depths()
            last = np.where(there & (depths <= depth + 1), depths, 0).argmax(axis=1)
            assert np.allclose(whole.tree_.value[last, 0, 0], cut.predict(X), rtol=1e-12, atol=1e-12)


def test_columns_are_named_in_a_list_or_a_dict():
    X, y = curved()
    X = np.nan_to_num(X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    listed = assay.DecisionTreeRegressor(monotonic_cst=[1, 0, -1]).fit(X, y)
    for asked in ({0: 1, 2: -1}, np.array([1, 0, -1]), (1, 0, -1)):
        assert np.array_equal(assay.DecisionTreeRegressor(monotonic_cst=asked).fit(X, y).predict(X), listed.predict(X))
    named = assay.DecisionTreeRegressor(monotonic_cst={"a": 1, "c": -1}).fit(frame, y)
    assert np.array_equal(named.predict(frame), listed.predict(X))


def test_a_saved_model_keeps_its_trends(tmp_path):
    X, y = curved()
    for asked in ([1, 0, -1], {0: 1}):
        model = assay.RandomForestRegressor(n_estimators=4, monotonic_cst=asked).fit(X, y)
        model.save(tmp_path / "m.assay")
        again = assay.load(tmp_path / "m.assay")
        assert again.get_params()["monotonic_cst"] == asked
        assert np.array_equal(again.fit(X, y).predict(X), model.predict(X))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_cannot_have_a_trend_is_said(family):
    X, y = curved(60)
    X = np.nan_to_num(X)
    with pytest.raises(ParameterError, match="needs two classes or a number as target; y has 3 classes"):
        made(family, "Classifier", monotonic_cst=[1, 0, 0]).fit(X, np.arange(60) % 3)
    with pytest.raises(ParameterError, match="has shape 2 but the input data X has 3 features"):
        made(family, "Regressor", monotonic_cst=[1, 0]).fit(X, y)
    with pytest.raises(ParameterError, match="column of categories, which have no order"):
        made(family, "Regressor", monotonic_cst=[1, 0, 0], categorical_features=[0]).fit(np.abs(np.round(X)), y)
    with pytest.raises(ParameterError, match="'z' that is not there"):
        made(family, "Regressor", monotonic_cst={"z": 1}).fit(X, y)
    for bad in ([2, 0, 0], "up", [0.5, 0, 0], [[1, 0, 0]], 1):
        with pytest.raises(ParameterError, match="monotonic_cst must be None or an array-like of -1, 0 or 1"):
            made(family, "Regressor", monotonic_cst=bad).fit(X, y)
    assert (
        made(family, "Classifier", monotonic_cst=[0, 0, 0]).fit(X, np.arange(60) % 3).score(X, np.arange(60) % 3) > 0.5
    )
