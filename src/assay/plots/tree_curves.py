"""How good a tree is over how much of it is pruned, and a forest over the number of its trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError
from assay.plots.canvas import axes, grid, labels, legend, note
from assay.plots.style import INK, look


def pruning_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """The cross-validated risk of a tree fitted with ccp_alpha="cv" over alpha, with a band of one standard error; a simpler tree is
    to the right, and the one taken is the simplest within one standard error of the best."""
    curve = getattr(model, "pruning_curve_", None)
    if curve is None:
        raise DataError(f"This {type(model).__name__} has no pruning curve: fit a decision tree with ccp_alpha='cv'.")
    alphas, risk, error = np.asarray(curve, dtype=np.float64).T
    ax = axes(ax)
    x = np.append(alphas, 1.3 * alphas[-1] or 1.0)  # the last tree is that of all greater alphas
    risk, error = np.append(risk, risk[-1]), np.append(error, error[-1])
    style, best = look(6), int(risk.argmin())
    ax.fill_between(x, risk - error, risk + error, step="post", color=style.colour, alpha=0.2, linewidth=0)
    ax.step(x, risk, where="post", color=style.colour, linewidth=1.8, label="held-out rows")
    level = float(risk[best] + error[best])
    ax.axhline(level, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label="best + one standard error")
    chosen = float(model.alpha_)
    ax.axvline(chosen, color=INK, linewidth=1.6, linestyle=(0, (6, 3)), label=f"chosen: {chosen:.4g}")
    small = float(alphas[alphas > 0].min()) if (alphas > 0).any() else 1.0
    if len(alphas) > 2 and alphas[-1] / small >= 30:
        ax.set_xscale("symlog", linthresh=small)
        ax.minorticks_off()
    ax.set_xlim(0.0, x[-1])
    labels(ax, "alpha: what a leaf must gain", "cross-validated risk")
    legend(ax)
    grid(ax)
    return ax


def oob_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """The loss of a forest on the rows that its trees did not see, over the number of trees, with the last one's interval (±2 standard
    errors)."""
    curve = getattr(model, "oob_curve_", None)
    if curve is None or not len(curve):
        raise DataError(
            f"This {type(model).__name__} has no out-of-bag curve: fit a forest with oob_score=True and bootstrap=True."
        )
    trees, loss = np.asarray(curve, dtype=np.float64).T
    ax = axes(ax)
    style = look(6)
    marker = style.marker if len(trees) <= 60 else None
    ax.plot(trees, loss, color=style.colour, marker=marker, markersize=5, linewidth=1.8, label="out of bag")
    last, error = float(model.oob_loss_), float(model.oob_error_of_loss_)
    ax.axhspan(max(0.0, last - 2 * error), last + 2 * error, color=style.colour, alpha=0.15, linewidth=0)
    low, high = ax.get_ylim()
    ax.set_ylim(max(0.0, low), high)
    classes = hasattr(model, "classes_")
    labels(ax, "trees", "error" if classes else "mean squared error")
    note(
        ax,
        f"Each row is judged by the trees that did not see it; at the end {last:.4g} ± {error:.2g} on {int(model.oob_rows_):,} rows.",
    )
    grid(ax)
    return ax
