"""Which rows a stage sees, and how many stages there are: drawn alike or by their gradients, and chosen by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest

from assay import GradientBoostingClassifier, GradientBoostingRegressor
from assay.errors import DataError
from assay.families.boosting.cross_validation import folds_of

RNG = np.random.default_rng(3)
X = RNG.standard_normal((1500, 6))
X[RNG.random(X.shape) < 0.05] = np.nan
SIGNAL = np.nan_to_num(X[:, 0] * X[:, 1]) + np.sin(2 * np.nan_to_num(X[:, 2]))
NUMBERS = SIGNAL + 0.3 * RNG.standard_normal(len(X))
TWO = (NUMBERS > 0).astype(int)
THREE = np.digitize(NUMBERS, [-0.5, 0.5])


@pytest.mark.parametrize("method", ["uniform", "gradient_based"])
@pytest.mark.parametrize(
    ("kind", "y"),
    [(GradientBoostingRegressor, NUMBERS), (GradientBoostingClassifier, TWO), (GradientBoostingClassifier, THREE)],
    ids=["numbers", "two classes", "three classes"],
)
def test_a_fit_of_drawn_rows_is_certified_and_the_same_on_any_number_of_threads(method, kind, y, monkeypatch):
    monkeypatch.setattr("assay.families.boosting.stages.ALONE", 0)
    settings = {"n_estimators": 6, "subsample": 0.4, "sampling_method": method, "random_state": 5}
    one, two = (kind(**settings, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert np.array_equal(one.table_, two.table_)
    assert np.array_equal(one.predict(X), two.predict(X))
    assert one.certificate_.verify(X, y).holds
    other = kind(**{**settings, "random_state": 6}).fit(X, y)
    assert not np.array_equal(one.table_, other.table_)


def test_a_leaf_holds_the_weight_of_the_rows_that_its_stage_saw():
    drawn = GradientBoostingRegressor(n_estimators=1, subsample=0.4).fit(X, NUMBERS)
    by_gradient = GradientBoostingRegressor(n_estimators=1, subsample=0.4, sampling_method="gradient_based").fit(
        X, NUMBERS
    )
    assert drawn.table_[drawn.leaf_, 1].sum() == pytest.approx(0.4 * len(X), rel=0.1)
    assert by_gradient.table_[by_gradient.leaf_, 1].sum() == pytest.approx(len(X), rel=0.1)  # they count for the others


def test_rows_drawn_by_their_gradients_are_as_many_as_asked_for_and_sum_to_nearly_the_same():
    from assay.families.boosting.check.derivatives import chances_of

    g = RNG.standard_normal((1, 20_000)) ** 3
    h = np.ones_like(g)
    for share in (0.05, 0.3, 0.9):
        chance = chances_of(g, h, share)
        assert chance.sum() == pytest.approx(share * g.shape[1], rel=1e-9)
        assert (chance <= 1).all()
        drawn = RNG.random(len(chance)) < chance
        assert (h[0, drawn] / chance[drawn]).sum() == pytest.approx(h.sum(), rel=0.1)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_fit_and_check_find_the_same_chances(share):
    from assay.families.boosting.check.derivatives import chances_of
    from assay.families.boosting.stages import chances

    g, h = RNG.standard_normal((2, 3, 5000))
    np.testing.assert_allclose(chances(g**3, h**2, share), chances_of(g**3, h**2, share), rtol=1e-9)


def test_held_out_rows_and_rows_of_no_weight_are_answered_as_by_the_tree():
    w = np.ones(len(X))
    w[::3] = 0.0
    model = GradientBoostingRegressor(n_estimators=10).fit(X, NUMBERS, sample_weight=w)
    without = GradientBoostingRegressor(n_estimators=10).fit(X[w > 0], NUMBERS[w > 0])
    np.testing.assert_allclose(
        model.predict(X), without.predict(X), rtol=0, atol=1e-6
    )  # sums are counted in other units


@pytest.mark.parametrize(
    ("kind", "y"),
    [(GradientBoostingRegressor, NUMBERS), (GradientBoostingClassifier, TWO), (GradientBoostingClassifier, THREE)],
    ids=["numbers", "two classes", "three classes"],
)
def test_cross_validation_chooses_the_stages_of_a_fit_of_all_rows(kind, y):
    model = kind(n_estimators="cv", learning_rate=0.3, n_iter_no_change=5).fit(X, y)
    best = int(np.argmin(model.cv_curve_))
    assert 0 < best == model.n_estimators_ < len(model.cv_curve_) - 1
    whole = kind(n_estimators=best, learning_rate=0.3).fit(X, y)
    assert np.array_equal(model.predict(X), whole.predict(X))
    assert model.validation_curve_ is None
    assert model.certificate_.verify(X, y).holds


def test_the_curve_of_cross_validation_is_the_loss_of_rows_that_were_not_seen():
    coarse = np.clip(np.round(X), -2, 2)  # so few values that the bins of a part are those of all rows
    model = GradientBoostingRegressor(n_estimators="cv", folds=3, n_iter_no_change=2, learning_rate=0.5)
    model.fit(coarse, NUMBERS)
    stages, fold = len(model.cv_curve_) - 1, folds_of(NUMBERS, np.ones(len(X)), False, 3, 0)
    losses = np.empty(len(X))
    for k in range(3):
        w = (fold != k).astype(float)
        part = GradientBoostingRegressor(n_estimators=stages, learning_rate=0.5)
        part.fit(coarse, NUMBERS, sample_weight=w)
        losses[fold == k] = 0.5 * (part.predict(coarse[fold == k]) - NUMBERS[fold == k]) ** 2
    assert losses.mean() == pytest.approx(model.cv_curve_[-1], rel=1e-6)


def test_folds_are_even_in_every_class_and_leave_rows_of_no_weight_out():
    w = np.ones(len(X))
    w[:100] = 0.0
    fold = folds_of(THREE, w, True, 5, 0)
    assert (fold[:100] == -1).all()
    for k in range(3):
        counts = np.bincount(fold[(k == THREE) & (w > 0)], minlength=5)
        assert np.ptp(counts) <= 1


def test_too_few_rows_to_fold_are_named():
    with pytest.raises(DataError, match="5 folds of 4"):
        GradientBoostingRegressor(n_estimators="cv").fit(X[:4], NUMBERS[:4])
