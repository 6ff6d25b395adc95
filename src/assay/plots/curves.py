"""Risk as something grows: rows (learning curve), a hyper-parameter (validation curve), epochs of a network, pruning of a tree, trees of
a forest, neighbours; and risk taken apart into noise, bias and variance, a bar for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.pictures.rows import all_classes, codes_of, picture_rows
from assay.plots.canvas import (
    INK,
    ClassStyle,
    Interval,
    axes,
    drawn,
    grid,
    labels,
    legend,
    logarithmic,
    note,
    numbers,
    pair,
    scatter,
    short,
    shown_classes,
    stacked,
    style_of,
    words,
)

STYLES = {
    "noise": 3,
    "bias": 0,
    "bias²": 0,
    "bias² + noise": 0,
    "variance": 1,
    "unbiased variance": 1,
    "biased variance": 2,
}
MARKED = 30  # epochs up to which each has a mark
FAR = 100.0  # from the least to the greatest loss: then on a logarithmic axis


def learning_curve(
    sizes: Any,
    train: Any = None,
    test: Any = None,
    *,
    train_interval: Interval | None = None,
    test_interval: Interval | None = None,
    measure: str = "risk",
    best: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Risk on training and test rows over the number of training rows, with bands from (lows, highs).

    Or, as the first argument, a result with `points`, each with `n` and the scores `train` and `test` (value, low, high).
    `best` is a level to compare with, such as an estimate of the least possible risk.
    """
    if hasattr(sizes, "points"):
        sizes, (train, train_interval), (test, test_interval) = _opened(sizes.points)
    sizes = numbers(sizes, "sizes")
    ax = axes(ax)
    both(ax, sizes, train, test, train_interval, test_interval)
    if best is not None:
        ax.axhline(
            best, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label=f"best possible ≥ {best:.3g} (estimate)"
        )
    if len(sizes) > 1 and sizes.min() > 0 and sizes.max() / sizes.min() >= 30:
        logarithmic(ax, sizes)
    labels(ax, "training rows", measure)
    legend(ax)
    return ax


def validation_curve(
    values: Any,
    train: Any,
    test: Any,
    *,
    train_interval: Interval | None = None,
    test_interval: Interval | None = None,
    chosen: Any = None,
    one_se: float | None = None,
    name: str = "parameter",
    measure: str = "risk",
    ax: Axes | None = None,
) -> Axes:
    """Risk on training rows (unless `train` is None) and test rows over the values of a hyper-parameter (numbers or words).

    `one_se` is the level within which a simpler choice counts as good as the best (least risk plus one standard error), `chosen`
    the value taken. Positive numbers that span a factor of 30 stand on a logarithmic axis.
    """
    ax = axes(ax)
    listed = list(values)
    plain = all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in listed)
    x = numbers(listed, "values") if plain else np.arange(len(listed), dtype=np.float64)
    if chosen is not None and chosen not in listed:
        raise DataError(f"chosen={chosen!r} is none of the values: {listed[:8]}.")
    order = np.argsort(x, kind="stable")
    both(ax, x, train, test, train_interval, test_interval, order)
    if not plain:
        ax.set_xticks(x, [str(v) for v in listed])
    elif x.min() > 0 and x.max() / x.min() >= 30:
        logarithmic(ax, x)
    if one_se is not None:
        ax.axhline(one_se, color=INK, linewidth=1.2, linestyle=(0, (1, 2)), label="best + one standard error")
    if chosen is not None:
        at = float(x[listed.index(chosen)])
        said = f"{chosen:.4g}" if plain else str(chosen)
        ax.axvline(at, color=INK, linewidth=1.6, linestyle=(0, (6, 3)), label=f"chosen: {said}")
    labels(ax, name, measure)
    legend(ax)
    return ax


def both(
    ax: Axes, x: Floats, train: Any, test: Any, train_interval: Any, test_interval: Any, order: Any = slice(None)
) -> None:
    """Two curves with their bands."""
    for values, interval, style, name in (
        (train, train_interval, style_of(0), "training"),
        (test, test_interval, style_of(6), "test"),
    ):
        if values is None:  # a search measures no training risk
            continue
        y = numbers(values, name, len(x))
        _curve(ax, x[order], y[order], style, name)
        ends = pair(interval, f"{name}_interval", len(x))
        if ends is not None:
            ax.fill_between(x[order], ends[0][order], ends[1][order], color=style.colour, alpha=0.2, linewidth=0)
    low, high = ax.get_ylim()
    ax.set_ylim(max(0.0, low) if low > -0.1 * (high - low) else low, high)
    grid(ax)


def _opened(points: Any) -> tuple[list[float], Any, Any]:
    """Sizes, and of training and test the values and their intervals."""
    sides = []
    for name in ("train", "test"):
        scores = [getattr(p, name) for p in points]
        sides.append(([s.value for s in scores], ([s.low for s in scores], [s.high for s in scores])))
    return [p.n for p in points], sides[0], sides[1]


def _curve(ax: Axes, x: Floats, y: Floats, style: ClassStyle, name: str) -> None:
    line = "-" if name == "test" else (0, (5, 2))
    ax.plot(x, y, color=style.colour, marker=style.marker, linestyle=line, markersize=5, linewidth=1.8, label=name)


def bias_variance(
    bias: Any, variance: Any = None, noise: Any = None, *, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Bars of bias, variance and noise, one on top of the other; a mark at their sum, the risk.

    Numbers or lists of them; or, as the first argument, one or more results with `pieces` ({name: number or score}), or with
    `bias`, `variance` and perhaps `noise`. A piece may be negative (the variance that mends a bias under zero-one loss): it then
    reaches back, and the mark stands where it ends.
    """
    parts: dict[str, Any]
    if variance is None:
        found = list(bias) if isinstance(bias, Sequence | np.ndarray) else [bias]
        each = [_pieces(r) for r in found]
        parts = {name: [p.get(name, 0.0) for p in each] for name in dict.fromkeys(n for p in each for n in p)}
    else:
        parts = {} if noise is None else {"noise": np.atleast_1d(noise)}
        parts |= {"bias": np.atleast_1d(bias), "variance": np.atleast_1d(variance)}
    n = len(next(iter(parts.values()), []))
    columns = {name: numbers(part, name, n) for name, part in parts.items()}
    ax = axes(ax, height=max(1.8, 0.4 * n + 1.2))
    y, start = np.arange(n), np.zeros(n)
    handles: list[Any] = []
    for k, (name, part) in enumerate(columns.items()):
        style = style_of(STYLES.get(name, 5 + k))
        bar: dict[str, Any] = {"color": style.colour, "hatch": style.hatch, "edgecolor": INK, "linewidth": 0.6}
        handles.append(ax.barh(y, part, 0.62, left=start, label=name, **bar))
        start = start + part
    handles += ax.plot(start, y, "D", color=INK, markersize=6, linestyle="none", label="sum")
    ax.set_yticks(y, [short(w) for w in words(names if names is not None else [""] * n, n)])
    ax.invert_yaxis()
    labels(ax, "risk", "")
    grid(ax, "x")
    legend(ax, handles)
    return ax


def _pieces(result: Any) -> dict[str, float]:
    if isinstance(getattr(result, "pieces", None), Mapping):
        return {str(name): _number(value) for name, value in result.pieces.items()}
    if not (hasattr(result, "bias") and hasattr(result, "variance")):
        raise DataError("bias_variance needs bias and variance: give both, or results that have them.")
    noise = getattr(result, "noise", None)
    first = {} if noise is None else {"noise": _number(noise)}
    return {**first, "bias": _number(result.bias), "variance": _number(result.variance)}


def _number(value: Any) -> float:
    """A number, or the value of a score."""
    return float(getattr(value, "value", value))


def loss_curve(model: Any, *, ax: Any = None) -> Array:
    """The loss of a network with its penalty over the epochs; below it the share of wrong answers (what the loss stands for) and, of a fit with
    early stopping, how rows held out were answered. The best epoch is marked. Of boosted trees: the loss after each stage."""
    loss = getattr(model, "loss_curve_", None)
    if loss is None:
        raise DataError(f"{type(model).__name__} has no losses of epochs: give a fitted network or boosted trees.")
    if hasattr(model, "validation_curve_"):
        return _stages(model, np.asarray(loss), ax)
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


def _stages(model: Any, loss: Floats, ax: Any) -> Array:
    made = stacked(ax, (1.0,), height=4.2)
    _line(made[0], loss, 6, "rows learnt from", first=0)
    if model.validation_curve_ is not None:
        _line(made[0], np.asarray(model.validation_curve_), 1, "rows held out", first=0)
    _end(made[0], model.n_estimators_, "kept", "stage", "loss")
    return np.array(made, dtype=object)


def _line(ax: Axes, values: Floats, number: int, label: str, first: int = 1) -> None:
    style, few = style_of(number), len(values) <= MARKED
    ax.plot(
        np.arange(first, first + len(values)),
        values,
        color=style.colour,
        linestyle=style.line if number < 2 else "-",
        marker=style.marker if few else None,
        markersize=5,
        linewidth=1.8,
        label=label,
    )


def _end(ax: Axes, best: int, word: str | None, x: str, y: str) -> None:
    """The best epoch (or stage), names, and a legend."""
    label = None if word is None else f"{word}: {x or 'epoch'} {best}"
    ax.axvline(best, color=INK, linewidth=1.6, linestyle=(0, (6, 3)), label=label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    labels(ax, x, y)
    grid(ax)
    legend(ax)


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
    style, best = style_of(6), int(risk.argmin())
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
    style = style_of(6)
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


def neighbour_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """The exact leave-one-out error over the number of neighbours, of a fit with n_neighbors="auto"; simpler is to the right."""
    loss = getattr(model, "leave_one_out_", None)
    if loss is None:
        raise DataError(f"This {type(model).__name__} has no curve of neighbours: fit it with n_neighbors='auto'.")
    ax = axes(ax)
    k, style, chosen = np.arange(1, len(loss) + 1), style_of(6), int(model.n_neighbors_)
    ax.plot(k, loss, color=style.colour, marker=style.marker if len(k) <= 30 else None, markersize=5, linewidth=1.8)
    ax.axvline(chosen, color=INK, linewidth=1.6, linestyle=(0, (6, 3)), label=f"chosen: {chosen}")
    labels(ax, "neighbours", "leave-one-out error" if hasattr(model, "classes_") else "leave-one-out mean square")
    legend(ax)
    grid(ax)
    return ax


def neighbours(
    model: Any,
    X: Any,
    y: Any,
    query: Any,
    *,
    columns: Sequence[int | str] = (0, 1),
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """One query, the rows X and y of the fit, and lines to those of them that answer it, over two columns."""
    if not hasattr(model, "kneighbors"):
        raise DataError(f"{type(model).__name__} has no neighbours: give a KNeighborsClassifier.")
    if not hasattr(model, "classes_"):
        raise DataError(f"{type(model).__name__} has no classes to draw: give a KNeighborsClassifier.")
    data = picture_rows(model, X, y, names)
    i, j = data.two(columns)
    q = np.asarray(query, dtype=np.float64).reshape(1, -1)
    far, rows = model.kneighbors(q)
    classes = all_classes(model, data.y)
    codes = codes_of(np.asarray(data.y), classes)
    shown = shown_classes(classes, np.bincount(codes, minlength=len(classes)))
    ax = axes(ax)
    some = np.union1d(drawn(codes), rows[0])
    handles = scatter(ax, data.X[some][:, [i, j]], shown.of[codes[some]], shown)
    for row in rows[0]:
        ax.plot([q[0, i], data.X[row, i]], [q[0, j], data.X[row, j]], color=INK, linewidth=1.1, zorder=2)
    ax.plot(q[0, i], q[0, j], marker="X", markersize=11, color=INK, linestyle="none", zorder=5)
    labels(ax, data.names[i], data.names[j])
    legend(ax, handles)
    answer = model.predict(q)[0]
    note(ax, f"{rows.shape[1]} neighbours, the farthest at {far[0, -1]:.4g}: the answer is {answer}.")
    return ax
