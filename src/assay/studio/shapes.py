"""The model's own numbers as they change over the picture.

On a plane of numbers an encoded column is x_j(a) = c_j + u_j·a₁ + v_j·a₂, so that lines, boxes and ellipses of a model can be drawn where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.engines import ArrayRows
from assay.errors import ParameterError
from assay.numerics import Array, Floats
from assay.pictures.geometry import SIGMAS, boxed, cells, normals, outline, segment
from assay.selection.table_model import TableModel
from assay.studio.looking import Overlay, Window, codes_in
from assay.studio.scene import Scene


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


def affine(scene: Scene, model: TableModel) -> Affine | None:
    """None where an axis holds categories or the rows are not plain numbers."""
    if scene.on.levels != (None, None):
        return None
    step = scene.on.unit
    a = np.array([[0.0, 0.0], [step[0], 0.0], [0.0, step[1]]])
    rows: Any = model.encoding_.rows(ArrayRows(scene.on.points(a))).in_memory()
    if not isinstance(rows, ArrayRows):
        return None
    c, x, y = np.asarray(rows.X, dtype=np.float64)
    return Affine(c, (x - c) / step[0], (y - c) / step[1])


# What a model is made of, drawn where it lies on the picture: ellipses, cells, boxes, units, weights, landmarks.

MOST_UNITS = 32
MOST_CELLS = 400
ARROW = 0.35  # of the view that the arrow of the weights may take


def shapes(window: Window, model: TableModel) -> list[Overlay]:
    """The shapes of a fitted model; none where the picture has no room for them."""
    if window.scene.line:
        return []
    on = affine(window.scene, model)
    if on is None:
        return []
    inner = model.model_
    found: list[Overlay] = []
    for draw in (_ellipses, _cells, _boxes, _units, _weight, _landmarks):
        found += draw(window, inner, on)
    return found


def _classes(window: Window, model: Any) -> Array:
    return codes_in(model.classes_, window.scene)


def _ellipses(window: Window, model: Any, on: Affine) -> Iterator[Overlay]:
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
    codes = _classes(window, model)
    for k, centre in enumerate(centres):
        S = covariances[k][np.ix_([i, j], [i, j])] * np.outer(stretch, stretch)
        for sigma in SIGMAS:
            points = window.told(outline(centre, S, sigma))
            yield {"kind": "polygon", "points": points, "role": "ellipse", "class": int(codes[k])}
    yield {"kind": "marks", "at": window.told(centres), "role": "centre", "class": codes.tolist()}


def _cells(window: Window, model: Any, on: Affine) -> Iterator[Overlay]:
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
    found = cells(feature, cut, tree_ends(feature), on.c, on.u, on.v, window.view.x, window.view.y)
    for number, cell in enumerate(found):
        if number == MOST_CELLS:
            return
        yield {"kind": "rectangle", "x": window.told(cell.x), "y": window.told(cell.y), "role": role}


def _boxes(window: Window, model: Any, on: Affine) -> Iterator[Overlay]:
    """The rectangles of a class."""
    if not hasattr(model, "lower_") or not hasattr(model, "owner_"):
        return
    codes = _classes(window, model)
    for lower, upper, owner in zip(model.lower_, model.upper_, np.asarray(model.owner_).tolist()):
        if ((on.u != 0) & (on.v != 0)).any():
            return
        box = boxed(lower, upper, on.c, on.u, on.v, window.view.x, window.view.y)
        if box is not None:
            x, y = (window.told(side) for side in box)
            yield {"kind": "rectangle", "x": x, "y": y, "role": "box", "class": int(codes[owner])}


def _units(window: Window, model: Any, on: Affine) -> Iterator[Overlay]:
    """Where each unit of a network's first layer is zero."""
    if not hasattr(model, "coefs_") or model.coefs_[0].shape[1] > MOST_UNITS or len(model.coefs_) < 2:
        return
    lines = []
    for w, b in zip(model.coefs_[0].T, model.intercepts_[0]):
        ends = segment(*on.function(np.asarray(w), float(b)), window.view.x, window.view.y)
        if ends is not None:
            lines.append(window.told(ends))
    if lines:
        yield {"kind": "lines", "lines": lines, "role": "unit"}


def _weight(window: Window, model: Any, on: Affine) -> Iterator[Overlay]:
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
    middle = np.array([np.mean(window.view.x), np.mean(window.view.y)])
    foot = middle - (b + slope @ middle) / size**2 * slope
    span = np.array([np.ptp(window.view.x), np.ptp(window.view.y)])
    length = min(1.0, ARROW * float(span.min()) / size)
    yield {"kind": "arrow", "points": window.told([foot, foot + length * slope]), "role": "weight"}


def _landmarks(window: Window, model: Any, on: Affine) -> Iterator[Overlay]:
    """The rows that kernel features compare with."""
    at: Floats | None = getattr(model, "landmarks_", None)
    if at is None or on.own is None or np.ndim(at) != 2 or np.shape(at)[1] != len(on.c):
        return
    i, j = on.own
    places = np.column_stack([(at[:, i] - on.c[i]) / on.u[i], (at[:, j] - on.c[j]) / on.v[j]])
    yield {"kind": "marks", "at": window.told(places[:300]), "role": "landmark"}
