"""A tree split by split, and the vote of many."""

from __future__ import annotations

from math import sin
from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.kernels import four_quarters
from assay.studio.presets.points import cloud, curve, evenly, in_turn

GROUP = "Trees and forests"


def tree_growth() -> Figure:
    random = Random(90)
    classes = {
        "A": cloud(random, 50, (-1.2, 0.8), ((0.9, 0.0), (0.0, 0.9))),
        "B": cloud(random, 50, (1.2, 1.0), ((0.9, 0.0), (0.0, 0.9))),
        "C": cloud(random, 50, (0.2, -1.2), ((1.2, 0.0), (0.0, 0.8))),
    }
    return Figure(
        title="A tree grows",
        look=(
            "Each split cuts one cell in two, where the entropy of that cell falls most; the first splits sort many points, the last ones a handful.",
            "The tree of depth three leaves some mistakes; the full tree cuts out thin cells until each holds one class alone.",
        ),
        data=in_turn(random, classes),
        panels=(panel("decision-tree", criterion="entropy", max_depth=3), panel("decision-tree", criterion="entropy")),
        speed=2,
        show=("cells", "mistakes"),
    )


def greedy_on_xor() -> Figure:
    return Figure(
        title="A greedy tree on XOR",
        look=(
            "No first split gains anything worth having, since both halves of any cut hold about as many of either class.",
            "The gain comes later: after some thin first cuts the tree finds the four quarters all the same.",
        ),
        data=four_quarters(),
        panels=(panel("decision-tree", criterion="entropy"),),
        speed=2,
        show=("cells", "mistakes"),
    )


def forest_votes() -> Figure:
    random = Random(91)
    classes = {"A": cloud(random, 70, (-0.8, 0.4)), "B": cloud(random, 70, (0.8, -0.4))}
    return Figure(
        title="The vote of a forest",
        look=(
            "Each tree saw another draw of the rows and has ragged cells of its own; their vote is smoother than any of them.",
            "The out-of-bag error falls as trees join in and then levels off: more trees steady the vote, they do not overfit it.",
        ),
        data=in_turn(random, classes),
        panels=(
            panel("decision-tree", criterion="entropy"),
            panel("random-forest", n_estimators=60, criterion="entropy", voting="majority", random_state=0),
        ),
        speed=6,
        show=("votes", "mistakes"),
    )


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
    return Figure(
        title="Margins grow after the last mistake",
        look=(
            "After some stages no training point is wrong any more, and yet the loss goes on falling.",
            "The least margin, the score of the worst point, rises stage by stage: boosting grows surer of what it already gets right.",
        ),
        data=in_turn(random, classes),
        panels=(
            panel(
                "gradient-boosting",
                loss="exponential",
                max_leaf_nodes=4,
                min_samples_leaf=1,
                n_estimators=150,
                learning_rate=0.3,
            ),
        ),
        speed=10,
        show=("mistakes",),
    )


FIGURES = {
    "tree-growth": tree_growth,
    "greedy-tree": greedy_on_xor,
    "forest-votes": forest_votes,
    "sine-by-stumps": sine_by_stumps,
    "margins-grow": margins_grow,
}
