"""Trees added up: what is left shrinks stage by stage, and margins grow when nothing is wrong any more."""

from __future__ import annotations

from math import sin
from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import cloud, curve, evenly, in_turn


def sine_by_stumps() -> Figure:
    return Figure(
        title="A sine wave out of steps",
        look=(
            "Every stage adds one small step where the curve is furthest off; after a few hundred of them the stairs follow the wave.",
            "What is left shrinks stage by stage, first fast and then ever slower; trees of eight leaves get there in fewer stages, and follow the noise sooner.",
        ),
        data=curve(Random(92), evenly(90, 0.0, 6.3), sin, 0.15),
        panels=(
            panel("boosting-regressor", max_leaf_nodes=2, min_samples_leaf=3, n_estimators=200),
            panel("boosting-regressor", max_leaf_nodes=8, min_samples_leaf=3, n_estimators=200),
        ),
        speed=12,
    )


def margins_grow() -> Figure:
    random = Random(93)
    classes = {"A": cloud(random, 50, (-1.5, 0.6)), "B": cloud(random, 50, (1.5, -0.6))}
    settings = {"max_leaf_nodes": 4, "min_samples_leaf": 1, "n_estimators": 150, "learning_rate": 0.3}
    return Figure(
        title="Margins grow after the last mistake",
        look=(
            "After some stages no training point is wrong any more, and yet gradient boosting's loss and AdaBoost's bound go on falling.",
            "The least margin, the score of the worst point, rises stage by stage: boosting grows surer of what it already gets right.",
        ),
        data=in_turn(random, classes),
        panels=(
            panel("gradient-boosting", loss="exponential", **settings),
            panel("adaboost", estimator={"max_depth": 2}, n_estimators=120),
        ),
        speed=10,
        show=("mistakes",),
    )


GROUPS = {"Boosting": {"sine-by-stumps": sine_by_stumps, "margins-grow": margins_grow}}
