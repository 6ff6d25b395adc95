"""What columns add to answers: the mean size over rows as bars, and the way of one row from the base to its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError, ParameterError
from assay.numerics import Floats
from assay.plots.canvas import axes, grid, labels, legend, note, numbers, short, words
from assay.plots.style import INK, style_of


def shap_importance(values: Any, names: Sequence[Any] | None = None, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """The mean |SHAP value| of each column over rows, greatest first: `values` (n, d), or (n, d, K), of which classes are added up."""
    V = np.abs(_rows(values, 2)).reshape(*np.shape(values)[:2], -1)
    mean = V.mean(axis=0).sum(axis=1)
    named = words([f"column {j}" for j in range(len(mean))] if names is None else names, len(mean))
    kept = np.argsort(-mean, kind="stable")[:top]
    ax = axes(ax, height=min(12.0, 0.3 * len(kept) + 1.3))
    ax.barh(range(len(kept)), mean[kept], 0.62, color=style_of(0).colour, edgecolor=INK, linewidth=0.6)
    _lines(ax, [named[k] for k in kept], "mean |SHAP value|")
    note(ax, f"The {len(kept)} greatest of {len(mean)} columns." if len(kept) < len(mean) else "")
    return ax


def waterfall(
    values: Any,
    base: float,
    names: Sequence[Any] | None = None,
    *,
    x: Any = None,
    top: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """From the base on top to the answer of one row below, column by column, the largest last; `values` (d,) are its SHAP values, `x` the row.

    Of more columns than `top` the smallest are one bar.
    """
    v = numbers(values, "values")
    base = float(base)
    named = words([f"column {j}" for j in range(len(v))] if names is None else names, len(v))
    if x is not None:
        named = [f"{short(name, 18)} = {_word(value)}" for name, value in zip(named, _row(x, len(v)))]
    order = np.argsort(np.abs(v), kind="stable")
    rest, kept = order[: max(0, len(v) - top)], order[max(0, len(v) - top) :]
    steps, lines = v[kept], [named[k] for k in kept]
    if len(rest):
        steps, lines = np.append(v[rest].sum(), steps), [f"{len(rest)} other columns", *lines]
    ends = base + np.cumsum(steps)
    ax = axes(ax, height=min(12.0, 0.3 * len(steps) + 1.5))
    for sign, k, name in ((steps >= 0, 0, "adds"), (steps < 0, 6, "takes away")):
        if sign.any():
            hatch = style_of(k).hatch if name == "takes away" else None
            at = np.flatnonzero(sign)
            ax.barh(at, steps[sign], 0.62, (ends - steps)[sign], color=style_of(k).colour, hatch=hatch, edgecolor=INK, linewidth=0.6, label=name)  # fmt: skip
    ax.vlines(ends[:-1], np.arange(len(ends) - 1), np.arange(1, len(ends)), color=INK, linewidth=0.8)
    ax.axvline(base, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label=f"base {base:.4g}")
    ax.axvline(base + float(v.sum()), color=INK, linewidth=1.2, label=f"answer {base + float(v.sum()):.4g}")
    _lines(ax, lines, "answer")
    legend(ax)
    return ax


def _lines(ax: Axes, names: list[str], measure: str) -> None:
    """A line a name, top down."""
    ax.set_yticks(range(len(names)), [short(name, 28) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    labels(ax, measure, "")
    grid(ax, "x")


def _rows(values: Any, least: int) -> Floats:
    V = np.asarray(values, dtype=np.float64)
    if V.ndim not in (least, least + 1) or not V.size:
        raise DataError(
            f"SHAP values of rows have the shape (n, d) or (n, d, K), got {V.shape}: give model.shap_values(X)."
        )
    if not np.isfinite(V).all():
        raise DataError("Some SHAP values are not finite: give those of model.shap_values(X) as they are.")
    return V


def _row(x: Any, d: int) -> list[Any]:
    found = list(np.asarray(x, dtype=object).reshape(-1))
    if len(found) != d:
        raise ParameterError(f"x has {len(found)} values, but there are SHAP values of {d} columns: give the one row.")
    return found


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else short(str(value), 10)
