"""Nearest neighbours in pictures: their number over the error, and those of one query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError
from assay.pictures.seen import all_classes, codes_of, see
from assay.plots.canvas import axes, grid, labels, legend, note
from assay.plots.points import drawn, scatter
from assay.plots.style import INK, look, shown_classes


def neighbour_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """The exact leave-one-out error over the number of neighbours, of a fit with n_neighbors="auto"; simpler is to the right."""
    loss = getattr(model, "leave_one_out_", None)
    if loss is None:
        raise DataError(f"This {type(model).__name__} has no curve of neighbours: fit it with n_neighbors='auto'.")
    ax = axes(ax)
    k, style, chosen = np.arange(1, len(loss) + 1), look(6), int(model.n_neighbors_)
    ax.plot(k, loss, color=style.colour, marker=style.marker if len(k) <= 30 else None, markersize=5, linewidth=1.8)
    ax.axvline(chosen, color=INK, linewidth=1.6, linestyle=(0, (6, 3)), label=f"chosen: {chosen}")
    labels(ax, "neighbours", "leave-one-out error" if hasattr(model, "classes_") else "leave-one-out mean square")
    legend(ax)
    grid(ax)
    return ax


def neighbours(
    model: Any,
    X: Any,
    y: Any,
    query: Any,
    *,
    columns: Sequence[int | str] = (0, 1),
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """One query, the rows X and y of the fit, and lines to those of them that answer it, over two columns."""
    if not hasattr(model, "kneighbors"):
        raise DataError(f"{type(model).__name__} has no neighbours: give a KNeighborsClassifier.")
    if not hasattr(model, "classes_"):
        raise DataError(f"{type(model).__name__} has no classes to draw: give a KNeighborsClassifier.")
    seen = see(model, X, y, names)
    i, j = seen.two(columns)
    q = np.asarray(query, dtype=np.float64).reshape(1, -1)
    far, rows = model.kneighbors(q)
    classes = all_classes(model, seen.y)
    codes = codes_of(np.asarray(seen.y), classes)
    shown = shown_classes(classes, np.bincount(codes, minlength=len(classes)))
    ax = axes(ax)
    some = np.union1d(drawn(codes), rows[0])
    handles = scatter(ax, seen.X[some][:, [i, j]], shown.of[codes[some]], shown)
    for row in rows[0]:
        ax.plot([q[0, i], seen.X[row, i]], [q[0, j], seen.X[row, j]], color=INK, linewidth=1.1, zorder=2)
    ax.plot(q[0, i], q[0, j], marker="X", markersize=11, color=INK, linestyle="none", zorder=5)
    labels(ax, seen.names[i], seen.names[j])
    legend(ax, handles)
    answer = model.predict(q)[0]
    note(ax, f"{rows.shape[1]} neighbours, the farthest at {far[0, -1]:.4g}: the answer is {answer}.")
    return ax
