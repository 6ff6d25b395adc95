"""The decision regions of any model on any two columns, or on a projection of all of them; and normal densities as ellipses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize, to_rgba
from matplotlib.patches import Ellipse

from assay.errors import DataError, ParameterError, nearest
from assay.numerics import Array, Floats
from assay.pictures.geometry import SIGMAS, Plane, axes_of, leads, normals, plane, supported
from assay.pictures.rows import PictureRows, all_classes, codes_of, picture_rows, some_of, thinned_note
from assay.plots.canvas import (
    FONT,
    GREY,
    INK,
    ClassStyles,
    axes,
    drawn,
    grid,
    labels,
    legend,
    note,
    numbers,
    scatter,
    short,
    shown_classes,
    style_of,
)
from assay.risk.terms import MARGIN, SURROGATES

PALE, STRONG, PLAIN = 0.12, 0.6, 0.35  # how solid a region is: at p = 1/K, at p = 1, and without probabilities
LEVELS = 12  # colours of the points of a regression
LEAST_REGION = 0.01  # of the picture, for a name of its own
FLAT: dict[str, Any] = {"origin": "lower", "aspect": "auto", "interpolation": "nearest", "zorder": 0}
PLACES = 400  # at which a curve is asked for
ROOM = 0.06  # of the range, on either side
ZERO_ONE = "zero-one"


def decision_regions(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    columns: Sequence[int | str] = (0, 1),
    at: Mapping[Any, float] | None = None,
    projection: str = "slice",
    resolution: int = 160,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What a fitted model answers at every point of a plane through the space of its columns.

    `model` is anything with `predict`; `columns` are two places or names. Of a model of more columns a "slice" shows the
    plane on which the others stand at `at` ({column: value}), else at their medians; projection="pca" or "lda" shows the
    plane through the mean along two directions of all (standardised) columns.

    Grey and hatched: not supported by the rows. A point x of the plane is supported where its distance to the nearest row of
    X, over all columns in units of their standard deviations, is at most r: the distance within which 95 % of the (distinct)
    rows have at least five others. So a slice far from every row is grey, however many rows would seem to lie on it. (Of more than
    2000 rows, 2000 evenly spaced ones are used.)

    Classes: the stronger the colour, the more probable the class (where the model has `predict_proba`); lines are the boundaries;
    points have the shape and colour of their class in `y`, hollow where the model is wrong about the row. A model
    without classes that answers with numbers is drawn as a map of its values, or of one column as the curve of them. Of more than ten classes those with the ten largest
    regions have a look of their own, the rest is "other".
    """
    if isinstance(resolution, bool) or not isinstance(resolution, int | np.integer) or not 8 <= resolution <= 1000:
        raise ParameterError(f"resolution={resolution!r} must be a whole number of pixels from 8 to 1000.")
    data = picture_rows(model, X, y, names)
    if data.X.shape[1] == 1 and not hasattr(model, "classes_"):
        return fitted_curve(model, X, y, names=names, ax=ax)
    on = plane(data, projection, columns, at)
    picture = _evaluate(model, data, on, int(resolution))
    ax = axes(ax)
    classes = hasattr(model, "classes_") or picture.answers.dtype.kind != "f"
    words = (_classes if classes else _values)(ax, model, data, on, picture)
    ax.set(xlim=picture.extent[:2], ylim=picture.extent[2:])
    labels(ax, *on.labels)
    _name_categories(ax, on)
    gone = "No row is near this plane: all is grey." if not picture.known.any() else ""
    grey = "Grey: no rows near." if picture.known.any() and not picture.known.all() else ""
    note(ax, on.note, grey, gone, words, data.note)
    return ax


def _name_categories(ax: Axes, on: Plane) -> None:
    for axis, levels in zip((ax.xaxis, ax.yaxis), on.levels):
        if levels is not None:
            axis.set_ticks(range(len(levels)), [short(level, 12) for level in levels])


class Picture(NamedTuple):
    """Answers at the centres of the pixels, row by row from below: points (r·r, d), answers (r·r,), known (r, r)."""

    points: Floats
    answers: Array
    known: Array
    extent: tuple[float, float, float, float]


def _evaluate(model: Any, data: PictureRows, on: Plane, resolution: int) -> Picture:
    rows = on.coordinates(data.X)
    low, high = rows.min(axis=0), rows.max(axis=0)
    room = np.where(high > low, 0.06 * (high - low), on.unit)
    low, high = low - room, high + room
    steps = (np.arange(resolution) + 0.5) / resolution
    grid = np.meshgrid(*(low[k] + steps * (high[k] - low[k]) for k in (0, 1)))
    a = np.column_stack([g.ravel() for g in grid])
    points = on.points(a)
    answers = data.ask(model, "predict", points)
    if answers.size != len(points):
        raise DataError(f"The model answers with {answers.size // len(points)} values a row: regions are drawn of one.")
    known = supported(on, data.X, a).reshape(resolution, resolution)
    return Picture(points, answers.ravel(), known, (float(low[0]), float(high[0]), float(low[1]), float(high[1])))


def _classes(ax: Axes, model: Any, data: PictureRows, on: Plane, picture: Picture) -> str:
    classes = all_classes(model, picture.answers, data.y)
    codes, truth = codes_of(picture.answers, classes), None if data.y is None else codes_of(data.y, classes)
    area = np.bincount(codes[picture.known.ravel()], minlength=len(classes)).astype(np.float64)
    if truth is not None:  # of equal areas, the class with more rows
        area += np.bincount(truth, minlength=len(classes)) / (len(truth) + 1.0)
    shown = shown_classes(classes, area)
    P = data.ask(model, "predict_proba", picture.points) if hasattr(model, "predict_proba") else None
    _paint(ax, picture, shown.of[codes], shown, P)
    _boundaries(ax, model, data, picture, codes, P)
    at = on.coordinates(data.X)
    if truth is None:
        some = some_of(len(at))
        ax.plot(*at[some].T, ".", color=INK, markersize=3, alpha=0.6)
        _name_regions(ax, picture, shown.of[codes], shown)
        return thinned_note(len(at))
    some = drawn(truth)
    wrong = codes_of(data.ask(model, "predict", data.X[some]), classes) != truth[some]
    legend(ax, scatter(ax, at[some], shown.of[truth[some]], shown, wrong))
    return ("Hollow: the model is wrong about the row. " if wrong.any() else "") + thinned_note(len(at), len(some))


def _paint(ax: Axes, picture: Picture, styles: Array, shown: ClassStyles, P: Floats | None) -> None:
    shape = picture.known.shape
    solid = np.full(shape, PLAIN)
    if P is not None:
        sure = (P.max(axis=1) - 1 / P.shape[1]) / (1 - 1 / P.shape[1]) if P.shape[1] > 1 else np.ones(len(P))
        solid = (PALE + (STRONG - PALE) * np.clip(sure, 0, 1)).reshape(shape)
    solid = np.where(picture.known, np.round(solid * 50) / 50, 0.25)  # in steps, which the picture file packs better
    colours = ListedColormap([s.colour for s in shown.styles]).with_extremes(bad=to_rgba(GREY))
    ax.imshow(
        np.ma.array(styles.reshape(shape), mask=~picture.known),
        cmap=colours,
        vmin=-0.5,
        vmax=len(shown.names) - 0.5,
        alpha=solid,
        extent=picture.extent,
        **FLAT,
    )
    _hatch(ax, picture)


def _centres(picture: Picture) -> tuple[Floats, Floats]:
    left, right, low, high = picture.extent
    steps = (np.arange(len(picture.known)) + 0.5) / len(picture.known)
    return left + steps * (right - left), low + steps * (high - low)


def _hatch(ax: Axes, picture: Picture) -> None:
    """Lines over what is grey, since some class may be grey too."""
    if not picture.known.all():
        over = ax.contourf(
            *_centres(picture), (~picture.known).astype(float), [0.5, 1.5], colors="none", hatches=["//"], zorder=1
        )
        over.set(edgecolor=to_rgba(GREY, 0.5), linewidth=0.0)


def _boundaries(ax: Axes, model: Any, data: PictureRows, picture: Picture, codes: Array, P: Floats | None) -> None:
    """The zero lines of s_k − max_{j≠k} s_j, where the greatest score is the answer; else the edges of the pixels."""
    S = P
    if S is None and hasattr(model, "decision_function"):
        S = data.ask(model, "decision_function", picture.points)
    for _, lead in leads(S, codes):
        field = np.ma.array(lead.reshape(picture.known.shape), mask=~picture.known)
        if field.count() and field.min() < 0 < field.max():
            ax.contour(*_centres(picture), field, [0.0], colors=[INK], linewidths=1.4, zorder=2)


def _name_regions(ax: Axes, picture: Picture, styles: Array, shown: ClassStyles) -> None:
    """Each class's name where its region is widest."""
    from scipy.ndimage import distance_transform_edt

    x, y = _centres(picture)
    for k, name in enumerate(shown.names):
        region = picture.known & (styles.reshape(picture.known.shape) == k)
        if region.mean() >= LEAST_REGION:
            depth = distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
            i, j = divmod(int(depth.argmax()), len(x))
            at = (float(x[j]), float(y[i]))
            ax.text(
                *at, short(name), color=INK, ha="center", va="center", fontsize=FONT + 1, fontweight="bold", zorder=4
            )


def _values(ax: Axes, model: Any, data: PictureRows, on: Plane, picture: Picture) -> str:
    field = np.ma.array(picture.answers.reshape(picture.known.shape), mask=~picture.known)
    y = None if data.y is None else numbers(data.y, "y")
    both = np.concatenate([field.compressed() if field.count() else picture.answers, [] if y is None else y])
    colours = colormaps["cividis"].with_extremes(bad=to_rgba(GREY))
    norm = Normalize(float(both.min()), float(both.max()))
    solid = np.where(picture.known, 0.85, 0.25)
    image = ax.imshow(
        field,
        cmap=colours,
        norm=norm,
        alpha=solid,
        extent=picture.extent,
        **FLAT,
    )
    _hatch(ax, picture)
    bar = ax.figure.colorbar(ScalarMappable(norm, colours), ax=ax)
    bar.ax.tick_params(colors=INK, labelsize=FONT)
    image.colorbar = bar
    bar.set_label("predicted", color=INK, fontsize=FONT)
    if field.count() and field.min() < field.max():
        ax.contour(*_centres(picture), field, 6, colors=[INK], linewidths=0.8, zorder=2)
    at, some = on.coordinates(data.X), some_of(len(data.X))
    level = np.zeros(len(some)) if y is None else np.round(norm(y[some]) * LEVELS) / LEVELS
    for value in np.unique(level):  # points of about the same value share their colour, and an SVG says it once
        face = "none" if y is None else colours(value)
        here = at[some][level == value]
        ax.plot(*here.T, "o", markersize=4.5, markerfacecolor=face, markeredgecolor=INK, markeredgewidth=0.6, zorder=3)
    return ("Points: the true values. " if y is not None else "") + thinned_note(len(at))


def covariance_ellipses(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    columns: Sequence[int | str] = (0, 1),
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The curves (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) = 1 and 4 of each class, for a fitted LDA, QDA or Gaussian naive Bayes.

    Of a model of more columns the two shown are taken out of μ and Σ: their joint density, whatever the others are.
    """
    data = picture_rows(model, X, y, names)
    i, j = data.two(columns)
    means, covariances = normals(model)
    classes = all_classes(model, data.y)
    codes = codes_of(data.ask(model, "predict", data.X) if data.y is None else data.y, classes)
    shown = shown_classes(classes, np.bincount(codes, minlength=len(classes)))
    ax = axes(ax)
    rows = drawn(codes)
    handles = scatter(ax, data.X[rows][:, [i, j]], shown.of[codes[rows]], shown)
    for k, (mean, S) in enumerate(zip(means[:, [i, j]], covariances[:, [i, j]][:, :, [i, j]])):
        style = shown.styles[shown.of[k]]
        for sigma in SIGMAS:
            ax.add_patch(_ellipse(mean, S, sigma, style.colour, style.line))
        ax.plot(
            *mean,
            marker=style.marker,
            color=style.colour,
            markeredgecolor=INK,
            markeredgewidth=1.6,
            markersize=12,
            zorder=5,
        )
    ax.autoscale_view()
    labels(ax, data.names[i], data.names[j])
    legend(ax, handles)
    said = "Points: the predicted classes." if data.y is None else ""
    note(
        ax,
        "Ellipses at 1 and 2 standard deviations (39 % and 86 % of a class).",
        said,
        thinned_note(len(codes), len(rows)),
        data.note,
    )
    return ax


def _ellipse(mean: Floats, S: Floats, sigma: float, colour: str, line: Any) -> Ellipse:
    width, height, angle = axes_of(S, sigma)
    return Ellipse(
        (float(mean[0]), float(mean[1])),
        width,
        height,
        angle=angle,
        fill=False,
        edgecolor=colour,
        linestyle=line,
        linewidth=2.0,
        zorder=4,
    )


def fitted_curve(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    test: tuple[Any, Any] | None = None,
    residuals: bool = False,
    names: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """What a regressor of one column answers over it, with the points it learnt from.

    `model` is a fitted regressor, or a dict {name: regressor} for several curves. `test` (X, y): points that it did not see, drawn as
    triangles. `residuals`: a line from each point to the curve of the first model.
    """
    models = dict(model) if isinstance(model, Mapping) else {"": model}
    if not models:
        raise ParameterError("There is no model to draw: give a fitted regressor, or a dict of them.")
    first = next(iter(models.values()))
    data = picture_rows(first, X, y, names)
    if data.X.shape[1] != 1:
        raise DataError(f"A curve is drawn over one column, and X has {data.X.shape[1]}: see decision_regions.")
    x, truth = data.X[:, 0], None if data.y is None else numbers(data.y, "y")
    unseen = None if test is None else picture_rows(first, *test, names)
    ax = axes(ax)
    low, high = _range(x if unseen is None else np.append(x, unseen.X[:, 0]))
    over = np.linspace(low, high, PLACES)
    handles = []
    if truth is not None:
        if residuals:
            ends = np.stack([np.column_stack([x, truth]), np.column_stack([x, data.ask(first, "predict", data.X)])], 1)
            ax.add_collection(LineCollection(list(ends), colors=[GREY], linewidths=1.0, zorder=1))
        some = some_of(len(x))
        handles += ax.plot(x[some], truth[some], "o", color=INK, markersize=4.5, zorder=3, label="training")
    if unseen is not None:
        seen = numbers(unseen.y, "y of test")
        style = style_of(2)
        handles += ax.plot(
            unseen.X[:, 0], seen, "^", markerfacecolor="none", markeredgecolor=style.colour, zorder=3, label="test"
        )
    limits = ax.get_ylim()
    for k, (name, each) in enumerate(models.items()):
        style = style_of(k)
        values = data.ask(each, "predict", over[:, None])
        handles += ax.plot(over, values, color=style.colour, linestyle=style.line, linewidth=2.0, label=name or "model")
    if truth is not None and len(models) > 1:  # one that swings far beyond the points shall not hide them
        ax.set_ylim(_range(np.asarray(limits), 0.25))
    ax.set_xlim(low, high)
    labels(ax, data.names[0], "answer" if truth is None else "target")
    legend(ax, handles)
    note(ax, thinned_note(len(x)) if truth is not None else "", data.note)
    return ax


def _range(values: Floats, room: float = ROOM) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    more = room * (high - low) or 1.0
    return low - more, high + more


def loss_functions(
    *losses: str, span: tuple[float, float] = (-2.0, 2.0), ax: Axes | None = None
) -> Axes:  # the names are those of `ERM`, and 'zero-one'
    """Losses of classes over the margin m = y·f(x): left of zero the answer is wrong. Without names all of them are drawn.

    The zero-one loss has no slope by which it could be made small; the others, its surrogates, have.
    """
    known = [ZERO_ONE, *(name for name, loss in SURROGATES.items() if loss.kind == MARGIN)]
    wanted = losses or tuple(known)
    for name in wanted:
        if name not in known:
            raise ParameterError(f"There is no loss of classes {name!r}. {nearest(name, known)}")
    m = np.linspace(*span, PLACES + 1)
    ax = axes(ax)
    for k, name in enumerate(wanted):
        style = style_of(k)
        if name == ZERO_ONE:
            v = np.where(m >= 0, 0.0, 1.0)
        else:
            loss = SURROGATES[name]
            v = loss.value(m, np.ones_like(m), 0.0)
        ax.plot(m, v, color=style.colour, linestyle=style.line, linewidth=2.2, label=name)
    labels(ax, "margin y·f(x)", "loss")
    grid(ax)
    legend(ax)
    return ax


def densities(model: Any, X: Any, y: Any = None, *, column: int | str = 0, ax: Axes | None = None) -> Axes:
    """π_k p(x | k) of each class over one column, for a fitted LDA, QDA or Gaussian naive Bayes; the rows are marks below.

    Where one curve is above the others its class is the MAP answer (of a model of this column alone).
    """
    data = picture_rows(model, X, y, None)
    j = data.column(column)
    means, covariances = normals(model)
    priors = np.asarray(getattr(model, "priors_", getattr(model, "class_prior_", None)), dtype=np.float64)
    classes = all_classes(model, data.y)
    shown = shown_classes(classes)
    x = np.linspace(*_range(data.X[:, j], 0.25), PLACES)
    ax = axes(ax)
    for k in range(len(means)):
        mean, variance = means[k, j], covariances[k, j, j]
        p = priors[k] * np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        style = shown.styles[shown.of[k]]
        ax.plot(x, p, color=style.colour, linestyle=style.line, linewidth=2.0, label=str(shown.names[shown.of[k]]))
    if data.y is not None:
        codes, below = codes_of(data.y, classes), -0.03 * float(ax.get_ylim()[1])
        some = some_of(len(codes))
        for k in np.unique(codes[some]):
            style = shown.styles[shown.of[k]]
            at = data.X[some][codes[some] == k, j]
            ax.plot(at, np.full(len(at), below * (1 + k)), "|", color=style.colour, markersize=7)
    labels(ax, data.names[j], "prior · density")
    legend(ax)
    note(ax, data.note)
    return ax
