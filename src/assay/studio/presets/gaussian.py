"""Normal classes: which shapes of covariance bend the boundary, first with the exact statistics, then with estimated
ones; and nearest neighbours: one of them, more of them, and what near means.
"""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import ROUND, Figure, Labelled, Place, Spread, box, cloud, exact_cloud, in_turn, panel

TILTED: Spread = ((1.5, 0.0), (0.9, 0.6))
FLAT: Spread = ((2.0, 0.0), (0.0, 0.5))
TALL: Spread = ((0.5, 0.0), (0.0, 2.0))
BOTH = (panel("qda"), panel("lda"))
ELLIPSES = ("ellipses",)
TEST_POINT = (0.0, 0.0)
AROUND_IT = {
    "A": [(0.5, 0.4), (-0.3, 0.75), (2.2, 1.3), (1.2, 2.0), (-0.6, 2.3), (2.5, -0.4), (-2.4, 1.8)],
    "B": [(-0.6, -0.3), (0.6, -0.85), (-1.0, 0.55), (-1.8, -1.4), (0.9, -2.1), (-2.3, 0.2), (-0.4, -2.4)],
}


def _exact(title: str, look: tuple[str, str], first: tuple[Place, Spread], second: tuple[Place, Spread]) -> Figure:
    """Two classes, equally likely, whose points have exactly the given means and covariances."""
    random = Random(22)
    classes = {"C1": exact_cloud(random, 80, *first), "C2": exact_cloud(random, 80, *second)}
    data = in_turn(random, classes, digits=6)
    return Figure(title=title, look=look, data=data, panels=BOTH, speed=2, show=ELLIPSES)


def equal_isotropic() -> Figure:
    return _exact(
        "Equal isotropic covariances",
        (
            "Both covariances are the unit matrix, so the boundary is the straight line halfway between the means, at a right angle to the line that joins them.",
            "Quadratic and linear discriminant analysis draw the same line: the quadratic term vanishes where Σ₁ = Σ₂.",
        ),
        ((-1.5, -0.5), ROUND),
        ((1.5, 0.5), ROUND),
    )


def equal_covariances() -> Figure:
    return _exact(
        "Equal covariances",
        (
            "The ellipses are equal but tilted, and the boundary is still a single straight line for both models.",
            "It passes halfway between the means, but it is tilted with the ellipses and no longer at a right angle to the line that joins the means.",
        ),
        ((-1.0, 0.1), TILTED),
        ((1.0, -0.1), TILTED),
    )


def equal_means() -> Figure:
    return _exact(
        "Equal means",
        (
            "The classes share their centre and differ in shape alone: the quadratic boundary is two crossing lines, and each class has two opposite sectors.",
            "Linear discriminant analysis sees only means and one common covariance: its line is an accident of rounding, right for about half of the points.",
        ),
        ((0.0, 0.0), FLAT),
        ((0.0, 0.0), TALL),
    )


def unequal_covariances() -> Figure:
    return _exact(
        "Unequal covariances",
        (
            "Means and covariances both differ, and the quadratic boundary bends around the class of the smaller ellipse.",
            "The linear boundary cannot bend, and its training risk is higher.",
        ),
        ((-1.0, 0.0), ((2.2, 0.0), (0.0, 1.8))),
        ((1.6, 0.4), ((0.6, 0.0), (0.2, 0.5))),
    )


def two_estimated() -> Figure:
    random = Random(12)
    classes = {
        "C1": cloud(random, 30, (-1.0, -0.3), TILTED),
        "C2": cloud(random, 30, (1.2, 0.8), ((0.8, 0.0), (-0.4, 0.9))),
    }
    return Figure(
        title="Two classes, estimated",
        look=(
            "Means and covariances are estimated from 30 points a class; the ellipses show what was estimated, not what the points were drawn from.",
            "Fewer free numbers bend less: full covariances, one common covariance, diagonal ones, and equal circles give four different boundaries.",
        ),
        data=in_turn(random, classes),
        panels=(
            panel("qda"),
            panel("lda"),
            panel("qda", covariance="diagonal"),
            panel("lda", covariance="isotropic"),
        ),
        speed=2,
        show=ELLIPSES,
    )


def three_estimated() -> Figure:
    random = Random(33)
    classes = {
        "C1": cloud(random, 50, (-2.0, 0.0), ((0.7, 0.0), (0.5, 1.2))),
        "C2": cloud(random, 50, (1.2, 1.2), ((1.4, 0.0), (0.3, 0.7))),
        "C3": cloud(random, 50, (1.0, -1.2), ((0.7, 0.0), (0.0, 0.7))),
    }
    return Figure(
        title="Three classes, estimated",
        look=(
            "The class of the greatest posterior wins: three regions whose boundaries are arcs for the quadratic model and straight lines for the linear one.",
            "With a common covariance the three lines meet in one point, where all classes are equally likely.",
        ),
        data=in_turn(random, classes),
        panels=BOTH,
        speed=2,
        show=ELLIPSES,
    )


def naive_bayes() -> Figure:
    random = Random(6)
    along: Spread = ((1.0, 0.0), (0.9, 0.5))
    classes = {"C1": cloud(random, 80, (-0.5, 0.5), along), "C2": cloud(random, 80, (0.5, -0.5), along)}
    return Figure(
        title="Naive Bayes and columns that go together",
        look=(
            "Naive Bayes takes x and y as independent within a class, so its ellipses stand upright although both clouds are tilted.",
            "The model that estimates the covariance as well follows the tilt and makes fewer mistakes.",
        ),
        data=in_turn(random, classes),
        panels=(panel("gaussian-nb"), panel("qda")),
        speed=2,
        show=ELLIPSES,
    )


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
    "Normal classes": {
        "equal-isotropic": equal_isotropic,
        "equal-covariances": equal_covariances,
        "equal-means": equal_means,
        "unequal-covariances": unequal_covariances,
        "two-estimated": two_estimated,
        "three-estimated": three_estimated,
        "naive-bayes": naive_bayes,
    },
    "Nearest neighbours": {
        "one-neighbour": one_neighbour,
        "three-or-five": three_or_five,
        "what-near-means": what_near_means,
    },
}
