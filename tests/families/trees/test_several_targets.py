"""Several targets at once: splits gain most on the mean over the targets, and each target is answered by the leaf that a row ends in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import tree as peer

import assay
from assay.errors import DataTypeError, ModelFileError, ParameterError
from assay.store import Record, encode, write

rng = np.random.default_rng(0)
X = rng.random((120, 3)).astype(np.float32).astype(np.float64)  # so are the thresholds of scikit-learn
Y = np.column_stack([X[:, 0] + rng.random(120), 100 * X[:, 1] * X[:, 0] + rng.random(120), rng.random(120)])
K = np.column_stack([(X[:, 0] * 3).astype(int), 5 * (X[:, 1] + 0.3 * rng.random(120) > 0.6), rng.integers(0, 4, 120)])
NAMES = np.array(["ash", "birch", "elm", "fir", "gum", "oak"])
WEIGHTS = rng.integers(1, 4, 120)
TARGETS = {"Regressor": Y, "Classifier": K}
FORESTS = ("RandomForest", "ExtraTrees")


def made(family, kind, **params):
    more = {"n_estimators": 4} if family in FORESTS else {"max_depth": 4} if family == "DecisionTree" else {}
    return getattr(assay, family + kind)(**{"random_state": 0, **more, **params})


@pytest.mark.parametrize(
    ("kind", "criterion"),
    [
        ("Regressor", "squared_error"),
        ("Regressor", "absolute_error"),
        ("Regressor", "poisson"),
        ("Classifier", "gini"),
        ("Classifier", "entropy"),
    ],
)
def test_a_tree_is_that_of_scikit_learn(kind, criterion):
    own = made("DecisionTree", kind, criterion=criterion).fit(X, TARGETS[kind])
    theirs = getattr(peer, f"DecisionTree{kind}")(criterion=criterion, max_depth=4, random_state=0).fit(
        X, TARGETS[kind]
    )
    for part in ("children_left", "feature", "threshold", "n_node_samples", "n_classes"):
        assert np.array_equal(getattr(own.tree_, part), getattr(theirs.tree_, part)), part
    if criterion != "absolute_error":  # inner nodes of ours answer with the mean of their leaves
        assert np.allclose(own.tree_.value, theirs.tree_.value, rtol=1e-12)
    assert np.allclose(own.tree_.impurity, theirs.tree_.impurity, atol=1e-9)
    assert np.allclose(own.predict(X), theirs.predict(X), rtol=1e-12)
    assert own.n_outputs_ == theirs.n_outputs_ == 3
    assert np.allclose(own.feature_importances_, theirs.feature_importances_)
    assert np.array_equal(own.decision_path(X).toarray(), theirs.decision_path(X).toarray())
    if kind == "Classifier":
        for a, b in zip(own.predict_proba(X), theirs.predict_proba(X), strict=True):
            assert np.allclose(a, b)
        assert [c.tolist() for c in own.classes_] == [c.tolist() for c in theirs.classes_]
        assert np.array_equal(own.n_classes_, theirs.n_classes_)
        assert own.score(X, K) == (own.predict(X) == K).all(axis=1).mean() == pytest.approx(1 - own.training_loss_)
    else:
        assert own.score(X, Y) == pytest.approx(theirs.score(X, Y))
        assert own.training_loss_ == pytest.approx(((own.predict(X) - Y) ** 2).mean())


@pytest.mark.parametrize("family", ["DecisionTree", "ExtraTree", *FORESTS])
@pytest.mark.parametrize("kind", TARGETS)
def test_copies_of_a_target_are_answered_as_one(family, kind):
    y = TARGETS[kind][:, 0]
    one, three = made(family, kind).fit(X, y), made(family, kind).fit(X, np.column_stack([y, y, y]))
    assert np.array_equal(one.feature_, three.feature_)
    assert np.array_equal(one.cut_, three.cut_)
    assert np.allclose(three.predict(X), one.predict(X)[:, None], rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize(
    ("family", "more"),
    [
        ("DecisionTree", {}),
        ("DecisionTree", {"bins": 16, "max_leaf_nodes": 9, "ccp_alpha": 1e-4}),
        ("DecisionTree", {"min_samples_leaf": 6, "criterion": "second"}),
        ("ExtraTree", {}),
        ("RandomForest", {"min_weight_fraction_leaf": 0.01}),
        ("ExtraTrees", {"max_samples": 0.7}),
    ],
    ids=str,
)
def test_certificates_and_files_hold(family, more, kind, weighted, tmp_path):
    second = {"Regressor": "absolute_error", "Classifier": "entropy"}[kind]
    more = {name: second if value == "second" else value for name, value in more.items()}
    target, w = TARGETS[kind] if kind == "Regressor" else NAMES[K], WEIGHTS if weighted else None
    gaps = X.copy()
    gaps[::9, 0] = np.nan
    model = made(family, kind, **more).fit(gaps, target, w)
    verdicts = model.certificate_.verify(gaps, target, w)
    assert verdicts.holds, str(verdicts)
    assert not verdicts.notes
    assert not model.certificate_.verify(gaps, target[:, ::-1], w).holds
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert np.array_equal(again.predict(gaps), model.predict(gaps))
    assert again.certificate_.verify(gaps, target, w).holds
    if kind == "Classifier":
        assert all(np.array_equal(a, b) for a, b in zip(again.predict_proba(X), model.predict_proba(X), strict=True))
    repeated = made(family, kind, **more).fit(gaps, target, w)
    assert encode(repeated.to_record()) == encode(model.to_record())


@pytest.mark.parametrize("family", ["DecisionTree", "RandomForest"])
@pytest.mark.parametrize("kind", TARGETS)
def test_a_changed_number_is_refused(family, kind):
    target = TARGETS[kind]
    for part in ("table_", "leaf_", "cut_", "training_loss_", "class_of_"):
        model = made(family, kind).fit(X, target)
        if not hasattr(model, part) or (part == "cut_" and family in FORESTS):
            continue
        value = np.array(getattr(model, part), dtype=getattr(getattr(model, part), "dtype", float))
        if part == "leaf_":
            value[:2] = value[1::-1]
        elif part == "class_of_":
            value[-2:] = value[:-3:-1]
        else:
            value += 0.5
        setattr(model, part, float(value) if part == "training_loss_" else value)
        model._drop_caches()
        assert not model.certificate_.verify(X, target).holds, part


@pytest.mark.parametrize("family", ["DecisionTree", "RandomForest"])
@pytest.mark.parametrize("kind", TARGETS)
def test_the_same_bits_come_of_threads_streams_and_sparse_rows(family, kind):
    there = made(family, kind, bins=8).fit(X, TARGETS[kind])
    for where in (("threads", {"workers": 1}), ("threads", {"workers": 2}), ("stream", {})):
        with assay.engine(where[0], **where[1]):
            again = made(family, kind, bins=8).fit(X, TARGETS[kind])
        assert encode(again.to_record()) == encode(there.to_record())
    holes = np.where(X > 0.4, X, 0.0)
    dense, sparse = (made(family, kind).fit(rows, TARGETS[kind]) for rows in (holes, csr_array(holes)))
    assert np.array_equal(dense.predict(holes), sparse.predict(csr_array(holes)))
    assert sparse.certificate_.verify(csr_array(holes), TARGETS[kind]).holds


@pytest.mark.parametrize("kind", TARGETS)
def test_a_weight_is_a_repeated_row(kind):
    again = np.repeat(np.arange(120), WEIGHTS)
    weighed = made("DecisionTree", kind).fit(X, TARGETS[kind], WEIGHTS)
    repeated = made("DecisionTree", kind).fit(X[again], TARGETS[kind][again])
    assert np.array_equal(weighed.feature_, repeated.feature_)
    assert np.allclose(weighed.table_, repeated.table_, rtol=1e-9)


@pytest.mark.parametrize("kind", TARGETS)
def test_categories_are_split_in_the_order_of_each_target(kind):
    colours = rng.integers(0, 5, 120)
    order = np.array([3, 0, 4, 1, 2])
    second = (order[colours] > 2).astype(int) if kind == "Classifier" else order[colours].astype(float)
    target = np.column_stack([rng.integers(0, 2, 120), second])
    rows = np.column_stack([colours, rng.random(120)])
    model = made("DecisionTree", kind, categorical_features=[0], max_depth=1).fit(rows, target)
    left = {int(c) for c in colours[model.apply(rows) == 1]}
    assert left in ({1, 3, 4}, {0, 2}) if kind == "Classifier" else left in ({1, 3}, {1, 3, 4}, {0, 2}, {1}, {2})
    assert model.certificate_.verify(rows, target).holds


@pytest.mark.parametrize("kind", TARGETS)
def test_rows_that_trees_did_not_see_are_judged_in_all_targets(kind):
    target = TARGETS[kind] if kind == "Regressor" else K[:, :2] > 0
    whole = made("RandomForest", kind, n_estimators=8).fit(X, target)
    grown = made("RandomForest", kind, n_estimators=4, warm_start=True).fit(X, target)
    grown.set_params(n_estimators=8).fit(X, target)
    assert np.array_equal(grown.table_, whole.table_)
    assert grown.oob_score_ == whole.oob_score_
    if kind == "Regressor":
        assert whole.oob_prediction_.shape == (120, 3)
        there = ~np.isnan(whole.oob_prediction_[:, 0])
        assert whole.oob_loss_ == pytest.approx(((whole.oob_prediction_ - target)[there] ** 2).mean())
    else:
        shares = whole.oob_decision_function_
        assert shares.shape == (120, 2, 2)
        there = ~np.isnan(shares[:, 0, 0])
        right = (shares.argmax(axis=1) == target)[there].all(axis=1)
        assert whole.oob_score_ == pytest.approx(right.mean()) == pytest.approx(1 - whole.oob_loss_)
    own = made("RandomForest", kind, n_estimators=8, oob_score=lambda y, said: float((y == said).mean()))
    assert 0 <= own.fit(X, target).oob_score_ <= 1
    first = whole[0]
    assert first.predict(X).shape == target.shape
    assert first.n_outputs_ == target.shape[1]


def test_class_weights_multiply_over_the_targets():
    asked = [{0: 2.0, 1: 1.0, 2: 0.5}, {0: 1.0, 5: 3.0}, {}]
    factor = np.array([2.0, 1.0, 0.5])[K[:, 0]] * np.where(K[:, 1] == 5, 3.0, 1.0)
    weighed = made("DecisionTree", "Classifier", class_weight=asked).fit(X, K)
    assert np.array_equal(weighed.table_, made("DecisionTree", "Classifier").fit(X, K, factor).table_)
    assert weighed.certificate_.verify(X, K).holds
    balanced = made("DecisionTree", "Classifier", class_weight="balanced").fit(X, K)
    each = np.prod([120 / len(np.unique(y)) / np.bincount(y)[y] for y in K.T], axis=0)
    assert np.allclose(balanced.table_, made("DecisionTree", "Classifier").fit(X, K, each).table_)
    for bad in ([{0: 1.0}], {0: 1.0}):
        with pytest.raises(ParameterError, match="number of elements in class_weight should match number of outputs"):
            made("DecisionTree", "Classifier", class_weight=bad).fit(X, K)
    with pytest.raises(ParameterError, match="y has one target"):
        made("DecisionTree", "Classifier", class_weight=asked).fit(X, K[:, 0])


def test_one_column_is_one_target_and_one_class_is_a_class():
    with pytest.warns(UserWarning, match="column-vector y was passed"):
        model = made("DecisionTree", "Regressor").fit(X, Y[:, :1])
    assert model.predict(X).shape == (120,)
    constant = np.column_stack([K[:, 0], np.full(120, 7)])
    model = made("DecisionTree", "Classifier").fit(X, constant)
    assert (model.predict(X)[:, 1] == 7).all()
    assert model.certificate_.verify(X, constant).holds


def test_what_is_of_one_target_says_so():
    model = made("DecisionTree", "Classifier").fit(X, K)
    for ask in ("to_text", "rules", "tree_shape"):
        with pytest.raises(ParameterError, match="has 3: fit a model for each"):
            getattr(model, ask)()
    for ask in ("contributions", "shap_values", "label_scores", "explain_path"):
        with pytest.raises(ParameterError, match="has 3: fit a model for each"):
            getattr(model, ask)(X[:1])
    for fit, words in (
        (
            lambda: made("DecisionTree", "Regressor", monotonic_cst=[1, 0, 0]).fit(X, Y),
            "not supported with multiple output",
        ),
        (lambda: made("DecisionTree", "Regressor", ccp_alpha="cv").fit(X, Y), "judges one target, and y has 3"),
        (lambda: made("RandomForest", "Regressor", quantiles=True).fit(X, Y), "keeps one target, and y has 3"),
        (lambda: list(made("DecisionTree", "Regressor").steps(X, Y)), "steps show one target, and y has 3"),
    ):
        with pytest.raises(ParameterError, match=words):
            fit()
    with pytest.raises(DataTypeError, match="sparse multilabel-indicator for y is not supported"):
        made("DecisionTree", "Classifier").fit(X, csr_array(K))


def test_impossible_targets_of_a_file_are_refused(tmp_path):
    record = made("DecisionTree", "Classifier").fit(X, K).to_record()
    for name, changed in (
        ("target_classes_", np.array([3, 2, 3])),
        ("target_classes_", np.array([4, 1, 4])),
        ("target_classes_", np.array([9])),
        ("class_of_", record.arrays["class_of_"][::-1].copy()),
        ("class_of_", record.arrays["class_of_"] + 3),
    ):
        broken = Record(**{**vars(record), "arrays": {**record.arrays, name: changed.astype(np.int64)}})
        write(broken, tmp_path / "m.assay")
        with pytest.raises(ModelFileError):
            assay.load(tmp_path / "m.assay")
