"""What the figures of kernels, trees, networks, regression and tables say is true of their data."""

from __future__ import annotations

import numpy as np
import pytest
from figures import arrays, best_line, changes, fitted, risk, risks, steps_of

from assay.datasets import dataset
from assay.studio.presets import regression

# Kernels


def test_the_best_line_on_xor_errs_on_a_quarter_and_kernels_on_none():
    _, X, y = fitted("xor")
    line, kernel, margin = risks("xor")
    assert best_line(X, y) > 0.25
    assert line > 0.25
    assert kernel == margin == 0


def test_the_square_kernel_draws_closed_curves_in_the_gap():
    models, _, _ = fitted("circles")
    around = np.array([(np.cos(t), np.sin(t)) for t in np.linspace(0, 2 * np.pi, 24)])
    assert risks("circles") == [0, 0]
    for model in models:
        assert set(model.predict(around * 0.5)) == {"A"}
        assert set(model.predict(around * 2.1)) == {"B"}


def test_a_kernel_that_reaches_nowhere_remembers_its_points():
    models, _, y = fitted("kernel-reach")
    far, middle, near = risks("kernel-reach")
    assert far > 0.25
    assert middle == near == 0
    assert len(models[2].support_) > 0.9 * len(y) > len(models[1].support_)


# Trees, forests, networks


def test_first_splits_sort_many_points_and_a_full_tree_leaves_no_mistake():
    shallow, full = risks("tree-growth")
    assert shallow > 0 == full
    left = [step.values["impurity"] for step in steps_of("tree-growth", 1)]
    falls = -np.diff(left)
    assert falls[:3].min() > falls[-3:].max()


def test_the_first_split_of_xor_gains_next_to_nothing():
    gains = [step.values["gain"] for step in steps_of("greedy-tree", 0) if "gain" in step.values]
    assert gains[0] < 0.05
    assert max(gains) > 0.9
    assert risks("greedy-tree") == [0.0]


def test_the_vote_is_smoother_than_a_tree_and_its_out_of_bag_error_levels_off():
    (tree, forest), _, _ = fitted("forest-votes")
    assert changes(forest, "forest-votes") < changes(tree, "forest-votes")
    error = np.array([step.values["oob_loss"] for step in steps_of("forest-votes", 1)])
    assert error[-20:].mean() < 0.75 * error[:3].mean()
    assert np.ptp(error[-20:]) < np.ptp(error[:20])


def test_what_boosting_leaves_of_a_sine_shrinks_and_larger_trees_need_fewer_stages():
    stumps, trees = ([step.values["training_loss"] for step in steps_of("sine-by-stumps", panel)] for panel in (0, 1))
    falls = -np.diff(stumps)
    assert falls.min() >= -1e-12
    assert falls[:5].mean() > 5 * falls[-5:].mean()
    assert trees[20] < stumps[20]
    assert trees[-1] < stumps[-1]


def test_the_least_margin_goes_on_growing_after_the_last_mistake():
    margin = np.array([step.values["least_margin"] for step in steps_of("margins-grow", 0)])
    right = int(np.flatnonzero(margin > 0)[0])
    assert right < len(margin) // 2
    assert margin[-1] > 2 * margin[right]
    assert risks("margins-grow") == [0.0, 0.0]


def test_eight_units_close_the_ring_and_two_do_not():
    two, eight = risks("network-ring")
    assert two > 0.05
    assert eight == 0
    (narrow, wide), _, _ = fitted("network-ring")
    far = np.array([(np.cos(t), np.sin(t)) for t in np.linspace(0, 2 * np.pi, 64)]) * 50
    assert set(wide.predict(far)) == {"B"}
    assert len(set(narrow.predict(far))) == 2


def test_a_network_without_hidden_units_fails_on_xor_and_six_units_leave_a_plateau():
    line, six = risks("network-xor")
    assert line > 0.25
    assert six == 0
    loss = [step.values["loss"] for step in steps_of("network-xor", 1) if "loss" in step.values]
    assert loss[10] > 0.9 * loss[0]
    assert loss[-1] < 0.1 * loss[0]


# Regression and overfitting


def test_the_line_of_the_oaks_passes_through_their_means():
    (line,), X, y = fitted("oaks-line")
    assert line.predict([X.mean(axis=0)])[0] == pytest.approx(y.mean())


def test_descent_on_the_oaks_falls_at_once_and_is_not_there_after_2000_steps():
    (descent, exact), X, y = fitted("oaks-descent")
    assert risk(descent, X, y) > 1.01 * risk(exact, X, y)
    assert abs(descent.intercept_ - exact.intercept_) > 0.5
    assert abs(descent.coef_[0] - exact.coef_[0]) < 0.05


def test_the_line_misses_the_bend_that_the_others_follow():
    line, *others = risks("other-lines")
    assert line > 3 * max(others)


@pytest.mark.parametrize(("name", "make"), [("degrees", regression.bent), ("occam", regression.parabola)])
def test_training_risk_falls_with_the_degree_and_new_points_tell_another_story(name, make):
    training = risks(name)
    fresh = np.array(make(1000, 2000).places)
    new = [risk(model, fresh[:, :1], fresh[:, 1]) for model in fitted(name)[0]]
    assert training == sorted(training, reverse=True)
    assert new[1] < new[0]
    assert new[1] < new[2]


def test_a_parabola_fits_nearly_as_well_as_degree_8():
    _, two, eight = risks("occam")
    assert two < 1.15 * eight


def test_the_polynomials_are_the_least_squares_polynomials_of_their_degree():
    models, X, y = fitted("degrees")
    for model, degree in zip(models[:2], (1, 3)):
        best = np.polynomial.Polynomial.fit(X[:, 0], y, degree)
        assert model.predict(X) == pytest.approx(best(X[:, 0]), abs=1e-3)


def test_the_winding_boundary_makes_no_training_mistake_and_loses_on_new_points():
    (winding, straight), X, y = fitted("eager-boundary")
    fresh = arrays(regression.noisy_halves(1000, 1000))
    assert risk(winding, X, y) == 0 < risk(straight, X, y)
    assert risk(straight, *fresh) < risk(winding, *fresh)


def test_pruning_leaves_exactly_the_points_of_the_wrong_class():
    full, pruned = risks("pruned-tree")
    assert full == 0
    assert pruned == pytest.approx(18 / 140)


# Papayas and coins


def test_the_tightest_rectangle_errs_on_new_papayas_only_by_being_too_small():
    (box, _, line), X, y = fitted("papayas")
    table = dataset("papayas")
    new, truth = table.X[300:], table.y[300:]
    wrong = box.predict(new) != truth
    assert risk(box, X, y) == 0
    assert set(truth[wrong]) <= {"tasty"}
    assert risk(line, X, y) == pytest.approx(np.mean(y == "tasty"))


def test_only_the_5c_and_the_25c_are_mistaken_for_each_other():
    models, X, y = fitted("coins")
    for model in models:
        answers = model.predict(X)
        wrong = answers != y
        assert wrong.any()
        assert {*answers[wrong], *y[wrong]} == {"5c", "25c"}
    assert np.mean(y == "50c") < 0.08
