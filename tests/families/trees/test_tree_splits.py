"""The split of a node is the best there is: compared with an exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest
from tree_search import best_gain, gain, splits

from assay import DecisionTreeClassifier, DecisionTreeRegressor

CRITERIA = ("gini", "entropy", "squared_error", "absolute_error", "poisson")
BINS = ("exact", 255)


def stump(X, y, w, criterion, **params):
    cls = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    return cls(criterion=criterion, max_depth=1, **params).fit(X, y, sample_weight=w)


def goes_left(model, X):
    """The rows that the first split sends to the left; all where there is none."""
    return model.apply(X) <= 1


def small_rows(seed, criterion, classes=2, columns=3, rows=14):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (rows, columns)) / 2.0
    X[rng.random(X.shape) < 0.2] = np.nan
    if criterion in ("gini", "entropy"):
        y = rng.integers(0, classes, rows)
        y[:classes] = np.arange(classes)
    else:
        y = rng.integers(0, 5, rows) + (rng.random(rows) < 0.5) * 0.25
    w = [np.ones(rows), rng.integers(1, 4, rows).astype(float), rng.random(rows) + 0.1][seed % 3]
    return X, y, w


def weights_or_none(w):
    return None if np.all(w == 1) else w


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_first_split_is_the_best_of_all(criterion, classes, bins):
    if classes == 3 and criterion not in ("gini", "entropy"):
        return
    for seed in range(24):
        X, y, w = small_rows(seed, criterion, classes)
        least = 1 + seed % 4
        model = stump(X, y, weights_or_none(w), criterion, bins=bins, min_samples_leaf=least)
        best = best_gain(X, y, w, criterion, least=least)
        if model.get_n_leaves() == 1:
            assert best == -np.inf
            continue
        left = goes_left(model, X)
        assert min(left.sum(), (~left).sum()) >= least
        assert gain(y, w, left, criterion) == pytest.approx(best, abs=1e-9), seed


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
def test_categories_are_split_as_well_as_any_set_of_them_can(criterion, bins):
    for seed in range(24):
        X, y, w = small_rows(seed, criterion, columns=2, rows=18)
        X[:, 1] = np.floor(X[:, 1])
        X[:, 0] *= 2
        y = (
            y + 0.5 if criterion == "poisson" else y
        )  # a side whose target is nowhere positive is no split, so that the order is not all
        model = stump(X, y, weights_or_none(w), criterion, bins=bins, categorical_features=[0])
        left = goes_left(model, X)
        assert gain(y, w, left, criterion) == pytest.approx(best_gain(X, y, w, criterion, (0,)), abs=1e-9), seed


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_categories_of_many_classes_are_split_no_worse_than_one_against_the_rest(criterion):
    for seed in range(24):
        X, y, w = small_rows(seed, criterion, classes=4, columns=1, rows=30)
        X *= 2
        model = stump(X, y, weights_or_none(w), criterion, categorical_features=[0])
        codes = np.where(np.isnan(X[:, 0]), -1, X[:, 0])
        alone = max(gain(y, w, codes == c, criterion) for c in np.unique(codes))
        assert gain(y, w, goes_left(model, X), criterion) >= alone - 1e-9, seed


def test_categories_split_by_the_absolute_error_are_in_the_order_of_their_medians():
    for seed in range(12):
        X, y, w = small_rows(seed, "absolute_error", columns=1, rows=24)
        X *= 2
        model = stump(X, y, weights_or_none(w), "absolute_error", categorical_features=[0])
        codes = np.where(np.isnan(X[:, 0]), -1, X[:, 0])
        medians = {c: _median(y[codes == c], w[codes == c]) for c in np.unique(codes)}
        order = sorted(medians, key=lambda c: (medians[c], c if c >= 0 else 99))
        best = max(gain(y, w, np.isin(codes, order[:k]), "absolute_error") for k in range(1, len(order)))
        assert gain(y, w, goes_left(model, X), "absolute_error") == pytest.approx(best, abs=1e-9), seed


def _median(y, w):
    order = np.argsort(y)
    return y[order][np.searchsorted(np.cumsum(w[order]), 0.5 * w.sum())]


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_of_equal_columns_the_first_and_of_equal_thresholds_the_lowest_is_taken(criterion, bins):
    x = np.arange(6.0)
    y = np.array([1, 0, 1, 1, 0, 1])  # the same from both ends
    X = np.column_stack([np.zeros(6), x, x, -x])
    model = stump(X, y, None, criterion, bins=bins)
    best = [
        s for s in splits(X) if gain(y, np.ones(6), s.left, criterion) >= best_gain(X, y, np.ones(6), criterion) - 1e-12
    ]
    assert model.feature_[0] == best[0].column == 1
    assert np.array_equal(goes_left(model, X), best[0].left)


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("rows", [200, 3000])
def test_many_rows_are_searched_as_well_as_few(criterion, bins, rows):
    """From 32, 512 and 2048 rows on other loops do the work."""
    rng = np.random.default_rng(rows)
    X = np.column_stack([rng.integers(0, 40, rows), rng.integers(0, 7, rows), rng.integers(0, 5, rows)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0], nan=31.0) > 30
    y = (
        (signal ^ (rng.random(rows) < 0.3)).astype(int)
        if criterion != "squared_error"
        else signal + rng.standard_normal(rows)
    )
    w = rng.integers(1, 3, rows).astype(float)
    for weights in (np.ones(rows), w):
        model = stump(X, y, weights_or_none(weights), criterion, bins=bins, categorical_features=[2])
        best = best_gain(X, y, weights, criterion, (2,))
        assert gain(y, weights, goes_left(model, X), criterion) == pytest.approx(best, rel=1e-9)


def test_the_papers_gain_of_a_split_is_the_entropy_before_less_that_after():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    model = DecisionTreeClassifier(criterion="entropy", min_impurity_decrease=1.0).fit(X, y)
    assert model.get_n_leaves() == 2
    assert DecisionTreeClassifier(criterion="entropy", min_impurity_decrease=1.001).fit(X, y).get_n_leaves() == 1
