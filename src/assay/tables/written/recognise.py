"""Which text columns of a table hold numbers or dates, and how these are written: a sample first, then all values of those that may.

Columns decide for each other: where one column leaves open what a point or the order of day and month means, the others say it, and
where none does, what is usual; then a note says so, and how to overrule it.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow.compute as compute
import pyarrow.types as types

from assay.tables.arrow_columns import text_array
from assay.tables.sources.source import Source
from assay.tables.written.dates import FORMS, ORDERS
from assay.tables.written.evidence import STYLES, UNSURE_NUMBER, ColumnEvidence, DateCounts, elected, number_evidence
from assay.tables.written.numbers import number_pattern
from assay.tables.written.shapes import LIKELY, SAMPLE, ShapeCounts, may_be_numbers
from assay.tables.written.writing import UNSAID, Writing, WritingOptions, trimmed

BATCH = 1 << 16
NAMED = 3
Found = tuple[dict[str, Writing], list[str]]


class ColumnCounts:
    """All that is counted of a column; `dates`: it may hold dates."""

    def __init__(self, name: str, dates: DateCounts | None) -> None:
        self.name, self.dates, self.shapes = name, dates, ShapeCounts()

    def add(self, column: Any) -> None:
        """More values."""
        self.shapes.add(column)
        if self.dates is not None:
            self.dates.add(_said(column))

    def evidence(self, options: WritingOptions, native: str) -> ColumnEvidence | None:
        readings = [] if self.dates is None or self.shapes.overflow else self.dates.readings(self.shapes)
        if readings:
            return ColumnEvidence(self.name, "date", tuple(readings), self.shapes)
        return number_evidence(self.name, self.shapes, options, native)


def recognise(source: Source, options: WritingOptions, names: list[str] | None = None) -> Found:
    """({column: how it is written}, notes) of the text columns of a source, or of those named."""
    texts = [n for n, dtype in source.types.items() if _plain_text(dtype) and (names is None or n in names)]
    likely = _likely(source, texts, options) if texts else {}
    if not likely:
        return {}, []
    for batch in source.batches(dict.fromkeys(likely, "text"), BATCH):
        for name, counts in likely.items():
            counts.add(batch.column(name))
    evidence = [e for counts in likely.values() if (e := counts.evidence(options, source.point)) is not None]
    return _settled(evidence, source, options)


def _plain_text(dtype: Any) -> bool:
    return bool(types.is_string(dtype) or types.is_large_string(dtype))


def _likely(source: Source, names: list[str], options: WritingOptions) -> dict[str, ColumnCounts]:
    """The columns whose first values may be numbers or dates."""
    first = source.first_rows(names)
    tried = ((name, _tried(name, _said(first[name]).slice(0, SAMPLE), options)) for name in names)
    return {name: counts for name, counts in tried if counts is not None}


def _tried(name: str, sample: Any, options: WritingOptions) -> ColumnCounts | None:
    if not may_be_numbers(sample):
        return None
    texts = sample.to_pylist()
    orders = tuple(order for order in _orders(options) if _most(FORMS[order], texts))
    if orders:
        return ColumnCounts(name, DateCounts(orders))
    return ColumnCounts(name, None) if any(_most(number_pattern(*style), texts) for style in STYLES) else None


def _most(pattern: str, texts: list[str]) -> bool:
    """Whether most texts are as a regular expression says."""
    compiled, most = re.compile(pattern), len(texts) * (1 - LIKELY)
    for text in texts:
        most -= compiled.match(text) is None
        if most < 0:
            return False
    return True


def _orders(options: WritingOptions) -> tuple[str, ...]:
    left_out = "" if options.day_first is None else "mdy" if options.day_first else "dmy"
    return tuple(order for order in ORDERS if order != left_out)


def _said(column: Any) -> Any:
    """The texts of a column that say something, trimmed, in one piece."""
    text = trimmed(column).drop_null()
    return text.filter(compute.invert(compute.is_in(text, value_set=text_array(UNSAID))))


def _settled(evidence: list[ColumnEvidence], source: Source, options: WritingOptions) -> Found:
    written: dict[str, Writing] = {}
    notes: list[str] = []
    point = options.point or elected([source.decimal, *(e.vote for e in evidence if e.kind == "number")])
    order = elected([e.vote for e in evidence if e.kind == "date" and e.vote in ("dmy", "mdy")])
    for each in evidence:
        sign, doubt = (
            _decided(each, point, source.usual_decimal) if each.kind == "number" else _ordered(each, order, point)
        )
        writing = each.settle(sign)
        written[each.name] = writing
        notes += [doubt.format(name=each.name, writing=writing)] if doubt else []
        notes += _odd_note(each.name, writing, each.odd(writing))
    if written:
        some = [f"{name} {writing}" for name, writing in list(written.items())[:NAMED]]
        others = len(written) - NAMED
        more = f" and {others} more column{'s' * (others > 1)}" if others > 0 else ""
        notes.insert(0, f"Read as they are written: {'; '.join(some)}{more}.")
    return written, notes


UNSURE_DATE = (
    "Column {name!r} has no day above 12, so that day and month cannot be told apart; read as {writing}. If that is wrong, say so: "
    "day_first=True or False (--day-first, --month-first)."
)


def _decided(each: ColumnEvidence, point: str, usual: str) -> tuple[str, str]:
    """(the decimal sign of a column, a note where that is not sure)."""
    if each.vote or not each.separated:
        return each.vote or point, ""
    if each.leaning or point:
        return each.leaning or point, ""
    if usual:
        return usual, UNSURE_NUMBER
    return ".", UNSURE_NUMBER  # a point is decimal everywhere in computing, and a comma then parts thousands


def _ordered(each: ColumnEvidence, order: str, point: str) -> tuple[str, str]:
    """(the order of day and month in a column, a note where that is not sure)."""
    if each.vote:
        return each.vote, ""
    shapes = each.shapes.counts
    if order:
        return order, ""
    if all("." in shape.split()[0] for shape in shapes):
        return "dmy", ""  # nobody writes 12.31.2021
    if any(shape.rstrip(".").lower().endswith(("am", "pm", "a.m", "p.m")) for shape in shapes):
        return "mdy", UNSURE_DATE
    return "dmy" if point == "," or all("-" in shape for shape in shapes) else "mdy", UNSURE_DATE


def _odd_note(name: str, writing: Writing, odd: dict[str, int]) -> list[str]:
    if not odd:
        return []
    some = ", ".join(repr(text) for text in sorted(odd, key=lambda t: (-odd[t], t))[:NAMED])
    more = ", …" if len(odd) > NAMED else ""
    count = sum(odd.values())
    values = "1 value that is no" if count == 1 else f"{count} values that are no"
    return [f"Column {name!r} has {values} {writing.kind}{'s' * (count > 1)} and taken as missing: {some}{more}."]
