"""Rows that a model has something to say about: mistakes, support vectors, the row visited, residuals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.engines import Rows
from assay.numerics import Array
from assay.pictures.boundary import inside_margin
from assay.select.table_model import TableModel
from assay.studio.looking import Overlay, Window
from assay.studio.scene import Scene

KERNEL_MACHINES = ("svc", "svr", "kernel-perceptron")


def marks(window: Window, model: TableModel, rows: Rows, answers: Array, values: Mapping[str, Any]) -> list[Overlay]:
    """`answers` are the model's for all `rows` of the table (codes of classes, or numbers), `values` those of the step shown."""
    found = _residuals(window, answers) if window.scene.line else []
    if window.scene.classes is not None:
        found += _marked(window, np.flatnonzero(answers != window.scene.table.codes), "mistake")
    found += _marked(window, _support(model.model_, rows, window.scene, values), "support")
    if (nearest := values.get("neighbours")) is not None:
        found += _marked(window, np.asarray(nearest), "neighbour", few=True)
    row = values.get("row")
    if isinstance(row, int | np.integer):
        found += _marked(window, np.array([row]), "current", few=True)
    elif (working := values.get("working")) is not None:
        found += _marked(window, np.unique(working), "current")
    return found


def _marked(window: Window, rows: Array, role: str, *, few: bool = False) -> list[Overlay]:
    """Marks at rows of the table, each with its class: at those that are points of the picture, or at all where they are few.

    So the share of points that are marked is that of all rows.
    """
    scene = window.scene
    among = np.arange(len(scene.shown)) if few else scene.pointed
    places = among[np.isin(scene.shown[among], rows)]
    if not len(places):
        return []
    found: Overlay = {"kind": "marks", "at": window.told(scene.where[places]), "role": role}
    return [found if scene.classes is None else {**found, "class": scene.table.codes[scene.shown[places]].tolist()}]


def _support(model: Any, rows: Rows, scene: Scene, values: Mapping[str, Any]) -> Array:
    """The rows that carry a kernel machine, or that lie within the margin of a linear one."""
    if "alpha" in values and "rows" in values:
        return np.unique(np.asarray(values["rows"], dtype=np.int64))
    if model.name in KERNEL_MACHINES and hasattr(model, "support_"):
        return np.unique(np.asarray(model.support_, dtype=np.int64))
    if model.name != "linear-svc" or len(scene.classes or ()) != 2:
        return np.empty(0, dtype=np.int64)
    side = np.where(scene.table.codes == 1, 1.0, -1.0)
    return np.flatnonzero(inside_margin(np.asarray(model.decision_function(rows)), side))


def _residuals(window: Window, answers: Array) -> list[Overlay]:
    """From each point to the curve; only where the curve passes at the other columns' own values, as with one column."""
    scene = window.scene
    if scene.seen.X.shape[1] > 1:
        return []
    rows = scene.pointed
    at = scene.where[rows]
    ends = np.stack([at, np.column_stack([at[:, 0], answers[scene.shown[rows]]])], axis=1)
    return [{"kind": "lines", "lines": window.told(ends), "role": "residual"}]
