"""`tree_` shows a tree as scikit-learn's does, so that whatever reads its trees reads ours."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
from cases import blobs, lines
from sklearn.base import clone

import assay
from assay.errors import NotFittedError, ParameterError

NODES = [
    "children_left",
    "children_right",
    "feature",
    "threshold",
    "value",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
]
SIZES = ["node_count", "capacity", "n_leaves", "max_depth", "n_features", "n_outputs", "n_classes", "max_n_classes"]
TREES = [
    (assay.DecisionTreeClassifier, {"max_depth": 4}),
    (assay.DecisionTreeClassifier, {"criterion": "entropy", "min_samples_leaf": 5}),
    (assay.DecisionTreeRegressor, {"max_depth": 4}),
    (assay.DecisionTreeRegressor, {"criterion": "absolute_error", "max_depth": 3}),
    (assay.DecisionTreeRegressor, {"criterion": "poisson", "max_depth": 3}),
]
FORESTS = [assay.RandomForestClassifier, assay.ExtraTreesClassifier, assay.RandomForestRegressor, assay.ExtraTreesRegressor]  # fmt: skip


def rows_for(cls, columns=4):
    """With one column no two columns are equally good, and both libraries grow the same tree."""
    X, y = (blobs if "Classifier" in cls.__name__ else lines)(200, 4, 3)
    X = np.ascontiguousarray(X[:, :columns].astype(np.float32).astype(np.float64))
    return X, y if "Classifier" in cls.__name__ else np.abs(y) + 0.5


def theirs_of(cls):
    return getattr(sklearn.tree, cls.__name__, None) or getattr(sklearn.ensemble, cls.__name__)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("cls", "given"), TREES)
def test_every_array_is_that_of_scikit_learn(cls, given, weighted):
    X, y = rows_for(cls, columns=1)
    w = np.random.default_rng(5).integers(1, 9, len(X)) / 4 if weighted else None
    mine = cls(**given).fit(X, y, sample_weight=w).tree_
    theirs = theirs_of(cls)(**given, random_state=0).fit(X, y, sample_weight=w).tree_
    for name in SIZES + NODES:
        if name == "value" and given.get("criterion") == "absolute_error":  # inner nodes: the mean of their leaves'
            leaf = mine.children_left < 0
            np.testing.assert_allclose(mine.value[leaf], theirs.value[leaf])
            continue
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-6, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(mine.compute_feature_importances(), theirs.compute_feature_importances(), atol=1e-7)
    np.testing.assert_allclose(
        mine.compute_feature_importances(normalize=False),
        theirs.compute_feature_importances(normalize=False),
        atol=1e-7,
    )
    uneven = np.flatnonzero(mine.children_left >= 0)
    left, right = (mine.weighted_n_node_samples[child[uneven]] for child in (mine.children_left, mine.children_right))
    if not weighted:  # missing values go where more rows went
        assert np.array_equal(mine.missing_go_to_left[uneven][left != right], (left > right)[left != right])
    assert mine.__getstate__()["nodes"].dtype.names == theirs.__getstate__()["nodes"].dtype.names


@pytest.mark.parametrize(("cls", "given"), TREES)
def test_a_view_answers_as_its_tree_does(cls, given):
    X, y = rows_for(cls)
    model = cls(**given).fit(X, y)
    view = model.tree_
    assert np.array_equal(view.apply(X), model.apply(X))
    assert (view.decision_path(X) != model.decision_path(X)).nnz == 0
    said = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)[:, None]
    np.testing.assert_allclose(view.predict(X), said)
    assert np.array_equal(view.compute_node_depths(), theirs_depths(view))


def theirs_depths(view):
    """Depths by walking down from the root."""
    depth = np.ones(view.node_count, dtype=np.int64)
    for node in range(view.node_count):
        for child in (view.children_left[node], view.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
    return depth


def test_a_view_cannot_be_written_and_is_made_once():
    model = assay.DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert model.tree_ is model.tree_
    with pytest.raises(ValueError, match="read-only"):
        model.tree_.threshold[0] = 7.0
    assert pickle.loads(pickle.dumps(model.tree_)).node_count == model.tree_.node_count
    with pytest.raises(NotFittedError):
        assay.DecisionTreeClassifier().tree_  # noqa: B018


def test_a_saved_weighted_tree_still_knows_how_many_rows_its_nodes_have(tmp_path):
    X, y = rows_for(assay.DecisionTreeClassifier)
    model = assay.DecisionTreeClassifier(max_depth=3).fit(X, y, np.linspace(0.1, 3, len(X)))
    model.save(tmp_path / "tree.assay")
    again = assay.load(tmp_path / "tree.assay")
    assert np.array_equal(again.tree_.n_node_samples, model.tree_.n_node_samples)
    assert again.tree_.n_node_samples[0] == len(X)


def test_splits_by_categories_say_that_they_have_no_threshold():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 5), np.array([0, 1, 0, 1] * 5)
    model = assay.DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    assert model.tree_.children_left[0] == 1
    with pytest.raises(ParameterError, match="splits by categories"):
        model.tree_.threshold  # noqa: B018


@pytest.mark.parametrize(("cls", "given"), TREES[:3])
def test_scikit_learn_writes_and_draws_our_trees(cls, given):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = rows_for(cls, columns=1)
    mine, theirs = cls(**given).fit(X, y), theirs_of(cls)(**given, random_state=0).fit(X, y)
    assert sklearn.tree.export_text(mine) == sklearn.tree.export_text(theirs)
    written = [sklearn.tree.export_graphviz(m, filled=True).replace("-0.0", "0.0") for m in (mine, theirs)]
    assert written[0] == written[1]
    drawn = [[a.get_text().replace("-0.0", "0.0") for a in sklearn.tree.plot_tree(m)] for m in (mine, theirs)]
    assert drawn[0] == drawn[1]


def test_scikit_learn_takes_our_trees_for_trees_and_clones_them_as_ours():
    for cls in [assay.DecisionTreeClassifier, assay.DecisionTreeRegressor, *FORESTS]:
        assert isinstance(cls(), theirs_of(cls))
        assert type(clone(cls())) is cls
    assert not isinstance(assay.DecisionTreeClassifier(), sklearn.tree.DecisionTreeRegressor)
    assert not isinstance(assay.DecisionTreeClassifier(), sklearn.ensemble.RandomForestClassifier)


def test_fitting_and_reading_a_tree_loads_no_scikit_learn():
    code = (
        "import sys, assay; m = assay.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]); m.tree_.impurity; isinstance(m, int); "
        "print(any(name.split('.')[0] == 'sklearn' for name in sys.modules), type(m.tree_) is m.tree_.__class__)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False True\n"
    )


@pytest.mark.parametrize("cls", FORESTS)
def test_a_forest_is_a_sequence_of_its_trees(cls):
    X, y = rows_for(cls)
    forest = cls(n_estimators=5, bootstrap=True, max_depth=4).fit(X, y)
    assert len(forest) == len(forest.estimators_) == len(list(forest)) == 5
    assert forest[1] is forest.estimators_[1] is forest.estimators_[-4]
    assert [tree.get_n_leaves() for tree in forest.estimators_[1:3]] == [
        forest[1].get_n_leaves(),
        forest[2].get_n_leaves(),
    ]
    with pytest.raises(IndexError, match="no tree 5"):
        forest[5]
    assert forest
    assert cls()  # an empty forest is a model all the same
    said = np.mean([t.predict_proba(X) if hasattr(t, "predict_proba") else t.predict(X) for t in forest], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X) if hasattr(forest, "predict_proba") else forest.predict(X), said)
    assert forest.n_outputs_ == 1
    assert getattr(forest, "n_classes_", None) == (3 if hasattr(forest, "classes_") else None)
    assert type(forest.estimator_) is type(forest[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_rows_of_each_tree_are_those_that_its_leaves_weigh(weighted):
    X, y = rows_for(assay.RandomForestRegressor)
    w = np.where(np.arange(len(X)) % 4 == 0, 0.0, 1.5) if weighted else None
    forest = assay.RandomForestRegressor(n_estimators=4, max_depth=3, max_samples=0.5).fit(X, y, sample_weight=w)
    for tree, rows in zip(forest, forest.estimators_samples_):
        leaves = np.bincount(tree.apply(X[rows]), minlength=tree.tree_.node_count)
        held = np.where(tree.tree_.children_left < 0, tree.tree_.weighted_n_node_samples, 0.0)
        np.testing.assert_allclose(leaves * (1.0 if w is None else 1.5), held)
    assert [len(rows) for rows in assay.ExtraTreesRegressor(n_estimators=2).fit(X, y).estimators_samples_] == [
        len(X)
    ] * 2


@pytest.mark.parametrize("cls", [assay.DecisionTreeRegressor, assay.RandomForestRegressor])
def test_partial_dependence_by_recursion_is_that_of_scikit_learn(cls):
    from sklearn.inspection import partial_dependence

    X, y = rows_for(cls)
    if cls is assay.DecisionTreeRegressor:
        mine, theirs = cls(max_depth=4).fit(X, y), theirs_of(cls)(max_depth=4, random_state=0).fit(X, y)
        found, due = (partial_dependence(m, X, [1], method="recursion") for m in (mine, theirs))
        np.testing.assert_allclose(found["average"], due["average"], rtol=1e-6)
    else:
        mine = cls(n_estimators=5, max_depth=4).fit(X, y)
        found = partial_dependence(mine, X, [1], method="recursion")["average"]
        each = [partial_dependence(tree, X, [1], method="recursion")["average"] for tree in mine]
        np.testing.assert_allclose(found, np.mean(each, axis=0))


@pytest.mark.parametrize("cls", FORESTS)
def test_a_function_as_oob_score_judges_the_rows_that_trees_did_not_see(cls, tmp_path):
    X, y = rows_for(cls)
    forest = cls(n_estimators=30, bootstrap=True, oob_score=lambda truth, said: float(np.mean(truth == said))).fit(X, y)
    plain = cls(n_estimators=30, bootstrap=True).fit(X, y)
    if hasattr(forest, "classes_"):
        assert forest.oob_score_ == pytest.approx(plain.oob_score_)
    else:
        assert forest.oob_score_ == pytest.approx(np.mean(plain.oob_prediction_ == y))
    forest.save(tmp_path / "forest.assay")  # as one that was fitted with oob_score=True
    assert np.array_equal(assay.load(tmp_path / "forest.assay").predict(X), forest.predict(X))
