"""Points for figures, the same on every machine: seeded uniform numbers, sums, products and roots, rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from assay.datasets.generate import about_normal

Place = tuple[float, float]
Spread = tuple[Place, Place]  # the rows of L: a cloud is mean + L·(standard normal)
DIGITS = 3
ROUND: Spread = ((1.0, 0.0), (0.0, 1.0))


@dataclass(frozen=True)
class Labelled:
    """Places in the plane, each with its class."""

    places: tuple[Place, ...]
    labels: tuple[str, ...]

    def as_dict(self) -> dict[str, list[float] | list[str]]:
        return {"x": [x for x, _ in self.places], "y": [y for _, y in self.places], "label": list(self.labels)}


@dataclass(frozen=True)
class NumberedPoints:
    """Values of one column, each with the number to predict."""

    places: tuple[Place, ...]

    def as_dict(self) -> dict[str, list[float]]:
        return {"x": [x for x, _ in self.places], "target": [t for _, t in self.places]}


def in_turn(random: Random, classes: Mapping[str, Sequence[Place]], digits: int = DIGITS) -> Labelled:
    """All places of all classes in a random order, so that a learner that goes row by row meets both early."""
    rows = [(place, label) for label, places in classes.items() for place in places]
    rows = [rows[i] for i in sorted(range(len(rows)), key=[random.random() for _ in rows].__getitem__)]
    return Labelled(tuple(_rounded(place, digits) for place, _ in rows), tuple(label for _, label in rows))


def cloud(random: Random, n: int, mean: Place = (0.0, 0.0), spread: Spread = ROUND) -> list[Place]:
    """n places, nearly normal about the mean; their covariance is L·Lᵀ of the spread L."""
    return [_moved((about_normal(random), about_normal(random)), mean, spread) for _ in range(n)]


def exact_cloud(random: Random, n: int, mean: Place, spread: Spread) -> list[Place]:
    """A cloud whose own mean and covariance (over n, not n − 1) are exactly those asked for."""
    drawn = cloud(random, n)
    mx, my = sum(x for x, _ in drawn) / n, sum(y for _, y in drawn) / n
    centred = [(x - mx, y - my) for x, y in drawn]
    xx, xy, yy = (sum(a[i] * a[j] for a in centred) / n for i, j in ((0, 0), (0, 1), (1, 1)))
    a = math.sqrt(xx)
    b = xy / a
    c = math.sqrt(yy - b * b)
    return [_moved((x / a, (y - b * x / a) / c), mean, spread) for x, y in centred]


def box(
    random: Random, n: int, x: Place, y: Place, keep: Callable[[float, float], bool] = lambda x, y: True
) -> list[Place]:
    """n places spread evenly over the part of a rectangle where `keep` holds."""
    found: list[Place] = []
    while len(found) < n:
        at = x[0] + (x[1] - x[0]) * random.random(), y[0] + (y[1] - y[0]) * random.random()
        if keep(*at):
            found.append(at)
    return found


def either_side(
    random: Random, n: int, size: float, height: Callable[[float, float], float], gap: float
) -> dict[str, list[Place]]:
    """Class 1 where a height is above the gap, class 0 where it is below minus the gap, n places each, in a square about the origin."""
    square = (-size, size)
    above = box(random, n, square, square, lambda x, y: height(x, y) > gap)
    return {"0": box(random, n, square, square, lambda x, y: height(x, y) < -gap), "1": above}


def ring(random: Random, n: int, inner: float, outer: float) -> list[Place]:
    """n places spread evenly between two circles about the origin."""
    return box(random, n, (-outer, outer), (-outer, outer), lambda x, y: inner**2 <= x * x + y * y <= outer**2)


def curve(random: Random, at: Sequence[float], truth: Callable[[float], float], noise: float) -> NumberedPoints:
    """Values of a function with nearly normal noise."""
    return NumberedPoints(tuple(_rounded((x, truth(x) + noise * about_normal(random)), DIGITS) for x in at))


def evenly(n: int, low: float, high: float) -> list[float]:
    """n numbers from low to high."""
    return [low + (high - low) * i / (n - 1) for i in range(n)]


def _moved(z: Place, mean: Place, spread: Spread) -> Place:
    (a, b), (c, d) = spread
    return mean[0] + a * z[0] + b * z[1], mean[1] + c * z[0] + d * z[1]


def _rounded(place: Place, digits: int) -> Place:
    return round(place[0], digits), round(place[1], digits)
