"""Numbers instead of classes: the oaks of Wisconsin, lines of other kinds; and overfitting, of numbers and of classes.

A polynomial of degree p is ridge regression in the features of the kernel (x·z + 1)^p, which span 1, x, …, xᵖ; the penalty is so small
that it only keeps the equations solvable.
"""

from __future__ import annotations

from random import Random

from assay.datasets import dataset
from assay.studio.presets.figure import (
    Figure,
    Labelled,
    NumberedPoints,
    Panel,
    box,
    cloud,
    curve,
    evenly,
    in_turn,
    panel,
)

OAK_AXES = ("x: age (years)", "target: diameter (inches)")
PENALTY = 1e-6


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


def polynomial(degree: int) -> Panel:
    """Least squares over all polynomials of the degree."""
    return panel("features-regressor", kernel="poly", degree=degree, gamma=1.0, coef0=1.0, alpha=PENALTY)


def bend(x: float) -> float:
    """What the points of `degrees` scatter about."""
    return 2.0 * x * x * x - 1.2 * x


def bent(seed: int, n: int) -> NumberedPoints:
    """n points about `bend`."""
    random = Random(seed)
    return curve(random, sorted(2.0 * random.random() - 1.0 for _ in range(n)), bend, 0.18)


def degrees() -> Figure:
    return Figure(
        title="Overfitting by degree",
        look=(
            "From degree 1 to 3 to 12 the training risk only falls, since every polynomial of lower degree is also one of higher.",
            "The risk on new points falls and then rises again: degree 12 bends to meet 24 noisy points and swings between them.",
        ),
        data=bent(15, 24),
        panels=(polynomial(1), polynomial(3), polynomial(12)),
        speed=1,
        show=("residuals",),
    )


def parabola(seed: int, n: int) -> NumberedPoints:
    """n points about a parabola."""
    random = Random(seed)
    return curve(random, sorted(2.0 * random.random() - 1.0 for _ in range(n)), lambda x: 1.5 * x * x - 0.5, 0.15)


def occam() -> Figure:
    return Figure(
        title="Occam's razor",
        look=(
            "The line does not fit at all; the parabola and the polynomial of degree 8 both do, with nearly the same training risk.",
            "Of the two the simpler is the more plausible: its risk on new points is lower, and a dragged point moves it less.",
        ),
        data=parabola(16, 40),
        panels=(polynomial(1), polynomial(2), polynomial(8)),
        speed=1,
        show=("residuals",),
    )


def noisy_halves(seed: int, n: int) -> Labelled:
    """Two overlapping clouds whose best boundary is nearly straight."""
    random = Random(seed)
    return in_turn(random, {"A": cloud(random, n, (-0.9, -0.3)), "B": cloud(random, n, (0.9, 0.3))})


def eager_boundary() -> Figure:
    return Figure(
        title="Two models, which is better?",
        look=(
            "The winding boundary fits the training points without a mistake; the straight one leaves some on the wrong side.",
            "New points follow the clouds and not the islands: on them the straight boundary errs less.",
        ),
        data=noisy_halves(18, 40),
        panels=(panel("svc", gamma=20.0, C=1000.0), panel("logistic-regression")),
        speed=4,
        show=("mistakes",),
    )


def pruned_tree() -> Figure:
    random = Random(19)
    inside = box(random, 70, (-2, 2), (-2, 2), lambda x, y: x > -0.5 and y < 0.8)
    outside = box(random, 70, (-2, 2), (-2, 2), lambda x, y: not (x > -0.5 and y < 0.8))
    wrong = 9
    classes = {"A": outside[wrong:] + inside[:wrong], "B": inside[wrong:] + outside[:wrong]}
    return Figure(
        title="Pruning a tree",
        look=(
            "One point in eight has the wrong class; the full tree cuts out a cell for each of them.",
            "Pruning by cross-validation gives these cells up and keeps the corner that was there to be learnt.",
        ),
        data=in_turn(random, classes),
        panels=(panel("decision-tree"), panel("decision-tree", ccp_alpha="cv")),
        speed=4,
        show=("cells", "mistakes"),
    )


GROUPS = {
    "Regression": {"oaks-line": oaks_line, "oaks-descent": oaks_descent, "other-lines": other_lines},
    "Overfitting": {"degrees": degrees, "occam": occam, "eager-boundary": eager_boundary, "pruned-tree": pruned_tree},
}
