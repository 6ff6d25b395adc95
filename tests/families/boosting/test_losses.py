"""Losses that boosting makes small: their numbers stay true where terms cancel, and their constants are the only ones that verify."""

from __future__ import annotations

from copy import copy
from math import exp, log

import numpy as np
import pytest

from assay import GradientBoostingClassifier, GradientBoostingRegressor, load
from assay.families.boosting.losses import Gamma, Poisson, Tweedie

FAR = 1e9 + np.array([1.46, -0.38, -0.26, -1.6, -0.3, -0.75, 1.06, -0.89, 1.56, 0.37])


@pytest.mark.parametrize(("loss", "due"), [(Poisson(), 1e9), (Gamma(), 1.0), (Tweedie(1.5), 1e9**0.5)])
def test_the_loss_beside_its_least_value_is_the_square_of_the_distance(loss, due):
    y, near = np.full(3, 1e9), np.array([-1e-5, 1e-5, 3e-5])
    value = loss.at(y, log(1e9) + near[None]).value
    assert value == pytest.approx(due * near**2 / 2, rel=1e-4)


@pytest.mark.parametrize("x", [-30.0, -0.9, -1e-3, 0.009, 0.011, 0.5, 5.0])
def test_the_loss_of_counts_is_its_formula(x):
    y = np.array([3.0])
    F = log(3.0) + x
    e = exp(F)
    assert Poisson().at(y, np.array([[F]])).value[0] == pytest.approx(e - 3 * F + 3 * log(3.0) - 3, rel=1e-8)
    assert Gamma().at(y, np.array([[F]])).value[0] == pytest.approx(3 / e + F - log(3.0) - 1, rel=1e-8)
    due = 2 * e**0.5 + 6 * e**-0.5 - 4 * 3**0.5
    assert Tweedie(1.5).at(y, np.array([[F]])).value[0] == pytest.approx(due, rel=1e-8)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("early", [False, True])
def test_targets_that_hardly_differ_are_certified(loss, early):
    X, y = np.arange(10.0)[:, None], FAR
    more = {"n_estimators": "auto", "validation_fraction": 0.5} if early else {"n_estimators": 3}
    model = GradientBoostingRegressor(loss=loss, min_samples_leaf=1, **more).fit(X, y)
    assert model.loss_curve_[0] > 0
    assert model.certificate_.verify(X, y).holds, model.certificate_.verify(X, y)


@pytest.mark.parametrize("other", [1.23, 2.0])
def test_of_several_medians_the_least_alone_is_verified(other, tmp_path):
    X, y = np.full((2, 1), 2.0), np.array([1.0, 2.0])
    model = GradientBoostingRegressor(n_estimators=4, loss="quantile").fit(X, y)
    assert model.certificate_.verify(X, y).holds
    forged = copy(model)
    forged.baseline_ = np.array([other])
    forged._claims = forged._own_claims()
    forged.save(tmp_path / "m.assay")
    assert not load(tmp_path / "m.assay").certificate_.verify(X, y).holds


@pytest.mark.parametrize("weights", [None, np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1])])
def test_the_quantile_of_tied_shares_is_verified(weights):
    X, y = np.arange(6.0)[:, None], np.array([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])
    model = GradientBoostingRegressor(n_estimators=4, loss="absolute_error", min_samples_leaf=1)
    model.fit(X, y, weights)
    assert model.certificate_.verify(X, y, weights).holds


def test_a_constant_where_rows_are_drawn_states_the_weight_of_those_drawn():
    X, y = np.arange(40.0)[:, None], np.array([0, 1] * 20)
    hindered = GradientBoostingClassifier(
        subsample=0.24, l1_regularization=800.0, n_iter_no_change=2, validation_fraction=0.4
    )
    for model, target in ((GradientBoostingRegressor(subsample=0.43), np.full(40, 0.1)), (hindered, y)):
        with pytest.warns(Warning, match="constant"):
            model.fit(X, target)
        assert model.certificate_.verify(X, target).holds


def test_a_stage_that_would_raise_the_loss_leaves_scores_and_loss_as_they_were():
    from types import SimpleNamespace

    from assay.families.boosting.stages import Boosting

    class Rising(Boosting):
        """Scores of one row; every tree adds one, and the loss is the score."""

        def __init__(self):
            self.loss, self.settings = SimpleNamespace(trees=1), SimpleNamespace(rate=1.0)
            self.scores, self.slope = np.full((1, 1), 0.1), np.zeros((1, 1))

        def sample(self, number):
            return np.ones(1), np.zeros(1, int)

        def tree(self, k, w, columns):
            return SimpleNamespace(values=np.array([1.0]), leaf=np.zeros(1, int))

        def derive(self):
            return float(self.scores[0, 0]), None

    boosting = Rising()
    for number, stage in zip(range(3), boosting.stages(0, (0.1, None))):
        assert stage.rose, number
        assert stage.loss == boosting.scores[0, 0] == 0.1
