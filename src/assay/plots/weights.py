"""The weights of a linear model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import ParameterError
from assay.numerics import Floats
from assay.pictures.seen import check_fitted
from assay.plots.canvas import axes, grid, labels, legend, note, short
from assay.plots.given import words
from assay.plots.style import GREY, INK, look, shown_classes


def coefficients(
    model: Any, *, names: Sequence[Any] | None = None, scale: Any = None, top: int = 20, ax: Axes | None = None
) -> Axes:
    """The `coef_` of a fitted linear model, largest first: bars for one set of weights, a mark a class for several.

    `scale` (such as the columns' standard deviations) multiplies each weight, so that columns of different units compare.
    """
    check_fitted(model)
    if not hasattr(model, "coef_"):
        raise ParameterError(f"{type(model).__name__} has no coef_: coefficients are drawn of linear models.")
    W = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    d = W.shape[1]
    if names is None:
        names = getattr(model, "feature_names_in_", [f"column {j}" for j in range(d)])
    named = words(names, d)
    if scale is not None:
        W = W * np.asarray(scale, dtype=np.float64)
    kept = np.argsort(-np.abs(W).max(axis=0), kind="stable")[:top]
    ax = axes(ax, height=min(12.0, 0.3 * len(kept) + 1.3))
    if len(W) == 1:
        _bars(ax, W[0, kept])
    else:
        _marks(ax, model, W[:, kept])
    ax.axvline(0.0, color=INK, linewidth=1.2)
    ax.set_yticks(range(len(kept)), [short(named[k]) for k in kept])
    ax.set_ylim(len(kept) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    labels(ax, "weight" if scale is None else "weight × scale of the column", "")
    grid(ax, "x")
    legend(ax)
    note(ax, f"The {len(kept)} largest of {d} weights." if len(kept) < d else "")
    return ax


def _bars(ax: Axes, w: Floats) -> None:
    y = np.arange(len(w))
    for sign, k, name in ((w >= 0, 0, "positive"), (w < 0, 6, "negative")):
        if sign.any():
            style = look(k)
            hatch = style.hatch if name == "negative" else None
            ax.barh(y[sign], w[sign], 0.62, color=style.colour, hatch=hatch, edgecolor=INK, linewidth=0.6, label=name)


def _marks(ax: Axes, model: Any, W: Floats) -> None:
    y = np.arange(W.shape[1])
    ax.hlines(y, W.min(axis=0), W.max(axis=0), color=GREY, linewidth=1.0)
    shown = shown_classes(getattr(model, "classes_", range(len(W))), np.abs(W).max(axis=1))
    for k, w in enumerate(W):
        style = shown.looks[shown.of[k]]
        first = int(np.flatnonzero(shown.of == shown.of[k])[0]) == k
        name = shown.names[shown.of[k]] if first else "_"
        ax.plot(w, y, style.marker, color=style.colour, markeredgecolor=INK, markersize=7, linestyle="none", label=name)
