"""What a threshold trades: ROC, precision against recall, and both (with the cost) over the threshold; and calibration: of the rows
given p, does a share of p come true?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay import assess
from assay.assess import reliability
from assay.assess.curves import positives
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.pictures.rows import some_of
from assay.plots.canvas import (
    FONT,
    GREY,
    INK,
    Interval,
    axes,
    dress,
    grid,
    labels,
    legend,
    numbers,
    pair,
    scores_of,
    stacked,
    style_of,
)

MOST = 400  # points of a drawn curve
Drawn = list[tuple[str, Floats, Floats]]
KNOWN = ("thresholds", "precision", "recall", "f1", "cost", "best")


def roc(y: Any, scores: Any = None, *, positive: Any = None, ax: Axes | None = None) -> Axes:
    """True against false positive rate, of truth and scores or of curves.

    `roc(y, scores)`: labels of two classes and what ranks the rows, greater for the positive class (the greater label unless
    `positive` names it); probabilities (n, 2) are taken too, and {name: scores} draws several models on the same rows.

    `roc(curves)`: one curve or {name: curve}, each an object with `x` and `y` (and perhaps an `area` with value, low and high),
    or a pair (false positive rates, true positive rates).

    >>> roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).get_legend().get_texts()[0].get_text()[:10]
    'area 0.750'
    """
    curves = y if scores is None else _measured(assess.roc, y, scores, positive)
    ax = axes(ax, height=4.8)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=(0, (2, 3)))
    for k, (name, x, at) in enumerate(_curves(curves)):
        _draw(ax, k, name, x, at, "default")
    _unit_square(ax, "false positive rate", "true positive rate")
    return ax


def precision_recall(
    y: Any, scores: Any = None, *, positive: Any = None, prevalence: float | None = None, ax: Axes | None = None
) -> Axes:
    """Precision over recall, as steps (precision is not linear between two thresholds).

    `precision_recall(y, scores)` or `precision_recall(curves)`, as for `roc`; of a curve x is the recall. `prevalence`, the share
    of positive rows, is the precision of guessing: it is drawn where it is given or y is.

    >>> precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).get_xlabel()
    'recall'
    """
    curves = y
    if scores is not None:
        curves = _measured(assess.precision_recall, y, scores, positive)
        prevalence = float(positives(y, positive).mean()) if prevalence is None else prevalence
    ax = axes(ax, height=4.8)
    if prevalence is not None:
        ax.axhline(prevalence, color=GREY, linewidth=1.0, linestyle=(0, (2, 3)))
    for k, (name, x, at) in enumerate(_curves(curves)):
        _draw(ax, k, name, x, at, "steps-pre")
    _unit_square(ax, "recall", "precision")
    return ax


def thresholds(
    y: Any,
    scores: Any = None,
    *,
    costs: tuple[float, float] = (1.0, 1.0),
    positive: Any = None,
    chosen: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Precision, recall and F1 over the threshold, the mean cost on an axis of its own, and the threshold chosen.

    `thresholds(y, scores)`: labels of two classes and their scores, as for `roc`; `costs` of a false positive and of a false
    negative. `thresholds(curve)`: an object (or mapping) with `thresholds` and any of `precision`, `recall`, `f1`, `cost`.
    `chosen` is the cheapest, `best`, unless given. Infinite thresholds (nothing is positive) are left out.

    >>> thresholds([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], costs=(1, 5)).get_legend().get_texts()[-1].get_text()
    'chosen: 0.35'
    """
    curve = y if scores is None else assess.thresholds(y, scores_of(scores, y), costs=costs, positive=positive)
    held = curve if isinstance(curve, Mapping) else {k: getattr(curve, k) for k in KNOWN if hasattr(curve, k)}
    if "thresholds" not in held or not set(held) & {"precision", "recall", "f1", "cost"}:
        raise DataError("thresholds needs 'thresholds' and at least one of 'precision', 'recall', 'f1', 'cost'.")
    at = numbers(held["thresholds"], "thresholds")
    order = np.flatnonzero(np.isfinite(at))
    order = order[np.argsort(at[order], kind="stable")]
    order = order[some_of(len(order), MOST)]
    ax = axes(ax)
    for k, name in ((0, "precision"), (1, "recall"), (5, "f1")):
        if name in held:
            _over(ax, at[order], numbers(held[name], name, len(at))[order], k, name)
    ax.set_ylim(-0.02, 1.02)
    labels(ax, "threshold", "share")
    grid(ax)
    handles = ax.get_legend_handles_labels()[0]
    if held.get("cost") is not None:
        right = ax.twinx()
        dress(right)
        right.spines["left"].set_visible(False)
        right.spines["right"].set_visible(True)
        _over(right, at[order], numbers(held["cost"], "cost", len(at))[order], 6, "mean cost")
        right.set_ylim(bottom=0)
        right.set_ylabel("mean cost", color=INK, fontsize=FONT)
        handles += right.get_legend_handles_labels()[0]
    chosen = held.get("best") if chosen is None else chosen
    if chosen is not None and np.isfinite(chosen):
        handles.append(
            ax.axvline(chosen, color=INK, linewidth=1.4, linestyle=(0, (6, 3)), label=f"chosen: {chosen:.4g}")
        )
    legend(ax, handles)
    return ax


def _over(ax: Axes, x: Floats, y: Floats, k: int, name: str) -> None:
    style = style_of(k)
    every = max(1, len(x) // 8)
    ax.plot(
        x,
        y,
        color=style.colour,
        linestyle=style.line,
        linewidth=2.0,
        marker=style.marker,
        markevery=(k * every // 5, every),
        markersize=5,
        label=name,
    )


def _measured(measure: Callable[..., Any], y: Any, scores: Any, positive: Any) -> Any:
    """The curve of the scores, or those of several."""
    if isinstance(scores, Mapping):
        return {name: measure(y, scores_of(s, y, str(name)), positive=positive) for name, s in scores.items()}
    return measure(y, scores_of(scores, y), positive=positive)


def _curves(curves: Any) -> Drawn:
    named = curves if isinstance(curves, Mapping) else {"": curves}
    found = []
    for name, curve in named.items():
        x, y = (curve.x, curve.y) if hasattr(curve, "x") and hasattr(curve, "y") else _two(curve)
        x = numbers(x, f"x of {name!r}")
        area = getattr(curve, "area", None)
        said = str(name) + (_area(area) if area is not None else "")
        found.append((said, x, numbers(y, f"y of {name!r}", len(x))))
    if not found:
        raise DataError("There is no curve to draw: give {name: curve}.")
    return found


def _two(curve: Any) -> tuple[Any, Any]:
    if not isinstance(curve, tuple | list) or len(curve) != 2:
        raise DataError(f"A curve is an object with x and y, or a pair of lists, got {type(curve).__name__}.")
    return curve[0], curve[1]


def _area(area: Any) -> str:
    if not hasattr(area, "value"):
        return f" area {float(area):.3f}"
    return f" area {area.value:.3f} [{area.low:.3f}, {area.high:.3f}]"


def _draw(ax: Axes, k: int, name: str, x: Floats, y: Floats, steps: Any) -> None:
    style, some = style_of(k), some_of(len(x), MOST)
    every = max(1, len(some) // 6)
    ax.plot(
        x[some],
        y[some],
        color=style.colour,
        linestyle=style.line,
        linewidth=2.0,
        drawstyle=steps,
        marker=style.marker,
        markevery=(every // 2, every),
        markersize=5,
        label=name.strip() or "_",
    )


def _unit_square(ax: Axes, x: str, y: str) -> None:
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    labels(ax, x, y)
    grid(ax)
    legend(ax)


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
    top, style = made[0], style_of(0)
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
    ax.bar(predicted, counts, 0.025, color=style_of(0).colour, edgecolor=INK, linewidth=0.6)
    labels(ax, "predicted probability", "rows")
    grid(ax, "y")


def _opened(curve: Any) -> tuple[Any, Any, Interval, Any]:
    bins = getattr(curve, "bins", None)
    if not bins:
        raise DataError(
            "calibration needs probabilities: give y and P, lists predicted and observed, or a result with bins."
        )
    observed = [b.observed for b in bins]
    return (
        [b.mean for b in bins],
        [s.value for s in observed],
        ([s.low for s in observed], [s.high for s in observed]),
        [s.n for s in observed],
    )
