"""The shapes of a column's texts, counted: 12.179,35 has the shape 99.999,99. A column of numbers or dates has few, whatever its length.

A leading zero that another digit follows is marked, for 01050 is a code and no number, and one that a point or comma follows, for 0.995 is not 995.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from assay.numerics import Array
from assay.tables.arrow_columns import as_numbers, text_array
from assay.tables.written.numbers import ZERO
from assay.tables.written.writing import MOST_ODD, UNSAID, trimmed

MOST_SHAPES = 2000
SAMPLE, LIKELY = 200, 0.9
ENDS_IN_NOUGHT = re.compile(r"0\D*$")
CODE = re.compile(f"{ZERO}9+")


class ShapeCounts:
    """How often each shape occurs in a column, with some of the texts that have it. `overflow`: there are too many to be numbers."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.texts: dict[str, dict[str, int]] = {}  # of each shape at most one more than may be odd
        self.unsaid = 0
        self.overflow = False

    def add(self, column: Any) -> None:
        """More texts of the column, missing ones among them."""
        if self.overflow:
            return
        text = trimmed(column).drop_null()
        said = text.filter(compute.invert(compute.is_in(text, value_set=text_array(UNSAID))))
        self.unsaid += len(text) - len(said)
        different = said.value_counts()
        texts, times = different.field("values"), as_numbers(pa.chunked_array([different.field("counts")]))
        encoded = shapes_of(texts).dictionary_encode()
        shapes, places = encoded.dictionary.to_pylist(), as_numbers(pa.chunked_array([encoded.indices]))
        for shape, count in zip(shapes, np.bincount(places, times, len(shapes)).tolist()):
            self.counts[shape] += int(count)
        self.overflow = len(self.counts) > MOST_SHAPES
        full = np.array([len(self.texts.get(shape, ())) > MOST_ODD for shape in shapes], bool)
        for i in [] if self.overflow else first_of_each(places, MOST_ODD + 1, full).tolist():
            kept = self.texts.setdefault(shapes[places[i]], {})
            text = texts[i].as_py()
            kept[text] = kept.get(text, 0) + int(times[i])

    @property
    def present(self) -> int:
        """Texts that say something."""
        return self.counts.total()

    @property
    def codes(self) -> bool:
        """Whether some texts are nothing but digits that begin with a zero."""
        return any(CODE.fullmatch(shape) for shape in self.counts)

    def matching(self, pattern: str) -> set[str]:
        """The shapes that a regular expression describes."""
        compiled = re.compile(pattern)
        return {shape for shape in self.counts if compiled.match(shape)}

    def odd(self, good: set[str]) -> dict[str, int] | None:
        """The texts of all other shapes, with how often they occur; None where these are too many to name."""
        found: dict[str, int] = {}
        for shape in self.counts:
            found |= self.texts[shape] if shape not in good else {}
        return found if len(found) <= MOST_ODD else None

    def example(self, good: Iterable[str], odd: Container[str]) -> str:
        """The text that shows most of the writing: with the most signs, then the most digits, and no nought at the end."""
        texts = [text for shape in good for text in self.texts[shape] if text not in odd]
        return max(texts, key=lambda t: (sum(not c.isdigit() for c in t), not ENDS_IN_NOUGHT.search(t), len(t), t))


def shapes_of(text: Any) -> Any:
    """The shape of each text."""
    marked = compute.replace_substring_regex(text, pattern="^([^0-9]*)0([0-9.,])", replacement=rf"\1{ZERO}\2")
    return compute.replace_substring_regex(marked, pattern="[0-9]", replacement="9")


def first_of_each(groups: Array, most: int, left_out: Array) -> Array:
    """The places of the first members of each group, at most `most` of one; none of groups that are `left_out`."""
    order = np.argsort(groups, kind="stable")
    sorted_groups = groups[order]
    begin = np.searchsorted(sorted_groups, sorted_groups)
    kept = (np.arange(len(order)) - begin < most) & ~left_out[sorted_groups]
    return np.sort(order[kept])


def may_be_numbers(column: Any) -> bool:
    """Whether most of a column's first texts have a digit."""
    sample = column.drop_null().slice(0, SAMPLE)
    digits = compute.sum(compute.match_substring_regex(sample, "[0-9]")).as_py() or 0
    return 0 < LIKELY * len(sample) <= digits
