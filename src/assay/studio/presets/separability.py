"""Rows that a line separates, by much or by little, and rows that none does."""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, Panel, panel
from assay.studio.presets.points import Labelled, cloud, either_side, in_turn

GROUP = "Separable or not"
PERCEPTRON_AND_MARGIN: tuple[Panel, ...] = (panel("perceptron"), panel("linear-svc", C=float("inf")))


def _halves(seed: int, gap: float) -> Labelled:
    """Two classes on either side of a line, with a strip of width 2·gap between them."""
    random = Random(seed)
    return in_turn(random, either_side(random, 40, 2, lambda x, y: 0.6 * x + 0.8 * y - 0.5, gap))


def wide_margin() -> Figure:
    return Figure(
        title="Separable with a wide margin",
        look=(
            "The strip between the classes is wide, so few corrections are enough and the perceptron soon ends with a pass without a mistake.",
            "Its line only has to separate: beside it the line of greatest margin lies in the middle of the strip.",
        ),
        data=_halves(11, 0.4),
        panels=PERCEPTRON_AND_MARGIN,
        speed=30,
        show=("margins", "support", "mistakes"),
    )


def narrow_margin() -> Figure:
    return Figure(
        title="Separable with a narrow margin",
        look=(
            "A strip a sixth as wide takes 60 corrections instead of 5, and their bound R̃²/γ̃² in x̃ = (1, x) grows with the square, from 67 to 2299.",
            "The data are still separable: after enough passes the perceptron ends, and its certificate shows a line without a mistake.",
        ),
        data=_halves(11, 0.04),
        panels=PERCEPTRON_AND_MARGIN,
        speed=60,
        show=("margins", "support", "mistakes"),
    )


def not_separable() -> Figure:
    random = Random(30)
    classes = {"0": cloud(random, 50, (-0.8, 0.0)), "1": cloud(random, 50, (0.8, 0.3))}
    return Figure(
        title="Not separable",
        look=(
            "No line is without a mistake, so the last weights never come to rest: stop it anywhere, and the line is where the last mistake threw it.",
            "The average over all visits and the vote of all lines settle nevertheless, and logistic regression reaches a minimum that it can prove.",
        ),
        data=in_turn(random, classes),
        panels=(
            panel("perceptron", max_iter=5),
            panel("perceptron", max_iter=5, variant="averaged"),
            panel("perceptron", max_iter=5, variant="voted"),
            panel("logistic-regression"),
        ),
        speed=60,
        show=("mistakes",),
    )


FIGURES = {"wide-margin": wide_margin, "narrow-margin": narrow_margin, "not-separable": not_separable}
