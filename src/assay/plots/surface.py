"""Empirical risk as a landscape over two weights, with the way of a solver down it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from assay.errors import DataError, ParameterError
from assay.inputs import as_column, as_matrix
from assay.numerics import Array, Floats
from assay.plots.canvas import GREY, INK, SMALL, axes, labels, legend, note, style_of
from assay.risk.terms import MARGIN, Penalty, surrogate

PIXELS, LINES = 80, 14
GRID, MOVES = 11, 3  # points a side of a grid that looks for the least risk, and how often it may move on


def loss_surface(
    X: Any,
    y: Any,
    loss: str | Callable[[Any, Any], Any] = "log",
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    path: Any = None,
    span: tuple[tuple[float, float], tuple[float, float]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Contours of the empirical risk over two weights.

        R(w) = 1/n Σ ℓ(z, t) + l1·‖w‖₁ + ½·l2·‖w‖²,    z = w₁x₁ + w₂x₂ (two columns), or z = w·x + b with b free (one column)

    `loss`: the name of a surrogate loss, or a function of (scores, targets). For a loss of classes y has two, t = −1 and +1.
    `path`: the weights under way (steps, 2), or an iterable of steps (such as `model.steps(X, y)`) with `coef_` and `intercept_`.
    `span`: ((from, to), (from, to)) of the two weights; without it the picture is laid around the path, or zero, and the least risk.
    """
    X = as_matrix(X).astype(np.float64)
    if X.shape[1] > 2:
        raise DataError(
            f"A loss surface is over two weights, and X has {X.shape[1]} columns: choose one or two of them."
        )
    t, value = _targets(as_column(y, "y", len(X)), loss)
    whole = np.isfinite(X).all(axis=1)
    X, t = X[whole], t[whole]
    bias = X.shape[1] == 1
    way = None if path is None else _way(path, bias)
    A = np.column_stack([X, np.ones(len(X))]) if bias else X
    penalty = Penalty.of(1 if bias else 2, l1, l2)

    def risk(w: Floats) -> float:
        return float(np.mean(value(A @ w, t))) + penalty.value(w if bias else np.append(w, 0.0))

    low, high = _span(span, way, least(risk, A, float(t.std())) if span is None else None)
    u, v = (np.linspace(low[k], high[k], PIXELS) for k in (0, 1))
    W = np.column_stack([g.ravel() for g in np.meshgrid(u, v)])
    R = np.array([risk(w) for w in W]).reshape(PIXELS, PIXELS)
    ax = axes(ax)
    _contours(ax, u, v, R)
    if way is not None:
        _draw(ax, way)
        legend(ax)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    labels(ax, "weight w" if bias else "weight w₁", "intercept b" if bias else "weight w₂")
    left = int((~whole).sum())
    note(ax, f"{left} rows with missing values left out." if left else "")
    return ax


def _targets(y: Array, loss: Any) -> tuple[Floats, Callable[[Any, Any], Any]]:
    if callable(loss):
        return np.asarray(y, dtype=np.float64), loss
    measure = surrogate(loss)
    if measure.kind == MARGIN:
        classes = np.unique(y)
        if len(classes) != 2:
            raise DataError(f"The loss {loss!r} is one of two classes, and y has {len(classes)}.")
        return np.where(y == classes[1], 1.0, -1.0), lambda z, t: measure.value(z, t, measure.width)
    return np.asarray(y, dtype=np.float64), lambda z, t: measure.value(z, t, measure.width)


def _way(path: Any, bias: bool) -> Floats:
    steps = list(path)
    if steps and hasattr(steps[0], "values"):
        steps = [_weights(s.values, bias) for s in steps]
    way = np.asarray(steps, dtype=np.float64)
    if way.ndim != 2 or way.shape[1] != 2 or not len(way):
        raise ParameterError(f"path must be (steps, 2) weights, got shape {way.shape}.")
    return way


def _weights(values: Any, bias: bool) -> list[float]:
    w = np.ravel(values["coef_"]).tolist()
    return [w[0], float(np.ravel(values["intercept_"])[0])] if bias else w


def least(risk: Callable[[Floats], float], A: Floats, spread: float) -> tuple[Floats, Floats, bool]:
    """The weights of least risk by grids from coarse to fine, a length to see around them, and whether they are the least of all.

    The grids are laid along v, w = Q·Λ^(−½)·v with AᵀA/n = Q·Λ·Qᵀ: there the squared loss rises alike to all sides, however the
    columns hang together. Where the least lies at the edge the grid moves on, thrice at most: it may lie at infinity.
    """
    values, Q = np.linalg.eigh(A.T @ A / max(len(A), 1))
    T = Q / np.sqrt(np.maximum(values, 1e-12 * max(float(values.max()), 1e-300)))
    unit = spread or 1.0
    at, half, moves = np.zeros(2), 4.0 * unit, 0
    steps = np.linspace(-1, 1, GRID)
    cells = np.column_stack([g.ravel() for g in np.meshgrid(steps, steps)])
    while half > 1e-4 * unit:
        best = int(np.argmin([risk(T @ (at + half * c)) for c in cells]))
        at = at + half * cells[best]
        at_edge = float(np.abs(cells[best]).max()) == 1.0
        if at_edge and moves == MOVES:
            break
        moves += at_edge
        half *= 2.0 if at_edge else 0.4
    rms = np.sqrt(np.maximum((A**2).mean(axis=0), 1e-300))
    return T @ at, unit / rms, half <= 1e-4 * unit


def _span(span: Any, way: Floats | None, found: tuple[Floats, Floats, bool] | None) -> tuple[Floats, Floats]:
    if span is not None:
        low, high = (np.array([float(s[k]) for s in span]) for k in (0, 1))
        if not np.all(low < high):
            raise ParameterError(f"span={span!r} must be ((from, to), (from, to)) with from < to.")
        return low, high
    assert found is not None
    at, length, reached = found
    if way is None:  # around the least risk, as far as zero
        half = np.maximum(1.4 * np.abs(at), 1.5 * length)
        return at - half, at + half
    ends = np.vstack([way, np.zeros((1, 2)), *([at[None]] if reached else [])])
    low, high = ends.min(axis=0), ends.max(axis=0)
    room = 0.4 * np.maximum(high - low, 0.5 * max(float((high - low).max()), 1e-3))
    return low - room, high + room


def _contours(ax: Axes, u: Floats, v: Floats, R: Floats) -> None:
    """Lines denser near the bottom, where the risk is flat: levels at squares between least and greatest."""
    low, high = float(R.min()), float(R.max())
    if high > low:
        levels = low + (high - low) * np.linspace(0.03, 1, LINES) ** 2
        lines = ax.contour(u, v, R, levels, colors=[GREY], linewidths=0.9)
        ax.clabel(lines, levels=levels[1::3], fmt="%.3g", fontsize=SMALL, colors=[INK])


def _draw(ax: Axes, way: Floats) -> None:
    style = style_of(0)
    ax.plot(*way.T, color=style.colour, marker=".", markersize=6, linewidth=1.6, label=f"{len(way)} steps")
    ax.plot(*way[0], "s", color=style.colour, markeredgecolor=INK, markersize=8, label="start")
    ax.plot(*way[-1], "*", color=style_of(2).colour, markeredgecolor=INK, markersize=14, label="end")
