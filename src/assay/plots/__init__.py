"""Pictures of models and verdicts: one figure a function, each returns matplotlib Axes.

    from assay import plots

    ax = plots.decision_regions(model, X, y, columns=("petal length", "petal width"))
    ax.figure.savefig("regions.png")

Every function draws into `ax=` or, without it, into a new figure that is not registered anywhere: nothing is shown, no
setting of matplotlib is changed. `svg` turns axes into a self-contained SVG text. Needs matplotlib: pip install 'assay[plot]'.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.errors import MissingExtraError

if TYPE_CHECKING:
    from assay.families.trees.fit import TreeShape as TreeShape
    from assay.plots.boundaries import margin_distribution as margin_distribution
    from assay.plots.boundaries import margins as margins
    from assay.plots.boundaries import perceptron_path as perceptron_path
    from assay.plots.confusion import class_balance as class_balance
    from assay.plots.confusion import confusion as confusion
    from assay.plots.curves import bias_variance as bias_variance
    from assay.plots.curves import learning_curve as learning_curve
    from assay.plots.curves import loss_curve as loss_curve
    from assay.plots.curves import neighbour_curve as neighbour_curve
    from assay.plots.curves import neighbours as neighbours
    from assay.plots.curves import oob_curve as oob_curve
    from assay.plots.curves import pruning_curve as pruning_curve
    from assay.plots.curves import validation_curve as validation_curve
    from assay.plots.errors import coefficients as coefficients
    from assay.plots.errors import importance as importance
    from assay.plots.errors import predicted_against_true as predicted_against_true
    from assay.plots.errors import ranking as ranking
    from assay.plots.errors import residuals as residuals
    from assay.plots.errors import risk_by_group as risk_by_group
    from assay.plots.regions import covariance_ellipses as covariance_ellipses
    from assay.plots.regions import decision_regions as decision_regions
    from assay.plots.surface import loss_surface as loss_surface
    from assay.plots.svg import svg as svg
    from assay.plots.thresholds import calibration as calibration
    from assay.plots.thresholds import precision_recall as precision_recall
    from assay.plots.thresholds import roc as roc
    from assay.plots.thresholds import thresholds as thresholds
    from assay.plots.tree import tree as tree

_ELSEWHERE = {  # no figure has the name of a file, which would hide it once the file is loaded
    "TreeShape": "tree_layout",
    "bias_variance": "decomposition",
    "calibration": "reliability",
    "class_balance": "class_counts",
    "coefficients": "weights",
    "confusion": "confusion_table",
    "covariance_ellipses": "ellipses",
    "decision_regions": "regions",
    "importance": "intervals",
    "learning_curve": "curves",
    "loss_curve": "loss_curves",
    "loss_surface": "surface",
    "margin_distribution": "margin_lines",
    "margins": "margin_lines",
    "neighbour_curve": "neighbour_curves",
    "neighbours": "neighbour_curves",
    "oob_curve": "tree_curves",
    "perceptron_path": "perceptron",
    "precision_recall": "tradeoffs",
    "predicted_against_true": "regression",
    "pruning_curve": "tree_curves",
    "ranking": "intervals",
    "residuals": "regression",
    "risk_by_group": "intervals",
    "roc": "tradeoffs",
    "svg": "svg_text",
    "thresholds": "tradeoffs",
    "tree": "tree_drawing",
    "validation_curve": "curves",
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
        raise MissingExtraError("Figures need matplotlib: pip install 'assay[plot]'.") from missing
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(_ELSEWHERE)
