"""The curve grows on nested rows and says whether more would help."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import assay
from assay.assess import learning_curve
from assay.assess.learning_curve import FLAT, UNSURE, nested_order
from assay.assess.paired import SAME
from assay.errors import ParameterError


def made(n, seed, d=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, d)) + y[:, None], np.array(["no", "yes"])[y]


def test_every_beginning_keeps_the_shares_of_the_classes():
    y = np.repeat(["a", "b", "c"], [700, 250, 50])
    order = nested_order(y, 3, stratified=True)
    assert sorted(order) == list(range(1000))
    for size in (20, 100, 333, 1000):
        for label, share in (("a", 0.7), ("b", 0.25), ("c", 0.05)):
            assert abs((y[order[:size]] == label).sum() - share * size) <= 2
    assert not np.array_equal(order, nested_order(y, 4, stratified=True))


def test_a_simple_model_on_many_rows_does_not_say_that_more_would_help():
    curve = learning_curve(lambda X, y: assay.GaussianNB().fit(X, y), *made(4000, 0), *made(2000, 1))
    assert curve.verdict in (FLAT, UNSURE)
    assert all(p.train.kind == "approximate" and p.test.kind == "exact" for p in curve.points)
    assert [p.n for p in curve.points] == [400, 800, 1400, 2000, 2800, 4000]
    last = curve.points[-1]
    assert last.test.low <= last.train.value <= last.test.high
    json.dumps(curve.to_data())


def test_a_model_that_still_learns_wants_more_rows():
    rng = np.random.default_rng(2)
    board = lambda X: (np.floor(X).sum(axis=1) % 2).astype(int)  # noqa: E731
    X, X_new = rng.uniform(0, 8, (1500, 2)), rng.uniform(0, 8, (3000, 2))
    curve = learning_curve(
        lambda X, y: KNeighborsClassifier(1).fit(X, y), X, board(X), X_new, board(X_new), shares=(0.1, 0.4, 1.0)
    )
    assert curve.verdict == "more rows would help"
    assert curve.slope < 0
    assert all(p.train.value == 0 for p in curve.points)


def test_a_curve_is_flat_only_where_the_last_step_cannot_have_gained_much():
    class Mean:
        """The mean of y: after n rows its risk is σ²(1 + 1/n)."""

        def __init__(self, X, y):
            self.mean = y.mean()

        def predict(self, X):
            return np.full(len(X), self.mean)

    rng = np.random.default_rng(5)
    y, y_new = rng.normal(size=20_000), rng.normal(size=4000)
    many = learning_curve(Mean, y, y, y_new, y_new, loss="squared")
    assert many.verdict == FLAT
    assert many.last_step.low >= -0.02 * many.points[-1].test.value
    few = learning_curve(Mean, y[:12], y[:12], y_new[:30], y_new[:30], loss="squared", shares=(0.3, 1.0))
    assert few.last_step.verdict == SAME
    assert few.last_step.low < -0.02 * few.points[-1].test.value
    assert few.verdict == UNSURE == "cannot tell whether more rows would help"


def test_sizes_with_one_class_are_left_out_and_named():
    X, y = np.arange(40.0)[:, None], np.array([0] * 38 + [1] * 2)
    curve = learning_curve(lambda X, y: assay.LogisticRegression().fit(X, y), X, y, X, y, shares=(0.05, 1.0))
    assert [p.n for p in curve.points] == [40]
    assert curve.left_out[0].startswith("2 rows: ")
    assert curve.verdict == UNSURE


def test_numbers_are_judged_by_the_squared_loss():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=300)
    curve = learning_curve(
        lambda X, y: assay.LinearRegression().fit(X, y), X[:200], y[:200], X[200:], y[200:], loss="squared"
    )
    assert curve.points[-1].test.kind == "approximate"
    assert curve.points[-1].test.low < 1.0 < curve.points[-1].test.high


def test_shares_outside_0_to_1_are_refused():
    with pytest.raises(ParameterError, match="shares"):
        learning_curve(None, [[0]], [0], [[0]], [0], shares=(0.0, 1.0))
