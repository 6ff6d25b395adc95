"""Figures of the lecture notes to play: the data, the models and two sentences that say what to look for.

A file has one or more groups of figures. This page is their catalogue; nothing is made before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from assay.studio.presets import curved, gaussian, regression, risk, separating
from assay.studio.presets.figure import Figure

MODULES = (separating, gaussian, risk, curved, regression)

# where in the lecture notes each figure is from: (title of the note, section)
SUPERVISED = "Introduction to Machine Learning, Lecture 5: Supervised Learning"
LINEAR = "Linear models: classification and function approximation"
CLASSIFICATION = "Introduction to Machine Learning and Pattern Recognition, Lecture 2: Classification"
TEN = "Supervised learning (ten methods on two pages)"
L2 = "L2: Supervised Learning: KNN, Perceptron, Logistic Regression"

SECTIONS: dict[str, tuple[str, str]] = {
    "papayas": (CLASSIFICATION, "Predicting tastiness of papayas"),
    "coins": (CLASSIFICATION, "Supervised learning: classifying coins"),
    "worked-example": (LINEAR, "Example: w⁽⁰⁾ to w⁽⁵⁾"),
    "five-passes": (SUPERVISED, "3.2 The perceptron algorithm, example of 5N iterations"),
    "path-of-mistakes": (CLASSIFICATION, "Perceptron learning algorithm (PLA)"),
    "which-row-next": (LINEAR, "Perceptron: online and batch learning"),
    "wide-margin": (CLASSIFICATION, "Margin of a dataset"),
    "narrow-margin": (CLASSIFICATION, "Comment on the runtime guarantee"),
    "not-separable": (CLASSIFICATION, "PLA summary"),
    "equal-isotropic": (SUPERVISED, "4.2 Equal isotropic covariance"),
    "equal-covariances": (SUPERVISED, "4.2 Equal covariances"),
    "equal-means": (SUPERVISED, "4.2 Equal mean"),
    "unequal-covariances": (SUPERVISED, "4.2 Non-equal covariance"),
    "two-estimated": (SUPERVISED, "4.2 Binary case, with estimation"),
    "three-estimated": (SUPERVISED, "4.2 Trinary case, with estimation"),
    "naive-bayes": (TEN, "1 Naive Bayes"),
    "one-neighbour": (SUPERVISED, "5.1 1-NN"),
    "three-or-five": (L2, "1st glance at a classification algorithm"),
    "what-near-means": (SUPERVISED, "5.2 K-NN with different metric"),
    "three-questions": (SUPERVISED, "1 Introduction, the three green points"),
    "models-and-regions": (SUPERVISED, "2.2 Models and decision regions"),
    "surrogate-losses": (L2, "Risks; view it in ERM"),
    "regularised-risk": (L2, "Regularised ERM"),
    "gradient-and-newton": (L2, "Gradient for binary class"),
    "softmax": (L2, "Multi-class"),
    "widest-margin": (TEN, "5 SVMs"),
    "soft-margin": (TEN, "5 SVMs, with a cost for rows inside the margin"),
    "xor": (L2, "Separability: non-linear decision functions"),
    "circles": (TEN, "4 Kernel perceptron and 6 Kernel SVMs"),
    "kernel-reach": (TEN, "6 Kernel SVMs"),
    "tree-growth": (TEN, "9 Decision trees"),
    "greedy-tree": (TEN, "9 Decision trees"),
    "forest-votes": (TEN, "10 Random forests"),
    "network-ring": (TEN, "8 Neural networks"),
    "network-xor": (TEN, "8 Neural networks"),
    "oaks-line": (LINEAR, "Least squares: oaks in Wisconsin"),
    "oaks-descent": (LINEAR, "Function approximation: gradient descent"),
    "other-lines": (LINEAR, "Comments on linear models"),
    "degrees": (L2, "Overfitting"),
    "occam": (L2, "Occam's razor"),
    "eager-boundary": (L2, "Two possible models"),
    "pruned-tree": (L2, "Simpler is better"),
}

BEYOND = ("Beyond the notes",)


def _preset(name: str, group: str, draw: Callable[[], Figure]) -> dict[str, Any]:
    return {"id": name, "group": group, "note": " · ".join(SECTIONS.get(name, BEYOND)), **draw().as_dict()}


PRESETS: Mapping[str, Callable[[], dict[str, Any]]] = {
    name: partial(_preset, name, group, draw)
    for module in MODULES
    for group, figures in module.GROUPS.items()
    for name, draw in figures.items()
}

__all__ = ["BEYOND", "PRESETS", "SECTIONS"]
