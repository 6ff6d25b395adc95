"""How the batches of a source become blocks of a table: numbers, 0/1, seconds and codes as one matrix, words as counts beside it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types

from assay.engines import Block, Part, Rows, block_rows
from assay.engines.rows import SPARSE_BLOCK
from assay.errors import DataError, SchemaError
from assay.numerics import Array
from assay.tables.encoding.columns import beside
from assay.tables.encoding.encoding import Encoding
from assay.tables.encoding.words import BUCKETS, word_counts
from assay.tables.file_rows import BatchPart, text_labels
from assay.tables.plan import (
    as_numbers,
    as_target,
    as_text,
    as_weight,
    check_known,
    interleave,
    is_text,
    roles,
    side_by_side,
)
from assay.tables.schema.kinds import NotOfKind, parsed
from assay.tables.schema.schema import Column, Schema
from assay.tables.sources.parquet import ParquetFiles, ranges
from assay.tables.sources.source import Reading, Source, cut

READINGS: dict[str, Reading] = {"number": "number", "boolean": "number", "category": "text", "text": "text"}


@dataclass(frozen=True)
class TablePlan:
    """Which columns are read, and as what; `words` come last, as counts."""

    plain: tuple[Column, ...]
    texts: tuple[Column, ...]
    target: str | None
    weight: str | None
    text_target: bool = False
    single: bool = False  # float32, where every column is
    by_column: bool = False  # in Fortran order, which an encoding reads faster and does away with

    def columns(self) -> dict[str, Reading]:
        reading: dict[str, Reading] = {c.name: READINGS.get(c.kind, "as it is") for c in (*self.plain, *self.texts)}
        return {**reading, **roles(self.target, self.weight, self.text_target)}

    def block(self, batches: list[Any], start: int) -> Block:
        """The block of some Arrow batches, of which the first row has the number `start`."""
        table = pa.Table.from_batches(batches)
        columns = [decoded(table[c.name], c, start) for c in self.plain]
        together = side_by_side if self.by_column else interleave
        X: Any = together(columns, table.num_rows, np.float32 if self.single else np.float64)
        if self.texts:
            X = beside(X, [word_counts(as_text(without_nan(table[c.name]))) for c in self.texts])
        y = None if self.target is None else as_target(table[self.target], self.target, start, self.text_target)
        w = None if self.weight is None else as_weight(table[self.weight], self.weight, start)
        return Block(X, y, w, start)


def decoded(column: Any, what: Column, start: int) -> Array:
    """A column as floats: NaN where missing, −1 for a category that is not listed. Text that has to be something else is read so."""
    if what.kind == "category":
        return as_level_codes(column, what.levels or ())
    if is_text(column.type):
        try:
            column = parsed(column, what.kind, start)
        except NotOfKind as error:
            raise SchemaError(
                f"Column {what.name!r} holds {error.told}, but it is a {what.kind}: correct the value."
            ) from None
    if what.kind == "date":
        return as_seconds(column, what.name)
    numbers = as_numbers(column)
    if what.kind == "boolean":
        odd = np.flatnonzero((numbers != 0) & (numbers != 1) & (numbers == numbers))
        if len(odd):
            raise SchemaError(
                f"Column {what.name!r} holds {numbers[odd[0]]:g} in row {start + int(odd[0])} (counted from 0, without the header), "
                "but true and false (or 1 and 0) when the model was fitted."
            )
    return numbers


def as_level_codes(column: Any, levels: tuple[str, ...]) -> Array:
    """Text as positions in `levels`; NaN where missing, −1 where not listed."""
    text = as_text(without_nan(column))
    codes = compute.index_in(text, value_set=pa.array(levels, pa.large_string()))
    found = compute.fill_null(codes, -1).cast(pa.float64())
    if text.null_count:
        found = compute.if_else(compute.is_null(text), pa.scalar(float("nan")), found)
    return as_numbers(found)


def without_nan(column: Any) -> Any:
    """A column whose NaN, if it holds floats, is missing: as text it would be a word."""
    if types.is_dictionary(column.type) and types.is_floating(column.type.value_type):
        column = column.cast(column.type.value_type)
    if not types.is_floating(column.type):
        return column
    return compute.if_else(compute.is_nan(column), pa.scalar(None, column.type), column)


def as_seconds(column: Any, name: str) -> Array:
    """A date or a moment as seconds since 1970."""
    dtype = column.type
    if types.is_null(dtype):
        return np.full(len(column), np.nan)
    try:
        if not types.is_temporal(dtype):
            column = as_text(column)
        elif types.is_time(dtype):
            raise SchemaError(f"Column {name!r} holds times of day, but the model was fitted on dates.")
        moments = column.cast(pa.timestamp("us", getattr(dtype, "tz", None)), safe=False).cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"Column {name!r} should hold dates such as 2024-02-29 or 2024-02-29 18:30:00: {str(error).splitlines()[0]}"
        ) from None
    return as_numbers(moments).astype(np.float64) / 1e6


# The rows of a table as its schema describes them, and the same rows encoded for a model. Both stay in their source.

GATHERED = 1 << 14  # rows that are turned into numbers at a time on their way into memory: few are there twice


class TableRows(Rows):
    """Rows of a source by a schema: numbers, true/false, dates and categories as numbers, text as counts of hashed words."""

    home = "stream"

    def __init__(
        self,
        source: Source,
        schema: Schema,
        target: str | None = None,
        weight: str | None = None,
        text_target: bool = False,
        elsewhere: bool = False,
    ) -> None:
        self.source, self.schema, self._target, self._weight = source, schema, target, weight
        self._text_target, self._elsewhere = text_target, elsewhere
        used = schema.used
        plain, texts = (tuple(c for c in used if (c.kind == "text") == wanted) for wanted in (False, True))
        self.sparse = bool(texts)
        self.n_columns = len(plain) + BUCKETS * len(texts)
        self.n_rows = source.n_rows
        self.has_target, self.has_weight = target is not None, weight is not None
        single = bool(plain) and all(types.is_float32(source.types.get(c.name)) for c in plain)
        self.plan = TablePlan(plain, texts, target, weight, text_target, single)

    @cached_property
    def step(self) -> int:
        """Rows a block."""
        return SPARSE_BLOCK if self.sparse else block_rows(self.n_columns)

    def blocks(self) -> Iterator[Part]:
        return self.parts(self.step)

    def targets(self) -> Iterator[Part]:
        if self._target is None and self._weight is None:
            return self.blocks()
        return self.parts(self.step, TablePlan((), (), self._target, self._weight, self._text_target))

    def parts(self, step: int, plan: TablePlan | None = None) -> Iterator[Part]:
        """The rows in parts of `step` rows."""
        plan = plan or self.plan
        if self._elsewhere and isinstance(self.source, ParquetFiles):
            yield from ranges(self.source.paths, self.source.lengths, plan, step)
            return
        rows = 0
        for start, batches in cut(self.source.batches(plan.columns(), step), step):
            yield BatchPart(batches, plan, start)
            rows = start + sum(batch.num_rows for batch in batches)
        self.n_rows = rows

    def in_memory(self) -> Rows:
        pieces = copy(self)
        pieces.step = min(self.step, GATHERED)
        found = super(TableRows, pieces).in_memory()
        self.n_rows = pieces.n_rows
        pa.default_memory_pool().release_unused()  # what reading needed is not needed again
        return found

    def anywhere(self) -> TableRows:
        """The same rows as parts that any process can read which sees the files."""
        if not isinstance(self.source, ParquetFiles):
            return self
        return TableRows(self.source, self.schema, self._target, self._weight, self._text_target, elsewhere=True)

    def labelled_like(self, classes: Array) -> TableRows:
        """The same rows with targets of the kind that a fitted model's classes have."""
        assert self._target is not None
        text = text_labels(self.source, self._target, classes)
        return TableRows(self.source, self.schema, self._target, self._weight, text)


@dataclass(frozen=True)
class EncodedPart:
    """A part of a table, to be encoded where it is computed with."""

    part: Part
    encoding: Encoding

    @property
    def readable_anywhere(self) -> bool:
        return bool(getattr(self.part, "readable_anywhere", False))

    def load(self) -> Block:
        block = self.part.load()
        return block._replace(X=self.encoding(block.X)).load()


class EncodedRows(Rows):
    """The rows of a table, encoded block by block as they are read."""

    def __init__(self, table: TableRows, encoding: Encoding) -> None:
        self.table, self.encoding = table, encoding
        self.home, self.n_rows = table.home, table.n_rows
        self.sparse, self.n_columns = encoding.sparse, len(encoding.outputs)
        self.names, self.categories = encoding.names, encoding.categories
        self.has_target, self.has_weight = table.has_target, table.has_weight

    def blocks(self) -> Iterator[Part]:
        step = SPARSE_BLOCK if self.sparse else block_rows(self.n_columns)
        plan = replace(self.table.plan, by_column=not self.table.sparse)
        for part in self.table.parts(step, plan):
            yield EncodedPart(part, self.encoding)
        self.n_rows = self.table.n_rows

    def targets(self) -> Iterator[Part]:
        return self.table.targets()

    def anywhere(self) -> Rows:
        return EncodedRows(self.table.anywhere(), self.encoding)

    def labelled_like(self, classes: Array) -> EncodedRows:
        """The same rows with targets of the kind that a fitted model's classes have."""
        return EncodedRows(self.table.labelled_like(classes), self.encoding)


def encode(table: Rows, encoding: Encoding) -> Any:
    """Rows of a table, wherever they lie, encoded."""
    return encoding.rows(table) if table.local else EncodedRows(table, encoding)  # type: ignore[arg-type]


# A single column of a source as an array: the groups that rows belong to, or the moments they were taken at.

BATCH = 1 << 16


def _read(source: Source, name: str, what: str, reading: Reading) -> pa.ChunkedArray:
    check_known([name], source.types, what, source.where)
    return pa.chunked_array([batch.column(name) for batch in source.batches({name: reading}, BATCH)])


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
