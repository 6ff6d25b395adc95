"""Empirical risk: which model, which loss, how strong a penalty."""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import Labelled, box, cloud, in_turn

GREEN = ((-1.6, 1.2), (1.7, -0.9), (0.15, 0.1))


def three_questions() -> Figure:
    random = Random(3)
    classes = {"A": cloud(random, 30, (-1.4, 1.0), ((0.5, 0.0), (0.0, 0.5)))}
    classes["B"] = cloud(random, 30, (1.5, -0.8), ((0.5, 0.0), (0.0, 0.5)))
    return Figure(
        title="Which classes have the three new points?",
        look=(
            "All models agree on the two marked points that lie within a cloud.",
            "The one between the clouds is a guess: the models answer it differently, or with little confidence.",
        ),
        data=in_turn(random, classes),
        panels=(panel("logistic-regression"), panel("knn", n_neighbors=1), panel("decision-tree"), panel("qda")),
        speed=10,
        asked=GREEN,
    )


def models_and_regions() -> Figure:
    return Figure(
        title="Models and their decision regions",
        look=(
            "One table, four hypothesis classes: a line, a staircase, a smooth curve, and whatever the nearest point says.",
            "The training risk falls from panel to panel and does not tell which model is best: compare it with the risk on rows held out.",
        ),
        data=_crescents(),
        panels=(
            panel("logistic-regression"),
            panel("decision-tree", max_depth=4),
            panel("svc", C=10.0),
            panel("knn", n_neighbors=1),
        ),
        speed=4,
        show=("mistakes",),
    )


def _crescents() -> Labelled:
    """Two arcs that reach into each other, with some noise across the boundary."""
    random = Random(52)
    upper = box(random, 70, (-2, 2), (-1, 2), lambda x, y: 0.7 < (x + 0.5) ** 2 + y * y < 1.4 and y > -0.1)
    lower = box(random, 70, (-2, 2), (-2, 1), lambda x, y: 0.7 < (x - 0.5) ** 2 + (y - 0.4) ** 2 < 1.4 and y < 0.5)
    jitter = cloud(random, 140, (0.0, 0.0), ((0.15, 0.0), (0.0, 0.15)))
    moved = [(x + a, y + b) for (x, y), (a, b) in zip([*upper, *lower], jitter)]
    return in_turn(random, {"A": moved[:70], "B": moved[70:]})


def surrogate_losses() -> Figure:
    random = Random(17)
    classes = {"0": cloud(random, 50, (-1.0, -0.6)), "1": cloud(random, 50, (1.0, 0.8))}
    return Figure(
        title="Surrogates of the zero-one loss",
        look=(
            "The perceptron loss hears only the points on the wrong side, the hinge loss also those inside the margin, the logistic loss all of them, the far ones faintly.",
            "The zero-one loss itself has no slope to descend by: it is measured as the risk below each panel, while the surrogates are made small.",
        ),
        data=in_turn(random, classes),
        panels=(
            panel("erm", loss="perceptron", penalty=None, solver="subgradient", init=[0, 1, 0], eta=0.1, max_iter=200),
            panel("erm", loss="hinge"),
            panel("erm", loss="log"),
        ),
        speed=10,
        show=("margins", "mistakes"),
    )


def regularised() -> Figure:
    random = Random(28)
    classes = {"0": cloud(random, 25, (-0.9, -0.2)), "1": cloud(random, 25, (0.9, 0.3))}
    return Figure(
        title="Regularised risk: λ small and large",
        look=(
            "The larger λ, the shorter the weights and the paler the shading: the margin lines f = ±1 move apart.",
            "A small λ trusts the 50 points, a large one trusts nobody: all probabilities approach one half.",
        ),
        data=in_turn(random, classes),
        panels=(panel("erm", lam=0.0001), panel("erm", lam=0.1), panel("erm", lam=3.0)),
        speed=4,
        show=("margins",),
    )


GROUPS = {
    "Empirical risk": {
        "three-questions": three_questions,
        "models-and-regions": models_and_regions,
        "surrogate-losses": surrogate_losses,
        "regularised-risk": regularised,
    },
}
