"""What trees and forests refuse, and what they bear: each error says what to do."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.errors import DataError, DataTypeError, OneClassError, ParameterError

FAMILIES = ("DecisionTree", "RandomForest", "ExtraTrees")
rng = np.random.default_rng(5)
X = rng.random((60, 3))
Y = (X[:, 0] > 0.5).astype(int)
Z = X[:, 0] + 0.1 * rng.standard_normal(60)


def made(family, kind="Classifier", **params):
    more = {} if family == "DecisionTree" else {"n_estimators": 5}
    return getattr(assay, family + kind)(**{**more, **params})


def both(family, **params):
    """A classifier and a regressor with targets for the rows X."""
    return (made(family, "Classifier", **params), Y), (made(family, "Regressor", **params), Z)


BAD = [
    ({"max_depth": 0}, "max_depth=0"),
    ({"max_depth": 2.5}, "max_depth=2.5"),
    ({"min_samples_split": 1}, "min_samples_split=1 is not possible"),
    ({"min_samples_split": 1.5}, "min_samples_split=1.5"),
    ({"min_samples_leaf": 0}, "min_samples_leaf=0"),
    ({"min_weight_fraction_leaf": 0.6}, "min_weight_fraction_leaf=0.6"),
    ({"max_features": 0}, "max_features=0 is not possible: it must be a whole number ≥ 1, or a share in"),
    ({"max_features": 1.5}, "max_features=1.5"),
    ({"max_features": "many"}, "max_features='many'"),
    ({"max_features": 4}, "max_features=4 is more than the 3 columns there are: give at most 3"),
    ({"max_features": True}, "max_features=True"),
    ({"max_leaf_nodes": 1}, "max_leaf_nodes=1"),
    ({"min_impurity_decrease": -1.0}, "min_impurity_decrease=-1.0"),
    ({"ccp_alpha": -0.1}, "ccp_alpha=-0.1"),
    ({"bins": 1}, "bins=1"),
    ({"bins": 256}, "bins=256"),
    ({"bins": "some"}, "bins='some'"),
    ({"random_state": -1}, "random_state=-1"),
    ({"criterion": "best"}, "criterion='best' is not possible: it must be one of"),
]
BAD_FORESTS = [
    ({"n_estimators": 0}, "n_estimators=0"),
    ({"n_estimators": 2.5}, "n_estimators=2.5"),
    ({"n_estimators": "many"}, "n_estimators='many'"),
    (
        {"n_estimators": "auto", "oob_score": False, "bootstrap": True},
        "needs oob_score=True and bootstrap=True or max_samples",
    ),
    ({"n_estimators": "auto", "bootstrap": False}, "needs oob_score=True and bootstrap=True or max_samples"),
    ({"max_samples": 0}, "max_samples=0"),
    ({"max_samples": -0.5}, "max_samples=-0.5"),
    ({"max_samples": float("nan")}, "max_samples=nan"),
    ({"max_samples": float("inf")}, "max_samples=inf"),
    ({"max_samples": "half"}, "max_samples='half'"),
    ({"max_samples": True}, "max_samples=True"),
    (
        {"max_samples": 61, "bootstrap": False},
        "asks for 61 of 60 rows without replacement: give at most 60, or bootstrap=True",
    ),
    ({"max_samples": 1.5, "bootstrap": False}, "asks for 90 of 60 rows without replacement"),
    ({"max_samples": 10**9, "bootstrap": True}, "would draw each row .* times"),
]


@pytest.mark.parametrize(("params", "message"), BAD, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_parameters_that_cannot_be_are_named(family, params, message):
    for model, y in both(family, **params):
        with pytest.raises(ParameterError, match=message):
            model.fit(X, y)


@pytest.mark.parametrize(("params", "message"), BAD_FORESTS, ids=str)
@pytest.mark.parametrize("family", FAMILIES[1:])
def test_parameters_of_forests_that_cannot_be_are_named(family, params, message):
    for model, y in both(family, **params):
        with pytest.raises(ParameterError, match=message):
            model.fit(X, y)


@pytest.mark.parametrize("family", FAMILIES)
def test_constant_columns_and_equal_targets_make_one_leaf(family):
    for flat in (np.full((60, 3), 2.5), np.full((60, 3), np.nan), np.zeros((60, 1))):
        model = made(family).fit(flat, Y)
        assert model.get_depth() == 0
        assert np.allclose(model.predict_proba(flat).sum(axis=1), 1)
        assert made(family, "Regressor").fit(flat, Z).get_depth() == 0
    for value in (0.0, -7.5, 1e150, 1e-300):
        model = made(family, "Regressor").fit(X, np.full(60, value))
        assert model.get_depth() == 0
        assert np.array_equal(model.predict(X), np.full(60, value))
    with pytest.raises(OneClassError, match="only one class"):
        made(family).fit(X, np.zeros(60))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_column_without_any_value_does_not_matter(family):
    wide = np.column_stack([X, np.full(60, np.nan)])
    for model, y in both(family, max_features=None):
        answers = model.fit(X, y).predict(X)
        assert np.array_equal(model.fit(wide, y).predict(wide), answers)
        assert np.array_equal(model.predict(np.column_stack([X, np.ones(60)])), answers)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
@pytest.mark.parametrize("family", FAMILIES)
def test_infinite_values_are_named_with_their_cell(family, bad):
    spoilt = X.copy()
    spoilt[4, 2] = bad
    for model, y in both(family):
        with pytest.raises(DataError, match=r"row 4, column 2"):
            model.fit(spoilt, y)
        model.fit(X, y)
        asks = [model.predict, model.apply] + ([model.predict_proba] if hasattr(model, "predict_proba") else [])
        for ask in asks:
            with pytest.raises(DataError, match=r"row 4, column 2"):
                ask(spoilt)
    for value in (np.nan, bad):
        y = Z.copy()
        y[3] = value
        with pytest.raises(DataError, match=r"row 3|y\[3\]|NaN|infinity|inf"):
            made(family, "Regressor").fit(X, y)


@pytest.mark.parametrize("family", FAMILIES)
def test_more_columns_than_16_bits_can_name_work(family, tmp_path):
    wide = np.zeros((6, 40_000))
    wide[:, 39_999] = np.arange(6)
    y = np.array([0, 0, 0, 1, 1, 1])
    model = made(family, max_features=None).fit(wide, y)
    assert model.predict(wide)[0] == 0
    assert set(np.unique(model.feature_)) <= {-1, 39_999}
    model.save(tmp_path / "m.assay")
    assert np.array_equal(assay.load(tmp_path / "m.assay").predict(wide), model.predict(wide))


@pytest.mark.parametrize("family", FAMILIES)
def test_one_row_and_two_rows_can_be_fitted(family):
    model = made(family, "Regressor").fit([[1.0, 2.0]], [3.5])
    assert model.predict([[9.0, np.nan]]).tolist() == [3.5]
    assert model.get_n_leaves() == (1 if family == "DecisionTree" else 5)
    model = made(family).fit([[1.0], [2.0]], ["a", "b"])
    assert set(model.predict([[1.0], [2.0]])) <= {"a", "b"}
    with pytest.raises(OneClassError, match="only one class"):
        made(family).fit([[1.0]], [0])
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        made(family).fit(X[:0], Y[:0])


def test_equal_rows_with_different_labels_share_a_leaf():
    twice, labels = np.repeat(X[:10], 3, axis=0), np.tile([0, 1, 1], 10)
    model = assay.DecisionTreeClassifier().fit(twice, labels)
    assert model.get_n_leaves() == 10 or model.get_n_leaves() == 1
    assert np.allclose(model.predict_proba(twice)[:, 1], 2 / 3)
    assert model.predict(twice).tolist() == [1] * 30
    means = assay.DecisionTreeRegressor().fit(twice, labels).predict(twice)
    assert np.allclose(means, 2 / 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_shapes_and_types_that_cannot_be_are_refused(family):
    for model, y in both(family):
        with pytest.raises(DataError, match=r"1D|2D|two-dimensional|reshape"):
            model.fit(X[:, 0], y)
        with pytest.raises((DataError, DataTypeError), match=r"(?i)complex"):
            model.fit(X.astype(complex), y)
        with pytest.raises(DataError, match=r"(?i)inconsistent|length|rows"):
            model.fit(X, y[:-1])
        with pytest.raises(DataError, match="expecting 3 features"):
            model.fit(X, y).predict(X[:, :2])
        with pytest.raises(ValueError, match="not fitted"):
            type(model)().predict(X)
    with pytest.raises(DataError, match="looks like regression"):
        made(family).fit(X, Z)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_that_leave_nothing_are_refused(family):
    for model, y in both(family):
        with pytest.raises(DataError, match=r"zero.*give some rows a positive weight"):
            model.fit(X, y, np.zeros(60))
        with pytest.raises(DataError, match=r"(?i)negative"):
            model.fit(X, y, -np.ones(60))
        with pytest.raises(DataError, match=r"(?i)nan|finite|missing"):
            model.fit(X, y, np.where(np.arange(60) == 3, np.nan, 1.0))
        with pytest.raises(DataError, match="the weights are so large that their sum overflows"):
            model.fit(X, y, np.full(60, 1e307))
    with pytest.raises(DataError, match="Only one class, 1, has rows of positive weight"):
        made(family).fit(X, Y, (Y == 1).astype(float))
    with pytest.raises((DataError, ParameterError), match=r"class|weight"):
        made(family, class_weight={0: 0.0}).fit(X, Y)
    three = np.arange(60) % 3
    model = made(family).fit(X, three, (three > 0).astype(float))
    assert model.predict_proba(X)[:, 0].max() == 0
    assert set(model.predict(X)) == {1, 2}


@pytest.mark.parametrize("family", FAMILIES[1:])
def test_a_tree_whose_rows_weigh_next_to_nothing_is_refused(family):
    w = np.zeros(60)
    w[[3, 7]] = 1.0, 1e-40  # too light to count beside the other
    for model, y in both(family, bootstrap=True, max_samples=1, n_estimators=30):
        y = y.copy()
        y[[3, 7]] = 0, 1
        with pytest.raises(
            DataError, match="rows drawn for a tree all have weight zero: leave out the rows of weight zero"
        ):
            model.fit(X, y, w)


@pytest.mark.parametrize("bins", ["exact", 8])
@pytest.mark.parametrize("family", FAMILIES)
def test_huge_and_tiny_values_are_told_apart(family, bins):
    for values in (
        [-1e300, 1e300],
        [1e-300, 3e-300],
        [-1.7e308, 1.7e308],
        [5e-324, 1e-323],
        [1.0, np.nextafter(1.0, 2.0)],
    ):
        x = np.repeat(values, 30)[:, None]
        y = np.repeat([0, 1], 30)
        for model, target in ((made(family, bins=bins), y), (made(family, "Regressor", bins=bins), y.astype(float))):
            assert np.array_equal(model.fit(x, target).predict(x), target), values


@pytest.mark.parametrize("family", FAMILIES)
def test_targets_of_any_size_are_learnt(family):
    wide = X * np.array([1.0, 0.0, 0.0])
    for low, step in ((0.0, 1e-300), (0.0, 1e150), (1e15, 1.0), (-1e150, 2e150), (3.0, 1e-12), (0.0, 1e-320)):
        y = low + step * Y
        for criterion in ("squared_error", "absolute_error"):
            for w in (None, 1.0 + np.arange(60) % 3, np.full(60, 1e10)):
                model = (
                    made(family, "Regressor", criterion=criterion, bootstrap=False)
                    if family != "DecisionTree"
                    else None
                )
                model = model or made(family, "Regressor", criterion=criterion)
                said = model.fit(wide, y, w).predict(wide)
                assert np.allclose(said, y, rtol=1e-12, atol=abs(step) * 1e-9), (low, step, criterion)


@pytest.mark.parametrize("family", FAMILIES)
def test_targets_whose_squares_overflow_are_refused_unless_they_weigh_nothing(family):
    y = Z.copy()
    y[7] = -1e200
    model = made(family, "Regressor")
    with pytest.raises(DataError, match=r"y holds values as large as 1e\+200, whose squares overflow"):
        model.fit(X, y)
    w = (np.arange(60) != 7).astype(float)
    assert np.array_equal(model.fit(X, y, w).predict(X), model.fit(X, Z, w).predict(X))


@pytest.mark.parametrize("family", FAMILIES)
def test_minus_zero_is_zero(family):
    x = np.array([-0.0, 0.0] * 20 + [1.0] * 20)[:, None]
    y = np.array([0, 1] * 20 + [1] * 20)
    model = made(family, bootstrap=False) if family != "DecisionTree" else made(family)
    model.fit(x, y)
    assert np.array_equal(model.predict_proba([[-0.0]]), model.predict_proba([[0.0]]))
    assert np.allclose(model.predict_proba([[0.0]]), [[0.5, 0.5]])


def test_poisson_needs_targets_that_are_counts_or_rates():
    for y in (Z - 5, np.zeros(60)):
        with pytest.raises(DataError, match="nowhere negative and somewhere positive"):
            assay.DecisionTreeRegressor(criterion="poisson").fit(X, y)
    said = assay.DecisionTreeRegressor(criterion="poisson").fit(X, np.where(Y == 1, 3.0, 0.0)).predict(X)
    assert said.min() > 0


def test_warm_starts_that_cannot_be_are_refused():
    for model, y in both("RandomForest", warm_start=True):
        model.fit(X, y)
        before = model.predict(X)
        with pytest.raises(ParameterError, match="n_estimators=3 is less than the 5 trees of the fit before"):
            model.set_params(n_estimators=3).fit(X, y)
        with pytest.raises(DataError, match="grown from the same rows"):
            model.set_params(n_estimators=9).fit(X[:40], y[:40])
        with pytest.raises(DataError, match="expecting 3 features"):
            model.fit(X[:, :2], y)
        assert np.array_equal(model.predict(X), before)
        assert len(model.nodes_) == 5
