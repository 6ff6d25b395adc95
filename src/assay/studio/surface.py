"""The error of a straight line over its two weights, intercept and slope: the landscape on which gradient descent walks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.numerics import Floats
from assay.pictures.geometry import centres, contour
from assay.studio.overlays import packed
from assay.studio.playing import line_of
from assay.studio.requests import SurfaceRequest, TableLocation
from assay.studio.session_files import SessionFiles
from assay.studio.training_run import TrainingRun

Message = dict[str, Any]
ROOM = 0.25  # of the way of the weights on each side
LEVELS = 9  # of lines of equal error


def surface(request: SurfaceRequest, place: TableLocation | None, _files: SessionFiles) -> Iterator[Message]:
    """The mean squared error at every cell, on a scale of its square root, where the valley is seen."""
    run = TrainingRun.of(request.data, place, request.model, request.params)
    dataset = run.dataset
    if not dataset.line or dataset.seen.X.shape[1] != 1:
        raise DataError(
            "The error surface is that of a line over one column: choose a number as target and one column."
        )
    w, h = request.grid
    least = line_of(run, TrainingRun(dataset, "linear-regression", {}).fitted())
    assert least is not None
    x, y = _span(run, least)
    u, v = centres(*x, w), centres(*y, h)
    R = _risks(dataset.where, u, v)
    depth = np.sqrt(R)
    low, high = float(depth.min()), float(depth.max())
    scaled = 255 * (depth - low) / (high - low) if high > low else np.zeros_like(depth)
    yield {
        "w": w,
        "h": h,
        "value": packed(scaled.round()),
        "low": float(R.min()),
        "high": float(R.max()),
        "x": list(x),
        "y": list(y),
        "least": least,
        "lines": [
            line.tolist() for at in np.linspace(low, high, LEVELS + 2)[1:-1] for line in contour(u, v, depth, at)
        ],
        "labels": ["intercept w₀", f"slope w₁ of {dataset.plane.labels[0]}"],
    }


def _risks(points: Floats, u: Floats, v: Floats) -> Floats:
    """(len(v), len(u)): the mean squared error of the line u + v·x, which a panel shows as the risk."""
    lines = u[None, :, None] + v[:, None, None] * points[:, 0]
    return np.asarray(np.mean((lines - points[:, 1]) ** 2, axis=-1))


def _span(run: TrainingRun, least: list[float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """As far as the weights go on their way, and from zero to the least error."""
    way = [line_of(run, model) for step in run.steps() if (model := run.at(step)) is not None]
    found = [at for at in way if at is not None]
    if not found:
        raise DataError(f"{run.name} has no line of one intercept and one slope: choose a linear model.")
    ends = np.vstack([found, [least], np.zeros((1, 2))])
    low, high = ends.min(axis=0), ends.max(axis=0)
    room = ROOM * np.maximum(high - low, 0.5 * max(float((high - low).max()), 1e-3) * np.array([1.0, 0.02]))
    a, b = (low - room).tolist(), (high + room).tolist()
    return (a[0], b[0]), (a[1], b[1])
