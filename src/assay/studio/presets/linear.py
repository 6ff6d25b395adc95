"""Linear models at their minimum: logistic regression by gradient and by Newton, softmax, and the widest strip with its costs."""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import cloud, either_side, in_turn


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


def widest_margin() -> Figure:
    random = Random(6)
    classes = either_side(random, 25, 2, lambda x, y: y - x, gap=0.5)
    return Figure(
        title="The widest margin",
        look=(
            "The strip between the dashed lines is the widest that holds no point, and only the few points on its edges decide where it lies.",
            "Projected gradient descent as in the notes and the default solver end at the same strip; drag a point that is not on an edge, and nothing moves.",
        ),
        data=in_turn(random, {name: [(x + 2.0, y + 3.0) for x, y in places] for name, places in classes.items()}),
        panels=(
            panel("linear-svc", C=float("inf"), loss="hinge"),
            panel("linear-svc", C=float("inf"), loss="hinge", solver="pgd"),
        ),
        speed=1,
        show=("margins", "support"),
    )


def soft_margin() -> Figure:
    random = Random(55)
    classes = {"0": cloud(random, 40, (-1.1, -0.5)), "1": cloud(random, 40, (1.1, 0.5))}
    return Figure(
        title="Soft margins: the cost C",
        look=(
            "A small C makes rows inside the margin cheap: the strip is wide, and many rows support it.",
            "A large C makes them dear: the strip narrows to the rows about the boundary.",
        ),
        data=in_turn(random, classes),
        panels=(
            panel("svc", kernel="linear", C=0.01),
            panel("svc", kernel="linear", C=1.0),
            panel("svc", kernel="linear", C=100.0),
        ),
        speed=2,
        show=("margins", "support"),
    )


GROUPS = {
    "Logistic regression": {"gradient-and-newton": gradient_and_newton, "softmax": softmax},
    "Margins": {"widest-margin": widest_margin, "soft-margin": soft_margin},
}
