"""The margin of a classifier of two classes: its lines and support vectors, and how the rows' margins are spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats
from assay.pictures.boundary import inside_margin
from assay.pictures.plane import Plane, slice_of
from assay.pictures.seen import Seen, all_classes, codes_of, see, thinned_note
from assay.plots.canvas import axes, grid, labels, legend, note
from assay.plots.points import drawn, scatter
from assay.plots.style import INK, look, shown_classes

PIXELS = 120


def margins(
    model: Any,
    X: Any,
    y: Any,
    *,
    columns: Sequence[int | str] = (0, 1),
    at: Mapping[Any, float] | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The lines f = −1, 0, 1 of a decision function f for two classes, and the support vectors ringed.

    Support vectors are the rows with y·f(x) ≤ 1 (y = ±1, +1 for the model's second class), or the model's own `support_`.
    Of more than two columns the lines are those of the slice at `at`, else at the medians; the rings use all columns.
    """
    seen = see(model, X, y, names)
    f, t = _scores(model, seen)
    on = slice_of(seen, columns, at)
    where = on.coordinates(seen.X)
    ax = axes(ax)
    sides = _lines(ax, model, seen, on, where)
    codes = (t > 0).astype(np.intp)
    ringed = _support(model, seen, f, t)
    rows = np.union1d(drawn(codes), np.flatnonzero(ringed)[:100])
    handles = scatter(ax, where[rows], codes[rows], shown_classes(model.classes_))
    rings = rows[ringed[rows]]
    handles += ax.plot(
        *where[rings].T, "o", markersize=10, markerfacecolor="none", markeredgecolor=INK, label="support vector"
    )
    handles += ax.plot([], [], color=INK, linewidth=2.0, label="f = 0")
    handles += ax.plot([], [], color=INK, linewidth=1.2, linestyle="dashed", label="f = ±1")
    ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
    labels(ax, *on.labels)
    legend(ax, handles)
    note(
        ax,
        f"{int(ringed.sum())} of {len(f)} rows are support vectors.",
        on.note,
        thinned_note(len(f), len(rows)),
        seen.note,
    )
    return ax


def _lines(ax: Axes, model: Any, seen: Seen, on: Plane, where: Floats) -> list[Floats]:
    """The contours of f at −1, 0 and 1; the two sides of the picture."""
    low, high = where.min(axis=0), where.max(axis=0)
    room = np.where(high > low, 0.1 * (high - low), on.unit)
    sides = [np.linspace(low[k] - room[k], high[k] + room[k], PIXELS) for k in (0, 1)]
    pixels = np.column_stack([g.ravel() for g in np.meshgrid(*sides)])
    F = seen.ask(model, "decision_function", on.points(pixels)).reshape(PIXELS, PIXELS)
    levels = [v for v in (-1.0, 0.0, 1.0) if F.min() < v < F.max()]
    if levels:
        styles = ["solid" if v == 0 else "dashed" for v in levels]
        ax.contour(
            *sides, F, levels, colors=[INK], linewidths=[2.0 if v == 0 else 1.2 for v in levels], linestyles=styles
        )
    return sides


def margin_distribution(model: Any, X: Any, y: Any, *, bins: int = 30, ax: Axes | None = None) -> Axes:
    """How many rows have which margin y·f(x)/‖w‖: left of zero are mistakes, the dashed line is the margin 1/‖w‖.

    ‖w‖ is that of `coef_`; of a model without it y·f(x) itself is shown.
    """
    seen = see(model, X, y)
    f, t = _scores(model, seen)
    norm = float(np.linalg.norm(model.coef_)) if hasattr(model, "coef_") else 0.0
    m = t * f / norm if norm > 0 else t * f
    ax = axes(ax)
    edges = np.histogram_bin_edges(m, bins)
    edges = np.unique(np.append(edges, 0.0)) if edges[0] < 0 < edges[-1] else edges
    for wrong, style, name in ((False, look(0), "right"), (True, look(2), "wrong")):
        counts, _ = np.histogram(m[(m < 0) == wrong], edges)
        if counts.any():
            ax.stairs(
                counts,
                edges,
                fill=True,
                facecolor=style.colour,
                edgecolor=INK,
                hatch=style.hatch if wrong else None,
                label=f"{name}: {counts.sum():,}",
            )
    ax.axvline(0.0, color=INK, linewidth=1.5)
    if norm > 0:
        ax.axvline(1 / norm, color=INK, linewidth=1.2, linestyle=(0, (5, 3)), label=f"1/‖w‖ = {1 / norm:.3g}")
    labels(ax, "margin y·f(x) / ‖w‖" if norm > 0 else "y·f(x)", "rows")
    grid(ax, "y")
    legend(ax)
    note(ax, seen.note)
    return ax


def _scores(model: Any, seen: Seen) -> tuple[Floats, Floats]:
    """f (n,) and y = ±1 (n,)."""
    if not hasattr(model, "decision_function"):
        raise ParameterError(
            f"{type(model).__name__} has no decision_function, and so no margins: give a linear classifier or SVM."
        )
    if seen.y is None:
        raise DataError("Margins need the true classes y.")
    f = seen.ask(model, "decision_function", seen.X)
    if f.ndim != 1 or len(model.classes_) != 2:
        raise ParameterError(f"Margins are drawn for two classes, and this model has {len(model.classes_)}.")
    classes = all_classes(model, seen.y)
    if len(classes) > 2:
        raise DataError(f"y holds {classes[2]!r}, which the model was not fitted on: {classes[:2]}.")
    return f, np.where(codes_of(seen.y, classes) == 1, 1.0, -1.0)


def _support(model: Any, seen: Seen, f: Floats, t: Floats) -> Array:
    ringed = inside_margin(f, t)
    own = getattr(model, "support_", None)
    if own is not None and not seen.left_out and np.asarray(own).max(initial=-1) < len(f):
        ringed = np.isin(np.arange(len(f)), own)
    return ringed
