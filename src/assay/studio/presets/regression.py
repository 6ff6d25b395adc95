"""Numbers instead of classes: the oaks of Wisconsin, and lines of other kinds."""

from __future__ import annotations

from random import Random

from assay.datasets import dataset
from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import NumberedPoints, curve, evenly

GROUP = "Regression"
OAK_AXES = ("x: age (years)", "target: diameter (inches)")


def _oaks() -> NumberedPoints:
    oaks = dataset("oaks")
    return NumberedPoints(tuple((float(age), float(inch)) for age, inch in zip(oaks.X[:, 0], oaks.y)))


def oaks_line() -> Figure:
    return Figure(
        title="Oaks of Wisconsin: the least-squares line",
        look=(
            "The line makes the sum of the squared residuals least, and it passes through the mean age and the mean diameter.",
            "Drag one old oak up: the whole line tilts, because a residual twice as long counts four times.",
        ),
        data=_oaks(),
        panels=(panel("linear-regression"),),
        speed=2,
        show=("residuals",),
        axes=OAK_AXES,
    )


def oaks_descent() -> Figure:
    return Figure(
        title="Oaks of Wisconsin: gradient descent on the error surface",
        look=(
            "The error is a long, narrow valley over (w₀, w₁): the path first falls steeply into it and then creeps along its floor.",
            "After 2000 steps it is still on its way to the minimum that the normal equations reach at once, since the valley is steep in w₁ and flat in w₀.",
        ),
        data=_oaks(),
        panels=(panel("linear-regression", solver="gd", init=[0, 0], max_iter=2000), panel("linear-regression")),
        speed=30,
        show=("residuals", "surface"),
        axes=OAK_AXES,
    )


def other_lines() -> Figure:
    random = Random(40)
    wave = curve(random, evenly(60, -3, 3), lambda x: x * (x * x - 5.0) / 4.0, 0.35)
    return Figure(
        title="A line, a staircase, neighbours and a tube",
        look=(
            "One cloud, four answers: least squares draws a line, the tree a staircase, neighbours a jagged walk, support vectors a curve inside a tube of width ε.",
            "The line misses the bend however many points there are: that part of the risk is bias, and no more data cure it.",
        ),
        data=wave,
        panels=(
            panel("linear-regression"),
            panel("tree-regressor", max_depth=3),
            panel("knn-regressor", n_neighbors=3),
            panel("svr", C=10.0, epsilon=0.3),
        ),
        speed=8,
        show=("residuals", "support"),
    )


FIGURES = {"oaks-line": oaks_line, "oaks-descent": oaks_descent, "other-lines": other_lines}
