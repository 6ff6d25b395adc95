"""What a tree tells of itself: text, rules, shapes, ways of rows, contributions and importances, each against an independent computation."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from cases import blobs, file_bytes, lines

import assay
from assay.errors import DataError, ParameterError

CLASSES, NUMBERS = blobs(400, 5, 0), lines(400, 5, 0)
BIG = {
    "max_depth": 4,
    "min_samples_leaf": 25,
}  # no two splits gain the same: scikit-learn's choice between such is random
WEIGHTS = 0.5 + np.arange(400) % 3


def coloured(n: int = 500, seed: int = 0):
    """A frame with categories and missing numbers, and a target that depends on both."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "white", "black"], n)
    age = rng.normal(40, 12, n)
    age[rng.random(n) < 0.2] = np.nan
    score = np.isin(colour, ["red", "blue"]) * 1.5 + (np.nan_to_num(age, nan=60) > 45) + rng.normal(0, 0.4, n)
    return pd.DataFrame({"colour": colour, "age": age}), score


def models():
    for criterion in ("gini", "entropy"):
        yield assay.DecisionTreeClassifier(criterion=criterion, max_depth=6), *CLASSES
    for criterion in ("squared_error", "absolute_error", "poisson"):
        X, y = NUMBERS
        yield assay.DecisionTreeRegressor(criterion=criterion, max_depth=6), X, y - y.min() + 0.5


@pytest.mark.parametrize(("model", "X", "y"), list(models()), ids=lambda v: getattr(v, "criterion", None))
@pytest.mark.parametrize("w", [None, WEIGHTS], ids=["plain", "weighted"])
def test_bias_and_contributions_add_up_to_the_answer(model, X, y, w):
    model = copy.copy(model).fit(X, y, w)
    bias, parts = model.contributions(X)
    truth = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    assert parts.shape == (*X.shape, 3) if hasattr(model, "classes_") else parts.shape == X.shape
    assert np.abs(bias + parts.sum(axis=1) - truth).max() <= 1e-12
    assert np.allclose(bias, np.average(truth, axis=0, weights=w))  # the mean answer of the training rows


def test_only_columns_on_the_way_of_a_row_contribute():
    X, y = CLASSES
    model = assay.DecisionTreeClassifier(max_leaf_nodes=4).fit(X, y)
    _, parts = model.contributions(X)
    asked = model.decision_path(X).toarray()
    for i in range(40):
        nodes = np.flatnonzero(asked[i])
        columns = set(model.feature_[nodes]) - {-1}
        assert set(np.flatnonzero(np.abs(parts[i]).sum(axis=1) > 0)) <= columns


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("w", [None, WEIGHTS], ids=["plain", "weighted"])
def test_importances_of_classes_are_those_of_scikit_learn(criterion, w):
    from sklearn.tree import DecisionTreeClassifier

    X, y = CLASSES
    peer = DecisionTreeClassifier(criterion=criterion, random_state=0, **BIG).fit(X, y, w)
    ours = assay.DecisionTreeClassifier(criterion=criterion, **BIG).fit(X, y, w)
    assert ours.get_n_leaves() == peer.get_n_leaves()
    assert np.abs(ours.feature_importances_ - peer.feature_importances_).max() <= 1e-9


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_importances_of_numbers_are_those_of_scikit_learn(criterion):
    from sklearn.tree import DecisionTreeRegressor

    X, y = NUMBERS
    y = y - y.min() + 1.0
    peer = DecisionTreeRegressor(criterion=criterion, random_state=0, **BIG).fit(X, y)
    ours = assay.DecisionTreeRegressor(criterion=criterion, **BIG).fit(X, y)
    assert np.abs(ours.feature_importances_ - peer.feature_importances_).max() <= 1e-9


def test_gains_follow_from_the_leaves_alone():
    from assay.families.trees.importance import node_gains

    for model, X, y in models():
        fitted = copy.copy(model).fit(X, y, WEIGHTS)
        kept = node_gains(fitted)
        del fitted.gain_
        derived = node_gains(fitted)
        if model.criterion == "absolute_error":
            assert derived is None
        else:
            assert np.allclose(derived, kept, rtol=1e-9, atol=1e-12)


def test_the_decision_path_is_that_of_scikit_learn():
    from sklearn.tree import DecisionTreeClassifier

    X, y = CLASSES
    peer = DecisionTreeClassifier(random_state=0, **BIG).fit(X, y)
    ours = assay.DecisionTreeClassifier(**BIG).fit(X, y)
    theirs, mine = peer.decision_path(X.astype(np.float32)), ours.decision_path(X)
    assert mine.shape == theirs.shape  # scikit-learn numbers its nodes in preorder too
    assert (mine != theirs).nnz == 0
    assert np.array_equal(ours.apply(X), peer.apply(X.astype(np.float32)))


def test_the_way_of_a_row_can_be_walked_by_hand():
    X, y = CLASSES
    model = assay.DecisionTreeClassifier(max_depth=5).fit(X, y)
    for i in range(25):
        way = model.explain_path(X[i])
        assert [s.node for s in way.steps] == np.flatnonzero(model.decision_path(X[i : i + 1]).toarray()[0])[
            :-1
        ].tolist()
        assert way.leaf == model.apply(X[i : i + 1])[0]
        assert way.answer == model.predict(X[i : i + 1])[0]
        for step in way.steps:
            assert step.value == X[i, step.column]
            assert step.answer == (step.value <= model.tree_shape().threshold[step.node])
        inside = np.ones(len(X), bool)
        for step in way.steps:  # shares of the classes among the rows that answer alike
            assert np.allclose(step.before, [np.mean(y[inside] == k) for k in range(3)])
            side = X[:, step.column] <= model.tree_shape().threshold[step.node]
            before, inside = inside, inside & (side == step.answer)
            assert np.allclose(step.after, [np.mean(y[inside] == k) for k in range(3)])
            gini = [1 - sum(np.mean(y[m] == k) ** 2 for k in range(3)) for m in (before, inside, before & ~inside)]
            share = inside.sum() / before.sum()
            assert step.gain == pytest.approx(gini[0] - share * gini[1] - (1 - share) * gini[2])
        assert str(way).count("\n") == len(way.steps)


def test_one_row_is_asked_for():
    model = assay.DecisionTreeClassifier().fit(*CLASSES)
    with pytest.raises(DataError, match="one row"):
        model.explain_path(CLASSES[0][:2])


def test_rules_hold_exactly_the_rows_of_their_leaves():
    X, y = CLASSES
    model = assay.DecisionTreeClassifier(max_depth=5).fit(X, y)
    leaves, rules = model.apply(X), model.rules(decimals=17)
    assert [r.leaf for r in rules] == sorted(set(leaves))
    for rule in rules:
        inside = np.ones(len(X), bool)
        for condition in rule.conditions:
            words = condition.replace("column ", "c").split()
            at = next(k for k, word in enumerate(words) if word.startswith("c"))
            x = X[:, int(words[at][1:])]
            if at:
                inside &= float(words[0]) < x
            if len(words) > at + 1:
                value = float(words[at + 2])
                inside &= x <= value if words[at + 1] == "≤" else x > value
        assert np.array_equal(inside, leaves == rule.leaf)
        assert rule.weight == inside.sum()
        assert rule.answer == np.bincount(y[inside]).argmax()


def test_the_text_of_a_small_tree_by_hand():
    X = [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 9.0]]
    model = assay.DecisionTreeRegressor().fit(X, [1.0, 1.0, 4.0, 8.0])
    assert model.to_text() == (
        "column 0 ≤ 2.5 ?   4 rows, gain 6.75\n"
        "├─ yes: column 0 ≤ 1.5 ?   3 rows, gain 2\n"
        "│  ├─ yes: 1   2 rows\n"
        "│  └─ no:  4   1 row\n"
        "└─ no:  8   1 row"
    )
    assert model.to_text(max_depth=1).splitlines()[1:] == ["├─ yes: … 2 leaves   3 rows", "└─ no:  8   1 row"]
    assert "column 0 ≤ 1.50 ?" in model.to_text(decimals=2)
    assert [str(r) for r in model.rules()] == [
        "column 0 ≤ 1.5 → 1   2 rows",
        "1.5 < column 0 ≤ 2.5 → 4   1 row",
        "column 0 > 2.5 → 8   1 row",
    ]
    with pytest.raises(ParameterError, match="max_depth"):
        model.to_text(max_depth=-1)


def test_a_tree_without_splits_is_told_too():
    model = assay.DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 3.0])
    assert model.to_text() == "3   2 rows"
    assert str(model.rules()[0]) == "always → 3   2 rows"
    assert str(model.explain_path([1.0])) == "all rows: 3   2 rows"
    assert model.feature_importances_.tolist() == [0.0]
    bias, parts = model.contributions([[1.0]])
    assert (bias, parts.tolist()) == (3.0, [[0.0]])
    assert model.decision_path([[1.0]]).toarray().tolist() == [[1]]


def test_categories_and_missing_values_are_named():
    X, score = coloured()
    model = assay.DecisionTreeRegressor(max_leaf_nodes=4).fit(X, score)
    text = model.to_text()
    assert "in {blue, red} ?" in text
    assert "age ≤ 45" in text or "age ≤ 44" in text
    rules = model.rules()
    assert any("(age > 4" in c and "or missing)" in c for r in rules for c in r.conditions)
    assert any(c in ("colour in {blue, red}", "colour not in {blue, red}") for r in rules for c in r.conditions)
    assert sum(r.weight for r in rules) == len(X)
    row = X.iloc[[0]].copy()
    row["age"], row["colour"] = np.nan, "red"
    way = model.explain_path(row)
    assert {(s.question.split()[0], s.value) for s in way.steps} == {("colour", "red"), ("age", None)}
    assert "(missing)" in str(way)
    bias, parts = model.contributions(X)
    assert np.abs(bias + parts.sum(axis=1) - model.predict(X)).max() <= 1e-12


def test_whole_numbers_that_name_categories_are_listed_by_the_shorter_side():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 6, (300, 1)).astype(float)
    y = np.isin(X[:, 0], [1, 4])
    model = assay.DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    assert model.to_text().splitlines()[0].startswith(("column 0 in {1, 4} ?", "column 0 not in {1, 4} ?"))


def test_weights_that_are_no_counts_are_called_weights():
    X, y = CLASSES
    text = assay.DecisionTreeClassifier(max_depth=1).fit(X, y, np.full(400, 0.3)).to_text()
    assert "weight 120" in text or "120 rows" in text
    assert "weight 12" in assay.DecisionTreeClassifier(max_depth=1).fit(X, y, np.full(400, 0.301)).to_text()


def test_shapes_hold_rows_and_classes_of_every_node():
    X, y = CLASSES
    model = assay.DecisionTreeClassifier(max_depth=4).fit(X, y)
    shape, passed = model.tree_shape(), model.decision_path(X).toarray().astype(bool)
    for node in range(len(shape.n)):
        rows = passed[:, node]
        assert shape.n[node] == rows.sum()
        assert np.allclose(shape.value[node], np.bincount(y[rows], minlength=3))
        if shape.left[node] >= 0:
            left = rows & (X[:, shape.feature[node]] <= shape.threshold[node])
            assert np.array_equal(left, passed[:, shape.left[node]])


@pytest.mark.parametrize("change", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_fitted_trees_answer_alike_and_carry_no_caches(change):
    X, y = CLASSES
    model = assay.DecisionTreeClassifier().fit(X, y)
    answers = model.predict_proba(X)
    twin = change(model)
    assert model._made
    assert not twin._made
    assert np.array_equal(twin.predict_proba(X), answers)
    assert file_bytes(twin) == file_bytes(model)


def test_scikit_learn_clones_trees():
    from sklearn.base import clone

    model = assay.DecisionTreeClassifier(max_depth=2, ccp_alpha="cv").fit(*CLASSES)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not twin.__sklearn_is_fitted__()


def test_what_is_not_fitted_tells_nothing():
    for ask in ("to_text", "rules", "tree_shape"):
        with pytest.raises(Exception, match="not fitted"):
            getattr(assay.DecisionTreeClassifier(), ask)()
    assert not hasattr(assay.DecisionTreeClassifier(), "feature_importances_")


@pytest.mark.parametrize(("model", "X", "y"), list(models()), ids=lambda v: getattr(v, "criterion", None))
def test_steps_end_at_the_fitted_tree(model, X, y):
    fitted = copy.copy(model).fit(X, y)
    steps = list(model.steps(X, y))
    assert [s.number for s in steps] == list(range(1, len(steps) + 1))
    assert [s.values["leaves"] for s in steps] == list(range(1, fitted.get_n_leaves() + 1))
    assert sorted(s.values["node"] for s in steps[1:]) == np.flatnonzero(fitted.feature_ != -1).tolist()
    shares = [s.values["gain"] * s.values["share"] for s in steps[1:]]
    assert steps[0].values["impurity"] - sum(shares) == pytest.approx(steps[-1].values["impurity"], abs=1e-9)
    if hasattr(fitted, "classes_"):
        assert steps[0].values["error"] == pytest.approx(1 - np.bincount(y).max() / len(y))
        assert steps[-1].values["error"] == pytest.approx(1 - fitted.score(X, y), abs=1e-12)
        half = [assay.DecisionTreeClassifier(**{**model.get_params(), "max_leaf_nodes": k}).fit(X, y) for k in (2, 5)]
        assert [1 - m.score(X, y) for m in half] == pytest.approx([steps[1].values["error"], steps[4].values["error"]])
    else:
        error = y - fitted.predict(X)
        loss = {"squared_error": error**2, "absolute_error": np.abs(error)}.get(model.criterion)
        if loss is not None:
            assert steps[-1].values["impurity"] == pytest.approx(loss.mean(), abs=1e-9)
    some = list(model.steps(X, y, every=4))
    assert [s.number for s in some] == [*range(4, len(steps) + 1, 4), *([len(steps)] if len(steps) % 4 else [])]
