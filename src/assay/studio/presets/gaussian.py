"""Normal classes: which shapes of covariance bend the boundary, first with the exact statistics, then with estimated ones."""

from __future__ import annotations

from random import Random

from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import ROUND, Place, Spread, cloud, exact_cloud, in_turn

TILTED: Spread = ((1.5, 0.0), (0.9, 0.6))
FLAT: Spread = ((2.0, 0.0), (0.0, 0.5))
TALL: Spread = ((0.5, 0.0), (0.0, 2.0))
BOTH = (panel("qda"), panel("lda"))
ELLIPSES = ("ellipses",)


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
}
