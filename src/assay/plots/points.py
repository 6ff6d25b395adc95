"""Rows as points with a shape and a colour a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.numerics import Array, Floats
from assay.pictures.seen import MOST_POINTS
from assay.plots.style import INK, Shown


def drawn(codes: Array, most: int = MOST_POINTS) -> Array:
    """Which rows are drawn: evenly spaced among those of each class, each class by its share but at least 5 rows.

    >>> drawn(np.array([0] * 90 + [1] * 10), 20).size
    23
    """
    n = len(codes)
    if n <= most:
        return np.arange(n)
    kept = []
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        count = min(len(rows), max(5, round(most * len(rows) / n)))
        kept.append(rows[np.linspace(0, len(rows) - 1, count).round().astype(np.intp)])
    return np.sort(np.concatenate(kept))


def scatter(ax: Axes, at: Floats, looks: Array, shown: Shown, wrong: Array | None = None) -> list[Any]:
    """Points (n, 2) with look number `looks` (n,), hollow where `wrong`; the handles for a legend."""
    handles = []
    wrong = np.zeros(len(at), dtype=bool) if wrong is None else wrong
    for k, (name, style) in enumerate(zip(shown.names, shown.looks)):
        size = 5.5 if style.marker in "*PX." else 4.5
        line: dict[str, Any] = {"linestyle": "none", "marker": style.marker, "markersize": size, "zorder": 3}
        for rows, face in ((~wrong, style.colour), (wrong, "none")):
            chosen = (looks == k) & rows
            if chosen.any():
                edge = style.colour if face == "none" else INK
                width = 1.4 if face == "none" else 0.5
                ax.plot(*at[chosen].T, markerfacecolor=face, markeredgecolor=edge, markeredgewidth=width, **line)
        if (looks == k).any():
            handles += ax.plot(
                [], [], markerfacecolor=style.colour, markeredgecolor=INK, markeredgewidth=0.5, label=name, **line
            )
    return handles
