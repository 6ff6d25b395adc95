"""Pictures of how networks learnt."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay import plots

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
SHORT = {"hidden_layer_sizes": (5,), "max_iter": 6, "learning_rate_init": 0.01}


def test_losses_and_errors_of_the_epochs_are_drawn_and_the_best_is_marked():
    model = assay.MLPClassifier(**SHORT).fit(X, X[:, 0] > 0)
    top, below = plots.loss_curve(model)
    assert np.array_equal(top.lines[0].get_ydata(), model.loss_curve_)
    assert np.array_equal(below.lines[0].get_ydata(), model.zero_one_curve_)
    assert top.lines[-1].get_xdata()[0] == below.lines[-1].get_xdata()[0] == model.best_epoch_
    assert f"least loss: epoch {model.best_epoch_}" in [t.get_text() for t in top.get_legend().get_texts()]


def test_rows_held_out_are_drawn_as_errors_beside_those_of_the_rows_learnt_from():
    model = assay.MLPClassifier(**SHORT, early_stopping=True).fit(X, X[:, 0] > 0)
    top, below = plots.loss_curve(model)
    np.testing.assert_allclose(below.lines[1].get_ydata(), 1 - model.validation_scores_)
    assert "kept" in top.get_legend().get_texts()[-1].get_text()
    assert below.get_ylabel() == "zero-one risk"


def test_a_regression_has_its_loss_and_of_rows_held_out_r_squared():
    (top,) = plots.loss_curve(assay.MLPRegressor(**SHORT).fit(X, X[:, 0]))
    assert top.get_xlabel() == "epoch"
    model = assay.MLPRegressor(**SHORT, early_stopping=True).fit(X, X[:, 0])
    _, below = plots.loss_curve(model)
    assert np.array_equal(below.lines[0].get_ydata(), model.validation_scores_)
    assert below.get_ylabel() == "R²"


def test_given_axes_take_the_loss_alone():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    (only,) = plots.loss_curve(assay.MLPClassifier(**SHORT).fit(X, X[:, 0] > 0), ax=ax)
    assert only is ax


def test_models_without_epochs_are_refused_with_words():
    with pytest.raises(ValueError, match="no losses of epochs"):
        plots.loss_curve(assay.GaussianNB().fit(X, X[:, 0] > 0))


def test_the_loss_of_boosted_trees_is_drawn_stage_by_stage_beside_that_of_rows_held_out():
    model = assay.GradientBoostingRegressor(n_estimators=30, n_iter_no_change=5).fit(X, X[:, 0])
    (only,) = plots.loss_curve(model)
    learnt, held, kept = only.lines
    assert np.array_equal(learnt.get_ydata(), model.loss_curve_)
    assert np.array_equal(learnt.get_xdata(), np.arange(model.n_estimators_ + 1))
    assert np.array_equal(held.get_ydata(), model.validation_curve_)
    assert kept.get_xdata()[0] == model.n_estimators_
