"""The loss of a linear model as a landscape over two of its weights, all others as fitted.

R(u, v) = 1/n Σ ℓ(z_i + (u − w_a)·x_ia + (v − w_b)·x_ib, t_i),    z_i the model's own score
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay import plots
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.plots.style import INK, look
from assay.risk.surrogates import MARGIN, Surrogate, surrogate

HALF = 1.5  # the picture reaches so many times the greater weight to each side, and no less than that of weights of 0.5


def weight_surface(model: Any, X: Floats, y: Array, shown: tuple[int, int], names: tuple[str, str]) -> Any:
    """Axes with the landscape and a star at the fit; a DataError where the model has no weights or no such loss."""
    measure = _loss_of(model)
    w = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if len(w) != 1 or not np.isfinite(X).all():
        raise DataError("A landscape is drawn of models with one weight a column.")
    at = w[0, list(shown)]
    pair = X[:, list(shown)]
    rest = X @ w[0] + float(np.ravel(model.intercept_)[0]) - pair @ at
    t = np.where(y == model.classes_[1], 1.0, -1.0) if measure.kind == MARGIN else np.asarray(y, dtype=np.float64)
    half = HALF * max(float(np.abs(at).max()), 0.5)
    span = ((at[0] - half, at[0] + half), (at[1] - half, at[1] + half))
    ax = plots.loss_surface(pair, t, lambda z, t: measure.value(z + rest, t, measure.width), span=span)
    ax.plot(*at, "*", color=look(2).colour, markeredgecolor=INK, markersize=15, zorder=5)
    ax.set_xlabel(f"weight of {names[0]}"[:60])
    ax.set_ylabel(f"weight of {names[1]}"[:40])
    return ax


def _loss_of(model: Any) -> Surrogate:
    """The loss that a linear model makes small: the one it names, else log for probabilities and squared for numbers."""
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        raise DataError("No weights.")
    named = getattr(model, "loss", None)
    classes = hasattr(model, "classes_")
    if classes and (len(model.classes_) != 2 or not (isinstance(named, str) or type(model).params.get("C"))):
        raise DataError("No loss of two classes.")
    return surrogate(named if isinstance(named, str) else "log" if classes else "squared")
