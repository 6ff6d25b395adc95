"""Shuffling a column costs what it must."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse
import sklearn.inspection
from sklearn.linear_model import LinearRegression

from assay.assess import permutation_importance
from assay.errors import ParameterError

W = np.array([2.0, 1.0, 0.0])


def made(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ W + 0.1 * rng.normal(size=n)


def test_of_a_linear_rule_the_importance_is_twice_the_variance_it_carries():
    X, y = made()
    found = {i.name: i.increase for i in permutation_importance(lambda X: X @ W, X, y, loss="squared")}
    for j, w in enumerate(W):
        s = found[f"column {j}"]
        assert s.low <= 2 * w * w <= s.high
    assert found["column 2"].value == 0
    assert next(iter(found)) == "column 0"  # greatest first


def test_it_agrees_with_scikit_learn_up_to_the_shuffles():
    X, y = made(seed=1)
    model = LinearRegression().fit(X, y)
    peer = sklearn.inspection.permutation_importance(
        model, X, y, scoring="neg_mean_squared_error", n_repeats=20, random_state=0
    )
    ours = {i.columns[0]: i.increase for i in permutation_importance(model.predict, X, y, loss="squared", repeats=20)}
    for j in range(3):
        assert ours[j].value == pytest.approx(peer.importances_mean[j], abs=0.1 * max(0.01, peer.importances_mean[j]))


def test_columns_of_one_code_are_shuffled_together():
    rng = np.random.default_rng(2)
    colour = rng.integers(0, 3, 600)
    X = np.column_stack([np.eye(3)[colour], rng.normal(size=600)])
    rows_seen = []

    def predict(X):
        rows_seen.append(np.allclose(X[:, :3].sum(axis=1), 1))
        return X[:, :3].argmax(axis=1)

    found = permutation_importance(predict, X, colour, groups={"colour": [0, 1, 2], "other": [3]})
    assert all(rows_seen)
    assert found[0].name == "colour"
    assert found[0].increase.low <= 2 / 3 <= found[0].increase.high
    assert found[1].increase.value == 0
    json.dumps([i.to_data() for i in found])


def test_sparse_rows_give_the_same_as_dense_ones():
    X, y = made(200)
    X = np.where(X > 0, X, 0.0)
    dense = permutation_importance(lambda X: X @ W, X, y, loss="squared")
    sparse = permutation_importance(lambda X: X @ W, scipy.sparse.csr_array(X), y, loss="squared")
    assert [i.increase.value for i in dense] == pytest.approx([i.increase.value for i in sparse])


def test_about_95_of_100_intervals_cover():
    covered = 0
    for seed in range(150):
        X, y = made(100, seed)
        first = next(i for i in permutation_importance(lambda X: X @ W, X, y, loss="squared") if i.columns == (0,))
        covered += first.increase.low <= 8.0 <= first.increase.high
    assert covered >= 0.93 * 150


def test_groups_that_name_no_column_are_refused():
    with pytest.raises(ParameterError, match="numbered 0 to 2"):
        permutation_importance(lambda X: X @ W, *made(10), groups={"far": [3]}, loss="squared")
    with pytest.raises(ParameterError, match="repeats=0"):
        permutation_importance(lambda X: X @ W, *made(10), repeats=0, loss="squared")
