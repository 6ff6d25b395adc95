"""Stages of boosting: what they sum, how they grow, and what they answer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import assay
from assay import GradientBoostingClassifier, GradientBoostingRegressor
from assay.errors import DataError, ParameterError


def table(n=600, d=5, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3]
    X[rng.random((n, d)) < missing] = np.nan
    return X, f + 0.1 * rng.standard_normal(n)


LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_of_numbers_falls_stage_by_stage_and_is_certified(loss):
    X, y = table()
    y = np.exp(y / 2) if loss in ("poisson", "gamma", "tweedie") else y
    model = GradientBoostingRegressor(loss=loss, n_estimators=12).fit(X, y)
    assert (np.diff(model.loss_curve_) <= 1e-12 * model.loss_curve_[0]).all()
    assert model.loss_curve_[-1] < 0.7 * model.loss_curve_[0]
    assert model.certificate_.verify(X, y).holds


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_losses_of_two_classes_give_the_probabilities_whose_loss_is_stated(loss):
    X, y = table()
    y = (y > 0).astype(int)
    model = GradientBoostingClassifier(loss=loss, n_estimators=15).fit(X, y)
    P = model.predict_proba(X)
    score = model.decision_function(X)
    if loss == "log_loss":
        assert -np.log(P[np.arange(len(y)), y]).mean() == pytest.approx(model.loss_curve_[-1], rel=1e-9)
    else:
        assert np.exp(np.where(y == 1, -score, score)).mean() == pytest.approx(model.loss_curve_[-1], rel=1e-9)
    assert ((score > 0) == (P[:, 1] > 0.5)).all()
    assert model.certificate_.verify(X, y).holds


def test_a_single_stage_of_squared_errors_is_the_mean_of_each_leaf():
    X, y = table(missing=0.0)
    model = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, max_leaf_nodes=8, l2_regularization=0.0).fit(
        X, y
    )
    answers = model.predict(X)
    for value in np.unique(answers):
        assert value == pytest.approx(y[answers == value].mean(), rel=1e-6, abs=1e-9)


def test_the_first_split_is_the_best_of_all_thresholds():
    X, y = table(n=200, missing=0.0)
    model = GradientBoostingRegressor(n_estimators=1, max_leaf_nodes=2, min_samples_leaf=5, l2_regularization=0.0).fit(
        X, y
    )
    r, best = y - y.mean(), -np.inf
    for j in range(5):
        order = np.argsort(X[:, j])
        left = np.cumsum(r[order])[4:-5]
        m = np.arange(5, len(y) - 4)
        best = max(best, float((left**2 / m + left**2 / (len(y) - m)).max()))
    assert model.gain_[0] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("jobs", [2, 3])
def test_threads_change_no_bit(jobs):
    X, y = table(n=60_000, d=6)
    few = GradientBoostingRegressor(n_estimators=3, n_jobs=1).fit(X, y)
    many = GradientBoostingRegressor(n_estimators=3, n_jobs=jobs).fit(X, y)
    assert np.array_equal(few.table_, many.table_)
    assert np.array_equal(few.cut_, many.cut_)
    assert np.array_equal(few.gain_, many.gain_)
    assert np.array_equal(few.predict(X), many.predict(X))


def test_stages_answer_as_the_model_with_so_many():
    X, y = table()
    y = np.digitize(y, [-0.5, 0.5])
    model = GradientBoostingClassifier(n_estimators=5, min_samples_leaf=10).fit(X, y)
    staged = list(model.staged_predict_proba(X))
    short = GradientBoostingClassifier(n_estimators=3, min_samples_leaf=10).fit(X, y)
    assert np.array_equal(staged[-1], model.predict_proba(X))
    assert np.array_equal(staged[2], short.predict_proba(X))
    assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert np.array_equal(list(model.staged_decision_function(X))[-1], model.decision_function(X))


def test_warm_start_goes_on_as_one_fit_would_have():
    X, y = table()
    whole = GradientBoostingRegressor(n_estimators=8, subsample=0.7).fit(X, y)
    part = GradientBoostingRegressor(n_estimators=3, subsample=0.7, warm_start=True).fit(X, y)
    part.set_params(n_estimators=8).fit(X, y)
    assert np.array_equal(part.predict(X), whole.predict(X))
    assert part.certificate_.verify(X, y).holds
    mixed = part.set_params(n_estimators=9, max_leaf_nodes=4).fit(X, y)
    assert mixed.mixed_
    assert not list(mixed.certificate_)
    with pytest.raises(ParameterError, match="less than the 9 stages"):
        mixed.set_params(n_estimators=2).fit(X, y)
    with pytest.raises(ParameterError, match="loss='squared_error'"):
        mixed.set_params(n_estimators=12, loss="huber").fit(X, y)


def test_early_stopping_keeps_the_best_stage_and_tells_of_its_loss():
    X, y = table(n=2000)
    y = (y + np.random.default_rng(1).standard_normal(len(y)) > 0).astype(int)
    model = GradientBoostingClassifier(n_estimators="auto", learning_rate=0.3).fit(X, y)
    curve = model.validation_curve_
    assert model.n_estimators_ == int(np.argmin(curve)) < len(curve) - 1
    assert [c.kind for c in model.certificate_][-1] == "estimate"
    assert model.certificate_.verify(X, y).holds


def test_a_monotonic_column_never_lowers_the_answer():
    X, y = table(missing=0.0)
    model = GradientBoostingRegressor(monotonic_cst={3: 1, 0: -1}, n_estimators=30).fit(X, y)
    for column, sign in ((3, 1), (0, -1)):
        for row in X[:20]:
            line = np.tile(row, (60, 1))
            line[:, column] = np.linspace(-4, 4, 60)
            assert (sign * np.diff(model.predict(line)) >= -1e-12).all()
    assert model.certificate_.verify(X, y).holds


def test_columns_of_different_groups_do_not_meet():
    X, y = table(missing=0.0)
    model = GradientBoostingRegressor(interaction_cst="no_interactions", n_estimators=20).fit(X, y)
    a, b = X[:50].copy(), X[:50].copy()
    a[:, 0] += 1.0
    c, d = a.copy(), b.copy()
    c[:, 1], d[:, 1] = 0.3, 0.3
    apart = model.predict(a) - model.predict(b) - (model.predict(c) - model.predict(d))
    assert np.abs(apart).max() < 1e-12
    assert model.certificate_.verify(X, y).holds


def test_categories_are_split_by_their_gradients_and_missing_ones_learnt():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 40, 3000), rng.standard_normal(3000)]).astype(float)
    effect = rng.standard_normal(40)
    y = effect[X[:, 0].astype(int)] + 0.1 * X[:, 1]
    X[rng.random(3000) < 0.05, 0] = np.nan
    model = GradientBoostingRegressor(categorical_features=[0], n_estimators=60).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.sets_ is not None
    assert model.certificate_.verify(X, y).holds


def test_few_histograms_give_the_same_tree():
    from assay.families.boosting import stages

    X, y = table(n=3000)
    whole = GradientBoostingRegressor(n_estimators=2, max_leaf_nodes=20).fit(X, y)
    kept, stages.KEPT = stages.KEPT, 1
    try:
        small = GradientBoostingRegressor(n_estimators=2, max_leaf_nodes=20).fit(X, y)
    finally:
        stages.KEPT = kept
    assert np.array_equal(whole.cut_, small.cut_)
    assert np.array_equal(whole.table_, small.table_)


def test_both_names_are_one_class():
    assert assay.HistGradientBoostingClassifier is GradientBoostingClassifier
    assert assay.HistGradientBoostingRegressor is GradientBoostingRegressor


def test_a_loss_of_ones_own_is_made_small_and_a_wrong_slope_named():
    X, y = table()
    own = assay.surrogate(
        lambda z, t: np.logaddexp(z - t, t - z), lambda z, t: np.tanh(z - t), kind="regression", name="log-cosh"
    )
    model = GradientBoostingRegressor(loss=own, n_estimators=20).fit(X, y)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert not list(model.certificate_)
    with pytest.raises(ParameterError, match="regression"):
        GradientBoostingClassifier(loss=own).fit(X, y > 0)
    with pytest.raises(ParameterError, match="slope"):
        assay.surrogate(lambda z, t: (z - t) ** 2, lambda z, t: z - t, kind="regression")


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "y"), [("poisson", -1.0), ("gamma", 0.0), ("tweedie", -2.0)])
def test_targets_out_of_a_losss_range_are_named(loss, y):
    X, numbers = table(n=50)
    numbers = np.abs(numbers) + 0.1
    numbers[7] = y
    with pytest.raises(DataError, match=f"loss='{loss}' needs a target that is .* but y holds {y:g}"):
        GradientBoostingRegressor(loss=loss).fit(X, numbers)


def test_a_share_that_leaves_no_row_of_a_class_is_refused():
    X, _ = table(n=200)
    y = np.zeros(200, int)
    y[3] = 1
    with pytest.raises(DataError, match=r"class .*1.*validation_fraction"):
        GradientBoostingClassifier(n_iter_no_change=3).fit(X, y)
    with pytest.raises(DataError, match="would be held out"):
        GradientBoostingRegressor(n_estimators="auto", validation_fraction=0.01).fit(X[:8], np.arange(8.0))


def test_a_rate_of_zero_is_refused():
    with pytest.raises(ParameterError, match="learning_rate=0"):
        GradientBoostingRegressor(learning_rate=0.0).fit([[0.0], [1.0]], [0.0, 1.0])


def test_exponential_loss_of_three_classes_is_refused():
    X, _y = table(n=60)
    with pytest.raises(ParameterError, match="two classes"):
        GradientBoostingClassifier(loss="exponential").fit(X, np.arange(60) % 3)


def test_rows_that_no_split_can_tell_apart_give_a_constant_and_a_warning():
    with pytest.warns(assay.errors.ConvergenceWarning, match="constant"):
        model = GradientBoostingRegressor().fit(np.ones((50, 2)), np.arange(50.0))
    assert model.predict(np.ones((1, 2)))[0] == pytest.approx(24.5)
    assert model.provenance_["ended"] == "no split gains anything"


def test_more_names_than_codes_are_taken():
    n = 3000
    text = np.array([f"name {i}" for i in range(n)], dtype=object)
    import pandas as pd

    frame = pd.DataFrame({"who": text, "x": np.arange(float(n))})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GradientBoostingRegressor(n_estimators=5).fit(frame, np.arange(float(n)))
    assert model.score(frame, np.arange(float(n))) > 0.5


def test_seconds_end_a_fit_with_what_it_has():
    X, y = table()
    model = GradientBoostingRegressor(n_estimators=100_000, max_seconds=0.2).fit(X, y)
    assert 1 <= model.n_estimators_ < 100_000
    assert model.provenance_["ended"] == "out of time"
    assert model.certificate_.verify(X, y).holds


def test_importances_add_up_to_one():
    X, y = table()
    model = GradientBoostingRegressor(n_estimators=10).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmin() == 4
    splits = model.set_params(importance_type="split").feature_importances_
    assert splits.sum() == pytest.approx(1.0)
