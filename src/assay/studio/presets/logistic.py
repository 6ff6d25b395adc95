"""Logistic regression: the same minimum by gradient and by Newton, and softmax for three classes."""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import cloud, in_turn

GROUP = "Logistic regression"


def gradient_and_newton() -> Figure:
    random = Random(70)
    classes = {"0": cloud(random, 60, (-1.0, 0.0)), "1": cloud(random, 60, (1.0, 0.6))}
    return Figure(
        title="Gradient descent and Newton's method",
        look=(
            "Both begin at w = 0 and end at the same line, since the log loss has one minimum.",
            "Newton's method knows the curvature and needs a handful of steps; gradient descent creeps, and the duality gap shows how far it still has to go.",
        ),
        data=in_turn(random, classes),
        panels=(panel("logistic-regression", solver="gd"), panel("logistic-regression", solver="newton")),
        speed=8,
        show=("margins",),
    )


def softmax() -> Figure:
    random = Random(71)
    classes = {
        "A": cloud(random, 50, (-1.6, -0.8), ((0.8, 0.0), (0.0, 0.8))),
        "B": cloud(random, 50, (1.6, -0.8), ((0.8, 0.0), (0.0, 0.8))),
        "C": cloud(random, 50, (0.0, 1.6), ((0.8, 0.0), (0.0, 0.8))),
    }
    return Figure(
        title="Softmax of three classes",
        look=(
            "Each class has weights of its own, and the greatest score wins: three straight boundaries that meet in one point.",
            "At that point all three probabilities are a third; the shading is palest there and deepens away from the boundaries.",
        ),
        data=in_turn(random, classes),
        panels=(panel("logistic-regression", solver="gd", tol=0.01),),
        speed=30,
    )


FIGURES = {"gradient-and-newton": gradient_and_newton, "softmax": softmax}
