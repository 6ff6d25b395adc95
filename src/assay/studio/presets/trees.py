"""A tree split by split, and the vote of many."""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.kernels import four_quarters
from assay.studio.presets.points import cloud, in_turn

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


FIGURES = {
    "tree-growth": tree_growth,
    "greedy-tree": greedy_on_xor,
    "boosted-margins": boosted_margins,
    "forest-votes": forest_votes,
}
