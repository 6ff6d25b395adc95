"""Honest fits of degenerate rows hold: targets all the same or far from zero, weights of every size, bins with rows of no weight."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.errors import AssayError

REGRESSORS = ("DecisionTreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor")
CRITERIA = ("squared_error", "absolute_error", "poisson")


def verified(model, X, y, w=None):
    model.fit(X, y, sample_weight=w)
    verdicts = model.certificate_.verify(X, y, w)
    assert verdicts.holds, str(verdicts)
    return model


def fitted(name, criterion, X, y, w):
    few = {} if name.startswith("Decision") else {"n_estimators": 3, "bootstrap": True}
    return verified(getattr(assay, name)(criterion=criterion, **few), X, y, w)


def rows(seed, n=20):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.random(n) + 1e-3


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_constant_target_with_fractional_weights_is_answered_and_proved(name, criterion):
    for seed, y in enumerate((0.1, 1 / 3, 123456.789, 1e10 / 3, 1e-10 / 3, 1e150 / 3, 1e-150 / 3)):
        X, w = rows(seed)
        model = fitted(name, criterion, X, np.full(len(X), y), w)
        assert np.allclose(model.predict(X), y, rtol=1e-15, atol=0)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_targets_that_differ_in_their_last_bit_are_told_apart(criterion):
    for seed, y in enumerate((0.1, 1e6 / 3, 1e-5 / 3)):
        X, w = rows(seed, 13)
        near = np.where(X[:, 0] > 0.3, np.nextafter(y, 2 * y), y)
        for weights in (None, w, 10.0 ** np.linspace(-20, 20, len(X))):
            fitted("DecisionTreeRegressor", criterion, X, near, weights)


@pytest.mark.parametrize("scale", [1e-149, 1e-20, 1e20, 1e149])
@pytest.mark.parametrize("heavy", [1e-300, 1e-100, 1.0, 1e100])
@pytest.mark.parametrize("name", REGRESSORS)
def test_targets_and_weights_of_any_size_are_fitted_and_proved(name, scale, heavy):
    X, w = rows(5)
    for criterion in CRITERIA:
        y = np.abs(X[:, 1]) if criterion == "poisson" else X[:, 1] + X[:, 0]
        fitted(name, criterion, X, y * scale, w * heavy)


def test_a_row_too_light_to_count_takes_no_accuracy_from_the_others():
    X, y = np.arange(6.0)[:, None], np.array([0.3, 0.7, 0.3, 0.7, 1e9, -1e9])
    model = verified(assay.DecisionTreeRegressor(), X, y, np.array([1e17, 2e17, 3e17, 4e17, 1e-3, 1e-3]))
    assert model.predict(X[:4]).tolist() == pytest.approx([0.3, 0.7, 0.3, 0.7], rel=1e-15)


def test_a_poisson_split_with_next_to_nothing_on_a_side_is_none():
    X = np.arange(4.0)[:, None]
    verified(assay.DecisionTreeRegressor(criterion="poisson"), X, np.array([1e-25, 0.0, 0.0, 1.0]))
    w = np.array([1.0, 1.0, 1.0, 1e18])
    verified(assay.DecisionTreeRegressor(criterion="poisson"), X, np.array([1e-3, 0.0, 3.0, 1.0]), w)


def test_trees_that_saw_every_row_leave_no_gap_in_the_curve(tmp_path):
    for seed in range(20):
        X, y = np.array([[3.0], [2.0], [3.0]]), np.array([1.0, 1.0, 2.0])
        model = assay.ExtraTreesRegressor(4, bootstrap=True, random_state=seed)
        model.fit(X, y, sample_weight=np.array([1.0, 2.0, 0.0]))
        model.save(tmp_path / "m.assay")
        assay.load(tmp_path / "m.assay")


def test_a_poisson_target_needs_a_row_that_counts():
    with pytest.raises(AssayError, match="somewhere positive"):
        assay.DecisionTreeRegressor(criterion="poisson").fit([[0.0], [1.0]], [0.0, 3.0], sample_weight=[1e30, 1e-30])


@pytest.mark.parametrize("scale", [1e-300, 1e-160])
def test_no_gain_is_claimed_where_its_square_is_no_number(scale):
    X, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 5.0, 7.0])
    model = verified(assay.DecisionTreeRegressor(), X, scale * y)
    assert np.allclose(model.predict(X) / scale, y)
    assert [c.name for c in model.certificate_] == ["leaves"]
    model = verified(assay.DecisionTreeRegressor(criterion="absolute_error"), X, scale * y)
    assert [c.name for c in model.certificate_] == ["leaves", "gains", "best splits"]


@pytest.mark.parametrize("weight", ["sample", "class"])
def test_bins_are_those_of_the_rows_with_a_weight(weight):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    if weight == "sample":
        verified(assay.DecisionTreeClassifier(bins=4), X, y, rng.integers(0, 3, 80).astype(float))
    else:
        verified(assay.DecisionTreeClassifier(bins=4, class_weight={0: 0.0}), X, y, rng.random(80))


@pytest.mark.parametrize("scale", [1e-149, 1e-100, 1e100, 1e149])
def test_pruning_is_chosen_for_targets_of_any_size(scale):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0) + 0.3 * rng.normal(size=60)
    for criterion in ("squared_error", "absolute_error"):
        plain, scaled = (
            verified(assay.DecisionTreeRegressor(criterion=criterion, ccp_alpha="cv"), X, y * s) for s in (1.0, scale)
        )
        assert len(plain.leaf_) == len(scaled.leaf_)


def test_of_classes_that_weigh_the_same_but_for_a_bit_the_first_is_answered():
    for seed in range(40):
        w = np.random.default_rng(seed).random(12)
        verified(assay.DecisionTreeClassifier(class_weight="balanced"), np.zeros((12, 1)), np.arange(12) % 3, w)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("family", ["DecisionTree", "RandomForest", "ExtraTrees"])
def test_rows_of_any_size_end_in_a_model_or_are_refused_in_words(family, kind):
    rng = np.random.default_rng(3)
    few = {} if family == "DecisionTree" else {"n_estimators": 3, "bootstrap": True}
    model = getattr(assay, family + kind)(**few)
    for scale in 10.0 ** np.array([-320, -300, -200, -150, -20, 20, 150, 200, 300, 308]):
        for dtype in (np.float64, np.float32):
            X = (rng.normal(size=(12, 2)) * min(scale, np.finfo(dtype).max / 10)).astype(dtype)
            y = np.arange(12) % 3 if kind == "Classifier" else np.clip(rng.normal(size=12), -1, 1) * scale
            try:
                verified(model, X, y, rng.random(12) * min(scale, 1e300))
            except AssayError:
                continue
            if kind == "Classifier":
                assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
