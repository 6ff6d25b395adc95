"""Risk taken apart: noise + bias + variance, a bar for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError
from assay.plots.canvas import axes, grid, labels, legend, short
from assay.plots.given import numbers, words
from assay.plots.style import INK, look


def bias_variance(
    bias: Any, variance: Any = None, noise: Any = None, *, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Bars of bias, variance and noise, one on top of the other; a mark at their sum, the risk.

    Numbers or lists of them; or, as the first argument, one or more results with `pieces` ({name: number or score}), or with
    `bias`, `variance` and perhaps `noise`. A piece may be negative (the variance that mends a bias under zero-one loss): it then
    reaches back, and the mark stands where it ends.
    """
    parts: dict[str, Any]
    if variance is None:
        found = list(bias) if isinstance(bias, Sequence | np.ndarray) else [bias]
        each = [_pieces(r) for r in found]
        parts = {name: [p.get(name, 0.0) for p in each] for name in dict.fromkeys(n for p in each for n in p)}
    else:
        parts = {} if noise is None else {"noise": np.atleast_1d(noise)}
        parts |= {"bias": np.atleast_1d(bias), "variance": np.atleast_1d(variance)}
    n = len(next(iter(parts.values()), []))
    columns = {name: numbers(part, name, n) for name, part in parts.items()}
    ax = axes(ax, height=max(1.8, 0.4 * n + 1.2))
    y, start = np.arange(n), np.zeros(n)
    handles: list[Any] = []
    for k, (name, part) in enumerate(columns.items()):
        style = look(LOOKS.get(name, 5 + k))
        bar: dict[str, Any] = {"color": style.colour, "hatch": style.hatch, "edgecolor": INK, "linewidth": 0.6}
        handles.append(ax.barh(y, part, 0.62, left=start, label=name, **bar))
        start = start + part
    handles += ax.plot(start, y, "D", color=INK, markersize=6, linestyle="none", label="sum")
    ax.set_yticks(y, [short(w) for w in words(names if names is not None else [""] * n, n)])
    ax.invert_yaxis()
    labels(ax, "risk", "")
    grid(ax, "x")
    legend(ax, handles)
    return ax


LOOKS = {
    "noise": 3,
    "bias": 0,
    "bias²": 0,
    "bias² + noise": 0,
    "variance": 1,
    "unbiased variance": 1,
    "biased variance": 2,
}


def _pieces(result: Any) -> dict[str, float]:
    if isinstance(getattr(result, "pieces", None), Mapping):
        return {str(name): _number(value) for name, value in result.pieces.items()}
    if not (hasattr(result, "bias") and hasattr(result, "variance")):
        raise DataError("bias_variance needs bias and variance: give both, or results that have them.")
    noise = getattr(result, "noise", None)
    first = {} if noise is None else {"noise": _number(noise)}
    return {**first, "bias": _number(result.bias), "variance": _number(result.variance)}


def _number(value: Any) -> float:
    """A number, or the value of a score."""
    return float(getattr(value, "value", value))
