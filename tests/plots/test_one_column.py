"""Pictures of one column: what a regressor answers over it, losses over the margin, densities of classes."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay import plots
from assay.errors import DataError, ParameterError

oaks = assay.dataset("oaks")
line = assay.LinearRegression().fit(oaks.X, oaks.y)


def curves_of(ax):
    return [found for found in ax.lines if len(found.get_xdata()) > 50]


def test_the_curve_is_what_the_model_answers():
    ax = plots.fitted_curve(line, oaks.X, oaks.y)
    (curve,) = curves_of(ax)
    x, y = curve.get_xydata().T
    assert np.allclose(y, line.intercept_ + line.coef_[0] * x)
    assert x.min() < oaks.X.min()
    assert x.max() > oaks.X.max()


def test_residuals_end_at_the_points_and_at_the_curve():
    ax = plots.fitted_curve(line, oaks.X, oaks.y, residuals=True)
    (segments,) = [c.get_segments() for c in ax.collections if hasattr(c, "get_segments")]
    ends = np.array(segments)
    assert np.allclose(ends[:, 0, 1], oaks.y)
    assert np.allclose(ends[:, 1, 1], line.predict(oaks.X))


def test_several_models_have_a_curve_and_a_name_each_and_test_points_are_shown():
    models = {f"degree {p}": assay.notes.polynomial(p).fit(oaks.X / 100, oaks.y) for p in (1, 3)}
    ax = plots.fitted_curve(models, oaks.X / 100, oaks.y, test=(oaks.X / 90, oaks.y))
    assert len(curves_of(ax)) == 2
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"degree 1", "degree 3", "training", "test"} <= set(names)


def test_regions_of_a_regressor_of_one_column_are_its_curve():
    ax = plots.decision_regions(line, oaks.X, oaks.y)
    assert len(curves_of(ax)) == 1


def test_a_table_of_two_columns_has_no_curve():
    X = np.column_stack([oaks.X, oaks.X])
    with pytest.raises(DataError, match="one column"):
        plots.fitted_curve(assay.Ridge().fit(X, oaks.y), X, oaks.y)


def test_losses_are_drawn_over_the_margin_as_they_are():
    ax = plots.loss_functions("zero-one", "hinge", "perceptron", "log")
    drawn = {found.get_label(): found.get_xydata() for found in ax.lines if not found.get_label().startswith("_")}
    m, v = drawn["hinge"].T
    assert np.allclose(v, np.maximum(0, 1 - m))
    m, v = drawn["perceptron"].T
    assert np.allclose(v, np.maximum(0, -m))
    m, v = drawn["log"].T
    assert np.allclose(v, np.log1p(np.exp(-m)))
    m, v = drawn["zero-one"].T
    assert set(v) == {0.0, 1.0}
    with pytest.raises(ParameterError, match="hinj"):
        plots.loss_functions("hinj")


def test_densities_are_priors_times_normal_densities():
    X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0]])
    model = assay.GaussianNB(var_smoothing=0).fit(X, ["a", "a", "a", "b", "b"])
    ax = plots.densities(model, X, ["a", "a", "a", "b", "b"])
    curves = curves_of(ax)
    assert len(curves) == 2
    x, p = curves[0].get_xydata().T
    mean, var = model.theta_[0, 0], model.var_[0, 0]
    assert np.allclose(p, 0.6 * np.exp(-((x - mean) ** 2) / (2 * var)) / np.sqrt(2 * np.pi * var))
