"""How many rows each class has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.plots.canvas import axes, grid, labels, note, short
from assay.plots.given import numbers, words
from assay.plots.style import FONT, INK, look

MOST = 20


def class_balance(classes: Sequence[Any], counts: Any, *, ax: Axes | None = None) -> Axes:
    """A bar for each class, most frequent first, with its share of all rows."""
    counts = numbers(counts, "counts")
    named = words(classes, len(counts), "classes")
    kept = np.argsort(-counts, kind="stable")[:MOST]
    ax = axes(ax, height=min(8.0, 0.32 * len(kept) + 1.2))
    style, y = look(0), np.arange(len(kept))
    bars = ax.barh(y, counts[kept], 0.62, color=style.colour, edgecolor=INK, linewidth=0.6)
    share = [f" {counts[k]:,.0f} ({counts[k] / max(counts.sum(), 1e-300):.1%})" for k in kept]
    ax.bar_label(bars, share, color=INK, fontsize=FONT, padding=2)
    ax.set_xlim(0, 1.3 * max(float(counts.max()), 1e-300))
    ax.set_yticks(y, [short(named[k]) for k in kept])
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    labels(ax, "rows", "")
    grid(ax, "x")
    note(ax, f"The {MOST} most frequent of {len(counts)} classes." if len(counts) > MOST else "")
    return ax
