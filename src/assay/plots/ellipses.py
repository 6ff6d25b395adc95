"""The normal densities of a classifier as ellipses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from assay.numerics import Floats
from assay.pictures.ellipse import SIGMAS, axes_of, normals
from assay.pictures.seen import all_classes, codes_of, see, thinned_note
from assay.plots.canvas import axes, labels, legend, note
from assay.plots.points import drawn, scatter
from assay.plots.style import INK, shown_classes


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
    seen = see(model, X, y, names)
    i, j = seen.two(columns)
    means, covariances = normals(model)
    classes = all_classes(model, seen.y)
    codes = codes_of(seen.ask(model, "predict", seen.X) if seen.y is None else seen.y, classes)
    shown = shown_classes(classes, np.bincount(codes, minlength=len(classes)))
    ax = axes(ax)
    rows = drawn(codes)
    handles = scatter(ax, seen.X[rows][:, [i, j]], shown.of[codes[rows]], shown)
    for k, (mean, S) in enumerate(zip(means[:, [i, j]], covariances[:, [i, j]][:, :, [i, j]])):
        style = shown.looks[shown.of[k]]
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
    labels(ax, seen.names[i], seen.names[j])
    legend(ax, handles)
    said = "Points: the predicted classes." if seen.y is None else ""
    note(
        ax,
        "Ellipses at 1 and 2 standard deviations (39 % and 86 % of a class).",
        said,
        thinned_note(len(codes), len(rows)),
        seen.note,
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
