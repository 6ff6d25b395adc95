"""What all figures share in style: colours that colour-blind readers tell apart, and a shape, line and hatch beside each colour.

The ten colours are those of Petroff (2021, "Accessible color sequences for data visualization"). Nothing is said by colour
alone: class k has its own marker, line style and hatch too. Ink and greys are fixed; `svg` turns ink into the page's own
text colour, so that a figure reads on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.numerics import Array

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
