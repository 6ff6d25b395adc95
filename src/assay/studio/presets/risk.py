"""Empirical risk: which model, which loss, how strong a penalty; and linear models at their minimum: logistic regression by gradient and by Newton,
softmax, and the widest strip with its costs.
"""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, Labelled, box, cloud, either_side, in_turn, panel

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


def gradient_and_newton() -> Figure:
    random = Random(70)
    classes = {"0": cloud(random, 60, (-1.0, 0.0)), "1": cloud(random, 60, (1.0, 0.6))}
    return Figure(
        title="Gradient descent and Newton's method",
        look=(
            "Both begin at w = 0 and end at the same line, since the log loss has one minimum.",
            "Newton's method knows the curvature and needs a handful of steps; gradient descent creeps, and the duality gap shows how far it still has to go.",
        ),
        data=in_turn(random, classes),
        panels=(panel("logistic-regression", solver="gd"), panel("logistic-regression", solver="newton")),
        speed=8,
        show=("margins",),
    )


def softmax() -> Figure:
    random = Random(71)
    classes = {
        "A": cloud(random, 50, (-1.6, -0.8), ((0.8, 0.0), (0.0, 0.8))),
        "B": cloud(random, 50, (1.6, -0.8), ((0.8, 0.0), (0.0, 0.8))),
        "C": cloud(random, 50, (0.0, 1.6), ((0.8, 0.0), (0.0, 0.8))),
    }
    return Figure(
        title="Softmax of three classes",
        look=(
            "Each class has weights of its own, and the greatest score wins: three straight boundaries that meet in one point.",
            "At that point all three probabilities are a third; the shading is palest there and deepens away from the boundaries.",
        ),
        data=in_turn(random, classes),
        panels=(panel("logistic-regression", solver="gd", tol=0.01),),
        speed=30,
    )


def widest_margin() -> Figure:
    random = Random(6)
    classes = either_side(random, 25, 2, lambda x, y: y - x, gap=0.5)
    return Figure(
        title="The widest margin",
        look=(
            "The strip between the dashed lines is the widest that holds no point, and only the few points on its edges decide where it lies.",
            "Projected gradient descent as in the notes and the default solver end at the same strip; drag a point that is not on an edge, and nothing moves.",
        ),
        data=in_turn(random, {name: [(x + 2.0, y + 3.0) for x, y in places] for name, places in classes.items()}),
        panels=(
            panel("linear-svc", C=float("inf"), loss="hinge"),
            panel("linear-svc", C=float("inf"), loss="hinge", solver="pgd"),
        ),
        speed=1,
        show=("margins", "support"),
    )


def soft_margin() -> Figure:
    random = Random(55)
    classes = {"0": cloud(random, 40, (-1.1, -0.5)), "1": cloud(random, 40, (1.1, 0.5))}
    return Figure(
        title="Soft margins: the cost C",
        look=(
            "A small C makes rows inside the margin cheap: the strip is wide, and many rows support it.",
            "A large C makes them dear: the strip narrows to the rows about the boundary.",
        ),
        data=in_turn(random, classes),
        panels=(
            panel("svc", kernel="linear", C=0.01),
            panel("svc", kernel="linear", C=1.0),
            panel("svc", kernel="linear", C=100.0),
        ),
        speed=2,
        show=("margins", "support"),
    )


GROUPS = {
    "Empirical risk": {
        "three-questions": three_questions,
        "models-and-regions": models_and_regions,
        "surrogate-losses": surrogate_losses,
        "regularised-risk": regularised,
    },
    "Logistic regression": {"gradient-and-newton": gradient_and_newton, "softmax": softmax},
    "Margins": {"widest-margin": widest_margin, "soft-margin": soft_margin},
}
