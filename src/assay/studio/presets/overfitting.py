"""Too simple, about right, too eager: degrees of a polynomial, and Occam's razor.

A polynomial of degree p is ridge regression in the features of the kernel (x·z + 1)^p, which span 1, x, …, xᵖ; the penalty is so small
that it only keeps the equations solvable.
"""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, Panel, panel
from assay.studio.presets.points import Labelled, NumberedPoints, box, cloud, curve, in_turn

GROUP = "Overfitting"
PENALTY = 1e-6


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


FIGURES = {"degrees": degrees, "occam": occam, "eager-boundary": eager_boundary, "pruned-tree": pruned_tree}
