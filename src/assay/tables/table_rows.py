"""The rows of a table as its schema describes them, and the same rows encoded for a model. Both stay in their source.

Numbers, 0/1, seconds and codes come as one matrix, words as counts beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types

from assay.engines import Block, MaskedRows, Part, Rows, block_rows, some_rows
from assay.engines.rows import SPARSE_BLOCK, rechunk
from assay.errors import DataError, SchemaError
from assay.numerics import Array
from assay.tables.arrow_columns import (
    NotOfKind,
    as_codes,
    as_kind,
    as_numbers,
    as_seconds,
    as_text,
    interleave,
    is_text,
    side_by_side,
    without_nan,
)
from assay.tables.encoding.encoding import Encoding
from assay.tables.encoding.words import BUCKETS, hstack, term_counts
from assay.tables.schema.schema import TEXTUAL, Column, Schema
from assay.tables.schema.tallies import text_hashes
from assay.tables.sources.source import Decoding, Reading, Source, SourceRows, check_known, cut

READINGS: dict[str, Reading] = {
    "number": "number",
    "boolean": "number",
    "category": "text",
    "text": "text",
    "string": "text",
}
GATHERED = 1 << 14  # rows that are turned into numbers at a time on their way into memory: few are there twice
BATCH = 1 << 16


class TableRows(SourceRows):
    """Rows of a source by a schema: numbers, true/false, dates and categories as numbers, text as counts of hashed words."""

    def __init__(
        self,
        source: Source,
        schema: Schema,
        target: str | None = None,
        weight: str | None = None,
        text_target: bool = False,
        shared: bool = False,
    ) -> None:
        super().__init__(source, target, weight, text_target, shared)
        self.schema = schema
        plain, texts = (tuple(c for c in schema.used if (c.kind in TEXTUAL) == wanted) for wanted in (False, True))
        self.sparse = bool(texts)
        self.n_columns = len(plain) + sum(c.kind == "string" for c in texts) + BUCKETS * len(texts)
        single = bool(plain) and all(types.is_float32(source.types.get(c.name)) for c in plain)
        self.decoding = SchemaDecoding(target, weight, text_target, plain, texts, single)

    @cached_property
    def step(self) -> int:
        """Rows a block."""
        return SPARSE_BLOCK if self.sparse else block_rows(self.n_columns)

    def blocks(self) -> Iterator[Part]:
        return self.parts(self.decoding, self.step)

    def targets(self) -> Iterator[Part]:
        if not (self.has_target or self.has_weight):
            return self.blocks()
        return self.parts(replace(self.decoding, plain=(), texts=(), single=False), self.step)

    def in_memory(self) -> Rows:
        pieces = copy(self)
        pieces.step = min(self.step, GATHERED)
        found = super(TableRows, pieces).in_memory()
        self.n_rows = pieces.n_rows
        pa.default_memory_pool().release_unused()  # what reading needed is not needed again
        return found

    def anywhere(self) -> TableRows:
        """The same rows as parts that any process can read which sees the files, where the source allows that."""
        if not self.source.readable_anywhere:
            return self
        return TableRows(self.source, self.schema, self._target, self._weight, self._text_target, shared=True)

    def labelled_like(self, classes: Array) -> TableRows:
        """The same rows with targets of the kind that a fitted model's classes have."""
        return TableRows(self.source, self.schema, self._target, self._weight, self._reads_text(classes))


@dataclass(frozen=True)
class SchemaDecoding(Decoding):
    """The columns that a schema uses; texts come last, as counts of words."""

    plain: tuple[Column, ...]
    texts: tuple[Column, ...]
    single: bool = False  # float32, where every column is
    by_column: bool = False  # in Fortran order, which an encoding reads faster and does away with

    def features_read(self) -> dict[str, Reading]:
        return {c.name: READINGS.get(c.kind, "as it is") for c in (*self.plain, *self.texts)}

    def matrix(self, table: Any, start: int) -> Any:
        columns = [decoded(table[c.name], c, start) for c in self.plain]
        texts = [as_text(without_nan(table[c.name])) for c in self.texts]
        columns += [string_keys(text) for text, c in zip(texts, self.texts) if c.kind == "string"]
        together = side_by_side if self.by_column else interleave
        X = together(columns, table.num_rows, np.float32 if self.single and not self.texts else np.float64)
        if not self.texts:
            return X
        return hstack(X, [term_counts(text, c.kind) for text, c in zip(texts, self.texts)])


def string_keys(text: Any) -> Array:
    """A number of 52 bits for each string, by its letters; NaN where there is none."""
    keys = np.full(len(text), np.nan)
    present = np.flatnonzero(np.asarray(compute.is_valid(text)))
    keys[present] = ((text_hashes(text.drop_null().combine_chunks()) >> np.uint64(12)) + np.uint64(1)).astype(
        np.float64
    )
    return keys


def decoded(column: Any, what: Column, start: int) -> Array:
    """A column as floats: NaN where missing, −1 for a category that is not listed. Text that has to be something else is read so."""
    if what.kind == "category":
        return as_codes(column, what.levels or (), unlisted=-1.0)
    try:
        return as_kind(column, what.kind, what.name, start)
    except NotOfKind as error:
        wrong = f"{error.described}, but it is a {what.kind}: correct the value."
        if not is_text(column.type):
            wrong = f"{error.value} {error.where}, but true and false (or 1 and 0) when the model was fitted."
        raise SchemaError(f"Column {what.name!r} holds {wrong}") from None


class EncodedRows(Rows):
    """The rows of a table, encoded block by block as they are read."""

    def __init__(self, table: TableRows, encoding: Encoding, of_fit: bool = False) -> None:
        self.table, self.encoding, self.of_fit = table, encoding, of_fit
        self.home, self.n_rows = table.home, table.n_rows
        self.sparse, self.n_columns = encoding.sparse, len(encoding.outputs)
        self.names, self.categories = encoding.names, encoding.categories
        self.has_target, self.has_weight = table.has_target, table.has_weight

    def blocks(self) -> Iterator[Part]:
        step = SPARSE_BLOCK if self.sparse else block_rows(self.n_columns)
        decoding = replace(self.table.decoding, by_column=not self.table.sparse)
        for part in self.table.parts(decoding, step):
            yield EncodedPart(part, self.encoding, self.of_fit)
        self.n_rows = self.table.n_rows

    def targets(self) -> Iterator[Part]:
        return self.table.targets()

    def anywhere(self) -> Rows:
        return EncodedRows(self.table.anywhere(), self.encoding, self.of_fit)

    def labelled_like(self, classes: Array) -> EncodedRows:
        """The same rows with targets of the kind that a fitted model's classes have."""
        return EncodedRows(self.table.labelled_like(classes), self.encoding, self.of_fit)


@dataclass(frozen=True)
class EncodedPart:
    """A part of a table, to be encoded where it is computed with."""

    part: Part
    encoding: Encoding
    of_fit: bool = False

    @property
    def readable_anywhere(self) -> bool:
        return bool(getattr(self.part, "readable_anywhere", False))

    def load(self) -> Block:
        block = self.part.load()
        return block._replace(X=self.encoding(block.X, block.start if self.of_fit else None)).load()


class EncodedSome(Rows):
    """Some rows of a table that stays where it lies, encoded as they are read: the rows of a fit, each by its number among them."""

    def __init__(self, rows: Rows, encoding: Encoding) -> None:
        self.some, self.encoding, self.home = rows, encoding, rows.home
        self.sparse, self.n_columns = encoding.sparse, len(encoding.outputs)
        self.names, self.categories = encoding.names, encoding.categories
        self.has_target, self.has_weight = rows.has_target, rows.has_weight

    def blocks(self) -> Iterator[Part]:
        step = SPARSE_BLOCK if self.sparse else block_rows(self.n_columns)
        blocks = (EncodedPart(part, self.encoding, of_fit=True).load() for part in self.some.blocks())
        return rechunk((tuple(block[:3]) for block in blocks), step)

    def targets(self) -> Iterator[Part]:
        return self.some.targets()


def encode(table: Rows, encoding: Encoding, of_fit: bool = False) -> Any:
    """Rows of a table, wherever they lie, encoded; `of_fit`: they are the rows of the fit, all of them and in their order."""
    if table.local:
        return encoding.rows(table, of_fit)
    return EncodedRows(table, encoding, of_fit) if isinstance(table, TableRows) else EncodedSome(table, encoding)


def encode_some(table: Rows, encoding: Encoding, mask: Array, of_fit: bool = False) -> Rows:
    """The rows of a table where a mask is true, encoded; `of_fit`: they are the rows of the fit."""
    numbered = of_fit and bool(encoding.groups.strings)  # then a row is encoded by its number among those picked
    if not table.resident and not numbered:  # encoded as they are read, then picked
        return some_rows(encode(table, encoding), MaskedRows(mask))
    picked: Rows = encode(some_rows(table, MaskedRows(mask)), encoding, of_fit)
    return picked


def texts_at(source: Source, names: Sequence[str], numbers: Array) -> dict[str, list[str | None]]:
    """The texts of some rows (rising numbers) of a table, column by column; None where there is none."""
    found: dict[str, list[str | None]] = {name: [] for name in names}
    for start, batches in cut(source.batches(dict.fromkeys(names, "text"), BATCH), BATCH):
        table = pa.Table.from_batches(batches)
        here = pa.array(numbers[(numbers >= start) & (numbers < start + table.num_rows)] - start)
        for name in names:
            found[name] += as_text(without_nan(table[name])).take(here).to_pylist()
        if start + table.num_rows > numbers[-1]:
            break
    return found


def group_codes(source: Source, name: str) -> tuple[Array, list[str]]:
    """(n,) the number of each row's group, and the groups' names as text, in order."""
    column = as_text(without_nan(_read(source, name, "the group", "text")))
    if column.null_count:
        at = compute.index(compute.is_null(column), True).as_py()
        raise DataError(f"The group {name!r} is missing in row {at} (counted from 0): every row needs one.")
    names = sorted(compute.unique(column).to_pylist())
    codes = compute.index_in(column, value_set=pa.array(names, pa.large_string()))
    return as_numbers(codes).astype(np.int64), names


def moments(source: Source, name: str) -> Array:
    """(n,) dates as seconds, or numbers as they are; NaN where missing."""
    column = _read(source, name, "the time", "as it is")
    dtype = column.type
    numeric = types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype)
    return as_numbers(column).astype(np.float64) if numeric else as_seconds(column, name)


def _read(source: Source, name: str, what: str, reading: Reading) -> pa.ChunkedArray:
    check_known([name], source.types, what, source.where)
    return pa.chunked_array([batch.column(name) for batch in source.batches({name: reading}, BATCH)])
