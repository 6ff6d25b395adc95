"""Pictures of linear and normal models show the lines, rings and ellipses that their formulas say."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Ellipse
from matplotlib.text import Text

import assay
from assay import plots
from assay.errors import DataError, ParameterError

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(-1.5, 0.8, (40, 3)), rng.normal(1.5, 0.8, (40, 3))])
y = np.repeat(["a", "b"], 40)


def note_of(ax) -> str:
    return " ".join(" ".join(t.get_text().split()) for t in ax.texts)


def test_the_path_of_the_notes_example_has_a_line_for_each_mistake_and_the_last_is_the_models():
    rows, truth = [[2, -1], [2, 1], [1, 3]], [1, 1, 0]
    model = assay.Perceptron(init=[0, -1, 1])
    ax = plots.perceptron_path(model, rows, truth)
    lines = [line for line in ax.lines if line.get_linestyle() == "-"]
    fitted = model.fit(rows, truth)
    assert fitted.mistakes_ == 3
    assert "3 mistakes" in note_of(ax)
    last = max(lines, key=lambda line: line.get_linewidth())
    assert np.allclose(last.get_xydata() @ fitted.coef_[0] + fitted.intercept_[0], 0)
    assert "Outside the picture: 1." in note_of(ax), "its line is x = −1"
    steps = [s for s in model.steps(rows, truth) if np.any(s.values["update"])]
    assert len(lines) == 2
    for line, step in zip(lines, steps[1:]):
        assert np.allclose(line.get_xydata() @ step.values["w"][1:] + step.values["w"][0], 0)


def test_a_long_path_is_thinned_and_a_slice_holds_the_other_column():
    model = assay.Perceptron(eta0=0.01, init=[5.0, 3.0, -2.0, 1.0]).fit(X, y)
    ax = plots.perceptron_path(model, X, y, columns=(0, 2), at={1: 0.5}, most=4)
    last = max(ax.lines, key=lambda line: line.get_linewidth()).get_xydata()
    points = np.column_stack([last[:, 0], [0.5, 0.5], last[:, 1]])
    assert np.allclose(model.decision_function(points), 0)
    assert f"{model.mistakes_} mistakes, 4 of them drawn" in note_of(ax)
    with pytest.raises(DataError, match="y has 3"):
        plots.perceptron_path(model, X, np.arange(80) % 3)
    with pytest.raises(ParameterError, match="no steps"):
        plots.perceptron_path(object(), X, y)


def test_rings_are_the_rows_within_the_margin_and_lines_are_where_f_is_one():
    model = assay.LinearSVC(C=0.1).fit(X, y)
    ax = plots.margins(model, X, y)
    t = np.where(y == "b", 1, -1)
    inside = t * model.decision_function(X) <= 1 + 1e-3
    rings = next(line for line in ax.lines if line.get_label() == "support vector").get_xydata()
    assert np.array_equal(rings, X[inside][:, :2])
    middle = np.quantile(X[:, 2], 0.5, method="lower")
    contour = ax.collections[0]
    for level, path in zip(contour.levels, contour.get_paths()):
        at = np.column_stack([path.vertices, np.full(len(path.vertices), middle)])
        assert np.allclose(model.decision_function(at), level, atol=1e-9)
    assert list(contour.levels) == [-1, 0, 1]


def test_the_rings_of_a_model_that_names_its_support_vectors_are_those():
    from sklearn.svm import SVC

    model = SVC().fit(X[:, :2], y)
    ax = plots.margins(model, X[:, :2], y)
    rings = next(line for line in ax.lines if line.get_label() == "support vector").get_xydata()
    assert np.array_equal(rings, X[np.sort(model.support_)][:, :2])


def test_the_histogram_counts_every_margin_once():
    model = assay.LinearSVC(C=0.01).fit(X, y)
    ax = plots.margin_distribution(model, X, y)
    assert sum(patch.get_data().values.sum() for patch in ax.patches) == len(X)
    wrong = int((model.predict(X) != y).sum())
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert f"right: {len(X) - wrong}" in labels
    with pytest.raises(ParameterError, match="no decision_function"):
        plots.margin_distribution(assay.GaussianNB().fit(X, y), X, y)
    three = np.arange(80) % 3
    model = assay.LinearSVC().fit(X, three)
    with pytest.raises(ParameterError, match="two classes"):
        plots.margins(model, X, three)


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "GaussianNB"])
def test_ellipses_are_one_and_two_standard_deviations_from_the_mean(name):
    model = getattr(assay, name)().fit(X, y)
    ax = plots.covariance_ellipses(model, X, y, columns=(2, 0))
    drawn = [p for p in ax.patches if isinstance(p, Ellipse)]
    assert len(drawn) == 4
    for k, label in enumerate(["a", "b"]):
        mean = X[y == label].mean(axis=0)
        S = np.diag(model.var_[k]) if name == "GaussianNB" else model.covariance_
        S = (S if S.ndim == 2 else S[k])[np.ix_([2, 0], [2, 0])]
        for sigma, patch in zip((1, 2), drawn[2 * k : 2 * k + 2]):
            on = patch.get_patch_transform().transform(np.column_stack([np.cos(a := np.linspace(0, 6, 9)), np.sin(a)]))
            off = on - mean[[2, 0]]
            assert np.allclose(np.einsum("ij,ij->i", off @ np.linalg.inv(S), off), sigma**2)


def test_ellipses_need_normal_densities():
    with pytest.raises(ParameterError, match="keeps no means"):
        plots.covariance_ellipses(assay.LinearSVC().fit(X, y), X, y)


def test_the_loss_surface_is_the_empirical_risk():
    two, t = X[:, :2], np.where(y == "b", 1.0, -1.0)
    model = assay.LogisticRegression(fit_intercept=False, C=0.1).fit(two, y)
    ax = plots.loss_surface(two, y, "log", l2=1 / (0.1 * 80), path=model.steps(two, y))
    contour = next(c for c in ax.collections if hasattr(c, "levels"))

    def risk(W):
        return np.logaddexp(0, -t * (W @ two.T)).mean(axis=1) + 0.5 / 8 * (W * W).sum(axis=1)

    for level, path in zip(contour.levels, contour.get_paths()):
        if len(path.vertices):
            assert np.allclose(risk(path.vertices), level, rtol=2e-2)  # the contour is interpolated between pixels
    end = next(line for line in ax.lines if line.get_label() == "end").get_xydata()
    assert np.allclose(end, model.coef_, rtol=1e-6)


def test_the_loss_surface_of_one_column_is_over_weight_and_intercept():
    ax = plots.loss_surface(X[:, :1], X[:, 1], "squared", span=((-1, 2), (-1, 1)))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("weight w", "intercept b")
    assert ax.get_xlim() == (-1, 2)
    with pytest.raises(DataError, match="3 columns"):
        plots.loss_surface(X, y)
    with pytest.raises(DataError, match="one of two classes"):
        plots.loss_surface(X[:, :2], np.arange(80) % 3)
    with pytest.raises(ParameterError, match="span"):
        plots.loss_surface(X[:, :2], y, span=((1, 0), (0, 1)))
    with pytest.raises(ParameterError, match="path"):
        plots.loss_surface(X[:, :2], y, path=[[1, 2, 3]])


def test_bars_are_the_weights_largest_first():
    model = assay.LinearRegression().fit(X, X @ [1.0, -5.0, 2.0])
    ax = plots.coefficients(model, names=["p", "q", "r"])
    found = {round(p.get_y() + p.get_height() / 2): p.get_width() for p in ax.patches}
    assert np.allclose([found[k] for k in range(3)], [-5, 2, 1])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["q", "r", "p"]
    with pytest.raises(ParameterError, match="no coef_"):
        plots.coefficients(assay.GaussianNB().fit(X, y))


@pytest.mark.parametrize("offset", [0.0, 2000.0])
def test_a_loss_surface_is_laid_around_the_least_risk(offset):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1)) + offset
    y = 3.0 * (x[:, 0] - offset) - 40.0 + rng.normal(size=60)
    w, b = np.polyfit(x[:, 0], y, 1)
    ax = plots.loss_surface(x, y, "squared")
    for (low, high), at in zip((ax.get_xlim(), ax.get_ylim()), (w, b)):
        assert low < at < high
        assert abs((low + high) / 2 - at) < 0.05 * (high - low)


def test_numbers_of_a_perceptrons_lines_do_not_lie_on_each_other():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 2)) + y[:, None]
    ax = plots.perceptron_path(assay.Perceptron(max_iter=20), X, y, most=40)
    ax.figure.canvas.draw()
    boxes = [t.get_window_extent() for t in ax.texts if t.get_text().isdigit()]
    assert len(boxes) > 3
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_a_kernel_perceptron_has_no_line():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ParameterError, match="give a Perceptron"):
        plots.perceptron_path(assay.KernelPerceptron(), X, X[:, 0] > 0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_margins_of_a_kernel_machine(kernel):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X**2).sum(axis=1) > 1.5
    ax = plots.margins(assay.SVC(kernel=kernel).fit(X, y), X, y)
    assert "support vector" in " ".join(text.get_text() for text in ax.figure.findobj(Text))
