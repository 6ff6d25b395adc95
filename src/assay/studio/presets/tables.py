"""The tables of the notes: papayas in a rectangle, coins by size and mass."""

from __future__ import annotations

from assay.datasets import dataset
from assay.studio.presets.figure import Figure, panel
from assay.studio.presets.points import Labelled

MOST = 300


def _first_rows(name: str) -> Labelled:
    """The first rows of a bundled table; their order is random already."""
    table = dataset(name)
    places = tuple((float(x), float(y)) for x, y in table.X[:MOST])
    return Labelled(places, tuple(str(label) for label in table.y[:MOST]))


def papayas() -> Figure:
    return Figure(
        title="Papayas in a rectangle",
        look=(
            "The tightest rectangle around the tasty papayas makes no mistake, and on new fruit it can only be too small.",
            "Trees also cut along the axes, but do not know that the answer is one rectangle; a line is no help at all.",
        ),
        data=_first_rows("papayas"),
        panels=(
            panel("rectangle", method="tightest", pos_label="tasty"),
            panel("decision-tree"),
            panel("logistic-regression"),
        ),
        speed=4,
        show=("box", "cells", "mistakes"),
        axes=("x: softness", "y: colour"),
    )


def coins() -> Figure:
    return Figure(
        title="Coins by size and mass",
        look=(
            "Four coins are four clouds; only the 5c and the 25c come near each other, and there every model makes its mistakes.",
            "The 50c is rare: its ellipse rests on a few coins, and new ones will tell whether it was estimated well.",
        ),
        data=_first_rows("coins"),
        panels=(panel("qda"), panel("knn", n_neighbors=5), panel("decision-tree", max_depth=4)),
        speed=4,
        show=("ellipses", "neighbours", "cells", "mistakes"),
        axes=("x: size (mm)", "y: mass (g)"),
    )


GROUPS = {
    "Papayas and coins": {"papayas": papayas, "coins": coins},
}
