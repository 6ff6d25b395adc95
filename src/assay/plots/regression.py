"""How a regressor errs: residuals over predictions, and predictions over the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError
from assay.numerics import Floats
from assay.pictures.seen import some_of, thinned_note
from assay.plots.canvas import axes, grid, labels, legend, note
from assay.plots.given import numbers
from assay.plots.style import GREY, INK, look

PARTS = 12  # equally filled parts of the predictions, for the line of medians


def residuals(y: Any, predicted: Any, *, ax: Axes | None = None) -> Axes:
    """y − ŷ over ŷ, with the median and the middle 80 % of the residuals in equally filled parts of ŷ.

    A trend of the median means bias; a band that widens means that the noise is not the same everywhere.
    """
    y, p, left_out = _both(y, predicted)
    r = y - p
    ax = axes(ax)
    _points(ax, p, r)
    ax.axhline(0.0, color=INK, linewidth=1.2)
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), PARTS) if len(part) >= 5]
    if len(parts) > 2:
        at = [float(np.median(p[part])) for part in parts]
        low, middle, high = np.array([np.quantile(r[part], (0.1, 0.5, 0.9)) for part in parts]).T
        ax.fill_between(at, low, high, color=GREY, alpha=0.25, linewidth=0, label="middle 80 %")
        ax.plot(
            at,
            middle,
            color=look(2).colour,
            linewidth=2.0,
            linestyle=(0, (6, 2)),
            marker="^",
            markersize=5,
            label="median",
        )
        legend(ax)
    labels(ax, "predicted", "residual (true − predicted)")
    grid(ax)
    note(ax, thinned_note(len(y)), left_out)
    return ax


def predicted_against_true(y: Any, predicted: Any, *, ax: Axes | None = None) -> Axes:
    """ŷ over y; on the diagonal the prediction is perfect."""
    y, p, left_out = _both(y, predicted)
    ax = axes(ax, height=4.8)
    _points(ax, y, p)
    ends = [min(float(y.min()), float(p.min())), max(float(y.max()), float(p.max()))]
    ax.plot(ends, ends, color=INK, linewidth=1.2, label="perfect")
    labels(ax, "true", "predicted")
    grid(ax)
    legend(ax)
    note(ax, thinned_note(len(y)), left_out)
    return ax


def _points(ax: Axes, x: Floats, y: Floats) -> None:
    some = some_of(len(x))
    ax.plot(
        x[some], y[some], "o", markersize=4, color=look(0).colour, markeredgecolor=INK, markeredgewidth=0.4, alpha=0.8
    )


def _both(y: Any, predicted: Any) -> tuple[Floats, Floats, str]:
    y = numbers(y, "y")
    p = numbers(predicted, "predicted", len(y))
    whole = np.isfinite(y) & np.isfinite(p)
    if not whole.any():
        raise DataError("No row has both a true and a predicted value.")
    left = int((~whole).sum())
    return y[whole], p[whole], f"{left} rows with missing values left out." if left else ""
