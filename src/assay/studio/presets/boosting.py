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


def boosted_margins() -> Figure:
    random = Random(92)
    classes = {"A": cloud(random, 40, (-1.0, 0.5)), "B": cloud(random, 40, (1.0, -0.5))}
    return Figure(
        title="Margins grow after the error is zero",
        look=(
            "Each tree goes by the rows that those before it got wrong, and the training error falls below the product of the edges until it is zero.",
            "Then go on: no row is wrong any more, but the least margin still climbs, and the boundary settles.",
        ),
        data=in_turn(random, classes),
        panels=(panel("adaboost", estimator={"max_depth": 2}, n_estimators=120),),
        speed=4,
        show=("mistakes",),
    )


GROUPS = {"Boosting": {"sine-by-stumps": sine_by_stumps, "boosted-margins": boosted_margins}}
