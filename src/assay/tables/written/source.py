"""A source whose text columns are read as the numbers and dates that they write. Asked for as text, a column gives its very characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.engines import Block, Part
from assay.errors import SchemaError
from assay.tables.arrow_columns import NotOfKind
from assay.tables.sources.source import Decoding, Reading, Source
from assay.tables.written.writing import Writing, WritingOptions


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
    from assay.tables.written.recognise import recognise

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
