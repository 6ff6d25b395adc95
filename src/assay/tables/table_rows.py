"""The rows of a table as its schema describes them, and the same rows encoded for a model. Both stay in their source."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.types as types

from assay.engines import Block, Part, Rows, block_rows
from assay.engines.sparse import SPARSE_BLOCK
from assay.numerics import Array
from assay.tables.description.schema import Schema
from assay.tables.encoding.encode import Encoding
from assay.tables.encoding.words import BUCKETS
from assay.tables.file_rows import BatchPart, text_labels
from assay.tables.sources.anywhere import ranges
from assay.tables.sources.parquet import ParquetFiles
from assay.tables.sources.source import Source, cut
from assay.tables.table_plan import TablePlan

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
