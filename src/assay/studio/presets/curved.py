"""Classes that no line separates, and what separates them: kernels, trees split by split and their vote, networks whose units
are lines; and trees added up, where what is left shrinks stage by stage, and margins grow when nothing is wrong any more.
"""

from __future__ import annotations

from math import sin
from random import Random

from assay.studio.presets.figure import Figure, Labelled, box, cloud, curve, evenly, in_turn, panel, ring


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


def network_learns() -> Figure:
    return Figure(
        title="A network learns a ring",
        look=(
            "Each hidden unit is a line in the plane; the lines drift until together they fence the disc in.",
            "Two units cannot close a curve around the disc, eight can: the narrow network is left with mistakes, the wide one ends without.",
        ),
        data=disc_and_ring(),
        panels=(
            panel(
                "mlp", hidden_layer_sizes=[2], activation="tanh", learning_rate_init=0.02, batch_size=20, max_iter=150
            ),
            panel(
                "mlp", hidden_layer_sizes=[8], activation="tanh", learning_rate_init=0.02, batch_size=20, max_iter=150
            ),
        ),
        speed=20,
        show=("units", "mistakes"),
    )


def network_on_xor() -> Figure:
    return Figure(
        title="A network learns XOR",
        look=(
            "Without a hidden layer the network is a line, and XOR is beyond it.",
            "Six sigmoidal units are enough: the loss stays on a plateau at first, then falls as the units find the axes.",
        ),
        data=four_quarters(),
        panels=(
            panel("mlp", hidden_layer_sizes=[], learning_rate_init=0.03, batch_size=20, max_iter=150),
            panel(
                "mlp",
                hidden_layer_sizes=[6],
                activation="logistic",
                learning_rate_init=0.03,
                batch_size=20,
                max_iter=150,
            ),
        ),
        speed=20,
        show=("units", "mistakes"),
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


GROUPS = {
    "Kernels": {"xor": xor, "circles": circles, "kernel-reach": narrow_and_wide_kernels},
    "Trees and forests": {"tree-growth": tree_growth, "greedy-tree": greedy_on_xor, "forest-votes": forest_votes},
    "Networks": {"network-ring": network_learns, "network-xor": network_on_xor},
    "Boosting": {"sine-by-stumps": sine_by_stumps, "margins-grow": margins_grow},
}
