"""What a model answers everywhere on the picture: regions, a curve, and the lines between them."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.numerics import Array, Floats
from assay.pictures.geometry import centres, contour, leads
from assay.pictures.plane import supported
from assay.report.raw_model import RawModel
from assay.selection.table_model import TableModel
from assay.studio.dataset import PlottedDataset
from assay.studio.requests import View

CURVE = 240  # points of a curve
MARGINS = (-1.0, 1.0)
DIGITS = 5  # of the view's width that a coordinate is told with

Overlay = dict[str, Any]


@dataclass(frozen=True)
class PictureAnswers:
    """One look at a model: regions or a curve, and overlays that follow from answers alone."""

    regions: dict[str, Any] | None
    curve: dict[str, list[float]] | None
    overlays: list[Overlay]


@dataclass(frozen=True)
class Grid:
    """The part of a dataset that the page shows, w by h cells."""

    dataset: PlottedDataset
    view: View
    w: int
    h: int

    @cached_property
    def x(self) -> Floats:
        if self.dataset.line:  # asked at the very places that are told
            return np.array(self.rounded(np.linspace(*self.view.x, CURVE)))
        return centres(*self.view.x, self.w)

    @cached_property
    def y(self) -> Floats:
        return centres(*self.view.y, self.h)

    @cached_property
    def cells(self) -> Floats:
        """(w·h, 2): the middles of the cells, row by row from below; on a line (n, 2) along it."""
        if self.dataset.line:
            return np.column_stack([self.x, np.zeros(len(self.x))])
        return np.column_stack([g.ravel() for g in np.meshgrid(self.x, self.y)])

    @cached_property
    def inputs(self) -> Floats:
        return self.dataset.plane.points(self.cells)

    def support(self) -> str | None:
        """Which cells have rows near; drawn points have no other rows than those that are seen."""
        if self.dataset.drawn or self.dataset.line:
            return None
        return packed(supported(self.dataset.plane, self.dataset.seen.X, self.cells))

    def rounded(self, points: Any) -> list[Any]:
        """Coordinates with as many digits as the view can show."""
        span = min(self.view.x[1] - self.view.x[0], self.view.y[1] - self.view.y[0])
        found: list[Any] = np.round(points, max(0, DIGITS - math.floor(math.log10(span)))).tolist()
        return found

    def answers(self, model: TableModel) -> PictureAnswers:
        """What a model answers in the grid."""
        raw = RawModel(model)
        if self.dataset.line:
            answers = np.asarray(raw.predict(self.inputs), dtype=np.float64).ravel()
            curve = {"x": self.rounded(self.x), "y": self.rounded(answers)}
            return PictureAnswers(None, curve, self._tube(answers, raw.model_))
        if self.dataset.classes is None:
            return PictureAnswers(
                self._values(np.asarray(raw.predict(self.inputs), dtype=np.float64).ravel()), None, []
            )
        return self._classes(raw)

    def _tube(self, answers: Floats, model: Any) -> list[Overlay]:
        """The edges of the tube within which residuals cost nothing, of a model that has one."""
        if model.name != "svr":
            return []
        edges = [self.rounded(np.column_stack([self.x, answers + side * model.epsilon])) for side in MARGINS]
        return [{"kind": "lines", "lines": edges, "role": "margin"}]

    def _values(self, answers: Floats) -> dict[str, Any]:
        y = self.dataset.table.codes
        low, high = min(float(answers.min()), float(y.min())), max(float(answers.max()), float(y.max()))
        scaled = 255 * (answers - low) / (high - low) if high > low else np.zeros(len(answers))
        return {"w": self.w, "h": self.h, "value": packed(scaled.round()), "low": low, "high": high}

    def _classes(self, raw: RawModel) -> PictureAnswers:
        places = codes_in(raw.classes_, self.dataset)
        answers, P = raw.both(self.inputs)
        own = np.searchsorted(raw.classes_, answers)
        decide = getattr(raw, "decision_function", None)
        F = None if decide is None else np.asarray(decide(self.inputs))
        regions = {"w": self.w, "h": self.h, "label": packed(places[own]), "strength": None}
        if P is not None:
            least = 1 / P.shape[1]
            share = np.clip((P.max(axis=1) - least) / (1 - least), 0, 1)
            regions["strength"] = packed((255 * share).round())
        overlays = []
        for _, lead in leads(F if F is not None else P, own):
            overlays += self.lines(lead, 0.0, "boundary")
        if F is not None and F.ndim == 1 and has_margin(raw.model_):
            for value in MARGINS:
                overlays += self.lines(F, value, "margin")
        return PictureAnswers(regions, None, overlays)

    def lines(self, field: Floats, value: float, role: str) -> list[Overlay]:
        """The lines on which a field over the cells has a value."""
        if not field.min() < value < field.max():
            return []
        found = contour(self.x, self.y, field.reshape(self.h, self.w), value)
        return [{"kind": "lines", "lines": [self.rounded(line) for line in found], "role": role}] if found else []


def has_margin(model: Any) -> bool:
    """Whether lines at f = ±1 mean something: the scale of f is that of a loss, and not arbitrary."""
    return model.name in ("svc", "linear-svc", "erm", "logistic-regression")


def codes_in(classes: Any, dataset: PlottedDataset) -> Array:
    """The place among the dataset's classes of each of a model's; 255: the dataset does not have it."""
    known = {name: k for k, name in enumerate(dataset.classes or ())}
    return np.array([known.get(str(c), 255) for c in np.asarray(classes).tolist()], dtype=np.intp)


def packed(values: Any) -> str:
    """Small whole numbers as base64."""
    return base64.b64encode(np.asarray(values).astype(np.uint8).tobytes()).decode()
