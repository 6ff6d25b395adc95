"""AdaBoost is scikit-learn's, digit for digit with the same stumps, and its training error is below the product of its edges."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier as Sklearn

import assay

TABLES = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_errors_votes_and_answers_are_those_of_scikit_learn(name, rate):
    X, y = TABLES[name](return_X_y=True)
    ours = assay.AdaBoostClassifier(n_estimators=15, learning_rate=rate).fit(X, y)
    theirs = Sklearn(n_estimators=15, learning_rate=rate, random_state=0).fit(X, y)
    T = len(theirs.estimators_)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[:T], rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_[:T], rtol=1e-9)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    for a, b in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    "tree", [{"max_depth": 1}, {"max_leaf_nodes": 4}, {"ccp_alpha": "cv"}, {"class_weight": "balanced", "max_depth": 2}]
)
def test_each_tree_is_the_one_that_is_fitted_to_the_rows_as_they_are_weighed_then(tree):
    """The columns are coded once for all stages, and nothing but time depends on it."""
    X, y = load_iris(return_X_y=True)
    w = 1.0 + np.arange(150.0) % 3
    model = assay.AdaBoostClassifier(tree, n_estimators=6).fit(X, y, w)
    D = w / w.sum()
    for stage, alpha in enumerate(model.estimator_weights_):
        alone = assay.DecisionTreeClassifier(**tree).fit(X, y, D)
        wrong = alone.predict(X) != y
        assert model.estimator_errors_[stage] == pytest.approx(D[wrong].sum(), rel=1e-9)
        assert np.array_equal(model.apply(X)[:, stage], alone.apply(X))
        D = D * np.exp(alpha * wrong)
        D /= D.sum()


def test_the_training_error_is_below_the_product_of_the_edges_and_verify_says_so():
    X, y = load_breast_cancer(return_X_y=True)
    model = assay.AdaBoostClassifier(n_estimators=30).fit(X, y)
    claim = model.certificate_.claims[0]
    edges = 0.5 - model.estimator_errors_
    assert claim.bound == pytest.approx(np.prod(np.sqrt(1 - 4 * edges**2)))
    assert model.training_loss_ == pytest.approx(1 - model.score(X, y))
    assert model.training_loss_ <= claim.bound
    assert all(v.holds for v in model.certificate_.verify(X, y))
    assert not any(v.holds for v in model.certificate_.verify(X, 1 - y))


def test_a_perfect_tree_is_the_last_and_one_no_better_than_chance_too():
    X = np.arange(8.0)[:, None]
    perfect = assay.AdaBoostClassifier().fit(X, X[:, 0] > 3)
    assert len(perfect.nodes_) == 1
    assert perfect.provenance_["stopped"] == "the tree of stage 1 makes no error"
    assert perfect.estimator_weights_.tolist() == [1.0]
    constant = assay.AdaBoostClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert "no better than chance" in constant.provenance_["stopped"]
    for model, rows, y in ((perfect, X, X[:, 0] > 3), (constant, np.zeros((4, 1)), [0, 1, 0, 1])):
        assert all(v.holds for v in model.certificate_.verify(rows, y))


def test_deeper_trees_can_be_asked_for_as_a_tree_or_as_its_hyper_parameters(tmp_path):
    X, y = load_wine(return_X_y=True)
    tree = assay.AdaBoostClassifier(estimator=assay.DecisionTreeClassifier(max_depth=2), n_estimators=5).fit(X, y)
    words = assay.AdaBoostClassifier(estimator={"max_depth": 2}, n_estimators=5).fit(X, y)
    assert np.array_equal(tree.predict_proba(X), words.predict_proba(X))
    tree.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert np.array_equal(again.predict_proba(X), tree.predict_proba(X))
    assert all(v.holds for v in again.certificate_.verify(X, y))
    with pytest.raises(ValueError, match="estimator"):
        assay.AdaBoostClassifier(estimator=assay.GaussianNB()).fit(X, y)


def test_margins_grow_after_the_training_error_is_zero():
    X, y = load_breast_cancer(return_X_y=True)
    steps = list(assay.AdaBoostClassifier(n_estimators=200).steps(X, y))
    zero = next(s.number for s in steps if s.values["error"] == 0)
    assert zero < 150
    assert steps[-1].values["margin"] > steps[zero - 1].values["margin"] >= 0
    assert all(s.values["error"] <= s.values["bound"] * (1 + 1e-9) for s in steps)


def test_shap_values_of_the_votes_add_up_to_their_shares():
    X, y = load_wine(return_X_y=True)
    model = assay.AdaBoostClassifier(n_estimators=10).fit(X, y)
    shares = (model.decision_function(X) * 2 + 1) / 3  # K v − 1 over K − 1
    np.testing.assert_allclose(model.shap_base_ + model.shap_values(X).sum(axis=1), shares, atol=1e-12)


def test_votes_whose_powers_no_number_holds_are_certified():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (45, 3)).astype(float)
    y = (X[:, 0] + rng.integers(0, 2, 45)).astype(int) // 2
    for rate in (20.0, 300.0, 2000.0):
        model = assay.AdaBoostClassifier(n_estimators=4, learning_rate=rate).fit(X, y)
        assert model.estimator_weights_.max() > 20
        assert np.isfinite(model.training_loss_)
        assert model.certificate_.claims[0].bound <= 1
        assert model.certificate_.verify(X, y).holds, model.certificate_.verify(X, y)


def test_votes_that_are_equal_but_for_rounding_are_certified():
    X = np.array([[1.0, 3.0], [2.0, 3.0], [0.0, 0.0], [5.0, 4.0], [1.0, 4.0], [5.0, 3.0]])
    y, w = np.array([1, 1, 7, -1, -1, -1]), np.array([2.0, 2.0, 1.0, 2.0, 2.0, 1.0])
    model = assay.AdaBoostClassifier(n_estimators=4).fit(X, y, w)
    assert model.certificate_.verify(X, y, w).holds, model.certificate_.verify(X, y, w)


def test_an_infinite_rate_is_refused():
    with pytest.raises(assay.errors.ParameterError, match="learning_rate"):
        assay.AdaBoostClassifier(learning_rate=float("inf")).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "model", [assay.AdaBoostClassifier(), assay.GradientBoostingClassifier(), assay.GradientBoostingRegressor()]
)
def test_several_targets_are_refused_with_a_sentence(model):
    X, Y = np.arange(20.0).reshape(10, 2), np.arange(20).reshape(10, 2) % 3
    with pytest.raises(assay.errors.AssayError, match="y"):
        model.fit(X, Y)
