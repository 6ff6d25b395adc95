"""A drawn tree: parents above the middle of their children, no two nodes of a level closer than one step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.errors import DataError, ParameterError
from assay.plots import TreeShape, oob_curve, pruning_curve, tree
from assay.plots.tree_drawing import cut, places


def shape_of(left, right, **more) -> TreeShape:
    n = len(left)
    return TreeShape(
        np.array(left), np.array(right), np.zeros(n, int), np.zeros(n), np.ones((n, 2)), np.ones(n), **more
    )


@st.composite
def trees(draw):
    left, right, leaves = [-1], [-1], [0]
    for _ in range(draw(st.integers(0, 25))):
        node = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        left[node], right[node] = len(left), len(left) + 1
        leaves += [len(left), len(left) + 1]
        left += [-1, -1]
        right += [-1, -1]
    return shape_of(left, right)


@given(trees(), st.one_of(st.none(), st.integers(0, 6)))
def test_nodes_of_a_level_keep_their_distance_and_parents_stand_in_the_middle(shape, depth):
    left, right, level = cut(shape, depth)
    x = places(left, right, level)
    assert np.nanmin(x) == 0
    for k in range(level.max() + 1):
        assert np.all(np.diff(np.sort(x[level == k])) >= 1 - 1e-9)
    for node in np.flatnonzero((level >= 0) & (left >= 0)):
        assert np.isclose(x[node], (x[left[node]] + x[right[node]]) / 2)
        assert x[left[node]] < x[right[node]]
    assert np.array_equal(np.isnan(x), level < 0)
    assert depth is None or level.max() <= depth


def test_a_mirrored_tree_is_drawn_as_the_mirror_image():
    shape = shape_of([1, 3, -1, -1, 5, -1, -1], [2, 4, -1, -1, 6, -1, -1])
    left, right, level = cut(shape, None)
    x = places(left, right, level)
    mirrored = places(right, left, level)
    assert np.allclose(x.max() - x, mirrored)


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_a_small_tree_by_hand():
    shape = TreeShape(
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        feature=np.array([1, -2, -2]),
        threshold=np.array([2.45, 0, 0]),
        value=np.array([[5, 5], [5, 1], [0, 4]]),
        n=np.array([10, 6, 4]),
        names=["width", "length"],
        classes=["no", "yes"],
    )
    ax = tree(shape)
    assert "length\n≤ 2.45 ?" in texts(ax)
    assert {"no\n6 rows", "yes\n4 rows"} <= set(texts(ax))
    assert {t.strip() for t in texts(ax)} >= {"yes", "no"}


def test_trees_of_scikit_learn_are_drawn_node_by_node():
    from sklearn.datasets import load_diabetes, load_iris
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    for data, model in ((load_iris(), DecisionTreeClassifier()), (load_diabetes(), DecisionTreeRegressor(max_depth=4))):
        t = model.fit(data.data, data.target).tree_
        counts = t.value[:, 0] * (t.n_node_samples[:, None] if t.value.shape[2] > 1 else 1)
        shape = TreeShape(
            t.children_left, t.children_right, t.feature, t.threshold, counts, t.n_node_samples, data.feature_names
        )
        drawn = texts(tree(shape, depth=None))
        assert sum("row" in text for text in drawn) == t.n_leaves
        assert sum("?" in text for text in drawn) == t.node_count - t.n_leaves
        few = tree(shape, depth=2)
        assert sum("?" in text for text in texts(few)) <= 3
        assert any("not drawn" in text for text in texts(few))


def test_fitted_trees_are_drawn_with_their_categories_and_missing_values():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    colour, age = rng.choice(["red", "green", "blue"], 200), rng.normal(40, 10, 200)
    truth = np.where((colour == "red") | (age > 50), "yes", "no")
    age[rng.random(200) < 0.2] = np.nan
    model = assay.DecisionTreeClassifier(max_leaf_nodes=4).fit(pd.DataFrame({"colour": colour, "age": age}), truth)
    drawn = texts(tree(model))
    assert any(text in ("colour\nin {red} ?", "colour\nnot in {red} ?") for text in drawn)
    assert any(text.startswith("age\n≤ ") for text in drawn)
    shape = model.tree_shape()
    assert sum("row" in text for text in drawn) == 4
    assert all(f"age\n{t} ?" in drawn for t in shape.tests if t.startswith("≤"))


def test_leaves_of_numbers_are_the_darker_the_greater_they_are():
    model = assay.DecisionTreeRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 5.0, 10.0])
    ax = tree(model, depth=None)
    filled = sorted((p.get_x(), p.get_facecolor()[3]) for p in ax.patches if p.get_edgecolor()[3] == 0)
    strengths = [alpha for _, alpha in filled]
    assert len(strengths) == 4
    assert strengths == sorted(strengths)
    assert strengths[0] < strengths[-1]


def test_a_tree_of_a_forest_is_drawn_and_a_forest_is_not():
    forest = assay.RandomForestRegressor(n_estimators=3, max_depth=2).fit(np.arange(40.0)[:, None], np.arange(40.0))
    assert sum("?" in text for text in texts(tree(forest.tree(2)))) == 3
    assert sum("?" in text for text in texts(tree(forest.tree_shape(2)))) == 3


def test_the_pruning_curve_shows_what_was_judged_and_chosen():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    model = assay.DecisionTreeClassifier(ccp_alpha="cv").fit(X, (X[:, 0] > 0) ^ (rng.random(300) < 0.2))
    ax = pruning_curve(model)
    line = next(line for line in ax.lines if line.get_label() == "held-out rows")
    assert np.array_equal(line.get_ydata()[:-1], model.pruning_curve_[:, 1])
    assert any(f"chosen: {model.alpha_:.4g}" == t.get_text() for t in ax.get_legend().get_texts())
    with pytest.raises(DataError, match="ccp_alpha='cv'"):
        pruning_curve(assay.DecisionTreeClassifier().fit(X, X[:, 0] > 0))


def test_the_curve_of_a_forest_ends_at_its_out_of_bag_loss():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    model = assay.RandomForestClassifier(n_estimators=25).fit(X, X[:, 0] > 0)
    ax = oob_curve(model)
    assert np.array_equal(ax.lines[0].get_xydata(), model.oob_curve_)
    assert ax.lines[0].get_ydata()[-1] == model.oob_loss_
    with pytest.raises(DataError, match="oob_score=True"):
        oob_curve(assay.ExtraTreesClassifier(n_estimators=3).fit(X, X[:, 0] > 0))


def test_what_is_no_tree_is_refused():
    with pytest.raises(DataError, match="one child"):
        tree(shape_of([1, -1], [-1, -1]))
    with pytest.raises(DataError, match="no tree"):
        tree(shape_of([1, -1, -1], [1, -1, -1]))
    with pytest.raises(DataError, match="'n'"):
        tree(shape_of([1, -1, -1], [2, -1, -1])._replace(n=np.ones(2)))
    with pytest.raises(ParameterError, match="depth"):
        tree(shape_of([-1], [-1]), depth=-1)
    with pytest.raises(ParameterError, match="TreeShape"):
        tree("oak")
