"""Pictures of models and verdicts: one figure a function, each returns matplotlib Axes.

    from assay import plots

    ax = plots.decision_regions(model, X, y, columns=("petal length", "petal width"))
    ax.figure.savefig("regions.png")

Every function draws into `ax=` or, without it, into a new figure that is not registered anywhere: nothing is shown, no
setting of matplotlib is changed. `svg` turns axes into a self-contained SVG text. Needs matplotlib: pip install 'assay-ml[plot]'.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.errors import MissingExtraError, install

if TYPE_CHECKING:
    from assay.families.trees.text import TreeShape as TreeShape
    from assay.plots.boundaries import margin_distribution as margin_distribution
    from assay.plots.boundaries import margins as margins
    from assay.plots.boundaries import perceptron_path as perceptron_path
    from assay.plots.curves import bias_variance as bias_variance
    from assay.plots.curves import learning_curve as learning_curve
    from assay.plots.curves import loss_curve as loss_curve
    from assay.plots.curves import neighbour_curve as neighbour_curve
    from assay.plots.curves import neighbours as neighbours
    from assay.plots.curves import oob_curve as oob_curve
    from assay.plots.curves import pruning_curve as pruning_curve
    from assay.plots.curves import validation_curve as validation_curve
    from assay.plots.errors import class_balance as class_balance
    from assay.plots.errors import coefficients as coefficients
    from assay.plots.errors import confusion as confusion
    from assay.plots.errors import importance as importance
    from assay.plots.errors import predicted_against_true as predicted_against_true
    from assay.plots.errors import ranking as ranking
    from assay.plots.errors import residuals as residuals
    from assay.plots.errors import risk_by_group as risk_by_group
    from assay.plots.errors import shap_importance as shap_importance
    from assay.plots.errors import waterfall as waterfall
    from assay.plots.regions import covariance_ellipses as covariance_ellipses
    from assay.plots.regions import decision_regions as decision_regions
    from assay.plots.regions import densities as densities
    from assay.plots.regions import fitted_curve as fitted_curve
    from assay.plots.regions import loss_functions as loss_functions
    from assay.plots.surface import loss_surface as loss_surface
    from assay.plots.svg_text import svg as svg
    from assay.plots.threshold_curves import calibration as calibration
    from assay.plots.threshold_curves import precision_recall as precision_recall
    from assay.plots.threshold_curves import roc as roc
    from assay.plots.threshold_curves import thresholds as thresholds
    from assay.plots.tree_drawing import tree as tree

_ELSEWHERE = {  # no figure has the name of a file, which would hide it once the file is loaded
    "TreeShape": "tree_drawing",
    "bias_variance": "curves",
    "calibration": "threshold_curves",
    "class_balance": "errors",
    "coefficients": "errors",
    "confusion": "errors",
    "covariance_ellipses": "regions",
    "decision_regions": "regions",
    "densities": "regions",
    "fitted_curve": "regions",
    "importance": "errors",
    "learning_curve": "curves",
    "loss_curve": "curves",
    "loss_functions": "regions",
    "loss_surface": "surface",
    "margin_distribution": "boundaries",
    "margins": "boundaries",
    "neighbour_curve": "curves",
    "neighbours": "curves",
    "oob_curve": "curves",
    "perceptron_path": "boundaries",
    "precision_recall": "threshold_curves",
    "predicted_against_true": "errors",
    "pruning_curve": "curves",
    "ranking": "errors",
    "residuals": "errors",
    "risk_by_group": "errors",
    "roc": "threshold_curves",
    "shap_importance": "errors",
    "svg": "svg_text",
    "thresholds": "threshold_curves",
    "tree": "tree_drawing",
    "validation_curve": "curves",
    "waterfall": "errors",
}


def __getattr__(name: str) -> Any:
    where = _ELSEWHERE.get(name)
    if where is None:
        raise AttributeError(f"module 'assay.plots' has no attribute {name!r}")
    try:
        module = import_module(f"assay.plots.{where}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] != "matplotlib":
            raise
        raise MissingExtraError(f"Figures need matplotlib: {install('plot')}.") from missing
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(_ELSEWHERE)
