"""Which class is taken for which, and how many rows each class has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from assay.assess.measure import count_answers
from assay.errors import DataError, ParameterError, nearest
from assay.inputs import as_column
from assay.numerics import Floats
from assay.plots.canvas import axes, grid, labels, note, numbers, short, words
from assay.plots.style import FONT, INK, SMALL, style_of

MOST = 20
WRITTEN = 12  # classes whose cells have room for numbers
NORMS = ("true", "predicted", "all")


def confusion(
    y: Any,
    answers: Any = None,
    classes: Sequence[Any] | None = None,
    *,
    normalise: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How often each true class (row) was answered with each class (column); right answers on the diagonal.

    `confusion(y, answers, classes=None)`: true and predicted labels of the rows; `classes` in the order to draw, else sorted.
    `confusion(counts, classes=None)`: a table (K, K) of counts that is known already, and names of its classes.

    The stronger a cell, the greater its share of its row (or of `normalise`: "true" rows, "predicted" columns, "all"); with
    `normalise` the cells say shares, otherwise counts.

    >>> [cell.get_text() for cell in confusion(["elm", "oak", "oak"], ["elm", "elm", "oak"]).texts]
    ['1', '0', '1', '1']
    """
    if answers is not None and np.ndim(y) == 1:
        C, classes = _counted(y, answers, classes)
    else:
        C, classes = _table(y), answers if classes is None else classes
    if normalise is not None and normalise not in NORMS:
        raise ParameterError(f"normalise={normalise!r} is not possible. {nearest(str(normalise), NORMS)}")
    K = len(C)
    names = [short(w, 16) for w in words(range(K) if classes is None else classes, K, "classes")]
    share = _shares(C, normalise or "true")
    side = min(6.4, 2.4 + 0.55 * K)
    ax = axes(ax, max(side, 3.6), side * 0.85)
    ax.imshow(np.zeros((K, K)), cmap=ListedColormap([style_of(0).colour]), alpha=0.05 + 0.65 * share, aspect="auto")
    ax.set_xticks(range(K), names, rotation=0 if max(map(len, names)) * K <= 50 else 90)
    ax.set_yticks(range(K), names)
    ax.tick_params(length=0, labelsize=FONT if K <= 16 else 7)
    ax.set_xticks(np.arange(1, K) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, K) - 0.5, minor=True)
    ax.grid(which="minor", color=INK, linewidth=0.5, alpha=0.4)
    ax.tick_params(which="minor", length=0)
    if K <= WRITTEN:
        _numbers(ax, C, share, normalise)
    labels(ax, "predicted class", "true class")
    right = float(np.trace(C) / C.sum()) if C.sum() else 0.0
    note(ax, f"{right:.1%} of {int(C.sum()):,} right.") if K > 2 else None
    return ax


def _table(counts: Any) -> Floats:
    try:
        C = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("counts must be a square table of numbers.") from None
    if C.ndim != 2 or C.shape[0] != C.shape[1] or not C.size or not np.all(C >= 0):
        raise DataError(
            f"counts must be a square table of numbers ≥ 0, got shape {C.shape}. Of labels give both y and answers."
        )
    return C


def _counted(y: Any, answers: Any, classes: Sequence[Any] | None) -> tuple[Floats, list[Any]]:
    """The table of the labels, and its classes in the order wanted."""
    truth = as_column(y, "y", len(y))
    said = as_column(answers, "answers", len(truth))
    try:
        found = np.unique(np.concatenate([np.unique(truth), np.unique(said)]))
        wanted = found if classes is None else np.asarray(classes)
        known = np.unique(np.concatenate([found, wanted]))
    except TypeError:  # labels that have no order, such as words beside None
        raise DataError("y and answers must be labels of one kind, all words or all numbers, none missing.") from None
    if len(known) != len(wanted) or (truth.dtype.kind in "iufb") != (said.dtype.kind in "iufb"):
        strange = [v for v in known.tolist() if v not in wanted.tolist()]
        raise DataError(f"y and answers hold labels that are not among the classes: {strange or known.tolist()!r:.80}.")
    order = np.searchsorted(known, wanted)
    C = count_answers(truth, said, known)[: len(known)].astype(np.float64)
    return C[np.ix_(order, order)], wanted.tolist()


def _shares(C: Floats, of: str) -> Floats:
    total = {"true": C.sum(axis=1, keepdims=True), "predicted": C.sum(axis=0, keepdims=True), "all": C.sum()}[of]
    return np.asarray(np.divide(C, total, out=np.zeros_like(C), where=np.asarray(total) > 0))


def _numbers(ax: Axes, C: Floats, share: Floats, normalise: str | None) -> None:
    for i, j in np.ndindex(C.shape):
        text = (
            f"{share[i, j]:.1%}"
            if normalise
            else f"{C[i, j]:,.0f}"
            if float(C[i, j]).is_integer()
            else f"{C[i, j]:.4g}"
        )
        size = FONT if len(C) <= 6 else SMALL - 1
        ax.text(
            j, i, text, ha="center", va="center", color=INK, fontsize=size, fontweight="bold" if i == j else "normal"
        )


def class_balance(classes: Sequence[Any], counts: Any, *, ax: Axes | None = None) -> Axes:
    """A bar for each class, most frequent first, with its share of all rows."""
    counts = numbers(counts, "counts")
    named = words(classes, len(counts), "classes")
    kept = np.argsort(-counts, kind="stable")[:MOST]
    ax = axes(ax, height=min(8.0, 0.32 * len(kept) + 1.2))
    style, y = style_of(0), np.arange(len(kept))
    bars = ax.barh(y, counts[kept], 0.62, color=style.colour, edgecolor=INK, linewidth=0.6)
    share = [f" {counts[k]:,.0f} ({counts[k] / max(counts.sum(), 1e-300):.1%})" for k in kept]
    ax.bar_label(bars, share, color=INK, fontsize=FONT, padding=2)
    ax.set_xlim(0, 1.3 * max(float(counts.max()), 1e-300))
    ax.set_yticks(y, [short(named[k]) for k in kept])
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    labels(ax, "rows", "")
    grid(ax, "x")
    note(ax, f"The {MOST} most frequent of {len(counts)} classes." if len(counts) > MOST else "")
    return ax
