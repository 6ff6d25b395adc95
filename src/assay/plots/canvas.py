"""What figures share: the axes a caller gives or new ones that no global state knows of, the numbers it hands in, and rows as points."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats
from assay.pictures.rows import MOST_POINTS

COLOURS = ("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
HATCHES = (
    "///",
    "\\\\\\",
    "xxx",
    "---",
    "|||",
    "+++",
    "/",
    "\\",
    "x",
    "//|",
)  # no dots or circles: each is a long path in an SVG
LINES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1, 1.5)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1)),
    (0, (6, 2, 1, 2, 1, 2)),
    (0, (10, 3)),
    (0, (2, 4)),
    (0, (10, 2, 3, 2)),
    (0, (4, 4)),
)
INK = "#1b1c1d"  # text, axes and boundaries; the page's text colour in an SVG
GREY = "#808080"  # half way between a white and a black page
OTHER = "other"
FONT, SMALL = 10.0, 9.0  # points; a figure is 6.4 inches wide, so that 10 points are 14 of 640 pixels
WIDTH, HEIGHT = 6.4, 4.2  # inches: 640 pixels wide at 100 a inch
LETTERS = 80  # of a note's line below axes that fill a figure of 6.4 inches
WHOLE = 0.775  # the share of a figure's width that single axes have
THIN = 0.8
FEW_TICKS = 8
Interval = tuple[Any, Any]


class ClassStyle(NamedTuple):
    """How one class or one curve is drawn."""

    colour: str
    marker: str
    line: Any
    hatch: str


OTHER_STYLE = ClassStyle(INK, ".", (0, (1, 3)), "")


def style_of(k: int) -> ClassStyle:
    """The style of class or curve number k; beyond the tenth all are alike.

    >>> style_of(0).colour, style_of(0).marker, style_of(12) == OTHER_STYLE
    ('#3f90da', 'o', True)
    """
    if k >= len(COLOURS):
        return OTHER_STYLE
    return ClassStyle(COLOURS[k], MARKERS[k], LINES[k], HATCHES[k])


class ClassStyles(NamedTuple):
    """Classes as they are drawn: `of` (K,) gives each class its style, `names` the legend's words for the styles in use."""

    of: Array
    names: tuple[str, ...]

    @property
    def styles(self) -> tuple[ClassStyle, ...]:
        return tuple(style_of(k) for k in range(len(self.names)))


def shown_classes(classes: Sequence[Any] | Array, counts: Sequence[float] | Array | None = None) -> ClassStyles:
    """Give up to ten classes a style each; of more, the ten most frequent, and the rest is "other".

    Where there are more than ten, classes of equal frequency stand in their own order.

    >>> shown_classes(["a", "b"]).names
    ('a', 'b')
    >>> shown_classes(range(12), [1] * 11 + [5]).names[-3:]
    ('8', '11', 'other')
    """
    K, most = len(classes), len(COLOURS)
    if most >= K:
        return ClassStyles(np.arange(K), tuple(str(c) for c in classes))
    weight = np.zeros(K) if counts is None else np.asarray(counts, dtype=np.float64)
    kept = np.sort(np.argsort(-weight, kind="stable")[:most])
    of = np.full(K, most)
    of[kept] = np.arange(most)
    return ClassStyles(of, (*(str(classes[int(k)]) for k in kept), OTHER))


class NotebookFigure(Figure):
    """A figure that notebooks show by themselves, whatever matplotlib's backend: as the SVG that reports have."""

    def _repr_html_(self) -> str:
        from assay.plots.svg_text import svg

        named = " ".join(ax.get_xlabel() for ax in self.axes).strip() or "figure"
        return svg(self, title=named, description=named)


def axes(ax: Axes | None, width: float = WIDTH, height: float = HEIGHT) -> Axes:
    """The caller's axes, or new ones in a figure outside pyplot: nothing to close, nothing shown by itself."""
    if ax is None:
        ax = NotebookFigure(figsize=(width, height), layout="constrained").subplots()
    elif not isinstance(ax, Axes):
        raise ParameterError(f"ax must be matplotlib Axes, got {type(ax).__name__}: give ax=None for a new figure.")
    dress(ax)
    return ax


def stacked(ax: Any, heights: tuple[float, ...], width: float = WIDTH, height: float = HEIGHT) -> list[Axes]:
    """Axes one above another that share x, or the caller's (an array of as many, or one for the first alone)."""
    if ax is None:
        figure = NotebookFigure(figsize=(width, height), layout="constrained")
        made = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    else:
        made = np.atleast_1d(np.asarray(ax, dtype=object))
        if len(made) not in (1, len(heights)):
            raise ParameterError(f"ax must be one Axes or {len(heights)} of them, got {len(made)}.")
    return [axes(a) for a in made]


def dress(ax: Axes) -> None:
    """Ink for every line and word of the axes, no box, no background of their own."""
    ax.set_facecolor("none")
    ax.tick_params(colors=INK, labelsize=FONT, width=THIN)
    for side, spine in ax.spines.items():
        spine.set_color(INK)
        spine.set_linewidth(THIN)
        spine.set_visible(side in ("left", "bottom"))
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set_color(INK)
        label.set_fontsize(FONT)


def labels(ax: Axes, x: str, y: str) -> None:
    """Name both axes; very long names are cut, so that they do not push the picture aside."""
    ax.set_xlabel(short(x, 60), color=INK, fontsize=FONT)
    ax.set_ylabel(short(y, 40), color=INK, fontsize=FONT)


def short(text: str, most: int = 24) -> str:
    """A name cut to what fits, with an ellipsis, as plain words: a dollar sign begins no formula.

    >>> short("a_very_long_column_name", 10)
    'a_very_lo…'
    >>> short("price in $")
    'price in \\\\$'
    """
    text = " ".join(text.replace("\\$", "$").split())
    return (text if len(text) <= most else text[: most - 1] + "…").replace("$", "\\$")


def grid(ax: Axes, axis: Any = "both") -> None:
    """Thin lines behind the data."""
    ax.grid(True, axis=axis, color=GREY, alpha=0.25, linewidth=THIN)
    ax.set_axisbelow(True)


def legend(ax: Axes, handles: list[Any] | None = None, title: str | None = None) -> None:
    """The legend above the axes, where it hides nothing; as many columns as fit."""
    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    if not handles:
        return
    for handle in handles:
        label = short(str(handle.get_label()), 48)
        handle.set_label(" " + label if label.startswith("_") else label)  # matplotlib hides labels that begin with _
    widest = max(len(str(h.get_label())) for h in handles) + 5
    box = ax.legend(
        handles=handles,
        title=title,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=min(len(handles), max(1, 80 // widest)),
        frameon=False,
        labelcolor=INK,
        fontsize=FONT,
        borderaxespad=0.2,
        borderpad=0.2,
        columnspacing=1.4,
        handletextpad=0.5,
        handlelength=2.2 if any(_has_line(h) for h in handles) else 1.0,
    )
    box.get_title().set_color(INK)


def logarithmic(ax: Axes, x: Floats) -> None:
    """A logarithmic x axis with plain numbers, at the values themselves where these are few."""
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    if len(x) <= FEW_TICKS:
        ax.set_xticks(np.unique(x))
        ax.minorticks_off()


def _has_line(handle: Any) -> bool:
    return not hasattr(handle, "get_linestyle") or handle.get_linestyle() not in ("none", "None", "")


def note(ax: Axes, *sentences: str) -> None:
    """Small print below the axes: what was left out, how to read the marks."""
    text = " ".join(s for s in sentences if s)
    if text:
        below = -2.0 - (FONT * 3.3 if ax.get_xlabel() else FONT * 2.0)
        width = ax.figure.get_figwidth() / WIDTH * min(1.0, ax.get_position().width / WHOLE)  # type: ignore[union-attr]
        ax.annotate(
            "\n".join(textwrap.wrap(text, max(20, int(LETTERS * width)))),
            parse_math=False,
            xy=(0, 0),
            xycoords="axes fraction",
            xytext=(0, below),
            textcoords="offset points",
            va="top",
            fontsize=SMALL,
            color=INK,
            annotation_clip=False,
        )


def numbers(values: Any, name: str, n: int | None = None) -> Floats:
    """A column of numbers; NaN is allowed and drawn as a gap."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers, got {values!r:.60}.") from None
    if found.ndim != 1 or not len(found):
        raise DataError(f"{name} must be a list of numbers, got shape {found.shape}.")
    if n is not None and len(found) != n:
        raise DataError(f"{name} has {len(found)} numbers where {n} are needed, one for each.")
    return found


def scores_of(values: Any, y: Any, name: str = "scores") -> Floats:
    """A score a row, all finite; of probabilities (n, 2) those of the second class."""
    found = np.asarray(values)
    if found.ndim == 2 and found.shape[1] == 2:
        values = found[:, 1]
    scores = numbers(values, name, len(np.asarray(y)))
    if not np.isfinite(scores).all():
        raise DataError(f"{name} holds values that are missing or infinite: leave their rows out.")
    return scores


def pair(interval: Interval | None, name: str, n: int) -> tuple[Floats, Floats] | None:
    """Lower and upper ends, or None."""
    if interval is None:
        return None
    if len(interval) != 2:
        raise ParameterError(f"{name} must be (lows, highs), got {len(interval)} parts.")
    return numbers(interval[0], f"{name}[0]", n), numbers(interval[1], f"{name}[1]", n)


def words(names: Sequence[Any], n: int, name: str = "names") -> list[str]:
    """As many names as there are values."""
    found = [str(v) for v in names]
    if len(found) != n:
        raise DataError(f"{name} has {len(found)} entries where {n} are needed, one for each.")
    return found


def drawn(codes: Array, most: int = MOST_POINTS) -> Array:
    """Which rows are drawn: evenly spaced among those of each class, each class by its share but at least 5 rows.

    >>> drawn(np.array([0] * 90 + [1] * 10), 20).size
    23
    """
    n = len(codes)
    if n <= most:
        return np.arange(n)
    kept = []
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        count = min(len(rows), max(5, round(most * len(rows) / n)))
        kept.append(rows[np.linspace(0, len(rows) - 1, count).round().astype(np.intp)])
    return np.sort(np.concatenate(kept))


def scatter(ax: Axes, at: Floats, styles: Array, shown: ClassStyles, wrong: Array | None = None) -> list[Any]:
    """Points (n, 2) with style number `styles` (n,), hollow where `wrong`; the handles for a legend."""
    handles = []
    wrong = np.zeros(len(at), dtype=bool) if wrong is None else wrong
    for k, (name, style) in enumerate(zip(shown.names, shown.styles)):
        size = 5.5 if style.marker in "*PX." else 4.5
        line: dict[str, Any] = {"linestyle": "none", "marker": style.marker, "markersize": size, "zorder": 3}
        for rows, face in ((~wrong, style.colour), (wrong, "none")):
            chosen = (styles == k) & rows
            if chosen.any():
                edge = style.colour if face == "none" else INK
                width = 1.4 if face == "none" else 0.5
                ax.plot(*at[chosen].T, markerfacecolor=face, markeredgecolor=edge, markeredgewidth=width, **line)
        if (styles == k).any():
            handles += ax.plot(
                [], [], markerfacecolor=style.colour, markeredgecolor=INK, markeredgewidth=0.5, label=name, **line
            )
    return handles
