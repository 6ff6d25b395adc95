"""One figure to play: what is drawn, which models learn from it, and what to look for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any

from assay.studio.presets.points import Labelled, NumberedPoints

MARGIN = 0.08  # of the data's extent, left free on every side
ASPECT = 10 / 9  # width to height of the page's planes
NARROWEST = 0.2  # a figure whose one side is shorter than this part of the other has a scale of its own on each


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
