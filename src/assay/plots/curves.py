"""Risk over the number of rows (learning curve) or over a hyper-parameter (validation curve), training beside test."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError
from assay.numerics import Floats
from assay.plots.canvas import axes, grid, labels, legend, logarithmic
from assay.plots.given import Interval, numbers, pair
from assay.plots.style import INK, Look, look


def learning_curve(
    sizes: Any,
    train: Any = None,
    test: Any = None,
    *,
    train_interval: Interval | None = None,
    test_interval: Interval | None = None,
    measure: str = "risk",
    best: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Risk on training and test rows over the number of training rows, with bands from (lows, highs).

    Or, as the first argument, a result with `points`, each with `n` and the scores `train` and `test` (value, low, high).
    `best` is a level to compare with, such as an estimate of the least possible risk.
    """
    if hasattr(sizes, "points"):
        sizes, (train, train_interval), (test, test_interval) = _opened(sizes.points)
    sizes = numbers(sizes, "sizes")
    ax = axes(ax)
    both(ax, sizes, train, test, train_interval, test_interval)
    if best is not None:
        ax.axhline(best, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label=f"best possible ≈ {best:.3g}")
    if len(sizes) > 1 and sizes.min() > 0 and sizes.max() / sizes.min() >= 30:
        logarithmic(ax, sizes)
    labels(ax, "training rows", measure)
    legend(ax)
    return ax


def validation_curve(
    values: Any,
    train: Any,
    test: Any,
    *,
    train_interval: Interval | None = None,
    test_interval: Interval | None = None,
    chosen: Any = None,
    one_se: float | None = None,
    name: str = "parameter",
    measure: str = "risk",
    ax: Axes | None = None,
) -> Axes:
    """Risk on training rows (unless `train` is None) and test rows over the values of a hyper-parameter (numbers or words).

    `one_se` is the level within which a simpler choice counts as good as the best (least risk plus one standard error), `chosen`
    the value taken. Positive numbers that span a factor of 30 stand on a logarithmic axis.
    """
    ax = axes(ax)
    listed = list(values)
    plain = all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in listed)
    x = numbers(listed, "values") if plain else np.arange(len(listed), dtype=np.float64)
    if chosen is not None and chosen not in listed:
        raise DataError(f"chosen={chosen!r} is none of the values: {listed[:8]}.")
    order = np.argsort(x, kind="stable")
    both(ax, x, train, test, train_interval, test_interval, order)
    if not plain:
        ax.set_xticks(x, [str(v) for v in listed])
    elif x.min() > 0 and x.max() / x.min() >= 30:
        logarithmic(ax, x)
    if one_se is not None:
        ax.axhline(one_se, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label="best + one standard error")
    if chosen is not None:
        at = float(x[listed.index(chosen)])
        said = f"{chosen:.4g}" if plain else str(chosen)
        ax.axvline(at, color=INK, linewidth=1.6, linestyle=(0, (6, 3)), label=f"chosen: {said}")
    labels(ax, name, measure)
    legend(ax)
    return ax


def both(
    ax: Axes, x: Floats, train: Any, test: Any, train_interval: Any, test_interval: Any, order: Any = slice(None)
) -> None:
    """Two curves with their bands."""
    for values, interval, style, name in (
        (train, train_interval, look(0), "training"),
        (test, test_interval, look(6), "test"),
    ):
        if values is None:  # a search measures no training risk
            continue
        y = numbers(values, name, len(x))
        _curve(ax, x[order], y[order], style, name)
        ends = pair(interval, f"{name}_interval", len(x))
        if ends is not None:
            ax.fill_between(x[order], ends[0][order], ends[1][order], color=style.colour, alpha=0.2, linewidth=0)
    low, high = ax.get_ylim()
    ax.set_ylim(max(0.0, low) if low > -0.1 * (high - low) else low, high)
    grid(ax)


def _opened(points: Any) -> tuple[list[float], Any, Any]:
    """Sizes, and of training and test the values and their intervals."""
    sides = []
    for name in ("train", "test"):
        scores = [getattr(p, name) for p in points]
        sides.append(([s.value for s in scores], ([s.low for s in scores], [s.high for s in scores])))
    return [p.n for p in points], sides[0], sides[1]


def _curve(ax: Axes, x: Floats, y: Floats, style: Look, name: str) -> None:
    line = "-" if name == "test" else (0, (5, 2))
    ax.plot(x, y, color=style.colour, marker=style.marker, linestyle=line, markersize=5, linewidth=1.8, label=name)
