"""Libraries that were written for scikit-learn's models run on ours: they explain, draw, resample, select and stack them."""

from __future__ import annotations

import numpy as np
import pytest
from cases import lines, pairs

import assay

pytestmark = pytest.mark.filterwarnings("ignore")  # their warnings are theirs

X, Y = pairs(240, 4, 5)
NUMBERS, Z = lines(240, 4, 5)
NAMES = ["a", "b", "c", "d"]
TREES = [assay.DecisionTreeClassifier, assay.RandomForestClassifier, assay.ExtraTreesClassifier, assay.DecisionTreeRegressor, assay.RandomForestRegressor, assay.ExtraTreesRegressor]  # fmt: skip


def fitted(cls, **given):
    given = {"n_estimators": 6, **given} if "n_estimators" in cls.params else given
    return cls(max_depth=4, **given).fit(*((X, Y) if "Classifier" in cls.__name__ else (NUMBERS, Z)))


@pytest.mark.parametrize("cls", TREES, ids=lambda cls: cls.__name__)
def test_shap_explains_trees_and_forests_as_they_explain_themselves(cls):
    shap = pytest.importorskip("shap")
    model = fitted(cls)
    rows = (X if "Classifier" in cls.__name__ else NUMBERS)[:20]
    rows = rows.astype(np.float32).astype(np.float64)  # SHAP walks trees with numbers of 32 bits
    explainer = shap.TreeExplainer(model)
    found = explainer.shap_values(rows)
    np.testing.assert_allclose(found, model.shap_values(rows), atol=1e-9)
    said = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
    np.testing.assert_allclose(explainer.expected_value + found.sum(axis=1), said, atol=1e-6)


@pytest.mark.parametrize("cls", TREES[::3], ids=lambda cls: cls.__name__)
def test_dtreeviz_draws_our_trees(cls):
    dtreeviz = pytest.importorskip("dtreeviz")
    rows, y = (X, Y) if "Classifier" in cls.__name__ else (NUMBERS, Z)
    model = fitted(cls)
    classes = {"class_names": ["no", "yes"]} if "Classifier" in cls.__name__ else {}
    drawn = dtreeviz.model(model, rows, y, feature_names=NAMES, target_name="y", **classes)
    shadow = drawn.shadow_tree
    assert shadow.nnodes() == model.tree_.node_count
    assert sorted(leaf.id for leaf in shadow.leaves) == np.unique(model.apply(rows)).tolist()
    assert sum(leaf.nsamples() for leaf in shadow.leaves) == len(rows)
    way = [node.id for node in shadow.predict_path(rows[0])]
    assert way == model.decision_path(rows[:1]).indices.tolist()


@pytest.mark.parametrize("cls", TREES, ids=lambda cls: cls.__name__)
def test_supertree_reads_trees_and_forests(cls, tmp_path):
    supertree = pytest.importorskip("supertree")
    rows, y = (X, Y) if "Classifier" in cls.__name__ else (NUMBERS, Z)
    model = fitted(cls)
    supertree.SuperTree(model, rows, y, NAMES, ["no", "yes"] if hasattr(model, "classes_") else "y").save_json_tree(
        str(tmp_path / "tree.json")
    )
    told = (tmp_path / "tree.json").read_text()
    tree = model if hasattr(model, "tree_") else model[0]
    assert told.count("is_leaf") == tree.tree_.node_count


def test_imbalanced_learn_resamples_in_front_of_our_models():
    over_sampling = pytest.importorskip("imblearn.over_sampling")
    pipeline = pytest.importorskip("imblearn.pipeline")
    ensemble = pytest.importorskip("imblearn.ensemble")
    few = np.flatnonzero((Y == 0) | (np.cumsum(Y) <= 15))
    model = pipeline.make_pipeline(
        over_sampling.SMOTE(random_state=0, k_neighbors=assay.NearestNeighbors(n_neighbors=6)),
        assay.LogisticRegression(),
    )
    assert model.fit(X[few], Y[few]).predict(X).mean() > 0.1
    bagged = ensemble.BalancedBaggingClassifier(
        assay.DecisionTreeClassifier(max_depth=3), n_estimators=5, random_state=0
    )
    assert bagged.fit(X[few], Y[few]).score(X, Y) > 0.7


def test_mlxtend_selects_columns_for_and_stacks_our_models():
    selection = pytest.importorskip("mlxtend.feature_selection")
    classifier = pytest.importorskip("mlxtend.classifier")
    chosen = selection.SequentialFeatureSelector(assay.GaussianNB(), k_features=2, cv=3).fit(X, Y)
    assert len(chosen.k_feature_idx_) == 2
    stacked = classifier.StackingClassifier(
        [assay.KNeighborsClassifier(5), assay.RandomForestClassifier(10)], assay.LogisticRegression()
    )
    assert stacked.fit(X, Y).score(X, Y) > 0.8


@pytest.mark.parametrize("cls", [assay.SVC, assay.KNeighborsClassifier, *TREES], ids=lambda cls: cls.__name__)
def test_scikit_learn_inspects_our_models(cls):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from sklearn.inspection import DecisionBoundaryDisplay, partial_dependence, permutation_importance

    rows, y = (NUMBERS, Z) if "Regressor" in cls.__name__ else (X, Y)
    model = cls().fit(rows, y)
    at = partial_dependence(model, rows, [0], kind="average", method="brute" if "Classifier" in cls.__name__ or cls is assay.SVC else "auto", grid_resolution=9)  # fmt: skip
    assert at["average"].shape == (1, 9)
    assert np.ptp(at["average"]) > 0
    shuffled = permutation_importance(model, rows, y, n_repeats=3, random_state=0)
    assert shuffled.importances_mean.max() > 0.01
    flat = cls().fit(rows[:, :2], y)
    shown = DecisionBoundaryDisplay.from_estimator(flat, rows[:, :2], response_method="predict", grid_resolution=20)
    assert shown.response.shape == (20, 20)
