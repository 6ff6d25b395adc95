"""What a column of text shows about how its numbers or dates are written, by all of its values; what stays open is left open.

Whether 1.234 is 1234 or 1.234 follows, in this order, from what the user says; from the column (12.5 beside it makes the point decimal, 1.234.567
makes it part thousands, 950 beside it too, for three decimals would be written 950.000; 1234 beside it does not); from the other columns of the table.
Likewise a day above 12 anywhere tells days from months.

Texts are counted by their shapes: 12.179,35 has the shape 99.999,99. A column of numbers or dates has few, whatever its length. A leading zero that
another digit follows is marked, for 01050 is a code and no number, and one that a point or comma follows, for 0.995 is not 995.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from assay.numerics import Array
from assay.tables.arrow_columns import as_numbers, text_array
from assay.tables.written.writing import (
    DIGIT,
    LONGEST_ODD,
    MONEY,
    MOST_ODD,
    ORDERS,
    SEPARATOR,
    UNSAID,
    ZERO,
    Writing,
    WritingOptions,
    number_pattern,
    plain_pattern,
    read_dates,
    trimmed,
)

MOST_SHAPES = 2000
SAMPLE, LIKELY = 200, 0.9
ENDS_IN_NOUGHT = re.compile(r"0\D*$")
CODE = re.compile(f"{ZERO}9+")
MOST_ODD_SHARE = 0.05
STYLES = ((".", ","), (".", " "), (".", "'"), (",", "."), (",", " "), (",", "'"))
FEWEST_CODES, LONG_CODE = 5, 7
GROUPED = re.compile(rf"[^0-9]*[1-9]{DIGIT}{{0,2}}([.,]){DIGIT}{{3}}[^0-9]*")
WHOLE = re.compile(f"[^0-9.,]*({DIGIT}+)[^0-9.,]*")
TRAILING = re.compile(r".*\d[-\u2212]$")

UNSURE_NUMBER = (
    "Column {name!r} could mean two things, and nothing tells which: {writing}. If that is wrong, say so: "
    "decimal='.' or decimal=',' (--decimal)."
)


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


class Interpretation(NamedTuple):
    """A way of reading a column: the shapes that it reads, how many texts these are, and the odd ones."""

    writing: Writing
    shapes: frozenset[str]
    texts: int
    odd: dict[str, int]


@dataclass(frozen=True)
class ColumnEvidence:
    """The ways of reading a column that its own values leave open; `settled` where they are one, or come to the same."""

    name: str
    kind: str  # "number" or "date"
    readings: tuple[Interpretation, ...]
    shapes: ShapeCounts
    leaning: str = ""  # the decimal sign, or order, that the column itself makes likely though not certain

    @property
    def vote(self) -> str:
        """The decimal sign or the order of day and month that the column proves; "" where it proves none."""
        signs = {r.writing.decimal if self.kind == "number" else r.writing.order for r in self.readings}
        return signs.pop() if len(signs) == 1 and (self.kind == "date" or self.separated) else ""

    @property
    def separated(self) -> bool:
        """Whether any number has a point or a comma."""
        return any("." in shape or "," in shape for r in self.readings for shape in r.shapes)

    def settle(self, sign: str) -> Writing:
        """The writing, read with this decimal sign or order where that is left open."""
        fitting = [r for r in self.readings if sign in (r.writing.decimal, r.writing.order)]
        chosen = (fitting or self.readings)[0]
        example = self.shapes.example(chosen.shapes, chosen.odd)
        return replace(chosen.writing, missing=tuple(sorted(chosen.odd)), example=example)

    def odd(self, writing: Writing) -> dict[str, int]:
        """The texts that are missing values in that writing, with how often they occur."""
        same = [r for r in self.readings if (r.writing.decimal, r.writing.order) == (writing.decimal, writing.order)]
        return same[0].odd if same else {}


def number_evidence(name: str, shapes: ShapeCounts, options: WritingOptions, native: str) -> ColumnEvidence | None:
    """What a column shows if it holds numbers, else None. `native`: the decimal sign by which its source reads plain numbers itself."""
    if shapes.overflow or not shapes.present or shapes.codes:
        return None
    readings = [r for style in _styles(options) if (r := _number_reading(shapes, *style)) is not None]
    if not readings:
        return None
    most = max(r.texts for r in readings)
    best = _distinct([r for r in readings if r.texts == most])
    if _means_nothing(best[0], native):
        return None
    return ColumnEvidence(name, "number", tuple(best), shapes, _leaning(shapes))


def _styles(options: WritingOptions) -> list[tuple[str, str]]:
    if options.thousands == "":
        return [(sign, "") for sign in (".", ",") if options.point in (None, sign)]
    return [(d, t) for d, t in STYLES if options.point in (None, d) and options.thousands in (None, t)] or [
        (options.point or ".", options.thousands or "")
    ]


def _number_reading(shapes: ShapeCounts, decimal: str, thousands: str) -> Interpretation | None:
    good = {s for s in shapes.matching(number_pattern(decimal, thousands)) if ("(" in s) == (")" in s)}
    texts = sum(shapes.counts[shape] for shape in good)
    odd = shapes.odd(good)
    if not texts or odd is None or sum(odd.values()) > MOST_ODD_SHARE * shapes.present:
        return None
    if any(len(text) > LONGEST_ODD for text in odd):
        return None
    apart = re.compile(rf"{DIGIT}{SEPARATOR[thousands]}{DIGIT}") if thousands else None
    used = thousands if apart is not None and any(apart.search(shape) for shape in good) else ""
    return Interpretation(Writing("number", decimal, used), frozenset(good), texts, odd)


def _distinct(readings: list[Interpretation]) -> list[Interpretation]:
    return list({(r.writing.decimal, r.writing.thousands): r for r in readings}.values())


def _means_nothing(best: Interpretation, native: str) -> bool:
    """Whether texts that look like numbers are rather none: codes, telephone numbers, grades, amounts in several currencies."""
    if all(re.fullmatch(plain_pattern(native or "."), shape) for shape in best.shapes):
        # text among plain numbers makes a column of text, and whole numbers that are stored as text are codes
        return bool(native or best.odd) or not any("." in shape for shape in best.shapes)
    money = {m[0] for shape in best.shapes if (m := re.search(MONEY, shape))}
    long = [len(re.findall(DIGIT, shape)) for shape in best.shapes]
    same = len(best.shapes) == 1 and long[0] >= LONG_CODE and best.writing.thousands in (".", " ") and not money
    telephone = same and best.texts >= FEWEST_CODES and not re.search(rf"[.,]{DIGIT}{{1,2}}$", next(iter(best.shapes)))
    grades = any(map(TRAILING.match, best.shapes)) and max(long) < 3
    return len(money) > 1 or telephone or grades


def _leaning(shapes: ShapeCounts) -> str:
    """Of a column whose points or commas all stand before three digits: the decimal sign that the numbers beside them make likely."""
    grouped = {m[1] for shape in shapes.counts if (m := GROUPED.fullmatch(shape))}
    beside = [len(m[1]) for shape in shapes.counts if (m := WHOLE.fullmatch(shape))]
    if len(grouped) != 1:
        return ""
    sign = grouped.pop()
    if any(digits > 3 for digits in beside):
        return sign
    money = any(re.search(MONEY, shape) for shape in shapes.counts)
    return {".": ",", ",": "."}[sign] if beside or money else ""


def elected(votes: list[str]) -> str:
    """The sign most columns prove; "" where they prove none, or two as often."""
    counted = Counter(vote for vote in votes if vote).most_common(2)
    return "" if not counted or (len(counted) == 2 and counted[0][1] == counted[1][1]) else counted[0][0]


class DateCounts:
    """How many texts of a column are no date in each order, and which these are."""

    def __init__(self, orders: tuple[str, ...] = ORDERS) -> None:
        self.odd: dict[str, dict[str, int]] = {order: {} for order in orders}
        self.texts = 0

    def add(self, texts: Any) -> None:
        """More texts, none missing, trimmed."""
        self.texts += len(texts)
        for order in list(self.odd):
            lost = texts.filter(read_dates(texts, order).is_null())
            kept = self.odd[order]
            for pair in lost.value_counts().to_pylist() if len(lost) else []:
                kept[pair["values"]] = kept.get(pair["values"], 0) + pair["counts"]
                if len(kept) > MOST_ODD:
                    del self.odd[order]
                    break

    def readings(self, shapes: ShapeCounts) -> list[Interpretation]:
        """The orders in which nearly all texts are dates, those with the fewest others."""
        found = [
            Interpretation(Writing("date", order=order), frozenset(shapes.counts), self.texts - sum(odd.values()), odd)
            for order, odd in self.odd.items()
            if sum(odd.values()) <= MOST_ODD_SHARE * self.texts and all(len(text) <= LONGEST_ODD for text in odd)
        ]
        most = max((r.texts for r in found), default=0)
        return [r for r in found if r.texts == most and most]
