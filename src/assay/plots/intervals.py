"""Dots with intervals, a line each: models ranked, columns by importance, groups by risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError, nearest
from assay.numerics import Array, Floats
from assay.plots.canvas import axes, grid, labels, legend, note, short
from assay.plots.given import numbers, words
from assay.plots.style import GREY, INK, look


def ranking(
    names: Sequence[Any],
    values: Any,
    lows: Any = None,
    highs: Any = None,
    chosen: Any = None,
    *,
    measure: str = "risk",
    best: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Models in the order given, the first on top; the one `chosen` has a filled diamond, the others hollow dots.

    `best` is a level to compare with, such as an estimate of the least possible risk.
    """
    values = numbers(values, "values")
    names = words(names, len(values))
    if chosen is not None and str(chosen) not in names:
        raise DataError(f"chosen={chosen!r} is none of the names. {nearest(str(chosen), names)}")
    ax = dots(ax, names, values, lows, highs, measure)
    if best is not None:
        ax.axvline(best, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label=f"best possible ≈ {best:.3g}")
    if chosen is not None:
        k = names.index(str(chosen))
        ax.plot(
            values[k],
            k,
            "D",
            color=look(2).colour,
            markeredgecolor=INK,
            markersize=9,
            label=f"chosen: {chosen}",
            zorder=4,
        )
        ax.get_yticklabels()[k].set_fontweight("bold")
    if chosen is not None or best is not None:
        legend(ax)
    return ax


def importance(
    names: Sequence[Any], mean: Any = None, low: Any = None, high: Any = None, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """How much the risk grows when a column is shuffled, greatest first; the line at zero means "of no use".

    Or, as the first argument alone, results with a `name` and the score `increase` (value, low, high).
    """
    if mean is None:
        if not all(hasattr(r, "name") and hasattr(r, "increase") for r in names):
            raise DataError("importance needs names and means: give both, or results with name and increase.")
        grown = [r.increase for r in names]
        names, mean = [r.name for r in names], [s.value for s in grown]
        low, high = [s.low for s in grown], [s.high for s in grown]
    mean = numbers(mean, "mean")
    order = np.argsort(-np.where(np.isnan(mean), -np.inf, mean), kind="stable")
    kept = order[:top]
    named = words(names, len(mean))
    a, b = (None if e is None else numbers(e, "ends", len(mean))[kept] for e in (low, high))
    ax = dots(ax, [named[k] for k in kept], mean[kept], a, b, "increase of risk when shuffled")
    ax.axvline(0.0, color=INK, linewidth=1.2)
    note(ax, f"The {top} greatest of {len(order)} columns." if len(order) > top else "")
    return ax


def risk_by_group(
    names: Sequence[Any],
    values: Any,
    lows: Any = None,
    highs: Any = None,
    *,
    overall: float | None = None,
    counts: Any = None,
    measure: str = "risk",
    ax: Axes | None = None,
) -> Axes:
    """Risk within each group, in the order given, beside that of all rows (`overall`); `counts` are the groups' rows."""
    values = numbers(values, "values")
    named = words(names, len(values))
    if counts is not None:
        named = [f"{short(n, 18)} ({int(c):,})" for n, c in zip(named, numbers(counts, "counts", len(values)))]
    ax = dots(ax, named, values, lows, highs, measure)
    if overall is not None:
        ax.axvline(overall, color=INK, linewidth=1.4, linestyle=(0, (6, 3)), label=f"all rows: {overall:.3g}")
        legend(ax)
    return ax


def dots(ax: Axes | None, names: list[str], values: Floats, lows: Any, highs: Any, measure: str) -> Axes:
    """One line a name, top down: a dot at the value, a bar from low to high."""
    n = len(values)
    ax = axes(ax, height=min(12.0, 0.32 * n + 1.3))
    y: Array = np.arange(n)
    if lows is not None and highs is not None:
        low, high = numbers(lows, "lows", n), numbers(highs, "highs", n)
        if np.any(low > high):
            k = int(np.flatnonzero(low > high)[0])
            raise DataError(f"The interval of {names[k]!r} is empty: low {low[k]:.4g} is above high {high[k]:.4g}.")
        ax.hlines(y, low, high, color=look(0).colour, linewidth=3.0, alpha=0.8)
    ax.plot(values, y, "o", markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.6, markersize=7, zorder=3)
    for k in range(1, n, 2):
        ax.axhspan(k - 0.5, k + 0.5, color=GREY, alpha=0.07, linewidth=0)
    ax.set_yticks(y, [short(w, 28) for w in names])
    ax.set_ylim(n - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    labels(ax, measure, "")
    grid(ax, "x")
    return ax
