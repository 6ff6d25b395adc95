"""SHAP values of trees add up to the answer and are Shapley's, against sums over all subsets in plain NumPy and the `shap` package."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from tree_tables import random_setup

import assay
from assay.families.trees import shap as shap_module
from assay.families.trees.importance import node_values
from assay.families.trees.nodes import LEAF
from assay.families.trees.survey import category_codes

SEEDS = range(24)


def _answers(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)[:, None]


def _shapley(value, d):
    """φ_j = Σ_S |S|! (d − |S| − 1)! / d! · [v(S ∪ j) − v(S)], from the definition."""
    known = {S: value(frozenset(S)) for size in range(d + 1) for S in map(frozenset, combinations(range(d), size))}
    weight = [factorial(s) * factorial(d - s - 1) / factorial(d) for s in range(d)]
    return np.array([sum(weight[len(S)] * (known[S | {j}] - known[S]) for S in known if j not in S) for j in range(d)])


def _by_cover(model, x):
    """v(S) of path-dependent values: splits on unknown columns are answered both ways, by the weights of their children."""
    found, ends = node_values(model), model._predictor.ends
    column = np.where(model.feature_ < LEAF, -2 - model.feature_, model.feature_)
    lefts = _every_answer(model, x)

    def value(S):
        def at(node):
            if model.feature_[node] == LEAF:
                return found.answer[node]
            left, right = node + 1, int(ends[node + 1])
            if int(column[node]) in S:
                return at(left) if lefts[node] else at(right)
            return (found.weight[left] * at(left) + found.weight[right] * at(right)) / found.weight[node]

        return sum(at(root) for root in model._predictor.roots.tolist()) / len(model.nodes_)

    return value


def _every_answer(model, x):
    """Whether x goes left at each node, also at those that it does not come to."""
    c, place, left = category_codes(model), np.cumsum(model.feature_ != LEAF) - 1, {}
    for node in np.flatnonzero(model.feature_ != LEAF).tolist():
        f, cut, lacking = model.feature_[node], model.cut_[place[node]], bool(model.missing_left_[place[node]])
        value = x[f if f > LEAF else -2 - f]
        if f > LEAF:
            left[node] = lacking if np.isnan(value) else bool(value <= cut)
        elif np.isnan(value) or not 0 <= value < c.levels[-2 - f]:
            left[node] = lacking
        else:
            code = int(c.code[c.first[-2 - f] + int(value)])
            left[node] = bool(int(model.sets_[int(cut), code >> 6]) >> (code & 63) & 1)
    return left


def _mixed(model, x, background):
    """v(S) of interventional values: the mean answer where the columns outside S come from background rows."""

    def value(S):
        rows = background.copy()
        for j in S:
            rows[:, j] = x[j]
        return _answers(model, rows).mean(axis=0)

    return value


def _fitted(seed):
    model, X, y, w = random_setup(seed, most_rows=60)
    if "n_estimators" in model.get_params():
        model.set_params(n_estimators=3)
    return model.fit(X, y, sample_weight=w), X


@pytest.mark.parametrize("seed", SEEDS)
def test_path_dependent_values_are_those_of_all_subsets(seed):
    model, X = _fitted(seed)
    values, base = model.shap_values(X), np.atleast_1d(model.shap_base_)
    values = values if values.ndim == 3 else values[:, :, None]
    assert np.abs(base + values.sum(axis=1) - _answers(model, X)).max() < 1e-12 * (1 + np.abs(base).max())
    for i in range(0, len(X), max(1, len(X) // 2)):
        expected = _shapley(_by_cover(model, X[i]), X.shape[1])
        np.testing.assert_allclose(values[i], expected, rtol=1e-10, atol=1e-12 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("most", [shap_module.MOST, 0])
def test_interventional_values_are_those_of_all_subsets(seed, most, monkeypatch):
    monkeypatch.setattr(shap_module, "MOST", most)  # 0: as ways of more than 63 columns are done
    model, X = _fitted(seed)
    background = X[: 1 + seed]
    values = model.shap_values(X, background)
    values = values if values.ndim == 3 else values[:, :, None]
    scale = 1 + np.abs(_answers(model, X)).max()
    added = _answers(model, background).mean(axis=0) + values.sum(axis=1)
    assert np.abs(added - _answers(model, X)).max() < 1e-12 * scale
    expected = _shapley(_mixed(model, X[-1], background), X.shape[1])
    np.testing.assert_allclose(values[-1], expected, rtol=1e-10, atol=1e-12 * scale)


def _table(n=600, d=8, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random(X.shape) < 0.05] = np.nan
    Z = np.nan_to_num(X)
    return X, Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + Z[:, 3] ** 2 + 0.1 * rng.normal(size=n)


def as_shap_takes_them(model):
    """The trees of a model as the dictionaries that the package reads."""
    found, p, T = node_values(model), model._predictor, len(model.nodes_)
    place = np.maximum(np.cumsum(model.feature_ != LEAF) - 1, 0)
    trees = []
    for root, count in zip(p.roots.tolist(), model.nodes_.tolist()):
        at = np.arange(root, root + count)
        leaf = model.feature_[at] == LEAF
        left = np.where(leaf, -1, at - root + 1)
        right = np.where(leaf, -1, p.ends[np.minimum(at + 1, len(p.ends) - 1)] - root)
        lacking = np.where(model.missing_left_[place[at]] == 1, left, right)
        trees.append(
            {
                "children_left": left.astype(np.int32),
                "children_right": right.astype(np.int32),
                "children_default": lacking.astype(np.int32),
                "features": np.where(leaf, -2, model.feature_[at]).astype(np.int32),
                "thresholds": np.where(leaf, 0.0, model.cut_[place[at]]),
                "values": found.answer[at] / T,
                "node_sample_weight": found.weight[at],
            }
        )
    return {"trees": trees}


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_forests_agree_with_the_shap_package(classes):
    shap = pytest.importorskip("shap")
    X, y = _table()
    if classes:
        model = assay.RandomForestClassifier(n_estimators=10).fit(
            X, np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
        )
    else:
        model = assay.RandomForestRegressor(n_estimators=10).fit(X, y)
    peer = shap.TreeExplainer(as_shap_takes_them(model), feature_perturbation="tree_path_dependent")
    theirs = np.asarray(peer.shap_values(X[:50], check_additivity=False))
    ours = model.shap_values(X[:50])
    np.testing.assert_allclose(ours, theirs.reshape(ours.shape), rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.ravel(model.shap_base_), np.ravel(peer.expected_value), atol=1e-12)


def test_values_do_not_depend_on_threads_blocks_or_precision():
    X, y = _table(6000)
    X = X.astype(np.float32).astype(np.float64)
    model = assay.RandomForestClassifier(n_estimators=6, max_leaf_nodes=30, n_jobs=1).fit(X, y > 0)
    for data in (None, X[:70]):
        whole = model.shap_values(X, data)
        assert np.array_equal(model.set_params(n_jobs=2).shap_values(X, data), whole)
        assert np.array_equal(model.shap_values(X[5:16], data), whole[5:16])
        assert np.array_equal(model.shap_values(X.astype(np.float32), data), whole)
        model.set_params(n_jobs=1)


def test_a_model_from_a_file_explains_itself_alike(tmp_path):
    X, y = _table()
    model = assay.ExtraTreesRegressor(n_estimators=5).fit(X, y)
    model.save(tmp_path / "model.assay")
    again = assay.load(tmp_path / "model.assay")
    assert np.array_equal(again.shap_values(X), model.shap_values(X))
    assert np.array_equal(again.shap_values(X, X[:9]), model.shap_values(X, X[:9]))
    assert again.shap_base_ == model.shap_base_


def test_a_column_that_no_split_asks_for_gets_nothing_and_twins_share():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 2)), np.ones(200)])
    model = assay.DecisionTreeRegressor(max_depth=4).fit(X, X[:, 0] + X[:, 1])
    assert not model.shap_values(X)[:, 2].any()
    assert not model.shap_values(X, X[:20])[:, 2].any()
    xor = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    both = assay.DecisionTreeRegressor().fit(xor, [0.0, 0.0, 0.0, 1.0])
    assert both.shap_values(xor[3:]).tolist() == [[0.375, 0.375]]
    assert both.shap_base_ == 0.25


def test_a_tree_without_splits_adds_nothing_to_its_base():
    model = assay.DecisionTreeRegressor().fit([[0.0], [1.0]], [3.0, 3.0])
    assert model.shap_values([[5.0]]).tolist() == [[0.0]]
    assert model.shap_base_ == 3.0
    assert model.shap_values([[5.0]], [[1.0]]).tolist() == [[0.0]]


def test_bad_background_rows_are_refused_by_name():
    X, y = _table(50)
    model = assay.DecisionTreeRegressor().fit(X, y)
    with pytest.raises(assay.errors.DataError, match=r"no rows|0 sample"):
        model.shap_values(X, X[:0])
    with pytest.raises(ValueError, match="features"):
        model.shap_values(X, X[:, :3])
    with pytest.raises(ValueError, match="inf"):
        model.shap_values(X, np.full((1, X.shape[1]), np.inf))


def test_ways_of_more_columns_than_a_word_has_bits_are_explained():
    X, y = np.eye(70), np.arange(70.0)  # every question sets one row apart
    model = assay.DecisionTreeRegressor().fit(X, y)
    assert shap_module._explained_model(model).ways.degree.max() > shap_module.MOST
    for data in (None, X[::9]):
        base = model.shap_base_ if data is None else model.predict(data).mean()
        np.testing.assert_allclose(model.shap_values(X, data).sum(axis=1) + base, model.predict(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("scores", [1, 3])
@pytest.mark.parametrize("background", [False, True])
def test_trees_that_are_added_up_have_values_for_each_score(scores, background):
    X, y = _table(200)
    model = assay.RandomForestRegressor(n_estimators=6, max_leaf_nodes=12).fit(X, y)
    each = np.column_stack([tree.predict(X) for tree in model.estimators_])
    model.baseline_ = np.arange(1.0, scores + 1)
    due = np.stack([each[:, k::scores].sum(axis=1) + model.baseline_[k] for k in range(scores)], axis=1)
    values = shap_module.added_shap_values(model, X, X[:30] if background else None)
    assert values.shape == (X.shape if scores == 1 else (*X.shape, scores))
    base = due[:30].mean(axis=0) if background else np.atleast_1d(shap_module.added_shap_base(model))
    np.testing.assert_allclose(base + values.sum(axis=1).reshape(due.shape), due, atol=1e-12)
    alone = model.tree(0).shap_values(X, X[:30] if background else None)
    others = [model.tree(t).shap_values(X, X[:30] if background else None) for t in range(scores, 6, scores)]
    first = values if scores == 1 else values[:, :, 0]
    np.testing.assert_allclose(first, alone + sum(others), atol=1e-12)
