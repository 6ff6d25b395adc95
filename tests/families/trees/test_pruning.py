"""Cutting trees back: the path of alphas, the choice by cross-validation, and many settings from one grown tree."""

from __future__ import annotations

import numpy as np
import pytest
from cases import blobs, file_bytes, lines, pairs

import assay
from assay.errors import DataError, ParameterError
from assay.families.trees.fit_tree import folds_of
from assay.inputs import as_rows

WEIGHTS = 0.5 + np.random.default_rng(5).random(
    300
)  # no two splits gain the same: scikit-learn's choice between such is random


def paths(ours, peer, X, y, w):
    mine = ours.cost_complexity_pruning_path(X, y, w)
    theirs = peer.cost_complexity_pruning_path(X, y, w)
    a, u = np.maximum(theirs.ccp_alphas, 0), theirs.impurities
    last = np.append(np.diff(a) > 1e-12 * u.max(), True)  # alphas that differ by rounding are one
    return mine, a[last], u[last]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("data", [blobs, pairs])
@pytest.mark.parametrize("w", [None, WEIGHTS], ids=["plain", "weighted"])
def test_paths_of_classes_are_those_of_scikit_learn(criterion, data, w):
    from sklearn.tree import DecisionTreeClassifier

    X, y = data(300, 4, 1)
    more = {"criterion": criterion, "min_samples_leaf": 1 if w is not None else 20}
    mine, alphas, impurities = paths(
        assay.DecisionTreeClassifier(**more), DecisionTreeClassifier(random_state=0, **more), X, y, w
    )
    assert mine.ccp_alphas.shape == alphas.shape
    assert np.abs(mine.ccp_alphas - alphas).max() <= 1e-9
    assert np.abs(mine.impurities - impurities).max() <= 1e-9


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_paths_of_numbers_are_those_of_scikit_learn(criterion):
    from sklearn.tree import DecisionTreeRegressor

    X, y = lines(300, 4, 1)
    y = y - y.min() + 1.0
    more = {"criterion": criterion, "max_depth": 6}
    mine, alphas, impurities = paths(
        assay.DecisionTreeRegressor(**more), DecisionTreeRegressor(random_state=0, **more), X, y, WEIGHTS
    )
    assert mine.ccp_alphas.shape == alphas.shape
    assert np.allclose(mine.ccp_alphas, alphas, rtol=1e-9, atol=1e-9)
    assert np.allclose(mine.impurities, impurities, rtol=1e-9, atol=1e-9)


def test_each_alpha_of_the_path_gives_a_smaller_tree_of_the_impurity_it_says():
    X, y = blobs(300, 4, 1)
    path = assay.DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
    leaves = []
    for alpha, impurity in zip(*path):
        model = assay.DecisionTreeClassifier(ccp_alpha=float(alpha)).fit(X, y)
        counts = model.table_[model.leaf_]
        u = 1 - ((counts / counts.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
        assert counts.sum(axis=1) @ u / len(y) == pytest.approx(impurity, abs=1e-12)
        leaves.append(model.get_n_leaves())
    assert leaves == sorted(set(leaves), reverse=True)
    assert leaves[-1] == 1


def test_cut_by_leaves_keeps_the_splits_that_gain_most_as_scikit_learn_does():
    from sklearn.tree import DecisionTreeClassifier

    X, y = blobs(300, 4, 1)
    for leaves in (2, 3, 7, 15):
        peer = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, y, WEIGHTS)
        ours = assay.DecisionTreeClassifier(max_leaf_nodes=leaves).fit(X, y, WEIGHTS)
        assert ours.get_n_leaves() == leaves
        assert np.array_equal(ours.predict_proba(X).argmax(axis=1), peer.predict_proba(X).argmax(axis=1))


# --- cross-validation -----------------------------------------------------------------------------------------------


def by_hand(cls, X, y, alphas, folds, loss, seed=0, **more):
    """Loss (alphas, n) of each row by the tree of the other folds, each alpha a fit of its own."""
    between = [*np.sqrt(alphas[:-1] * alphas[1:]), 1e300]
    fold = folds_of(len(y), folds, seed)
    out = np.empty((len(alphas), len(y)))
    for k in range(folds):
        test = fold == k
        for j, alpha in enumerate(between):
            model = cls(ccp_alpha=float(alpha), **more).fit(X[~test], y[~test])
            out[j, test] = loss(model.predict(X[test]), y[test])
    return out


@pytest.mark.parametrize(
    ("cls", "data", "more", "loss"),
    [
        (assay.DecisionTreeClassifier, blobs, {"criterion": "entropy"}, lambda a, y: a != y),
        (assay.DecisionTreeClassifier, pairs, {"max_leaf_nodes": 12}, lambda a, y: a != y),
        (assay.DecisionTreeRegressor, lines, {"min_samples_leaf": 5}, lambda a, y: (a - y) ** 2),
        (
            assay.DecisionTreeRegressor,
            lines,
            {"criterion": "absolute_error", "max_depth": 4},
            lambda a, y: np.abs(a - y),
        ),
    ],
    ids=["entropy", "leaves", "squares", "absolute"],
)
def test_the_curve_is_that_of_a_fit_for_every_fold_and_alpha(cls, data, more, loss):
    X, y = data(120, 3, 2)
    model = cls(ccp_alpha="cv", folds=4, **more).fit(X, y)
    alphas, risk, error = model.pruning_curve_.T
    assert np.array_equal(alphas, cls(**more).cost_complexity_pruning_path(X, y).ccp_alphas)
    losses = by_hand(cls, X, y, alphas, 4, loss, **more)
    assert np.allclose(risk, losses.mean(axis=1), rtol=1e-9, atol=1e-12)
    assert np.allclose(error, losses.std(axis=1) / np.sqrt(len(y)), rtol=1e-6, atol=1e-12)
    best = np.flatnonzero(risk == risk.min())[-1]
    assert model.alpha_ == alphas[risk <= risk[best] + error[best]].max()  # the simplest within one standard error
    again = cls(ccp_alpha=model.alpha_, **more).fit(X, y)
    assert np.array_equal(model.feature_, again.feature_)
    assert np.array_equal(model.cut_, again.cut_)


def test_noise_is_pruned_away_and_signal_is_not():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    noise = assay.DecisionTreeClassifier(ccp_alpha="cv").fit(X, rng.random(400) < 0.25)
    assert noise.get_n_leaves() == 1
    rule = ((X[:, 0] > 0) & (X[:, 1] > 0.3)) | (X[:, 2] > 1)  # four leaves can say it
    signal = assay.DecisionTreeClassifier(ccp_alpha="cv").fit(X, rule ^ (rng.random(400) < 0.1))
    assert 4 <= signal.get_n_leaves() <= 6
    assert signal.score(X, rule) > 0.95
    assert assay.DecisionTreeClassifier().fit(X, rule ^ (rng.random(400) < 0.1)).get_n_leaves() > 40


def test_the_choice_is_the_same_again_and_in_the_file(tmp_path):
    X, y = pairs(200, 4, 0)
    w = 0.5 + np.arange(200) % 3
    model = assay.DecisionTreeClassifier(ccp_alpha="cv", n_jobs=1).fit(X, y, w)
    assert file_bytes(model) == file_bytes(assay.DecisionTreeClassifier(ccp_alpha="cv", n_jobs=2).fit(X, y, w))
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert again.alpha_ == model.alpha_
    assert np.array_equal(again.pruning_curve_, model.pruning_curve_)
    assert not hasattr(model.set_params(ccp_alpha=0.0).fit(X, y), "alpha_")


def test_what_cannot_be_chosen_is_said():
    with pytest.raises(ParameterError, match="ccp_alpha"):
        assay.DecisionTreeClassifier(ccp_alpha="cross").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ParameterError, match="folds=1"):
        assay.DecisionTreeClassifier(ccp_alpha="cv", folds=1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(DataError, match="cannot judge"):
        assay.DecisionTreeRegressor(ccp_alpha="cv").fit([[0.0]], [1.0])
    with pytest.raises(ParameterError, match="ccp_alpha"):
        assay.RandomForestClassifier(ccp_alpha="cv").fit([[0.0], [1.0]], [0, 1])


# --- many settings --------------------------------------------------------------------------------------------------

SETTINGS = [
    [{"max_leaf_nodes": k} for k in (2, 5, 9, 200)],
    [{"ccp_alpha": a} for a in (0.1, 0.01, 0.0)] + [{"ccp_alpha": "cv"}, {"ccp_alpha": "cv", "folds": 3}],
    [{"max_depth": 1}, {"max_depth": 4}, {}, {"max_depth": 2, "max_leaf_nodes": 3}],
    [{"min_samples_leaf": 5}, {"min_samples_leaf": 5, "max_depth": 2}, {"max_features": 1}, {}],
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    ("model", "data"),
    [
        (assay.DecisionTreeClassifier(), blobs),
        (assay.DecisionTreeClassifier(criterion="entropy", splitter="random", random_state=3), pairs),
        (assay.DecisionTreeRegressor(criterion="absolute_error"), lines),
        (assay.DecisionTreeRegressor(bins=8), lines),
    ],
)
def test_settings_from_one_grown_tree_are_bit_for_bit_those_of_separate_fits(model, data, settings):
    rows = as_rows(*data(150, 4, 0))
    each = list(model.fit_each(rows, settings))
    for fitted, changed in zip(each, settings):
        alone = type(model)(**{**model.get_params(), **changed}).fit(rows)
        assert file_bytes(fitted) == file_bytes(alone)
        assert fitted.certificate_.verify(rows).holds
        assert vars(fitted).keys() >= vars(alone).keys()
        assert "_shared" not in vars(fitted)


def test_one_tree_is_grown_for_settings_that_differ_in_cutting_alone(monkeypatch):
    import assay.families.trees.fit_tree as growing

    grown = []
    real = growing.single_tree
    monkeypatch.setattr(growing, "single_tree", lambda *args: grown.append(1) or real(*args))
    rows = as_rows(*blobs(150, 4, 0))
    list(assay.DecisionTreeClassifier().fit_each(rows, [{"max_leaf_nodes": k} for k in range(2, 30)]))
    assert len(grown) == 1
    list(assay.DecisionTreeClassifier().fit_each(rows, SETTINGS[2]))
    assert len(grown) == 2


def test_the_search_of_a_comparison_shares_one_tree():
    from assay.estimator.search_space import TableTraits
    from assay.families.trees.fit_tree import all_but_cutting

    features = TableTraits(rows=1000, classes=2, only_categories=False, never_negative=False, text=False)
    for cls, kind in ((assay.DecisionTreeClassifier, "classifier"), (assay.DecisionTreeRegressor, "regressor")):
        search = cls.search_space(kind, features).search
        assert len({all_but_cutting(cls(**s).get_params()) for s in search}) == 1
        leaves = [s["max_leaf_nodes"] for s in search]
        assert leaves == sorted(leaves)  # from the simplest to the most complex
