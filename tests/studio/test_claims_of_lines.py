"""What the figures of lines, normal classes and neighbours say is true of their data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from figures import arrays, best_line, changes, fitted, model_of, plane, risk, risks, steps_of

from assay.studio.presets import PRESETS, gaussian


def mistakes(model):
    return int(model.mistakes_)


def mistake_bound(model, X, y):
    """R²/γ² with the greatest margin γ that any line has."""
    claims = model.certify(X, y).claims
    return next(claim.value for claim in claims if claim.name.startswith("perceptron's mistakes"))


# The perceptron


def test_the_worked_example_takes_three_mistakes_to_the_weights_of_the_notes():
    (model,), X, y = fitted("worked-example")
    w0 = np.array([0, -1, 1])
    assert all((np.c_[np.ones(3), X] @ w0 >= 0) != (y == "1"))
    assert (*model.intercept_, *model.coef_[0]) == (1, 2, -2)
    assert mistakes(model) == 3


def test_five_passes_make_all_750_visits_over_points_that_no_line_separates():
    assert len(PRESETS["five-passes"]()["data"]["points"]["x"]) == 150
    models, X, y = fitted("five-passes")
    assert len(steps_of("five-passes", 0)) == 750
    assert best_line(X, y) > 0
    assert mistakes(models[0]) < 750 / 4  # it rests more often than it leaps


def test_the_path_of_mistakes_ends_below_the_bound_of_the_widest_margin():
    (model,), X, y = fitted("path-of-mistakes")
    assert risks("path-of-mistakes") == [0.0]
    assert 10 <= mistakes(model) <= mistake_bound(model, X, y)


def test_three_orders_of_visits_end_at_three_separating_lines():
    models, _, _ = fitted("which-row-next")
    assert risks("which-row-next") == [0.0, 0.0, 0.0]
    lines = [np.r_[m.intercept_, m.coef_[0]] / np.linalg.norm(m.coef_) for m in models]
    assert all(np.abs(a - b).max() > 0.01 for a, b in itertools.combinations(lines, 2))
    assert len(steps_of("which-row-next", 2)) < 10


# Separable or not


def test_a_narrow_margin_takes_many_more_corrections_than_a_wide_one():
    (quick, widest), *wide = fitted("wide-margin")
    (slow, narrow), *thin = fitted("narrow-margin")
    assert risks("wide-margin") == risks("narrow-margin") == [0.0, 0.0]
    assert (mistakes(quick), mistakes(slow)) == (5, 60)
    assert np.linalg.norm(narrow.coef_) / np.linalg.norm(widest.coef_) == pytest.approx(6, abs=0.1)
    assert [round(mistake_bound(quick, *wide)), round(mistake_bound(slow, *thin))] == [67, 2299]


def test_no_line_separates_the_figure_that_is_not_separable():
    models, X, y = fitted("not-separable")
    assert best_line(X, y) > 0
    assert all(r > 0 for r in risks("not-separable"))
    assert all(model.n_iter_ == 5 for model in models[:3])


# Normal classes


@pytest.mark.parametrize("name", ["equal-isotropic", "equal-covariances"])
def test_equal_covariances_give_one_straight_line_whatever_the_model(name):
    (quadratic, linear), X, _ = fitted(name)
    at = plane(name)
    clear = np.abs(linear.decision_function(at)) > 1e-3
    assert (quadratic.predict(at) == linear.predict(at))[clear].all()
    middle = X.mean(axis=0)
    assert abs(linear.decision_function([middle])[0]) < 1e-4


def test_the_line_is_at_a_right_angle_to_the_means_only_for_circles():
    for name, right in (("equal-isotropic", True), ("equal-covariances", False)):
        (_, linear), X, y = fitted(name)
        apart = X[y == "C2"].mean(axis=0) - X[y == "C1"].mean(axis=0)
        cosine = linear.coef_[0] @ apart / np.linalg.norm(linear.coef_) / np.linalg.norm(apart)
        assert (cosine > 0.9999) == right


def test_equal_means_leave_the_linear_model_with_half_of_the_points():
    (quadratic, linear), X, y = fitted("equal-means")
    assert quadratic.predict([[4, 1], [-4, 1], [1, 4], [-1, -4]]).tolist() == ["C1", "C1", "C2", "C2"]
    assert risk(linear, X, y) == pytest.approx(0.5, abs=0.1)
    assert risk(quadratic, X, y) < 0.25


def test_the_quadratic_boundary_closes_around_the_smaller_ellipse():
    (quadratic, linear), X, y = fitted("unequal-covariances")
    far = np.array([(np.cos(t), np.sin(t)) for t in np.linspace(0, 2 * np.pi, 32)]) * 20
    assert set(quadratic.predict(far)) == {"C1"}
    assert risk(quadratic, X, y) < risk(linear, X, y)


def test_four_forms_of_covariance_draw_four_boundaries():
    models, _, _ = fitted("two-estimated")
    drawn = [model.predict(plane("two-estimated")) for model in models]
    assert all((a != b).any() for a, b in itertools.combinations(drawn, 2))


@pytest.mark.parametrize(("name", "i"), [("three-estimated", 1), ("softmax", 0)])
def test_the_lines_of_three_classes_meet_in_one_point_of_equal_probability(name, i):
    models, _, _ = fitted(name)
    w, b = models[i].coef_, models[i].intercept_
    meeting = np.linalg.solve(w[:2] - w[2], b[2] - b[:2])
    view = PRESETS[name]()["view"]
    assert view["x"][0] < meeting[0] < view["x"][1]
    assert view["y"][0] < meeting[1] < view["y"][1]
    assert models[i].predict_proba([meeting])[0] == pytest.approx([1 / 3] * 3, abs=1e-6)
    assert set(models[i].predict(plane(name))) == set(models[i].classes_)


def test_columns_that_go_together_cost_naive_bayes_mistakes():
    naive, whole = risks("naive-bayes")
    assert naive > whole


# Neighbours


def test_one_neighbour_makes_no_training_mistake_and_has_islands():
    (one, fifteen), X, y = fitted("one-neighbour")
    assert risk(one, X, y) == 0 < risk(fifteen, X, y)
    assert changes(one, "one-neighbour") > 1.5 * changes(fifteen, "one-neighbour")


def test_three_neighbours_and_five_answer_the_marked_point_differently():
    (three, five), _, _ = fitted("three-or-five")
    asked = PRESETS["three-or-five"]()["asked"]
    assert three.predict(asked).tolist() == ["A"]
    assert five.predict(asked).tolist() == ["B"]
    assert three.predict_proba(asked)[0] == pytest.approx([2 / 3, 1 / 3])
    assert five.predict_proba(asked)[0] == pytest.approx([2 / 5, 3 / 5])


def test_the_learned_distance_errs_least_on_new_points_and_the_euclidean_most():
    models, _, _ = fitted("what-near-means")
    euclidean, mahalanobis, learned = (risk(model, *arrays(gaussian.strips(1000, 1000))) for model in models)
    assert learned < mahalanobis < euclidean / 4


# Empirical risk


def test_models_agree_within_the_clouds_and_differ_between_them():
    preset = PRESETS["three-questions"]()
    answers = np.array([model.predict(preset["asked"]) for model in fitted("three-questions")[0]])
    assert len(set(answers[:, 0])) == len(set(answers[:, 1])) == 1
    assert len(set(answers[:, 2])) == 2


def test_the_training_risk_falls_from_the_line_to_the_nearest_point():
    falling = risks("models-and-regions")
    assert falling == sorted(falling, reverse=True)
    assert len(set(falling)) == 4
    assert falling[-1] == 0


def test_surrogates_hear_fewer_or_more_points():
    models, X, y = fitted("surrogate-losses")
    sign = np.where(y == "1", 1, -1)
    heard = [np.sum(sign * model.decision_function(X) < edge) for model, edge in zip(models, (0, 1, np.inf))]
    assert 0 < heard[0] < heard[1] < heard[2] == len(y)


def test_a_larger_penalty_makes_shorter_weights_and_paler_answers():
    models, X, _ = fitted("regularised-risk")
    length = [np.linalg.norm(model.coef_) for model in models]
    sure = [np.abs(model.predict_proba(X) - 0.5).max() for model in models]
    assert length == sorted(length, reverse=True)
    assert sure == sorted(sure, reverse=True)
    assert sure[-1] < 0.1


# Logistic regression and margins


def test_gradient_and_newton_end_at_the_same_line_after_many_steps_and_few():
    (gradient, newton), _, _ = fitted("gradient-and-newton")
    assert gradient.coef_ == pytest.approx(newton.coef_, rel=0.01)
    assert len(steps_of("gradient-and-newton", 0)) > 10 * len(steps_of("gradient-and-newton", 1))


def test_the_widest_strip_rests_on_a_few_points_alone():
    (default, projected), X, y = fitted("widest-margin")
    assert projected.coef_ == pytest.approx(default.coef_, rel=0.01)
    sign = np.where(y == "1", 1, -1)
    distance = sign * default.decision_function(X)
    assert distance.min() == pytest.approx(1, abs=1e-3)
    on_edge = distance < 1.01
    assert 2 <= on_edge.sum() <= 5
    again = model_of(PRESETS["widest-margin"]()["panels"][0]).fit(X[on_edge], y[on_edge])
    assert again.coef_ == pytest.approx(default.coef_, rel=0.01)


def test_a_dearer_margin_is_narrower_and_rests_on_fewer_rows():
    models, _, _ = fitted("soft-margin")
    width = [2 / np.linalg.norm(model.coef_) for model in models]
    support = [len(model.support_) for model in models]
    assert width == sorted(width, reverse=True)
    assert support == sorted(support, reverse=True)
