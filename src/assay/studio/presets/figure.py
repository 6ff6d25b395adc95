"""One figure to play: what is drawn, which models learn from it, and what to look for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from random import Random
from typing import Any

from assay.datasets.generate import about_normal

Place = tuple[float, float]
Spread = tuple[Place, Place]  # the rows of L: a cloud is mean + L·(standard normal)
DIGITS = 3
ROUND: Spread = ((1.0, 0.0), (0.0, 1.0))
MARGIN = 0.08  # of the data's extent, left free on every side
ASPECT = 10 / 9  # width to height of the page's planes
NARROWEST = 0.2  # a figure whose one side is shorter than this part of the other has a scale of its own on each


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


@dataclass(frozen=True)
class Panel:
    """A model by its registry name, and the hyper-parameters that differ from its defaults."""

    model: str
    params: dict[str, Any]


def panel(model: str, **params: Any) -> Panel:
    """A panel written as the model's call would be."""
    return Panel(model, params)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """`asked` are places whose answer the sentences speak of; `axes` names what x and y are, where they have names."""

    title: str
    look: tuple[str, str]
    data: Labelled | NumberedPoints
    panels: tuple[Panel, ...]
    speed: float
    show: tuple[str, ...] = ()
    asked: tuple[tuple[float, float], ...] = ()
    axes: tuple[str, str] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The figure as plain data, for the page."""
        figure: dict[str, Any] = {
            "title": self.title,
            "look": list(self.look),
            "data": {"points": self.data.as_dict()},
            "panels": [{"model": p.model, "params": {k: _plain(v) for k, v in p.params.items()}} for p in self.panels],
            "view": self._view(),
            "speed": self.speed,
            "show": list(self.show),
            "task": "classes" if isinstance(self.data, Labelled) else "numbers",
        }
        if self.asked:
            figure["asked"] = [list(at) for at in self.asked]
        if self.axes:
            figure["axes"] = {"x": {"label": self.axes[0]}, "y": {"label": self.axes[1]}}
        return figure

    def _view(self) -> dict[str, list[float]]:
        at = [*self.data.places, *self.asked]
        x, y = around([x for x, _ in at]), around([y for _, y in at])
        if isinstance(self.data, Labelled) and not self.axes:
            x, y = on_one_scale(x, y)
        return {"x": x, "y": y}


def _plain(value: Any) -> Any:
    """JSON has no infinity: it travels as the word that the hyper-parameter tables read."""
    return "inf" if isinstance(value, float) and isinf(value) else value


def on_one_scale(x: list[float], y: list[float]) -> tuple[list[float], list[float]]:
    """Axes widened so that a circle is seen as one and a right angle as one, unless the data would become a strip."""
    wide, high = x[1] - x[0], y[1] - y[0]
    if min(wide, high) < NARROWEST * max(wide, high):
        return x, y
    return _widened(x, ASPECT * high), _widened(y, wide / ASPECT)


def _widened(ends: list[float], to: float) -> list[float]:
    more = max(0.0, to - (ends[1] - ends[0])) / 2
    return [round(ends[0] - more, 3), round(ends[1] + more, 3)]


def around(values: Sequence[float]) -> list[float]:
    """The ends of an axis that shows all values, with a margin."""
    low, high = min(values), max(values)
    margin = MARGIN * ((high - low) or 1.0)
    return [round(low - margin, 3), round(high + margin, 3)]
