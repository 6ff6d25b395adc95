"""A source whose text columns are read as the numbers and dates that they write. Asked for as text, a column gives its very characters.

Which columns hold such, and how they are written: a sample first, then all values of those that may. Columns decide for each other: where one
leaves open what a point or the order of day and month means, the others say it, and where none does, what is usual; then a note says so, and how to
overrule it.

A later table is read as that of the fit was (`read_like`): the same way of writing for the same column, however few rows it has, unless the table
proves another. Numbers that are numbers already stay as they are; text that is not written so, but plainly in another way, is read that way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types

from assay.engines import Block, Part
from assay.errors import SchemaError
from assay.tables.arrow_columns import NotOfKind, text_array
from assay.tables.schema.schema import Schema
from assay.tables.sources.source import Decoding, Reading, Source
from assay.tables.written.evidence import (
    LIKELY,
    SAMPLE,
    STYLES,
    UNSURE_NUMBER,
    ColumnEvidence,
    DateCounts,
    ShapeCounts,
    elected,
    may_be_numbers,
    number_evidence,
)
from assay.tables.written.writing import FORMS, ORDERS, UNSAID, Writing, WritingOptions, number_pattern, trimmed

BATCH = 1 << 16
NAMED = 3
Found = tuple[dict[str, Writing], list[str]]
LOOKED_AT = 1 << 12


class WrittenSource(Source):
    """A source with some of its text columns read by their writings."""

    def __init__(self, plain: Source, writings: Mapping[str, Writing], notes: list[str] | None = None) -> None:
        self.plain, self._writings = plain, dict(writings)
        self.where, self.n_rows, self.typed, self.keep = plain.where, plain.n_rows, plain.typed, plain.keep
        self.readable_anywhere, self.parsed_from = plain.readable_anywhere, plain.parsed_from
        self.point, self.decimal, self.usual_decimal = plain.point, plain.decimal, plain.usual_decimal
        self.types = {n: writings[n].type if n in writings else dtype for n, dtype in plain.types.items()}
        self.repeated, self.offered = plain.repeated, plain.offered
        self.written = {**plain.written, **writings}
        self.notes = [*plain.notes, *(notes or [])]

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        read = {n: self._writings[n] for n, reading in columns.items() if n in self._writings and reading != "text"}
        asked: dict[str, Reading] = {n: "text" if n in read else reading for n, reading in columns.items()}
        start = 0
        for batch in self.plain.batches(asked, size):
            yield converted(batch, read, start)
            start += batch.num_rows

    def ranges(self, decoding: Decoding, step: int) -> Iterator[Part]:
        inner = (decoding.target, decoding.weight, decoding.text_target)
        return self.plain.ranges(WrittenDecoding(*inner, decoding, tuple(self._writings.items())), step)


def with_writings(source: Source, said: WritingOptions) -> Source:
    """The source, its text columns read as the numbers and dates that they write, where there are such."""

    writings, notes = recognise(source, said)
    return WrittenSource(source, writings, notes) if writings else source


def converted(batch: Any, read: Mapping[str, Writing], start: int) -> Any:
    """A batch with some columns read; the first row has the number `start`."""
    for name, writing in read.items():
        place = batch.schema.get_field_index(name)
        try:
            values = writing.read(batch.column(place), start)
        except NotOfKind as error:
            raise SchemaError(
                f"Column {name!r} holds {error.described}, but {writing.kind}s written like {writing.example!r} are expected. Correct the "
                "value, or leave it empty."
            ) from None
        batch = batch.set_column(place, name, values)
    return batch


@dataclass(frozen=True)
class WrittenDecoding(Decoding):
    """A decoding of columns that are read as text and then by their writings: for parts that another process reads."""

    inner: Decoding
    writings: tuple[tuple[str, Writing], ...]

    def features_read(self) -> dict[str, Reading]:
        return self.inner.features_read()

    def matrix(self, table: Any, start: int) -> Any:
        return self.inner.matrix(table, start)

    def block(self, batches: list[Any], start: int) -> Block:
        asked = self.inner.columns()
        read = {name: w for name, w in self.writings if asked.get(name, "text") != "text"}
        first, found = start, []
        for batch in batches:
            found.append(converted(batch, read, first))
            first += batch.num_rows
        return self.inner.block(found, start)


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


def read_like(schema: Schema, source: Source) -> Source:
    """The source with its columns read as the schema's were."""
    plain = source.plain if isinstance(source, WrittenSource) else source
    plain = plain.widened(c.name for c in schema.used)
    kinds = {c.name: c.kind for c in (*schema.used, *([schema.target] if schema.target else []))}
    wanted = {name for name, kind in kinds.items() if kind in ("number", "date")} | set(schema.written)
    found = {n: how for n in plain.types if n in wanted and (how := _writing(schema.written.get(n), n, plain, source))}
    return WrittenSource(plain, found) if found else plain


def _writing(known: Writing | None, name: str, plain: Source, source: Source) -> Writing | None:
    """How a column is read; None: as the source has it."""
    dtype = plain.types[name]
    if not (types.is_string(dtype) or types.is_large_string(dtype)):
        return _instead_of_numbers(known, name, plain)
    if known is not None and _fits(known, name, plain):
        return known
    own = source.written.get(name) or recognise(plain, WritingOptions(), [name])[0].get(name)
    return known if own is None or (known is not None and (own.missing or own.kind != known.kind)) else own


def _instead_of_numbers(known: Writing | None, name: str, plain: Source) -> Writing | None:
    """The known writing where a file's characters, taken for plain numbers, are so written too: 1.234 of an office that means 1234."""
    floats = types.is_floating(plain.types[name])
    if known is None or known.kind != "number" or plain.typed or not floats or plain.written.get(name) == known:
        return None
    grouped = replace(known, thousands=known.thousands or ".") if known.decimal == "," else known
    return grouped if grouped.decimal == "," and _fits(grouped, name, plain) else None


def _fits(writing: Writing, name: str, source: Source) -> bool:
    """Whether the first values of a column are so written."""
    first: Any = next(iter(source.batches({name: "text"}, LOOKED_AT)), None)
    try:
        writing.read(pa.nulls(0, pa.string()) if first is None else first.column(0), 0)
    except NotOfKind:
        return False
    return True
