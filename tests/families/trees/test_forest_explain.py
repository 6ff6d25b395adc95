"""What a forest tells of itself: its trees, ways, contributions and importances, each against an independent computation."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from cases import blobs, file_bytes, lines, pairs

import assay
from assay.errors import DataError, ParameterError
from assay.families.trees.grow import RowSample

CLASSES, NUMBERS = blobs(300, 5, 0), lines(300, 5, 0)
FORESTS = [
    (assay.RandomForestClassifier(n_estimators=12, random_state=3), CLASSES),
    (assay.RandomForestClassifier(n_estimators=12, voting="majority"), CLASSES),
    (assay.ExtraTreesClassifier(n_estimators=7, max_samples=0.5), CLASSES),
    (assay.RandomForestRegressor(n_estimators=9), NUMBERS),
    (assay.ExtraTreesRegressor(n_estimators=9, min_samples_leaf=3), NUMBERS),
    (assay.RandomForestRegressor(n_estimators=5, criterion="absolute_error", max_depth=5), NUMBERS),
]


def forest(model, data):
    return copy.copy(model).fit(*data)


def name(value):
    return repr(value) if hasattr(value, "get_params") else ""


@pytest.mark.parametrize(("model", "data"), FORESTS, ids=name)
def test_bias_and_contributions_add_up_to_the_answer(model, data):
    X = data[0]
    model = forest(model, data)
    bias, parts = model.contributions(X)
    truth = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    assert np.abs(bias + parts.sum(axis=1) - truth).max() <= 1e-12
    if getattr(model, "voting", "soft") == "soft":
        each = [tree.contributions(X) for tree in model.estimators_]
        assert np.allclose(bias, np.mean([b for b, _ in each], axis=0))
        assert np.allclose(parts, np.mean([p for _, p in each], axis=0))


@pytest.mark.parametrize(("model", "data"), FORESTS, ids=name)
def test_each_tree_stands_alone(model, data, tmp_path):
    X = data[0]
    model = forest(model, data)
    leaves, (passed, begin) = model.apply(X), model.decision_path(X)
    trees = model.estimators_
    assert leaves.shape == (len(X), len(trees))
    assert begin.tolist() == [0, *np.cumsum([len(t.feature_) for t in trees])]
    for number, tree in enumerate(trees):
        assert isinstance(tree, assay.DecisionTreeClassifier | assay.DecisionTreeRegressor)
        assert np.array_equal(tree.apply(X), leaves[:, number])
        assert (passed[:, begin[number] : begin[number + 1]] != tree.decision_path(X)).nnz == 0
        assert len(tree.table_) == len(np.unique(tree.leaf_))  # no rows of other trees' leaves
    if hasattr(model, "classes_") and getattr(model, "voting", "") == "majority":
        votes = np.mean([tree.predict(X)[:, None] == model.classes_ for tree in trees], axis=0)
        assert np.allclose(votes, model.predict_proba(X))
    else:
        answer = "predict_proba" if hasattr(model, "classes_") else "predict"
        assert np.allclose(np.mean([getattr(t, answer)(X) for t in trees], axis=0), getattr(model, answer)(X))
    one = model.tree(1)
    one.save(tmp_path / "one.assay")
    again = assay.load(tmp_path / "one.assay")
    assert np.array_equal(again.predict(X), one.predict(X))
    assert again.to_text() == one.to_text()
    assert len(one.certificate_.claims) == 0
    assert np.array_equal(model.tree_shape(1).n, one.tree_shape().n)
    with pytest.raises(ParameterError, match="no tree"):
        model.tree(len(trees))


@pytest.mark.parametrize(("model", "data"), FORESTS, ids=name)
def test_importances_are_the_mean_of_the_trees(model, data):
    model = forest(model, data)
    mean = np.mean([tree.feature_importances_ for tree in model.estimators_], axis=0)
    assert np.allclose(model.feature_importances_, mean / mean.sum())


@pytest.mark.parametrize("more", [{"criterion": "absolute_error"}, {"monotonic_cst": [1, 0, 0, -1, 0]}])
def test_gains_are_kept_where_leaves_do_not_tell_them(more, tmp_path):
    X, y = NUMBERS
    model = assay.RandomForestRegressor(n_estimators=1, bootstrap=False, max_depth=5, **more).fit(X, y)
    alone = assay.DecisionTreeRegressor(max_depth=5, **more).fit(X, y)
    assert np.allclose(model.feature_importances_, alone.feature_importances_)
    assert np.array_equal(model.gain_, alone.gain_)
    model.save(tmp_path / "m.assay")
    assert np.array_equal(assay.load(tmp_path / "m.assay").feature_importances_, model.feature_importances_)
    assert getattr(forest(*FORESTS[3]), "gain_", None) is None  # elsewhere they take no room


def by_hand(model, X, y, repeats):
    """Breiman's importance, tree by tree with plain predictions of copies of the rows."""
    n, d = X.shape
    sample = RowSample(model._seed(), n, True)
    total, count = np.zeros((d, n)), np.zeros(n)
    for t, tree in enumerate(model.estimators_):
        out = np.flatnonzero(sample.times(t, n) == 0)
        count[out] += 1

        def loss(A, tree=tree, out=out):
            said = tree.predict(A)
            return (said != y[out]).astype(float) if hasattr(tree, "classes_") else (said - y[out]) ** 2

        base = loss(X[out])
        for j in range(d):
            for r in range(repeats):
                A = X[out].copy()
                order = np.random.default_rng([model._seed(), t, j, r]).permutation(len(out))
                A[:, j] = A[order, j]
                total[j, out] += (loss(A) - base) / repeats
    return (total[:, count > 0] / count[count > 0]).mean(axis=1)


@pytest.mark.parametrize(("model", "data"), [FORESTS[0], FORESTS[3], FORESTS[5]], ids=name)
def test_shuffling_out_of_bag_rows_is_what_it_says(model, data):
    model = forest(model, data)
    found = model.oob_importance(*data, n_repeats=2)
    assert np.allclose(found.increase, by_hand(model, *data, 2), atol=1e-12)
    assert np.all(found.error >= 0)
    assert (
        found.rows
        == np.isfinite(getattr(model, "oob_decision_function_", model.__dict__.get("oob_prediction_")))
        .reshape(len(data[1]), -1)
        .all(axis=1)
        .sum()
    )
    assert str(found).count("\n") == 4
    again = model.oob_importance(*data, n_repeats=2)
    assert np.array_equal(found.increase, again.increase)


def test_noise_with_many_values_gains_but_does_not_matter_out_of_bag():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 600), rng.standard_normal(600)])
    y = (X[:, 0] > 0) ^ (rng.random(600) < 0.2)
    model = assay.RandomForestClassifier(n_estimators=60, max_features=None).fit(X, y)
    assert model.feature_importances_[1] > 0.2  # the bias that the docstring warns of
    found = model.oob_importance(X, y)
    assert abs(found.increase[1]) < 0.05
    assert found.increase[0] > 5 * found.error[0]
    assert found.increase[0] > 5 * abs(found.increase[1])


def test_the_standard_error_covers_what_other_rows_would_say():
    """The mean over the population of tables lies within two standard errors most of the time."""
    found = []
    for seed in range(12):
        X, y = pairs(250, 3, seed)
        found.append(assay.RandomForestClassifier(n_estimators=25).fit(X, y).oob_importance(X, y, n_repeats=3))
    increase, error = np.array([f.increase for f in found]), np.array([f.error for f in found])
    assert 0.4 < (error.mean(axis=0) / increase.std(axis=0, ddof=1)).mean() < 2.5


def test_importances_need_the_rows_of_the_fit():
    X, y = CLASSES
    model = assay.RandomForestClassifier(n_estimators=5).fit(X, y)
    with pytest.raises(DataError, match="fingerprint"):
        model.oob_importance(X[::-1], y[::-1])
    with pytest.raises(DataError, match="targets"):
        model.oob_importance(X)
    with pytest.raises(ParameterError, match="n_repeats"):
        model.oob_importance(X, y, n_repeats=0)
    with pytest.raises(ParameterError, match="saw every row"):
        assay.ExtraTreesClassifier(n_estimators=5).fit(X, y).oob_importance(X, y)


def test_weighted_rows_and_classes_are_judged_by_their_weight():
    X, y = CLASSES
    w = 0.5 + np.arange(len(y)) % 3
    model = assay.RandomForestClassifier(n_estimators=20, class_weight="balanced").fit(X, y, w)
    found = model.oob_importance(X, y, w)
    assert np.all(np.isfinite(found.increase))
    with pytest.raises(DataError, match="fingerprint"):
        model.oob_importance(X, y)


@pytest.mark.parametrize("change", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_fitted_forests_answer_alike_and_carry_no_caches(change):
    X, y = CLASSES
    model = assay.RandomForestClassifier(n_estimators=5).fit(X, y)
    answers = model.predict_proba(X)
    twin = change(model)
    assert model._made
    assert not twin._made
    assert np.array_equal(twin.predict_proba(X), answers)
    assert file_bytes(twin) == file_bytes(model)


def test_steps_are_the_forest_tree_by_tree():
    X, y = CLASSES
    model = assay.RandomForestClassifier(n_estimators=15, random_state=2)
    steps = list(model.steps(X, y))
    fitted = copy.copy(model).fit(X, y)
    assert [s.number for s in steps] == list(range(1, 16))
    assert [s.values["leaves"] for s in steps] == [t.get_n_leaves() for t in fitted.estimators_]
    assert [s.values["depth"] for s in steps] == [t.get_depth() for t in fitted.estimators_]
    assert steps[-1].values["oob_loss"] == fitted.oob_loss_
    part = assay.RandomForestClassifier(n_estimators=6, random_state=2).fit(X, y)
    assert steps[5].values["oob_loss"] == part.oob_loss_
    assert [s.number for s in model.steps(X, y, every=4)] == [4, 8, 12, 15]
    assert "oob_loss" not in next(iter(assay.ExtraTreesClassifier(n_estimators=2).steps(X, y))).values
