"""A decision tree, drawn: parents above the middle of their children, subtrees as near as they fit.

After Reingold and Tilford (1981): the right subtree is pushed until it is one step from the left one at every level.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from assay.errors import DataError, ParameterError
from assay.families.trees.text import TreeShape as TreeShape
from assay.families.trees.text import rows_in_words
from assay.numerics import Array, Floats
from assay.plots.canvas import GREY, INK, SMALL, WIDTH, ClassStyles, axes, legend, note, short, shown_classes, style_of

STEP, LEVEL = 0.8, 1.05  # inches between leaves and between levels
LETTERS = 12.5  # of small print in an inch
BOX, BAR, GAP = 0.40, 0.09, 0.05  # heights of a node's box, of the bar of its classes and above a question, in levels
PALE, FULL = 0.08, 0.6  # how a leaf of the least and of the greatest number is filled


def tree(model: Any, *, depth: int | None = 3, ax: Axes | None = None) -> Axes:
    """A fitted tree: a question in each node (left: yes), the share of the classes below it, the answer in the leaves.

    `model` is a `TreeShape`, or has one as `tree_shape()` (of a forest: give `forest.tree(number)`). Levels below `depth` are not drawn (None: all are); a node cut off says
    how many nodes are below it.
    """
    shape = model.tree_shape() if hasattr(model, "tree_shape") else model
    if not isinstance(shape, TreeShape):
        raise ParameterError(f"tree draws a TreeShape or a model with tree_shape(), got {type(model).__name__}.")
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise ParameterError(f"depth={depth!r} must be a whole number ≥ 0, or None for all levels.")
    check_tree(shape)
    left, right, level = cut(shape, depth)
    x = places(left, right, level)
    wide, tall = float(np.nanmax(x)) + 1, int(level.max()) + 1
    ax = axes(ax, max(WIDTH, STEP * wide), LEVEL * tall + 0.5)
    value = np.asarray(shape.value, dtype=np.float64).reshape(len(x), -1)
    shown = None if value.shape[1] == 1 else shown_classes(shape.classes or range(value.shape[1]), value[0])
    letters = _room(x, level) * ax.figure.get_figwidth() * LETTERS / (wide + 0.1)  # type: ignore[union-attr]
    for node in np.flatnonzero(level >= 0).tolist():
        at = (float(x[node]), -float(level[node]))
        for child in (left[node], right[node]):
            if child >= 0:
                ends = [
                    at[1] - (BOX / 2 if shown is not None else 0.55 * BOX),
                    -level[child] + BOX / 2 + GAP * (left[child] >= 0),
                ]
                ax.plot([at[0], x[child]], ends, color=INK, linewidth=1.0, zorder=1)
        _node(ax, shape, node, at, value[node], shown, bool(left[node] < 0), int(letters[node]))
    if left[0] >= 0:
        _answers(ax, x, left, right)
    ax.set(xlim=(-0.55, wide - 0.45), ylim=(-tall + 1 - BOX / 2 - 0.2, BOX / 2 + 0.05))
    ax.axis("off")
    if shown is not None:
        legend(
            ax,
            [
                Patch(facecolor=s.colour, hatch=s.hatch, edgecolor=INK, linewidth=0.6, label=n)
                for n, s in zip(shown.names, shown.styles)
            ],
        )
    hidden = int((level < 0).sum())
    note(ax, f"{hidden} nodes below are not drawn." if hidden else "")
    return ax


def _room(x: Floats, level: Array) -> Floats:
    """How far a node's neighbours on its level are, at most 2."""
    room = np.full(len(x), 2.0)
    for k in range(int(level.max()) + 1):
        row = np.flatnonzero(level == k)
        row = row[np.argsort(x[row])]
        gaps = np.diff(x[row])
        room[row[1:]] = np.minimum(room[row[1:]], gaps)
        room[row[:-1]] = np.minimum(room[row[:-1]], gaps)
    return room


def _answers(ax: Axes, x: Floats, left: Array, right: Array) -> None:
    for child, word, side in ((left[0], "yes", "right"), (right[0], "no", "left")):
        ax.text((x[0] + x[child]) / 2, -0.5, f" {word} ", color=INK, fontsize=SMALL, ha=side, va="bottom")


def _node(
    ax: Axes,
    shape: TreeShape,
    node: int,
    at: tuple[float, float],
    value: Floats,
    shown: ClassStyles | None,
    end: bool,
    letters: int,
) -> None:
    x, y = at
    leaf = int(shape.left[node]) < 0
    rows = rows_in_words(float(shape.n[node]))
    if leaf:
        words = f"{_answer(shape, value, shown, letters)}\n{rows}"
    elif end:
        words = f"…\n{rows}"
    else:
        name = (
            shape.names[int(shape.feature[node])] if shape.names is not None else f"column {int(shape.feature[node])}"
        )
        test = f"≤ {float(shape.threshold[node]):.4g}" if shape.tests is None else shape.tests[node]
        words = f"{short(str(name), max(5, letters))}\n{short(test, max(10, letters))} ?"
    width = 0.86
    if leaf:
        inside, strength = _filling(shape, value, shown)
        ax.add_patch(
            Rectangle((x - width / 2, y - BOX / 2), width, BOX, facecolor=inside, alpha=strength, edgecolor="none")
        )
        ax.add_patch(
            Rectangle((x - width / 2, y - BOX / 2), width, BOX, facecolor="none", edgecolor=INK, linewidth=1.0)
        )
    ax.text(
        x,
        y + (0.0 if leaf or shown is None else 0.07),
        words,
        color=INK,
        fontsize=SMALL,
        ha="center",
        va="center",
        zorder=3,
    )
    if shown is not None:
        _shares(ax, x - width / 2, y - BOX / 2 - BAR if leaf else y - BOX / 2, width, value, shown)


def _filling(shape: TreeShape, value: Floats, shown: ClassStyles | None) -> tuple[str, float]:
    """A leaf's colour and its strength: of its class, or the stronger the greater its number."""
    if shown is not None:
        return shown.styles[int(shown.of[int(value.argmax())])].colour, 0.35
    of_leaves = np.asarray(shape.value, dtype=np.float64).reshape(-1)[np.asarray(shape.left) < 0]
    low, high = float(of_leaves.min()), float(of_leaves.max())
    return style_of(0).colour, PALE + (FULL - PALE) * (float(value[0]) - low) / ((high - low) or 1.0)


def _answer(shape: TreeShape, value: Floats, shown: ClassStyles | None, letters: int) -> str:
    if shown is None:
        return f"{value[0]:.4g}"
    best = int(value.argmax())
    return short(str(shape.classes[best]) if shape.classes is not None else str(best), max(5, letters - 2))


def _shares(ax: Axes, x: float, y: float, width: float, value: Floats, shown: ClassStyles) -> None:
    """A bar of the classes at a node."""
    share = np.bincount(shown.of, weights=value, minlength=len(shown.names)) / max(float(value.sum()), 1e-300)
    starts = x + width * np.append(0.0, np.cumsum(share)[:-1])
    for start, part, style in zip(starts, share, shown.styles):
        if part > 0:
            ax.add_patch(
                Rectangle(
                    (start, y),
                    width * part,
                    BAR,
                    facecolor=style.colour,
                    hatch=style.hatch,
                    edgecolor=INK,
                    linewidth=0.5,
                )
            )
    ax.add_patch(Rectangle((x, y), width, BAR, facecolor="none", edgecolor=GREY, linewidth=0.5))


def check_tree(shape: TreeShape) -> None:
    """Raise where the arrays are no tree."""
    nodes = len(shape.left)
    for name in ("right", "feature", "threshold", "value", "n"):
        if len(getattr(shape, name)) != nodes:
            raise DataError(
                f"A tree of {nodes} nodes has {len(getattr(shape, name))} entries in {name!r}: one a node, please."
            )
    left, right = np.asarray(shape.left), np.asarray(shape.right)
    if np.any((left < 0) != (right < 0)):
        raise DataError(
            f"Node {int(np.flatnonzero((left < 0) != (right < 0))[0])} has one child: a node has two or none."
        )
    children = np.sort(np.concatenate([left[left >= 0], right[right >= 0]]))
    if nodes == 0 or not np.array_equal(children, np.arange(1, nodes)):
        raise DataError("The arrays are no tree with root 0: every other node must be the child of exactly one node.")


def cut(shape: TreeShape, depth: int | None) -> tuple[Array, Array, Array]:
    """left and right as far as they are drawn, and the levels (nodes,) of drawn nodes (−1: not drawn).

    >>> shape = TreeShape(*np.array([[1, -1, -1], [2, -1, -1]]), *np.zeros((2, 3)), np.ones((3, 1)), np.ones(3))
    >>> cut(shape, 0)[2]
    array([ 0, -1, -1])
    """
    left, right = np.array(shape.left, dtype=np.intp), np.array(shape.right, dtype=np.intp)
    level = np.full(len(left), -1, dtype=np.intp)
    level[0], waiting = 0, [0]
    while waiting:
        node = waiting.pop()
        if left[node] >= 0 and depth is not None and level[node] >= depth:
            left[node] = right[node] = -1
        if left[node] >= 0:
            level[[left[node], right[node]]] = level[node] + 1
            waiting += [int(left[node]), int(right[node])]
    return left, right, level


def places(left: Array, right: Array, level: Array) -> Floats:
    """x of each drawn node, neighbours on a level at least 1 apart, from 0 upwards; NaN where not drawn."""
    x = np.full(len(left), np.nan)
    shift = np.zeros(len(left))  # of a node against its parent
    outline: dict[int, tuple[list[float], list[float]]] = {}  # of a subtree: least and greatest x, level by level
    order = np.flatnonzero(level >= 0)
    order = order[np.argsort(level[order], kind="stable")]
    for node in order[::-1].tolist():
        if left[node] < 0:
            outline[node] = ([0.0], [0.0])
            continue
        (low_a, high_a), (low_b, high_b) = outline.pop(int(left[node])), outline.pop(int(right[node]))
        half = (max(a - b for a, b in zip(high_a, low_b)) + 1) / 2
        shift[left[node]], shift[right[node]] = -half, half
        outline[node] = ([0.0, *_merged(low_a, low_b, half, min)], [0.0, *_merged(high_a, high_b, half, max)])
    x[0] = 0.0
    for node in order.tolist():
        for child in (left[node], right[node]):
            if child >= 0:
                x[child] = x[node] + shift[child]
    return np.asarray(x - np.nanmin(x))


def _merged(a: list[float], b: list[float], half: float, pick: Any) -> list[float]:
    a, b = [v - half for v in a], [v + half for v in b]
    return [*(pick(p, q) for p, q in zip(a, b)), *a[len(b) :], *b[len(a) :]]
