"""`tree_` is the tree as scikit-learn's users read it, and what scikit-learn draws and exports takes ours."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.tree
from sklearn.datasets import load_diabetes, load_iris

import assay

NAMES = ("children_left", "children_right", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples")


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "friedman_mse"])
def test_the_arrays_of_a_regression_tree_are_those_of_scikit_learn(criterion):
    X, y = load_diabetes(return_X_y=True)
    same = "squared_error" if criterion == "friedman_mse" else criterion
    theirs = sklearn.tree.DecisionTreeRegressor(criterion=same, max_depth=3, random_state=0).fit(X, y).tree_
    ours = assay.DecisionTreeRegressor(criterion=criterion, max_depth=3).fit(X, y).tree_
    for name in (*NAMES, "feature"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, err_msg=name)
    leaf = theirs.feature < 0
    np.testing.assert_allclose(ours.value[leaf], theirs.value[leaf])
    assert (ours.node_count, ours.max_depth, ours.n_leaves) == (theirs.node_count, theirs.max_depth, theirs.n_leaves)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_arrays_of_a_classification_tree_are_those_of_scikit_learn(criterion):
    X, y = load_iris(return_X_y=True)
    X, w = X[:, 2:], np.where(y == 0, 2.0, 1.0)
    theirs = sklearn.tree.DecisionTreeClassifier(criterion=criterion, max_depth=2, random_state=0)
    theirs = theirs.fit(X, y, sample_weight=w).tree_
    model = assay.DecisionTreeClassifier(criterion=criterion, max_depth=2).fit(X, y, sample_weight=w)
    for name in ("children_left", "value", "impurity", "n_node_samples", "weighted_n_node_samples"):
        np.testing.assert_allclose(getattr(model.tree_, name), getattr(theirs, name), atol=1e-9, err_msg=name)
    assert model.n_classes_ == 3
    np.testing.assert_allclose(model.tree_.compute_feature_importances(), model.feature_importances_)
    assert np.array_equal(model.tree_.apply(X), model.apply(X))
    assert np.array_equal(model.tree_.predict(X), model.predict_proba(X))


def test_scikit_learn_draws_and_exports_our_trees():
    X, y = load_iris(return_X_y=True)
    model = assay.DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert "petal" in sklearn.tree.export_text(model, feature_names=["a", "b", "petal", "d"])
    assert "gini" in sklearn.tree.export_graphviz(model)


def test_a_tree_of_a_file_counts_its_rows_by_weight(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = assay.DecisionTreeRegressor(max_depth=2).fit(X, y)
    model.save(tmp_path / "t.assay")
    again = assay.load(tmp_path / "t.assay").tree_
    assert np.array_equal(again.n_node_samples, model.tree_.n_node_samples)
    assert np.isnan(again.impurity[again.feature < 0]).all()


def test_a_forest_knows_its_length_and_the_rows_of_its_trees():
    X, y = load_iris(return_X_y=True)
    forest = assay.RandomForestClassifier(7, random_state=np.random.RandomState(0)).fit(X, y)
    assert len(forest) == len(forest.estimators_samples_) == 7
    assert all(len(rows) == len(X) for rows in forest.estimators_samples_)
    seen = np.zeros((7, len(X)), dtype=bool)
    for t, rows in enumerate(forest.estimators_samples_):
        seen[t, rows] = True
    assert np.array_equal(np.isnan(forest.oob_decision_function_[:, 0]), seen.all(axis=0))


def test_a_function_may_judge_the_rows_out_of_bag(tmp_path):
    X, y = load_iris(return_X_y=True)
    given, usual = (
        assay.RandomForestClassifier(30, oob_score=s).fit(X, y) for s in (lambda t, a: (t == a).mean(), True)
    )
    assert given.oob_score_ == pytest.approx(usual.oob_score_)
    given.save(tmp_path / "f.assay")
    assert assay.load(tmp_path / "f.assay").oob_score is True


@pytest.mark.parametrize("name", ["decision-tree", "random-forest", "knn", "svc"])
def test_sparse_rows_give_the_file_of_dense_ones(name, tmp_path):
    S = sp.random(200, 12, 0.3, format="csr", random_state=0)
    y = (S @ np.arange(12.0) > 10).astype(int)
    for what, X in (("sparse", S), ("dense", S.toarray())):
        model = assay.models()[name]().fit(X, y)
        assert model.certificate_.verify(X, y).holds
        assert np.array_equal(model.predict(S), model.predict(S.toarray()))
        model.save(tmp_path / what)
    assert (tmp_path / "sparse").read_bytes() == (tmp_path / "dense").read_bytes()


def test_sparse_rows_beyond_the_stated_memory_are_refused_with_the_number():
    S = sp.csr_matrix((np.ones(3), ([0, 1, 99_999], [0, 1, 9999])), shape=(100_000, 10_000))
    with pytest.raises(ValueError, match=r"8\.0 GB, more than the 4 GB"):
        assay.KNeighborsClassifier().fit(S, np.arange(100_000) % 2)
