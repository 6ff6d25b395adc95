"""`assay.notes`: each model with the settings of the lecture notes, in one word."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay import notes

coins = assay.dataset("coins")
TWO = np.isin(coins.y, ["5c", "10c"])
X, Y = coins.X[TWO][:120], coins.y[TWO][:120]


@pytest.mark.parametrize("name", sorted(notes.CLASSIFIERS))
def test_every_classifier_of_the_notes_fits_and_answers(name):
    model = getattr(notes, name)()
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        model.fit(X, Y)
    assert set(model.predict(X)) <= {"5c", "10c"}
    assert model.certificate_.claims


def test_the_settings_are_those_of_the_notes():
    assert notes.decision_tree().criterion == "entropy"
    assert float("inf") == notes.svm().C
    assert notes.kernel_svm().solver == "sqp"
    forest = notes.random_forest(samples=0.5)
    assert (forest.voting, forest.criterion, forest.max_samples) == ("majority", "entropy", 0.5)
    assert notes.perceptron().order == "first-mistake"
    assert notes.neural_network(7).hidden_layer_sizes == (7,)
    assert float("inf") == notes.logistic_regression().C


def test_settings_can_be_changed_by_name_and_wrong_names_are_refused():
    assert notes.k_nn(5, metric="manhattan").metric == "manhattan"
    with pytest.raises(TypeError, match="metrik"):
        notes.k_nn(5, metrik="manhattan")


def test_a_polynomial_is_least_squares_over_powers():
    x = np.linspace(-1, 1, 30)
    y = 1 - 2 * x + 0.5 * x**3
    model = notes.polynomial(3).fit(x[:, None], y)
    assert model.predict(x[:, None]) == pytest.approx(y, abs=1e-4)
    wavy = y + 0.1 * np.sin(40 * x)
    due = np.polyval(np.polyfit(x, wavy, 3), x)
    assert notes.polynomial(3).fit(x[:, None], wavy).predict(x[:, None]) == pytest.approx(due, abs=1e-3)


def test_every_name_is_listed():
    assert set(notes.CLASSIFIERS) <= set(notes.__all__)
    assert "notes" in dir(assay)
