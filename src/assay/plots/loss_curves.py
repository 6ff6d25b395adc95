"""How a network learnt: its loss epoch by epoch, and what the loss stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.plots.canvas import grid, labels, legend, stacked
from assay.plots.style import INK, look

MARKED = 30  # epochs up to which each has a mark
FAR = 100.0  # from the least to the greatest loss: then on a logarithmic axis


def loss_curve(model: Any, *, ax: Any = None) -> Array:
    """The loss of a network with its penalty over the epochs; below it the share of wrong answers (what the loss stands for) and, of a fit with
    early stopping, how rows held out were answered. The best epoch is marked."""
    loss = getattr(model, "loss_curve_", None)
    if loss is None:
        raise DataError(f"{type(model).__name__} has no losses of epochs: give a fitted MLPClassifier or MLPRegressor.")
    wrong, scores = getattr(model, "zero_one_curve_", None), getattr(model, "validation_scores_", None)
    below = wrong is not None or scores is not None
    made = stacked(ax, (1.4, 1.0) if below else (1.0,), height=5.0 if below else 4.2)
    best = int(model.best_epoch_)
    _line(made[0], np.asarray(loss), 6, "loss before each step")
    if np.min(loss) > 0 and np.max(loss) > FAR * np.min(loss):
        made[0].set_yscale("log")
    _end(made[0], best, "kept" if scores is not None else "least loss", "" if len(made) > 1 else "epoch", "loss")
    if len(made) > 1:
        if wrong is not None:
            _line(made[1], np.asarray(wrong), 0, "rows learnt from")
        if scores is not None:
            held = np.asarray(scores, dtype=np.float64)
            held = np.where(np.isfinite(held), held, np.nan)  # epochs of an earlier fit, which held out no rows
            _line(made[1], 1.0 - held if wrong is not None else held, 1, "rows held out")
        _end(made[1], best, None, "epoch", "zero-one risk" if wrong is not None else "R²")
    return np.array(made, dtype=object)


def _line(ax: Axes, values: Floats, number: int, label: str) -> None:
    style, few = look(number), len(values) <= MARKED
    ax.plot(
        np.arange(1, len(values) + 1),
        values,
        color=style.colour,
        linestyle=style.line if number < 2 else "-",
        marker=style.marker if few else None,
        markersize=5,
        linewidth=1.8,
        label=label,
    )


def _end(ax: Axes, best: int, word: str | None, x: str, y: str) -> None:
    """The best epoch, names, and a legend."""
    label = None if word is None else f"{word}: epoch {best}"
    ax.axvline(best, color=INK, linewidth=1.6, linestyle=(0, (6, 3)), label=label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    labels(ax, x, y)
    grid(ax)
    legend(ax)
