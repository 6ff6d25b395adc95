"""Curves, tables and intervals are drawn at the numbers given, and wrong numbers are refused with a clear word."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from assay import assess, plots
from assay.errors import DataError, ParameterError, SchemaError


def line(ax, label):
    return next(a for a in ax.lines if str(a.get_label()).startswith(label))


def test_a_roc_passes_the_given_points_and_names_its_area():
    x, y = np.array([0, 0.1, 0.4, 1]), np.array([0, 0.6, 0.9, 1])
    area = SimpleNamespace(value=0.83, low=0.8, high=0.86)
    ax = plots.roc({"tree": SimpleNamespace(x=x, y=y, area=area), "guess": ([0, 1], [0, 1])})
    assert np.array_equal(line(ax, "tree").get_xydata(), np.column_stack([x, y]))
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["tree area 0.830 [0.800, 0.860]", "guess"]


def test_a_long_curve_is_thinned_to_points_of_it_with_both_ends():
    x = np.linspace(0, 1, 5001)
    at = line(plots.roc({"a": (x, np.sqrt(x))}), "a").get_xydata()
    assert len(at) <= 400
    assert np.allclose(at[:, 1], np.sqrt(at[:, 0]))
    assert at[0, 0] == 0
    assert at[-1, 0] == 1


def test_precision_is_constant_between_two_thresholds():
    ax = plots.precision_recall({"a": ([0, 0.5, 1], [1, 0.8, 0.5])}, prevalence=0.3)
    assert line(ax, "a").get_drawstyle() == "steps-pre"
    assert np.array_equal(line(ax, "a").get_xydata(), [[0, 1], [0.5, 0.8], [1, 0.5]])


def test_thresholds_stand_in_order_without_the_infinite_one():
    curve = SimpleNamespace(
        thresholds=np.array([np.inf, 0.8, 0.2]), recall=np.array([0, 0.5, 1]), cost=np.array([1, 0.5, 0.7]), best=0.8
    )
    ax = plots.thresholds(curve)
    assert np.array_equal(line(ax, "recall").get_xydata(), [[0.2, 1], [0.8, 0.5]])
    twin = next(a for a in ax.figure.axes if a is not ax)
    assert np.array_equal(line(twin, "mean cost").get_xydata(), [[0.2, 0.7], [0.8, 0.5]])
    assert line(ax, "chosen: 0.8").get_xdata()[0] == 0.8
    with pytest.raises(DataError, match="at least one of"):
        plots.thresholds({"thresholds": [1, 2]})


def test_calibration_takes_lists_or_bins_and_shows_intervals_and_counts():
    def bin(mean, value, n):
        return SimpleNamespace(mean=mean, observed=SimpleNamespace(value=value, low=value - 0.1, high=value + 0.1, n=n))

    axes = plots.calibration(SimpleNamespace(bins=[bin(0.2, 0.3, 10), bin(0.7, 0.6, 30)]))
    again = plots.calibration([0.2, 0.7], [0.3, 0.6], interval=([0.2, 0.5], [0.4, 0.7]), counts=[10, 30])
    for top, below in (axes, again):
        assert np.allclose(line(top, "observed").get_xydata(), [[0.2, 0.3], [0.7, 0.6]])
        ends = np.array(top.collections[0].get_segments())
        assert np.allclose(ends[:, :, 1], [[0.2, 0.4], [0.5, 0.7]])
        assert [p.get_height() for p in below.patches] == [10, 30]
    with pytest.raises(DataError, match="from 0 to 1"):
        plots.calibration([0.2, 1.7], [0.3, 0.6])
    with pytest.raises(DataError, match="give y and P"):
        plots.calibration([0.2, 0.7])


def test_a_confusion_table_says_counts_or_shares():
    C = [[8, 2], [1, 3]]
    said = [t.get_text() for t in plots.confusion(C, ["no", "yes"]).texts]
    assert said == ["8", "2", "1", "3"]
    of_true = [t.get_text() for t in plots.confusion(C, normalise="true").texts]
    assert of_true == ["80.0%", "20.0%", "25.0%", "75.0%"]
    of_predicted = [t.get_text() for t in plots.confusion(C, normalise="predicted").texts]
    assert of_predicted[0] == "88.9%"
    for wrong in ([[1, 2]], [1, 2], [[1, -1], [0, 2]], "x"):
        with pytest.raises(DataError, match="square table"):
            plots.confusion(wrong)
    with pytest.raises(ParameterError, match="Did you mean 'predicted'"):
        plots.confusion(C, normalise="predict")
    with pytest.raises(DataError, match="classes has 3"):
        plots.confusion(C, ["a", "b", "c"])


def test_learning_and_validation_curves_pass_the_given_points():
    ax = plots.learning_curve([10, 20], [0.1, 0.2], [0.4, 0.3], best=0.05)
    assert np.array_equal(line(ax, "training").get_xydata(), [[10, 0.1], [20, 0.2]])
    assert np.array_equal(line(ax, "test").get_xydata(), [[10, 0.4], [20, 0.3]])
    ax = plots.validation_curve([10, 0.1, 1], [1, 3, 2], [4, 6, 5], chosen=0.1)
    assert np.array_equal(line(ax, "test").get_xydata(), [[0.1, 6], [1, 5], [10, 4]])
    assert ax.get_xscale() == "log"
    ax = plots.validation_curve(["gini", "entropy"], [1, 2], [3, 4], chosen="entropy")
    assert [t.get_text() for t in ax.get_xticklabels()] == ["gini", "entropy"]
    with pytest.raises(DataError, match="none of the values"):
        plots.validation_curve([1, 2], [1, 2], [3, 4], chosen=3)
    with pytest.raises(DataError, match="test has 1"):
        plots.learning_curve([10, 20], [0.1, 0.2], [0.4])


def test_bars_of_bias_and_variance_end_at_their_sum():
    result = SimpleNamespace(bias=0.1, variance=-0.02, noise=SimpleNamespace(value=0.03))
    for ax in (plots.bias_variance(result), plots.bias_variance([0.1], [-0.02], [0.03])):
        assert np.allclose(line(ax, "sum").get_xydata(), [[0.11, 0]])
        assert np.allclose([p.get_width() for p in ax.patches], [0.03, 0.1, -0.02])
    with pytest.raises(DataError, match="give both"):
        plots.bias_variance([0.1, 0.2])


def test_results_are_opened_where_lists_could_be_given():
    def score(value):
        return SimpleNamespace(value=value, low=value - 0.1, high=value + 0.1)

    pieces = {"bias": score(0.2), "unbiased variance": score(0.1), "biased variance": score(-0.05)}
    ax = plots.bias_variance([SimpleNamespace(pieces=pieces)], names=["tree"])
    assert np.allclose(line(ax, "sum").get_xydata(), [[0.25, 0]])
    points = [SimpleNamespace(n=n, train=score(0.1), test=score(1 / n)) for n in (2, 4)]
    ax = plots.learning_curve(SimpleNamespace(points=points))
    assert np.allclose(line(ax, "test").get_xydata(), [[2, 0.5], [4, 0.25]])
    assert len(ax.collections) == 2, "two bands"
    ax = plots.importance(
        [SimpleNamespace(name="p", increase=score(0.1)), SimpleNamespace(name="q", increase=score(0.3))]
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == ["q", "p"]
    with pytest.raises(DataError, match="names and means"):
        plots.importance(["p"])


def test_a_ranking_shows_values_intervals_and_the_choice():
    ax = plots.ranking(["a", "b"], [0.1, 0.2], [0.05, 0.1], [0.2, 0.3], "b")
    assert np.allclose([s[:, 0] for s in ax.collections[0].get_segments()], [[0.05, 0.2], [0.1, 0.3]])
    assert np.array_equal(line(ax, "chosen").get_xydata(), [[0.2, 1]])
    with pytest.raises(DataError, match="none of the names"):
        plots.ranking(["a", "b"], [1, 2], chosen="c")
    with pytest.raises(DataError, match="is empty"):
        plots.ranking(["a"], [1], [2], [1])
    with pytest.raises(DataError, match="names has 1"):
        plots.ranking(["a"], [1, 2])
    with pytest.raises(DataError, match="must be numbers"):
        plots.ranking(["a"], ["x"])


def test_importance_shows_the_greatest_first():
    ax = plots.importance(["p", "q", "r"], [0.1, 0.3, 0.2], top=2)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["q", "r"]


def test_residuals_leave_out_what_is_missing_and_say_so():
    y = np.arange(100.0)
    p = y + np.sin(y)
    p[7] = np.nan
    ax = plots.residuals(y, p)
    assert np.allclose(ax.lines[0].get_xydata(), np.column_stack([p, y - p])[np.arange(100) != 7])
    assert any("1 rows with missing" in t.get_text() for t in ax.texts)
    with pytest.raises(DataError, match="No row"):
        plots.predicted_against_true([1.0], [np.nan])


def test_what_was_misspelt_is_found_in_every_picture_of_columns():
    import pandas as pd

    import assay

    frame = pd.DataFrame({"width": [1.0, 2, 3, 4, 6, 7], "length": [2.0, 1, 4, 3, 9, 8]})
    y = [0, 0, 0, 1, 1, 1]
    for draw, model in (
        (plots.margins, assay.LinearSVC()),
        (plots.covariance_ellipses, assay.GaussianNB()),
        (plots.perceptron_path, assay.Perceptron()),
    ):
        with pytest.raises(SchemaError, match="Did you mean 'width'"):
            draw(model.fit(frame, y), frame, y, columns=("widht", "length"))


TRUTH, SCORES = [0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.2, 0.9]


def test_curves_are_drawn_from_truth_and_scores_in_one_call():
    for draw, measure in ((plots.roc, assess.roc), (plots.precision_recall, assess.precision_recall)):
        curve = measure(TRUTH, SCORES)
        for scores in (SCORES, np.column_stack([1 - np.array(SCORES), SCORES])):
            assert np.array_equal(line(draw(TRUTH, scores), "area").get_xydata(), np.column_stack([curve.x, curve.y]))
        both = draw(TRUTH, {"a": SCORES, "b": SCORES[::-1]})
        assert [t.get_text()[:6] for t in both.get_legend().get_texts()] == ["a area", "b area"]
        with pytest.raises(DataError, match="6 are needed"):
            draw(TRUTH, [0.1, 0.2])
        with pytest.raises(DataError, match="missing or infinite"):
            draw(TRUTH, [0.1, 0.2, np.nan, 0.4, 0.5, 0.6])
    guess = plots.precision_recall(TRUTH, SCORES).lines[0]
    assert np.allclose(guess.get_ydata(), 0.5)
    cut = assess.thresholds(TRUTH, SCORES, costs=(1, 5))
    assert line(plots.thresholds(TRUTH, SCORES, costs=(1, 5)), "chosen").get_xdata()[0] == cut.best


def test_calibration_is_drawn_from_truth_and_probabilities_and_needs_no_counts():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 200)
    y = np.array(["a", "b", "c"])[P.argmax(axis=1)]
    top, below = plots.calibration(y, P)
    assert np.allclose(line(top, "observed").get_ydata(), 1.0)
    assert sum(p.get_height() for p in below.patches) == 200
    yes = rng.random(200) < P[:, 0]
    assert len(plots.calibration(yes, P[:, 0], bins=5)[1].patches) == 5
    (alone,) = plots.calibration([0.2, 0.7], [0.3, 0.6])
    assert np.allclose(line(alone, "observed").get_xydata(), [[0.2, 0.3], [0.7, 0.6]])


def test_confusion_counts_labels_itself_in_the_order_wanted():
    y, answers = ["oak", "elm", "oak", "fir"], ["oak", "oak", "oak", "fir"]
    table = confusion_matrix(y, answers, labels=["oak", "fir", "elm"])
    ax = plots.confusion(y, answers, ["oak", "fir", "elm"])
    assert [t.get_text() for t in ax.texts[:9]] == [str(v) for v in table.ravel()]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["oak", "fir", "elm"]
    assert [t.get_text() for t in plots.confusion(y, answers).get_xticklabels()] == ["elm", "fir", "oak"]
    with pytest.raises(DataError, match="not among the classes: \\['fir'\\]"):
        plots.confusion(y, answers, ["oak", "elm"])
    with pytest.raises(DataError, match="not among the classes"):
        plots.confusion([0, 1], ["0", "1"])
    with pytest.raises(DataError, match="both y and answers"):
        plots.confusion([0, 1, 1])
