"""Figures leave no trace: no pyplot, no changed setting, nothing loaded before it is needed; every figure returns Axes."""

from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import assay
from assay import plots
from assay.errors import ParameterError
from assay.plots.canvas import COLOURS, HATCHES, LINES, MARKERS, style_of

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(-2, 1, (30, 2)), rng.normal(2, 1, (30, 2))])
y = np.repeat([0, 1], 30)
LEAF = plots.TreeShape(
    np.array([1, -1, -1]), np.array([2, -1, -1]), np.zeros(3), np.zeros(3), np.ones((3, 2)), np.ones(3)
)


def drawings():
    lda, svm = assay.LinearDiscriminantAnalysis().fit(X, y), assay.LinearSVC().fit(X, y)
    half = np.linspace(0, 1, 5)
    return {
        "decision_regions": lambda ax: plots.decision_regions(lda, X, y, ax=ax),
        "perceptron_path": lambda ax: plots.perceptron_path(assay.Perceptron(), X, y, ax=ax),
        "margins": lambda ax: plots.margins(svm, X, y, ax=ax),
        "margin_distribution": lambda ax: plots.margin_distribution(svm, X, y, ax=ax),
        "tree": lambda ax: plots.tree(LEAF, ax=ax),
        "pruning_curve": lambda ax: plots.pruning_curve(
            assay.DecisionTreeClassifier(ccp_alpha="cv").fit(X, y + (X[:, 0] > 2)), ax=ax
        ),
        "oob_curve": lambda ax: plots.oob_curve(assay.RandomForestClassifier(n_estimators=20).fit(X, y), ax=ax),
        "neighbour_curve": lambda ax: plots.neighbour_curve(assay.KNeighborsClassifier("auto").fit(X, y), ax=ax),
        "loss_curve": lambda ax: plots.loss_curve(
            assay.MLPClassifier((4,), solver="lbfgs", max_iter=500).fit(X, y), ax=ax
        ),
        "neighbours": lambda ax: plots.neighbours(assay.KNeighborsClassifier(3).fit(X, y), X, y, [0.0, 0.0], ax=ax),
        "learning_curve": lambda ax: plots.learning_curve(
            [1, 2], [0, 1], [1, 1], test_interval=([0, 0], [2, 2]), ax=ax
        ),
        "validation_curve": lambda ax: plots.validation_curve([1, 2], [0, 1], [1, 1], chosen=2, one_se=1.1, ax=ax),
        "bias_variance": lambda ax: plots.bias_variance(0.1, 0.2, ax=ax),
        "roc": lambda ax: plots.roc((half, half), ax=ax),
        "precision_recall": lambda ax: plots.precision_recall({"a": (half, half)}, prevalence=0.5, ax=ax),
        "calibration": lambda ax: plots.calibration(half, half, interval=(half, half), counts=half, ax=ax),
        "confusion": lambda ax: plots.confusion([[1, 2], [3, 4]], ax=ax),
        "thresholds": lambda ax: plots.thresholds(
            {"thresholds": half, "recall": half, "cost": half, "best": 0.5}, ax=ax
        ),
        "loss_surface": lambda ax: plots.loss_surface(X, y, l2=0.1, path=[[0, 0], [1, 1]], ax=ax),
        "covariance_ellipses": lambda ax: plots.covariance_ellipses(lda, X, y, ax=ax),
        "ranking": lambda ax: plots.ranking(["a", "b"], [1, 2], [0, 1], [2, 3], "a", best=0.5, ax=ax),
        "importance": lambda ax: plots.importance(["a", "b"], [1, 2], [0, 1], [2, 3], ax=ax),
        "risk_by_group": lambda ax: plots.risk_by_group(["a"], [1], [0], [2], overall=1, counts=[5], ax=ax),
        "residuals": lambda ax: plots.residuals(X[:, 0], X[:, 1], ax=ax),
        "predicted_against_true": lambda ax: plots.predicted_against_true(X[:, 0], X[:, 1], ax=ax),
        "coefficients": lambda ax: plots.coefficients(svm, ax=ax),
        "shap_importance": lambda ax: plots.shap_importance(X, ax=ax),
        "waterfall": lambda ax: plots.waterfall([1.0, -2.0], 0.5, x=[3.0, "red"], ax=ax),
        "fitted_curve": lambda ax: plots.fitted_curve(
            assay.LinearRegression().fit(X[:, :1], X[:, 1]), X[:, :1], X[:, 1], ax=ax
        ),
        "loss_functions": lambda ax: plots.loss_functions(ax=ax),
        "densities": lambda ax: plots.densities(lda, X, y, ax=ax),
        "class_balance": lambda ax: plots.class_balance(["a", "b"], [1, 2], ax=ax),
    }


@pytest.mark.parametrize("name", drawings())
def test_every_figure_returns_axes_draws_into_given_ones_and_changes_no_setting(name):
    draw, before = drawings()[name], dict(matplotlib.rcParams)
    alone = np.ravel(draw(None))
    assert all(isinstance(a, Axes) for a in alone)
    figure = Figure()
    ax = figure.subplots()
    assert np.ravel(draw(ax))[0] is ax
    figure.draw_without_rendering()
    text = plots.svg(alone, title=name, description="d")
    assert len(text) < 60_000
    assert dict(matplotlib.rcParams) == before


def test_every_figure_is_in_the_list_above_and_has_a_name_of_its_own():
    assert set(dir(plots)) - {"TreeShape", "svg"} == set(drawings())
    files = set(plots._ELSEWHERE.values())
    assert not files & set(plots._ELSEWHERE), "a file of that name would hide the figure once it is loaded"


def test_pyplot_is_never_loaded_and_matplotlib_only_when_needed():
    code = (
        "import sys, assay, assay.plots as p; assert 'matplotlib' not in sys.modules;"
        "ax = p.confusion([[1, 2], [3, 4]]); ax.figure.savefig(__import__('io').BytesIO());"
        "p.svg(ax, title='t', description='d');"
        "p.residuals([1., 2.], [1., 3.]);"
        "assert 'matplotlib.pyplot' not in sys.modules; assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_matplotlib_the_message_says_how_to_install_it():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import assay.plots\n"
        "try: assay.plots.roc\n"
        "except ImportError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert "pip install 'assay-ml[plot]'" in told.stdout


def test_something_that_is_no_axes_is_refused():
    with pytest.raises(ParameterError, match="matplotlib Axes"):
        plots.confusion([[1]], ax="here")
    with pytest.raises(AttributeError, match="no attribute 'rocc'"):
        plots.rocc  # noqa: B018


def test_ten_looks_differ_in_colour_shape_line_and_hatch():
    for kind in (COLOURS, MARKERS, LINES, HATCHES):
        assert len(set(kind)) == 10
    assert len({style_of(k) for k in range(10)}) == 10
    assert list(COLOURS) == [to_hex(c) for c in matplotlib.color_sequences["petroff10"]]
