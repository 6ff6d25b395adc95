"""Calibration: of the rows given p, does a share of p come true?"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.plots.canvas import grid, labels, legend, stacked
from assay.plots.given import Interval, numbers, pair
from assay.plots.style import GREY, INK, look


def calibration(
    predicted: Any,
    observed: Any = None,
    *,
    interval: Interval | None = None,
    counts: Any = None,
    ax: Any = None,
) -> Array:
    """Observed share over mean predicted probability, bin by bin, with intervals; below it how many rows each bin has.

    Give lists (`interval`: (lows, highs) of the shares), or as the first argument an object with `bins`, each with `mean` and `observed`
    (value, low, high, n). Returns two Axes; with one `ax` given, the curve alone is drawn.
    """
    if observed is None:
        predicted, observed, interval, counts = _opened(predicted)
    predicted = numbers(predicted, "predicted")
    n = len(predicted)
    observed, ends = numbers(observed, "observed", n), pair(interval, "interval", n)
    if np.any((predicted < 0) | (predicted > 1) | (observed < 0) | (observed > 1)):
        raise DataError("predicted and observed are shares from 0 to 1.")
    made = stacked(ax, (3.2, 1.0) if counts is not None else (1.0,), height=5.0)
    top, style = made[0], look(0)
    top.plot([0, 1], [0, 1], color=GREY, linewidth=1.2, linestyle=(0, (2, 3)), label="as predicted")
    if ends is not None:
        top.vlines(predicted, *ends, color=style.colour, linewidth=2.0)
    top.plot(
        predicted,
        observed,
        color=style.colour,
        marker=style.marker,
        markeredgecolor=INK,
        linewidth=1.4,
        label="observed",
    )
    top.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    labels(top, "" if len(made) > 1 else "predicted probability", "share that came true")
    grid(top)
    legend(top)
    if len(made) > 1:
        _histogram(made[1], predicted, numbers(counts, "counts", n))
    return np.array(made, dtype=object)


def _histogram(ax: Axes, predicted: Floats, counts: Floats) -> None:
    ax.bar(predicted, counts, 0.025, color=look(0).colour, edgecolor=INK, linewidth=0.6)
    labels(ax, "predicted probability", "rows")
    grid(ax, "y")


def _opened(curve: Any) -> tuple[Any, Any, Interval, Any]:
    bins = getattr(curve, "bins", None)
    if not bins:
        raise DataError("calibration needs predicted and observed: give both lists, or a result with bins.")
    seen = [b.observed for b in bins]
    return (
        [b.mean for b in bins],
        [s.value for s in seen],
        ([s.low for s in seen], [s.high for s in seen]),
        [s.n for s in seen],
    )
