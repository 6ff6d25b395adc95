"""The linear support vector machine: the widest strip, and what a cost for rows inside it buys."""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import cloud, either_side, in_turn

GROUP = "Margins"


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


FIGURES = {"widest-margin": widest_margin, "soft-margin": soft_margin}
