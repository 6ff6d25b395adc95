"""How a model errs and what it goes by: residuals, dots with intervals (models ranked, columns by importance, groups by risk), weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from assay.assess.measure import count_answers
from assay.errors import DataError, ParameterError, nearest
from assay.inputs import as_column
from assay.numerics import Array, Floats
from assay.pictures.rows import check_fitted, some_of, thinned_note
from assay.plots.canvas import (
    FONT,
    GREY,
    INK,
    SMALL,
    axes,
    grid,
    labels,
    legend,
    note,
    numbers,
    short,
    shown_classes,
    style_of,
    words,
)

PARTS = 12  # equally filled parts of the predictions, for the line of medians
MOST = 20
WRITTEN = 12  # classes whose cells have room for numbers
NORMS = ("true", "predicted", "all")


def residuals(y: Any, predicted: Any, *, ax: Axes | None = None) -> Axes:
    """y − ŷ over ŷ, with the median and the middle 80 % of the residuals in equally filled parts of ŷ.

    A trend of the median means bias; a band that widens means that the noise is not the same everywhere.
    """
    y, p, left_out = _both(y, predicted)
    r = y - p
    ax = axes(ax)
    _points(ax, p, r)
    ax.axhline(0.0, color=INK, linewidth=1.2)
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), PARTS) if len(part) >= 5]
    if len(parts) > 2:
        at = [float(np.median(p[part])) for part in parts]
        low, middle, high = np.array([np.quantile(r[part], (0.1, 0.5, 0.9)) for part in parts]).T
        ax.fill_between(at, low, high, color=GREY, alpha=0.25, linewidth=0, label="middle 80 %")
        ax.plot(
            at,
            middle,
            color=style_of(2).colour,
            linewidth=2.0,
            linestyle=(0, (6, 2)),
            marker="^",
            markersize=5,
            label="median",
        )
        legend(ax)
    labels(ax, "predicted", "residual (true − predicted)")
    grid(ax)
    note(ax, thinned_note(len(y)), left_out)
    return ax


def predicted_against_true(y: Any, predicted: Any, *, ax: Axes | None = None) -> Axes:
    """ŷ over y; on the diagonal the prediction is perfect."""
    y, p, left_out = _both(y, predicted)
    ax = axes(ax, height=4.8)
    _points(ax, y, p)
    ends = [min(float(y.min()), float(p.min())), max(float(y.max()), float(p.max()))]
    ax.plot(ends, ends, color=INK, linewidth=1.2, label="perfect")
    labels(ax, "true", "predicted")
    grid(ax)
    legend(ax)
    note(ax, thinned_note(len(y)), left_out)
    return ax


def _points(ax: Axes, x: Floats, y: Floats) -> None:
    some = some_of(len(x))
    ax.plot(
        x[some],
        y[some],
        "o",
        markersize=4,
        color=style_of(0).colour,
        markeredgecolor=INK,
        markeredgewidth=0.4,
        alpha=0.8,
    )


def _both(y: Any, predicted: Any) -> tuple[Floats, Floats, str]:
    y = numbers(y, "y")
    p = numbers(predicted, "predicted", len(y))
    whole = np.isfinite(y) & np.isfinite(p)
    if not whole.any():
        raise DataError("No row has both a true and a predicted value.")
    left = int((~whole).sum())
    return y[whole], p[whole], f"{left} rows with missing values left out." if left else ""


def ranking(
    names: Sequence[Any],
    values: Any,
    lows: Any = None,
    highs: Any = None,
    chosen: Any = None,
    *,
    measure: str = "risk",
    best: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Models in the order given, the first on top; the one `chosen` has a filled diamond, the others hollow dots.

    `best` is a level to compare with, such as an estimate of the least possible risk.
    """
    values = numbers(values, "values")
    names = words(names, len(values))
    if chosen is not None and str(chosen) not in names:
        raise DataError(f"chosen={chosen!r} is none of the names. {nearest(str(chosen), names)}")
    ax = dots(ax, names, values, lows, highs, measure)
    if best is not None:
        ax.axvline(
            best, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label=f"best possible ≥ {best:.3g} (estimate)"
        )
    if chosen is not None:
        k = names.index(str(chosen))
        ax.plot(
            values[k],
            k,
            "D",
            color=style_of(2).colour,
            markeredgecolor=INK,
            markersize=9,
            label=f"chosen: {chosen}",
            zorder=4,
        )
        ax.get_yticklabels()[k].set_fontweight("bold")
    if chosen is not None or best is not None:
        legend(ax)
    return ax


def importance(
    names: Sequence[Any], mean: Any = None, low: Any = None, high: Any = None, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """How much the risk grows when a column is shuffled, greatest first; the line at zero means "of no use".

    Or, as the first argument alone, results with a `name` and the score `increase` (value, low, high).
    """
    if mean is None:
        if not all(hasattr(r, "name") and hasattr(r, "increase") for r in names):
            raise DataError("importance needs names and means: give both, or results with name and increase.")
        grown = [r.increase for r in names]
        names, mean = [r.name for r in names], [s.value for s in grown]
        low, high = [s.low for s in grown], [s.high for s in grown]
    mean = numbers(mean, "mean")
    order = np.argsort(-np.where(np.isnan(mean), -np.inf, mean), kind="stable")
    kept = order[:top]
    named = words(names, len(mean))
    a, b = (None if e is None else numbers(e, "ends", len(mean))[kept] for e in (low, high))
    ax = dots(ax, [named[k] for k in kept], mean[kept], a, b, "increase of risk when shuffled")
    ax.axvline(0.0, color=INK, linewidth=1.2)
    note(ax, f"The {top} greatest of {len(order)} columns." if len(order) > top else "")
    return ax


def risk_by_group(
    names: Sequence[Any],
    values: Any,
    lows: Any = None,
    highs: Any = None,
    *,
    overall: float | None = None,
    counts: Any = None,
    measure: str = "risk",
    ax: Axes | None = None,
) -> Axes:
    """Risk within each group, in the order given, beside that of all rows (`overall`); `counts` are the groups' rows."""
    values = numbers(values, "values")
    named = words(names, len(values))
    if counts is not None:
        named = [f"{short(n, 18)} ({int(c):,})" for n, c in zip(named, numbers(counts, "counts", len(values)))]
    ax = dots(ax, named, values, lows, highs, measure)
    if overall is not None:
        ax.axvline(overall, color=INK, linewidth=1.4, linestyle=(0, (6, 3)), label=f"all rows: {overall:.3g}")
        legend(ax)
    return ax


def dots(ax: Axes | None, names: list[str], values: Floats, lows: Any, highs: Any, measure: str) -> Axes:
    """One line a name, top down: a dot at the value, a bar from low to high."""
    n = len(values)
    ax = axes(ax, height=min(12.0, 0.32 * n + 1.3))
    y: Array = np.arange(n)
    if lows is not None and highs is not None:
        low, high = numbers(lows, "lows", n), numbers(highs, "highs", n)
        if np.any(low > high):
            k = int(np.flatnonzero(low > high)[0])
            raise DataError(f"The interval of {names[k]!r} is empty: low {low[k]:.4g} is above high {high[k]:.4g}.")
        ax.hlines(y, low, high, color=style_of(0).colour, linewidth=3.0, alpha=0.8)
    ax.plot(values, y, "o", markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.6, markersize=7, zorder=3)
    for k in range(1, n, 2):
        ax.axhspan(k - 0.5, k + 0.5, color=GREY, alpha=0.07, linewidth=0)
    ax.set_yticks(y, [short(w, 28) for w in names])
    ax.set_ylim(n - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    labels(ax, measure, "")
    grid(ax, "x")
    return ax


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
            style = style_of(k)
            hatch = style.hatch if name == "negative" else None
            ax.barh(y[sign], w[sign], 0.62, color=style.colour, hatch=hatch, edgecolor=INK, linewidth=0.6, label=name)


def _marks(ax: Axes, model: Any, W: Floats) -> None:
    y = np.arange(W.shape[1])
    ax.hlines(y, W.min(axis=0), W.max(axis=0), color=GREY, linewidth=1.0)
    shown = shown_classes(getattr(model, "classes_", range(len(W))), np.abs(W).max(axis=1))
    for k, w in enumerate(W):
        style = shown.styles[shown.of[k]]
        first = int(np.flatnonzero(shown.of == shown.of[k])[0]) == k
        name = shown.names[shown.of[k]] if first else "_"
        ax.plot(w, y, style.marker, color=style.colour, markeredgecolor=INK, markersize=7, linestyle="none", label=name)


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


def shap_importance(values: Any, names: Sequence[Any] | None = None, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """The mean |SHAP value| of each column over rows, greatest first: `values` (n, d), or (n, d, K), of which classes are added up."""
    V = np.abs(_rows(values, 2)).reshape(*np.shape(values)[:2], -1)
    mean = V.mean(axis=0).sum(axis=1)
    named = words([f"column {j}" for j in range(len(mean))] if names is None else names, len(mean))
    kept = np.argsort(-mean, kind="stable")[:top]
    ax = axes(ax, height=min(12.0, 0.3 * len(kept) + 1.3))
    ax.barh(range(len(kept)), mean[kept], 0.62, color=style_of(0).colour, edgecolor=INK, linewidth=0.6)
    _lines(ax, [named[k] for k in kept], "mean |SHAP value|")
    note(ax, f"The {len(kept)} greatest of {len(mean)} columns." if len(kept) < len(mean) else "")
    return ax


def waterfall(
    values: Any,
    base: float,
    names: Sequence[Any] | None = None,
    *,
    x: Any = None,
    top: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """From the base on top to the answer of one row below, column by column, the largest last; `values` (d,) are its SHAP values, `x` the row.

    Of more columns than `top` the smallest are one bar.
    """
    v = numbers(values, "values")
    base = float(base)
    named = words([f"column {j}" for j in range(len(v))] if names is None else names, len(v))
    if x is not None:
        named = [f"{short(name, 18)} = {_word(value)}" for name, value in zip(named, _row(x, len(v)))]
    order = np.argsort(np.abs(v), kind="stable")
    rest, kept = order[: max(0, len(v) - top)], order[max(0, len(v) - top) :]
    steps, lines = v[kept], [named[k] for k in kept]
    if len(rest):
        steps, lines = np.append(v[rest].sum(), steps), [f"{len(rest)} other columns", *lines]
    ends = base + np.cumsum(steps)
    ax = axes(ax, height=min(12.0, 0.3 * len(steps) + 1.5))
    for sign, k, name in ((steps >= 0, 0, "adds"), (steps < 0, 6, "takes away")):
        if sign.any():
            hatch = style_of(k).hatch if name == "takes away" else None
            at = np.flatnonzero(sign)
            ax.barh(at, steps[sign], 0.62, (ends - steps)[sign], color=style_of(k).colour, hatch=hatch, edgecolor=INK, linewidth=0.6, label=name)  # fmt: skip
    ax.vlines(ends[:-1], np.arange(len(ends) - 1), np.arange(1, len(ends)), color=INK, linewidth=0.8)
    ax.axvline(base, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label=f"base {base:.4g}")
    ax.axvline(base + float(v.sum()), color=INK, linewidth=1.2, label=f"answer {base + float(v.sum()):.4g}")
    _lines(ax, lines, "answer")
    legend(ax)
    return ax


def _lines(ax: Axes, names: list[str], measure: str) -> None:
    """A line a name, top down."""
    ax.set_yticks(range(len(names)), [short(name, 28) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    labels(ax, measure, "")
    grid(ax, "x")


def _rows(values: Any, least: int) -> Floats:
    V = np.asarray(values, dtype=np.float64)
    if V.ndim not in (least, least + 1) or not V.size:
        raise DataError(
            f"SHAP values of rows have the shape (n, d) or (n, d, K), got {V.shape}: give model.shap_values(X)."
        )
    if not np.isfinite(V).all():
        raise DataError("Some SHAP values are not finite: give those of model.shap_values(X) as they are.")
    return V


def _row(x: Any, d: int) -> list[Any]:
    found = list(np.asarray(x, dtype=object).reshape(-1))
    if len(found) != d:
        raise ParameterError(f"x has {len(found)} values, but there are SHAP values of {d} columns: give the one row.")
    return found


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else short(str(value), 10)
