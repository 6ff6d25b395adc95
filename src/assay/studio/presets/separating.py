"""The tables of the notes (papayas in a rectangle, coins by size and mass), and a line that separates two classes: found by the perceptron as the notes run it, by much or by little, or not there at all."""

from __future__ import annotations

from random import Random

from assay.datasets import dataset
from assay.studio.presets.figure import Figure, Labelled, Panel, cloud, either_side, in_turn, panel

PERCEPTRON_AND_MARGIN: tuple[Panel, ...] = (panel("perceptron"), panel("linear-svc", C=float("inf")))
MOST = 300


def worked_example() -> Figure:
    three = dataset("three-points")
    return Figure(
        title="The worked example, w⁽⁰⁾ to w⁽⁵⁾",
        look=(
            "The first weights (0, −1, 1) put all three points on the wrong side, and each mistake adds its point to the weights or takes it away.",
            "Three mistakes and two right answers later the weights are (1, 2, −2), which no point of a further pass changes.",
        ),
        data=Labelled(tuple((float(a), float(b)) for a, b in three.X), tuple(str(label) for label in three.y)),
        panels=(panel("perceptron", init=[0, -1, 1]),),
        speed=1,
        show=("weight", "mistakes", "arithmetic"),
    )


def five_passes() -> Figure:
    random = Random(150)
    classes = {"0": cloud(random, 75, (-1.1, -0.7)), "1": cloud(random, 75, (1.1, 0.9))}
    return Figure(
        title="Five times over 150 points",
        look=(
            "All 5N = 750 visits happen, since a few points lie on the wrong side of every line and each pass stumbles over them again.",
            "The line leaps at each mistake and rests in between: compare the last line with the average over all visits, which hardly leaps any more.",
        ),
        data=in_turn(random, classes),
        panels=(panel("perceptron", max_iter=5), panel("perceptron", max_iter=5, variant="averaged")),
        speed=60,
        show=("weight", "mistakes"),
    )


def path_of_mistakes() -> Figure:
    random = Random(47)
    classes = either_side(random, 12, 2, lambda x, y: y - 0.6 * x, gap=0.2)
    return Figure(
        title="From mistake to mistake (PLA)",
        look=(
            "Each step adds the first misclassified point to the weights: the arrow turns towards a point of class 1, or away from one of class 0.",
            "The mistakes climb but stay below the certificate's R²/γ²: the wider the margin γ that some line has, the sooner the path must end.",
        ),
        data=in_turn(random, classes),
        panels=(panel("perceptron", order="first-mistake"),),
        speed=2,
        show=("weight", "mistakes"),
    )


def which_row_next() -> Figure:
    random = Random(4)
    classes = either_side(random, 40, 3, lambda x, y: x + 0.5 * y - 0.5, gap=0.3)
    return Figure(
        title="Row after row, by chance, or all at once",
        look=(
            "All three find a separating line, but not the same one: the order of the corrections decides where in the gap they stop.",
            "The batch rule moves once a pass by the sum of all mistakes, so its steps are few and large.",
        ),
        data=in_turn(random, classes),
        panels=(
            panel("perceptron", order="cyclic"),
            panel("perceptron", order="random", random_state=1),
            panel("perceptron", order="batch"),
        ),
        speed=30,
        show=("weight", "mistakes"),
    )


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


def _first_rows(name: str) -> Labelled:
    """The first rows of a bundled table; their order is random already."""
    table = dataset(name)
    places = tuple((float(x), float(y)) for x, y in table.X[:MOST])
    return Labelled(places, tuple(str(label) for label in table.y[:MOST]))


def papayas() -> Figure:
    return Figure(
        title="Papayas in a rectangle",
        look=(
            "The tightest rectangle around the tasty papayas makes no mistake, and on new fruit it can only be too small.",
            "Trees also cut along the axes, but do not know that the answer is one rectangle; a line is no help at all.",
        ),
        data=_first_rows("papayas"),
        panels=(
            panel("rectangle", method="tightest", pos_label="tasty"),
            panel("decision-tree"),
            panel("logistic-regression"),
        ),
        speed=4,
        show=("box", "cells", "mistakes"),
        axes=("x: softness", "y: colour"),
    )


def coins() -> Figure:
    return Figure(
        title="Coins by size and mass",
        look=(
            "Four coins are four clouds; only the 5c and the 25c come near each other, and there every model makes its mistakes.",
            "The 50c is rare: its ellipse rests on a few coins, and new ones will tell whether it was estimated well.",
        ),
        data=_first_rows("coins"),
        panels=(panel("qda"), panel("knn", n_neighbors=5), panel("decision-tree", max_depth=4)),
        speed=4,
        show=("ellipses", "neighbours", "cells", "mistakes"),
        axes=("x: size (mm)", "y: mass (g)"),
    )


GROUPS = {
    "Papayas and coins": {"papayas": papayas, "coins": coins},
    "The perceptron": {
        "worked-example": worked_example,
        "five-passes": five_passes,
        "path-of-mistakes": path_of_mistakes,
        "which-row-next": which_row_next,
    },
    "Separable or not": {"wide-margin": wide_margin, "narrow-margin": narrow_margin, "not-separable": not_separable},
}
