"""The same trees as scikit-learn's, where both mean the same: all thresholds, halfway between values.

Values are exact in single precision, which scikit-learn computes in; leaves hold a few rows, because in the smallest nodes several
columns part the rows alike and the peer draws lots among them.
"""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.tree
from tree_search import gain

from assay import DecisionTreeClassifier, DecisionTreeRegressor
from assay.families.trees.nodes import ends_of

N, D = 600, 5


def columns(seed=0, n=N):
    return np.random.default_rng(seed).standard_normal((n, D)).astype(np.float32).astype(np.float64)


def labels(X, K, seed=1):
    noise = np.random.default_rng(seed).standard_normal(len(X))
    return np.clip(np.floor(X[:, 0] + X[:, 1] * X[:, 2] + noise) + K // 2, 0, K - 1).astype(int)


def numbers(X, seed=2):
    return np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * np.random.default_rng(seed).standard_normal(len(X))


def weights(kind):
    rng = np.random.default_rng(3)
    return {"none": None, "floats": rng.random(N) + 0.05, "integers": rng.integers(0, 4, N).astype(float)}[kind]


def same_tree(ours, theirs, X, y, w, criterion):
    """Go down both trees: nodes ask the same, or something that gains as much. How many nodes were compared."""
    w = np.ones(len(X)) if w is None else w
    peer, ends, cut = theirs.tree_, ends_of(ours.feature_), np.full(len(ours.feature_), np.nan)
    cut[ours.feature_ != -1] = ours.cut_
    compared, waiting = 0, [(0, 0, w > 0)]
    while waiting:
        mine, other, rows = waiting.pop()
        compared += 1
        f, g = ours.feature_[mine], peer.feature[other]
        if f < 0 or g < 0:
            alike = len(np.unique(y[rows])) == 1  # of which the peer splits some, where it sums weights with rounding
            assert alike or (f < 0 and g < 0)
            said = ours.predict_proba if hasattr(ours, "predict_proba") else ours.predict
            value = peer.value[other][0] / (peer.value[other].sum() if said != ours.predict else 1)
            assert np.allclose(said(X[rows]), value if said != ours.predict else value[0], rtol=1e-9, atol=1e-9)
            continue
        left, right = rows & (X[:, f] <= cut[mine]), rows & (X[:, g] <= peer.threshold[other])
        if np.array_equal(left, right):
            assert f != g or cut[mine] == pytest.approx(peer.threshold[other], abs=1e-9)
            waiting.append((mine + 1, peer.children_left[other], left))
            waiting.append((int(ends[mine + 1]), peer.children_right[other], rows & ~left))
        else:
            gains = [gain(y[rows], w[rows], side[rows], criterion) for side in (left, right)]
            assert gains[0] == pytest.approx(gains[1], rel=1e-9)
    return compared


LIMITS = [
    {"min_samples_leaf": 8},
    {"max_depth": 4, "min_samples_leaf": 4},
    {"min_samples_split": 60, "min_samples_leaf": 5},
    {"min_samples_split": 0.15, "min_samples_leaf": 0.011},
    {"min_weight_fraction_leaf": 0.03},
    {"max_leaf_nodes": 9, "min_samples_leaf": 3},
    {"min_impurity_decrease": 0.004, "min_samples_leaf": 3},
]


@pytest.mark.parametrize("kind", ["none", "floats", "integers"])
@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_trees_of_classes_are_the_peers(criterion, K, kind):
    X, w = columns(), weights(kind)
    y = labels(X, K)
    for limits in LIMITS:
        ours = DecisionTreeClassifier(criterion=criterion, **limits).fit(X, y, sample_weight=w)
        theirs = sklearn.tree.DecisionTreeClassifier(criterion=criterion, random_state=0, **limits)
        compared = same_tree(ours, theirs.fit(X, y, sample_weight=w), X, y, w, criterion)
        assert compared >= 0.4 * len(ours.feature_)


@pytest.mark.parametrize("kind", ["none", "floats", "integers"])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_trees_of_numbers_are_the_peers(criterion, kind):
    X, w = columns(), weights(kind)
    y = numbers(X) if criterion != "poisson" else np.exp(0.3 * numbers(X))
    for limits in [*LIMITS, {"ccp_alpha": 0.01, "min_samples_leaf": 10}]:
        ours = DecisionTreeRegressor(criterion=criterion, **limits).fit(X, y, sample_weight=w)
        theirs = sklearn.tree.DecisionTreeRegressor(criterion=criterion, random_state=0, **limits)
        compared = same_tree(ours, theirs.fit(X, y, sample_weight=w), X, y, w, criterion)
        if (
            criterion == "absolute_error"
        ):  # many splits have the same cost, and then the peer's choice is a matter of rounding
            assert compared >= 0.4 * len(ours.feature_)
            continue
        assert compared >= 0.8 * len(ours.feature_)
        if (
            compared == len(ours.feature_) or criterion != "absolute_error"
        ):  # of which several medians, and so splits, may be best
            assert ours.get_n_leaves() == theirs.get_n_leaves() > 1
            assert ours.get_depth() == theirs.get_depth()


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("asked", ["balanced", "dict"])
def test_weights_of_classes_are_the_peers(K, asked):
    X = columns()
    y = labels(X, K)
    class_weight = "balanced" if asked == "balanced" else {0: 2.5, K - 1: 0.25}
    w = weights("floats") if asked == "dict" else None  # the peer balances rows, not their weights
    share = np.bincount(y) / len(y)
    own = (1 / K / share if asked == "balanced" else np.array([2.5, *[1.0] * (K - 2), 0.25]))[y]
    for limits in LIMITS[:3]:
        ours = DecisionTreeClassifier(class_weight=class_weight, **limits).fit(X, y, sample_weight=w)
        theirs = sklearn.tree.DecisionTreeClassifier(class_weight=class_weight, random_state=0, **limits)
        theirs.fit(X, y, sample_weight=w)
        compared = same_tree(ours, theirs, X, y, own if w is None else own * w, "gini")
        assert compared >= 0.4 * len(ours.feature_)


def test_missing_values_go_where_the_peer_sends_them():
    X = columns()
    X[np.random.default_rng(5).random(X.shape) < 0.15] = np.nan
    y = numbers(np.nan_to_num(X, nan=1.0))
    ours = DecisionTreeRegressor(min_samples_leaf=8).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(min_samples_leaf=8, random_state=0).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["none", "floats"])
def test_with_many_ties_the_fit_is_as_good_as_the_peers(kind):
    X = np.round(columns() * 2)
    w = weights(kind)
    for K in (2, 3):
        y = labels(X, K)
        scores = []
        for tree in (
            DecisionTreeClassifier(max_depth=3),
            sklearn.tree.DecisionTreeClassifier(max_depth=3, random_state=0),
        ):
            p = tree.fit(X, y, sample_weight=w).predict_proba(X)
            scores.append(np.average(1 - (p * p).sum(axis=1), weights=w))
        assert scores[0] == pytest.approx(scores[1], rel=0.02)


@pytest.mark.parametrize("sign", [1, -1])
def test_trees_with_a_trend_are_the_peers(sign):
    X = columns()
    y = numbers(X)
    limits = {"min_samples_leaf": 10, "monotonic_cst": [sign, 0, -sign, 0, 0]}
    ours = DecisionTreeRegressor(**limits).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(random_state=0, **limits).fit(X, y)
    assert same_tree(ours, theirs, X, y, None, "squared_error") == len(ours.feature_)
    y = labels(X, 2)
    ours = DecisionTreeClassifier(**limits).fit(X, y)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **limits).fit(X, y)
    assert same_tree(ours, theirs, X, y, None, "gini") >= 0.5 * len(ours.feature_)
