"""What a column of text shows about how its numbers or dates are written, by all of its values; what stays open is left open.

Whether 1.234 is 1234 or 1.234 follows, in this order, from what the user says; from the column (12.5 beside it makes the point decimal, 1.234.567
makes it part thousands, 950 beside it too, for three decimals would be written 950.000; 1234 beside it does not); from the other columns of the table.
Likewise a day above 12 anywhere tells days from months.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from assay.tables.written.dates import ORDERS, read_dates
from assay.tables.written.numbers import DIGIT, MONEY, SEPARATOR, number_pattern, plain_pattern
from assay.tables.written.shapes import ShapeCounts
from assay.tables.written.writing import LONGEST_ODD, MOST_ODD, Writing, WritingOptions

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
