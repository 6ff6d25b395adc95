"""Nearest neighbours: one of them, more of them, and what near means."""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import Labelled, Place, box, cloud, in_turn

TEST_POINT = (0.0, 0.0)
AROUND_IT = {
    "A": [(0.5, 0.4), (-0.3, 0.75), (2.2, 1.3), (1.2, 2.0), (-0.6, 2.3), (2.5, -0.4), (-2.4, 1.8)],
    "B": [(-0.6, -0.3), (0.6, -0.85), (-1.0, 0.55), (-1.8, -1.4), (0.9, -2.1), (-2.3, 0.2), (-0.4, -2.4)],
}


def one_neighbour() -> Figure:
    random = Random(51)
    classes = {"A": cloud(random, 45, (-0.9, 0.0)), "B": cloud(random, 45, (0.9, 0.0))}
    return Figure(
        title="One neighbour, or fifteen",
        look=(
            "With one neighbour every training point owns the places nearest to it: the training risk is 0, and stray points are islands.",
            "With fifteen the islands are outvoted and the boundary is calmer, at the price of some training points on the wrong side.",
        ),
        data=in_turn(random, classes),
        panels=(panel("knn", n_neighbors=1), panel("knn", n_neighbors=15)),
        speed=2,
        show=("neighbours", "mistakes"),
    )


def three_or_five() -> Figure:
    rows = [(place, label) for label, places in AROUND_IT.items() for place in places]
    return Figure(
        title="Three neighbours or five",
        look=(
            "The marked point changes its class with k: two of its three nearest neighbours are of class A, but three of its five nearest are of class B.",
            "Put the pointer anywhere to see the neighbours that vote there, and the circle that holds them.",
        ),
        data=Labelled(tuple(place for place, _ in rows), tuple(label for _, label in rows)),
        panels=(panel("knn", n_neighbors=3), panel("knn", n_neighbors=5)),
        speed=2,
        show=("neighbours",),
        asked=(TEST_POINT,),
    )


def strips(seed: int, n: int) -> Labelled:
    """Two long, narrow classes that lie along each other, n points each."""
    random = Random(seed)

    def strip(upper: bool) -> list[Place]:
        found = box(random, n, (0, 60), (-1, 1), lambda x, y: (y > 0) == upper and abs(y) > 0.02)
        return [(x, y + 0.06 * x) for x, y in found]

    return in_turn(random, {"A": strip(False), "B": strip(True)})


def what_near_means() -> Figure:
    return Figure(
        title="Euclidean, Mahalanobis, learned",
        look=(
            "x runs over 60 units and y over 6: by far the most of a Euclidean distance is x, and neighbours are taken from beyond the boundary.",
            "The Mahalanobis distance measures along the covariance of all rows; the learned one looks for what tells the classes apart, and the risk on these points falls from panel to panel.",
        ),
        data=strips(8, 60),
        panels=(
            panel("knn", n_neighbors=5, metric="euclidean"),
            panel("knn", n_neighbors=5, metric="mahalanobis"),
            panel("knn", n_neighbors=5, metric="learned"),
        ),
        speed=10,
        show=("neighbours", "mistakes"),
    )


GROUPS = {
    "Nearest neighbours": {
        "one-neighbour": one_neighbour,
        "three-or-five": three_or_five,
        "what-near-means": what_near_means,
    },
}
