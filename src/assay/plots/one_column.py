"""Pictures over one column: the curve of a regressor with its points, losses over the margin, and densities of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from assay.errors import DataError, ParameterError, nearest
from assay.numerics import Floats
from assay.pictures.geometry import normals
from assay.pictures.rows import all_classes, codes_of, picture_rows, some_of, thinned_note
from assay.plots.canvas import axes, grid, labels, legend, note, numbers
from assay.plots.style import GREY, INK, shown_classes, style_of
from assay.risk.terms import MARGIN, SURROGATES

PLACES = 400  # at which a curve is asked for
ROOM = 0.06  # of the range, on either side
ZERO_ONE = "zero-one"


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
