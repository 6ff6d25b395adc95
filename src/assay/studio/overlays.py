"""What is drawn over a picture: what a model is made of, and the rows that it has something to say about.

On a plane of numbers an encoded column is x_j(a) = c_j + u_j·a₁ + v_j·a₂, so that lines, boxes and ellipses of a model can be drawn where they are.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from assay.engines import ArrayRows, Rows
from assay.errors import ParameterError
from assay.numerics import Array, Floats
from assay.pictures.geometry import (
    SIGMAS,
    boxed,
    cells,
    centres,
    contour,
    inside_margin,
    leads,
    normals,
    outline,
    segment,
    supported,
)
from assay.report.raw_model import RawModel
from assay.selection.table_model import TableModel
from assay.studio.dataset import PlottedDataset
from assay.studio.requests import View

CURVE = 240  # points of a curve
MARGINS = (-1.0, 1.0)
DIGITS = 5  # of the view's width that a coordinate is told with

Overlay = dict[str, Any]
MOST_UNITS = 32
MOST_CELLS = 400
ARROW = 0.35  # of the view that the arrow of the weights may take
KERNEL_MACHINES = ("svc", "svr", "kernel-perceptron")


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


def model_overlays(grid: Grid, model: TableModel) -> list[Overlay]:
    """The shapes of a fitted model; none where the picture has no room for them."""
    if grid.dataset.line:
        return []
    on = affine(grid.dataset, model)
    if on is None:
        return []
    inner = model.model_
    found: list[Overlay] = []
    for draw in (_ellipses, _cells, _boxes, _units, _weight, _landmarks):
        found += draw(grid, inner, on)
    return found


def row_overlays(grid: Grid, model: TableModel, rows: Rows, answers: Array, values: Mapping[str, Any]) -> list[Overlay]:
    """`answers` are the model's for all `rows` of the table (codes of classes, or numbers), `values` those of the step shown."""
    found = _residuals(grid, answers) if grid.dataset.line else []
    if grid.dataset.classes is not None:
        found += _marked(grid, np.flatnonzero(answers != grid.dataset.table.codes), "mistake")
    found += _marked(grid, _support(model.model_, rows, grid.dataset, values), "support")
    if (nearest := values.get("neighbours")) is not None:
        found += _marked(grid, np.asarray(nearest), "neighbour", few=True)
    row = values.get("row")
    if isinstance(row, int | np.integer):
        found += _marked(grid, np.array([row]), "current", few=True)
    elif (working := values.get("working")) is not None:
        found += _marked(grid, np.unique(working), "current")
    return found


# --- what a model is made of ----------------------------------------------------------------------------------------------


class Affine(NamedTuple):
    """c, u, v (D,): the encoded columns at the origin of the plane, and along its two directions."""

    c: Floats
    u: Floats
    v: Floats

    def function(self, w: Floats, b: float) -> tuple[float, Floats]:
        """w·x + b over the plane as b' + w'·a."""
        return float(w @ self.c + b), np.array([w @ self.u, w @ self.v])

    @property
    def own(self) -> tuple[int, int] | None:
        """The two encoded columns that vary, each along one axis; None: it is not so."""
        moves: Array = np.column_stack([self.u != 0, self.v != 0])
        if (moves.all(axis=1)).any() or moves.sum(axis=0).tolist() != [1, 1]:
            return None
        return int(np.flatnonzero(self.u)[0]), int(np.flatnonzero(self.v)[0])


def affine(dataset: PlottedDataset, model: TableModel) -> Affine | None:
    """None where an axis holds categories or the rows are not plain numbers."""
    if dataset.plane.levels != (None, None):
        return None
    step = dataset.plane.unit
    a = np.array([[0.0, 0.0], [step[0], 0.0], [0.0, step[1]]])
    rows: Any = model.encoding_.rows(ArrayRows(dataset.plane.points(a))).in_memory()
    if not isinstance(rows, ArrayRows):
        return None
    c, x, y = np.asarray(rows.X, dtype=np.float64)
    return Affine(c, (x - c) / step[0], (y - c) / step[1])


def _classes(grid: Grid, model: Any) -> Array:
    return codes_in(model.classes_, grid.dataset)


def _ellipses(grid: Grid, model: Any, on: Affine) -> Iterator[Overlay]:
    """Means and covariances of normal densities: those of the two columns shown."""
    if on.own is None or not hasattr(model, "classes_"):
        return
    try:
        means, covariances = normals(model)
    except ParameterError:  # it has no normal densities
        return
    i, j = on.own
    stretch = np.array([1 / on.u[i], 1 / on.v[j]])
    centres = (means[:, [i, j]] - on.c[[i, j]]) * stretch
    codes = _classes(grid, model)
    for k, centre in enumerate(centres):
        S = covariances[k][np.ix_([i, j], [i, j])] * np.outer(stretch, stretch)
        for sigma in SIGMAS:
            points = grid.rounded(outline(centre, S, sigma))
            yield {"kind": "polygon", "points": points, "role": "ellipse", "class": int(codes[k])}
    yield {"kind": "marks", "at": grid.rounded(centres), "role": "centre", "class": codes.tolist()}


def _cells(grid: Grid, model: Any, on: Affine) -> Iterator[Overlay]:
    """The leaves of a tree; of a forest those of its newest tree, which votes with the others."""
    if not hasattr(model, "feature_") or not hasattr(model, "nodes_"):
        return
    from assay.families.trees.nodes import LEAF, tree_ends

    last = int(np.asarray(model.nodes_)[-1])
    feature = np.asarray(model.feature_)[: int(np.asarray(model.nodes_).sum())]
    cut = np.zeros(len(feature))
    split = feature != LEAF
    cut[split] = np.asarray(model.cut_)[: int(split.sum())]
    feature, cut = feature[-last:], cut[-last:]
    role = "cell" if len(model.nodes_) == 1 else "vote"
    found = cells(feature, cut, tree_ends(feature), on.c, on.u, on.v, grid.view.x, grid.view.y)
    for number, cell in enumerate(found):
        if number == MOST_CELLS:
            return
        yield {"kind": "rectangle", "x": grid.rounded(cell.x), "y": grid.rounded(cell.y), "role": role}


def _boxes(grid: Grid, model: Any, on: Affine) -> Iterator[Overlay]:
    """The rectangles of a class."""
    if not hasattr(model, "lower_") or not hasattr(model, "owner_"):
        return
    codes = _classes(grid, model)
    for lower, upper, owner in zip(model.lower_, model.upper_, np.asarray(model.owner_).tolist()):
        if ((on.u != 0) & (on.v != 0)).any():
            return
        box = boxed(lower, upper, on.c, on.u, on.v, grid.view.x, grid.view.y)
        if box is not None:
            x, y = (grid.rounded(side) for side in box)
            yield {"kind": "rectangle", "x": x, "y": y, "role": "box", "class": int(codes[owner])}


def _units(grid: Grid, model: Any, on: Affine) -> Iterator[Overlay]:
    """Where each unit of a network's first layer is zero."""
    if not hasattr(model, "coefs_") or model.coefs_[0].shape[1] > MOST_UNITS or len(model.coefs_) < 2:
        return
    lines = []
    for w, b in zip(model.coefs_[0].T, model.intercepts_[0]):
        ends = segment(*on.function(np.asarray(w), float(b)), grid.view.x, grid.view.y)
        if ends is not None:
            lines.append(grid.rounded(ends))
    if lines:
        yield {"kind": "lines", "lines": lines, "role": "unit"}


def _weight(grid: Grid, model: Any, on: Affine) -> Iterator[Overlay]:
    """The weights of two classes as an arrow that stands on the boundary and points to where the second class is."""
    w = getattr(model, "coef_", None)
    if w is None or not hasattr(model, "classes_") or len(model.classes_) != 2:
        return
    w = np.atleast_2d(np.asarray(w, dtype=np.float64))
    if len(w) != 1 or w.shape[1] != len(on.c):
        return
    b, slope = on.function(w[0], float(np.ravel(model.intercept_)[0]))
    size = float(np.hypot(*slope))
    if size == 0 or not np.isfinite(size):
        return
    middle = np.array([np.mean(grid.view.x), np.mean(grid.view.y)])
    foot = middle - (b + slope @ middle) / size**2 * slope
    span = np.array([np.ptp(grid.view.x), np.ptp(grid.view.y)])
    length = min(1.0, ARROW * float(span.min()) / size)
    yield {"kind": "arrow", "points": grid.rounded([foot, foot + length * slope]), "role": "weight"}


def _landmarks(grid: Grid, model: Any, on: Affine) -> Iterator[Overlay]:
    """The rows that kernel features compare with."""
    at: Floats | None = getattr(model, "landmarks_", None)
    if at is None or on.own is None or np.ndim(at) != 2 or np.shape(at)[1] != len(on.c):
        return
    i, j = on.own
    places = np.column_stack([(at[:, i] - on.c[i]) / on.u[i], (at[:, j] - on.c[j]) / on.v[j]])
    yield {"kind": "marks", "at": grid.rounded(places[:300]), "role": "landmark"}


# --- rows: mistakes, support vectors, the row visited, residuals -----------------------------------------------------------


def _marked(grid: Grid, rows: Array, role: str, *, few: bool = False) -> list[Overlay]:
    """Marks at rows of the table, each with its class: at those that are points of the picture, or at all where they are few.

    So the share of points that are marked is that of all rows.
    """
    dataset = grid.dataset
    among = np.arange(len(dataset.shown)) if few else dataset.pointed
    places = among[np.isin(dataset.shown[among], rows)]
    if not len(places):
        return []
    found: Overlay = {"kind": "marks", "at": grid.rounded(dataset.where[places]), "role": role}
    return [
        found if dataset.classes is None else {**found, "class": dataset.table.codes[dataset.shown[places]].tolist()}
    ]


def _support(model: Any, rows: Rows, dataset: PlottedDataset, values: Mapping[str, Any]) -> Array:
    """The rows that carry a kernel machine, or that lie within the margin of a linear one."""
    if "alpha" in values and "rows" in values:
        return np.unique(np.asarray(values["rows"], dtype=np.int64))
    if model.name in KERNEL_MACHINES and hasattr(model, "support_"):
        return np.unique(np.asarray(model.support_, dtype=np.int64))
    if model.name != "linear-svc" or len(dataset.classes or ()) != 2:
        return np.empty(0, dtype=np.int64)
    side = np.where(dataset.table.codes == 1, 1.0, -1.0)
    return np.flatnonzero(inside_margin(np.asarray(model.decision_function(rows)), side))


def _residuals(grid: Grid, answers: Array) -> list[Overlay]:
    """From each point to the curve; only where the curve passes at the other columns' own values, as with one column."""
    dataset = grid.dataset
    if dataset.seen.X.shape[1] > 1:
        return []
    rows = dataset.pointed
    at = dataset.where[rows]
    ends = np.stack([at, np.column_stack([at[:, 0], answers[dataset.shown[rows]]])], axis=1)
    return [{"kind": "lines", "lines": grid.rounded(ends), "role": "residual"}]
