"""Classes that no line separates, and kernels that do."""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import Labelled, box, in_turn, ring

GROUP = "Kernels"


def four_quarters() -> Labelled:
    """XOR: the class is A where x and y have the same sign."""
    random = Random(2)
    same = box(random, 60, (-2, 2), (-2, 2), lambda x, y: x * y > 0 and min(abs(x), abs(y)) > 0.15)
    other = box(random, 60, (-2, 2), (-2, 2), lambda x, y: x * y < 0 and min(abs(x), abs(y)) > 0.15)
    return in_turn(random, {"A": same, "B": other})


def disc_and_ring() -> Labelled:
    """A disc in a ring."""
    random = Random(10)
    return in_turn(random, {"A": ring(random, 60, 0.0, 1.0), "B": ring(random, 80, 1.3, 2.2)})


def xor() -> Figure:
    return Figure(
        title="XOR",
        look=(
            "Even the best line is wrong for more than a quarter of the points, and the perceptron stumbles on for ever.",
            "In the feature space of the kernel the classes are separable, and the same rule ends without a mistake; the support vector machine adds the widest margin.",
        ),
        data=four_quarters(),
        panels=(
            panel("perceptron", max_iter=10),
            panel("kernel-perceptron", kernel="rbf", gamma=1.0),
            panel("svc", kernel="rbf", gamma=1.0, C=10.0),
        ),
        speed=30,
        show=("margins", "support", "mistakes"),
    )


def circles() -> Figure:
    return Figure(
        title="A disc in a ring",
        look=(
            "The kernel (x·z + 1)² holds x² and y², so a circle in the plane is a straight line in its feature space.",
            "The kernel perceptron stops at the first closed curve without a mistake, the support vector machine at the one in the middle of the gap.",
        ),
        data=disc_and_ring(),
        panels=(
            panel("kernel-perceptron", kernel="poly", degree=2, coef0=1.0, gamma=1.0),
            panel("svc", kernel="poly", degree=2, coef0=1.0, gamma=1.0, C=1000.0),
        ),
        speed=30,
        show=("margins", "support", "mistakes"),
    )


def narrow_and_wide_kernels() -> Figure:
    return Figure(
        title="How far a kernel reaches",
        look=(
            "A small γ reaches far, and the machine is almost linear; a large γ reaches no further than each point's own surroundings.",
            "The rightmost machine makes no mistake on its own points, but only because nearly every one of them is a support vector with a bump of its own.",
        ),
        data=four_quarters(),
        panels=(
            panel("svc", gamma=0.01),
            panel("svc", gamma=1.0),
            panel("svc", gamma=100.0),
        ),
        speed=2,
        show=("margins", "support", "mistakes"),
    )


FIGURES = {"xor": xor, "circles": circles, "kernel-reach": narrow_and_wide_kernels}
