"""The boundary of a classifier of two classes: its margin and support vectors, how the rows' margins are spread, and the way of a
perceptron, its boundary after each mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats
from assay.pictures.geometry import Plane, inside_margin, segment, slice_of
from assay.pictures.rows import PictureRows, all_classes, codes_of, picture_rows, some_of, thinned_note
from assay.plots.canvas import INK, SMALL, axes, drawn, grid, labels, legend, note, scatter, shown_classes, style_of

PIXELS = 120
MOST_VISITS = 100_000
BEYOND = 1e300  # scores of this size say "as far as can be", and have no place on an axis
ROOM = np.array([2.0 * SMALL, 1.4 * SMALL])  # points that a number takes, with air around it


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
    data = picture_rows(model, X, y, names)
    f, t = _scores(model, data)
    on = slice_of(data, columns, at)
    where = on.coordinates(data.X)
    ax = axes(ax)
    sides = _lines(ax, model, data, on, where)
    codes = (t > 0).astype(np.intp)
    ringed = _support(model, data, f, t)
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
        data.note,
    )
    return ax


def _lines(ax: Axes, model: Any, data: PictureRows, on: Plane, where: Floats) -> list[Floats]:
    """The contours of f at −1, 0 and 1; the two sides of the picture."""
    low, high = where.min(axis=0), where.max(axis=0)
    room = np.where(high > low, 0.1 * (high - low), on.unit)
    sides = [np.linspace(low[k] - room[k], high[k] + room[k], PIXELS) for k in (0, 1)]
    pixels = np.column_stack([g.ravel() for g in np.meshgrid(*sides)])
    F = data.ask(model, "decision_function", on.points(pixels)).reshape(PIXELS, PIXELS)
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
    data = picture_rows(model, X, y)
    f, t = _scores(model, data)
    norm = float(np.linalg.norm(model.coef_)) if hasattr(model, "coef_") else 0.0
    m = t * f / norm if norm > 0 else t * f
    drawn = np.abs(m) < BEYOND
    beyond = "" if drawn.all() else f"{np.sum(~drawn):,} of {len(m):,} rows are beyond all numbers and not drawn."
    m = m[drawn]
    ax = axes(ax)
    edges = np.histogram_bin_edges(m, bins)
    edges = np.unique(np.append(edges, 0.0)) if edges[0] < 0 < edges[-1] else edges
    for wrong, style, name in ((False, style_of(0), "right"), (True, style_of(2), "wrong")):
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
    note(ax, beyond, data.note)
    return ax


def _scores(model: Any, data: PictureRows) -> tuple[Floats, Floats]:
    """f (n,) and y = ±1 (n,)."""
    if not hasattr(model, "decision_function"):
        raise ParameterError(
            f"{type(model).__name__} has no decision_function, and so no margins: give a linear classifier or SVM."
        )
    if data.y is None:
        raise DataError("Margins need the true classes y.")
    f = data.ask(model, "decision_function", data.X)
    if f.ndim != 1 or len(model.classes_) != 2:
        raise ParameterError(f"Margins are drawn for two classes, and this model has {len(model.classes_)}.")
    classes = all_classes(model, data.y)
    if len(classes) > 2:
        raise DataError(f"y holds {classes[2]!r}, which the model was not fitted on: {classes[:2]}.")
    return f, np.where(codes_of(data.y, classes) == 1, 1.0, -1.0)


def _support(model: Any, data: PictureRows, f: Floats, t: Floats) -> Array:
    ringed = inside_margin(f, t)
    own = getattr(model, "support_", None)
    if own is not None and not data.left_out and np.asarray(own).max(initial=-1) < len(f):
        ringed = np.isin(np.arange(len(f)), own)
    return ringed


def perceptron_path(
    model: Any,
    X: Any,
    y: Any,
    *,
    columns: Sequence[int | str] = (0, 1),
    at: Mapping[Any, float] | None = None,
    most: int = 12,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The line ⟨w, x̃⟩ = 0 after each mistake of `model.steps(X, y)`, numbered; the last one bold.

    The model (a perceptron for two classes) need not be fitted: its steps are a fit. Of more than two columns the others stand at
    `at`, else at their medians. Of more than `most` mistakes, evenly spaced ones are drawn, the first and the last among them.
    """
    if not hasattr(model, "steps"):
        raise ParameterError(f"{type(model).__name__} has no steps(X, y): give a Perceptron.")
    if isinstance(most, bool) or not isinstance(most, int) or most < 2:
        raise ParameterError(f"most={most!r} must be a whole number of lines, at least 2.")
    data = picture_rows(model, X, y, names, fitted=False)
    if data.y is None:
        raise DataError("The way of a perceptron needs the true classes y.")
    classes = all_classes(None, data.y)
    if len(classes) != 2:
        raise DataError(f"A boundary line is between two classes, and y has {len(classes)}: choose two of them.")
    on = slice_of(data, columns, at)
    ways = list(_mistakes(model, data.X, data.y))
    chosen = some_of(len(ways), most)
    ax = axes(ax)
    codes, shown, where = codes_of(data.y, classes), shown_classes(classes), on.coordinates(data.X)
    rows = drawn(codes)
    handles = scatter(ax, where[rows], codes[rows], shown)
    left, right, low, high = _frame(where, on)
    ends = {int(k) + 1: _line(ax, ways[k], on, (left, right), (low, high), int(k) + 1, len(ways)) for k in chosen}
    outside = [str(number) for number, met in ends.items() if met is None]
    ax.set(xlim=(left, right), ylim=(low, high))
    _number(ax, {number: met for number, met in ends.items() if met is not None}, len(ways))
    labels(ax, *on.labels)
    legend(ax, handles)
    said = f"{len(ways)} mistake{'s' if len(ways) != 1 else ''}"
    last = "; the bold line is the last" if ends.get(len(ways)) is not None else ""
    gone = f"Outside the picture: {', '.join(outside)}." if outside else ""
    some = f", {len(chosen)} of them drawn" if len(chosen) < len(ways) else ""
    note(
        ax,
        f"{said}{some}{last}.",
        gone,
        on.note,
        thinned_note(len(where), len(rows)),
        data.note,
    )
    return ax


def _mistakes(model: Any, X: Floats, y: Any) -> Iterator[Floats]:
    """The weights (b, w) after each step that changed them."""
    for visit, step in enumerate(model.steps(X, y)):
        if "w" not in step.values:
            raise ParameterError(f"{type(model).__name__} has no line of weights to draw: give a Perceptron.")
        w = np.asarray(step.values["w"])
        if w.ndim != 1:
            raise ParameterError("The steps hold more than one line: give a perceptron of two classes.")
        if np.any(step.values["update"]):
            yield w
        if visit >= MOST_VISITS:
            return


def _frame(where: Floats, on: Plane) -> tuple[float, float, float, float]:
    low, high = where.min(axis=0), where.max(axis=0)
    room = np.where(high > low, 0.12 * (high - low), on.unit)
    (left, below), (right, above) = low - room, high + room
    return float(left), float(right), float(below), float(above)


def _line(ax: Axes, w: Floats, on: Plane, xs: Any, ys: Any, number: int, last: int) -> Floats | None:
    """Draw one line; its ends where it meets the picture."""
    ends = segment(float(w[0] + w[1:] @ on.origin), on.basis @ w[1:], xs, ys)
    if ends is None:  # elsewhere, or there is no line (w = 0)
        return None
    bold, age = number == last, number / last
    ax.plot(*ends.T, color=INK, linewidth=2.6 if bold else 0.9, alpha=1.0 if bold else 0.25 + 0.5 * age, zorder=2)
    return ends


def _number(ax: Axes, lines: Mapping[int, Floats], last: int) -> None:
    """Numbers at the lines' ends, the last line's first; one that would lie on another moves to the other end or is left out."""
    box, figure = ax.get_position(), ax.figure
    size = np.array([box.width * figure.get_figwidth(), box.height * figure.get_figheight()]) * 72  # type: ignore[union-attr]
    corner = np.array([ax.get_xlim()[0], ax.get_ylim()[0]])
    span = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])
    taken: list[Floats] = []
    for number in sorted(lines, reverse=True):
        for end in lines[number][::-1]:
            place = (end - corner) / span * size
            if all(np.any(np.abs(place - other) > ROOM) for other in taken):
                taken.append(place)
                _label(ax, str(number), end, number == last)
                break


def _label(ax: Axes, text: str, at: Floats, bold: bool) -> None:
    ax.annotate(
        text,
        (float(at[0]), float(at[1])),
        xytext=(2, 2),
        textcoords="offset points",
        color=INK,
        fontsize=SMALL,
        fontweight="bold" if bold else "normal",
        annotation_clip=False,
    )
