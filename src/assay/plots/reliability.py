"""Calibration: of the rows given p, does a share of p come true?"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.assess import reliability
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.plots.canvas import grid, labels, legend, stacked
from assay.plots.given import Interval, numbers, pair
from assay.plots.style import GREY, INK, look


def calibration(
    y: Any,
    P: Any = None,
    *,
    bins: int = 10,
    classes: Any = None,
    positive: Any = None,
    interval: Interval | None = None,
    counts: Any = None,
    ax: Any = None,
) -> Array:
    """Observed share over mean predicted probability, bin by bin, with intervals; below it how many rows each bin has.

    `calibration(y, P)`: true labels and probabilities, (n,) of the positive class or (n, K) of the sorted `classes`, in `bins` of
    equal count (for K > 2: how often the most probable class is the true one).

    `calibration(predicted, observed)`: lists of the bins' mean probabilities and shares, told apart from labels by a number between
    0 and 1 (`interval`: (lows, highs) of the shares, `counts`: rows of each bin). `calibration(curve)`: an object with `bins`, each
    with `mean` and `observed` (value, low, high, n).

    Returns the Axes: the curve and, where counts are known, those below it; with one `ax` given, the curve alone is drawn.

    >>> curve, rows = calibration([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2)
    >>> curve.lines[-1].get_xydata().round(2).tolist()
    [[0.15, 0.0], [0.85, 1.0]]
    """
    predicted, observed = y, P
    if P is None:
        predicted, observed, interval, counts = _opened(y)
    elif interval is None and counts is None and _labels(y, P):
        found = reliability(y, P, bins=bins, classes=classes, positive=positive)
        predicted, observed, interval, counts = _opened(found)
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


def _labels(y: Any, P: Any) -> bool:
    """Whether the first list holds labels of rows rather than mean probabilities of bins."""
    first = np.asarray(y)
    return np.ndim(P) == 2 or first.dtype.kind not in "fiu" or not np.any((first > 0) & (first < 1))


def _histogram(ax: Axes, predicted: Floats, counts: Floats) -> None:
    ax.bar(predicted, counts, 0.025, color=look(0).colour, edgecolor=INK, linewidth=0.6)
    labels(ax, "predicted probability", "rows")
    grid(ax, "y")


def _opened(curve: Any) -> tuple[Any, Any, Interval, Any]:
    bins = getattr(curve, "bins", None)
    if not bins:
        raise DataError(
            "calibration needs probabilities: give y and P, lists predicted and observed, or a result with bins."
        )
    seen = [b.observed for b in bins]
    return (
        [b.mean for b in bins],
        [s.value for s in seen],
        ([s.low for s in seen], [s.high for s in seen]),
        [s.n for s in seen],
    )
