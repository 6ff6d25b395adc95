"""`assay.rows`: a table that stays where it is, opened by what it is rather than by how it is called.

Numbers are read as they are; text becomes codes of its categories: its sorted distinct values, found in one pass over the columns of
text alone, or those that a fitted model knows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.compute as compute
import pyarrow.types as types

from assay.abandoned import temporary_file
from assay.engines import Part, Rows, block_rows
from assay.errors import DataError, ParameterError, SchemaError
from assay.inputs import Levels
from assay.numerics import Array
from assay.tables.arrow_columns import as_codes, as_numbers, as_text, interleave, kind_of
from assay.tables.sources.source import (
    Decoding,
    Reading,
    Source,
    SourceRows,
    check_known,
    choose_features,
)

MOST_LEVELS = 1 << 17
BATCH = 1 << 16


def rows(
    source: Any,
    target: str | None = None,
    features: Iterable[str] | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    *,
    table: str | None = None,
    sql: str | None = None,
    sheet: str | None = None,
    **writing: Any,
) -> FileRows:
    """The rows of a table, read block by block whenever a model needs them.

    `source`: the path of a CSV/TSV, JSON lines (these also compressed by gzip or zstd), Parquet, Arrow IPC or Excel file,
    several paths, a pattern such as "part-*.parquet", a folder of Parquet files or of classes of images, the address of a database
    (with `table` or `sql`), a frame (pandas, polars, Arrow, a dict of columns), or "-" for a file from standard input. `features`
    names the columns to learn from (default: all but target and weight); `delimiter` is found in the file unless given; `sheet` is
    the sheet of a workbook (default: the first). `decimal`, `thousands` and `day_first` say how text writes numbers and dates, `skip` how many
    lines stand above the header (default: found out). The same object serves fit, predict and verify:

        model.fit(assay.rows("big.parquet", target="y"))
    """
    from assay.tables.sources.recognise import source_of

    if delimiter is not None:
        _check_delimiter(delimiter)
    options: dict[str, Any] = {"delimiter": delimiter, "table": table, "sql": sql, "sheet": sheet, **writing}
    if isinstance(source, str) and source == "-":
        spooled = _spool_stdin()
        opened = source_of(spooled.name, where="standard input", **options)
        opened.keep = spooled
    else:
        opened = source_of(source, **options)
    roles = {role: name for role, name in (("target", target), ("weight", weight)) if name is not None}
    names = choose_features(opened, roles, features)
    if not names:
        raise SchemaError(f"{opened.where} has no column left to learn from besides the target and the weight.")
    return FileRows(opened, names, target, weight)


class FileRows(SourceRows):
    """The rows of a source. `fitted` are the categories that a fitted model knows; without, they are looked for."""

    def __init__(
        self,
        source: Source,
        features: tuple[str, ...],
        target: str | None,
        weight: str | None,
        fitted: Levels | None = None,
        text_target: bool = False,
        shared: bool = False,
    ) -> None:
        super().__init__(source, target, weight, text_target, shared)
        self.names, self.n_columns, self._fitted = features, len(features), fitted

    @cached_property
    def _levels(self) -> Levels:
        if self._fitted is not None:
            return self._fitted
        text = [name for name in self._given() if kind_of(name, self.source.types[name]) == "text"]
        found = find_levels(self.source, text) if text else {}
        return tuple(found.get(name) for name in self._given())

    @cached_property
    def categories(self) -> Levels | None:  # type: ignore[override]  # found on first use: it takes a pass
        return self._levels if any(levels is not None for levels in self._levels) else None

    @cached_property
    def decoding(self) -> FileDecoding:
        single = all(types.is_float32(self.source.types[name]) for name in self._given())
        return FileDecoding(self._target, self._weight, self._text_target, self._given(), self._levels, single)

    def blocks(self) -> Iterator[Part]:
        return self.parts(self.decoding, block_rows(self.n_columns))

    def targets(self) -> Iterator[Part]:
        if self._target is None and self._weight is None:
            return self.blocks()
        decoding = FileDecoding(self._target, self._weight, self._text_target, (), ())
        return self.parts(decoding, block_rows(self.n_columns))

    def anywhere(self) -> FileRows:
        """The same rows as parts that any process can read which sees the files, where the source allows that."""
        if not self.source.readable_anywhere:
            return self
        return self._with(self._given(), self._levels, self._text_target, shared=True)

    def labelled_like(self, classes: Array) -> FileRows:
        """The same rows with targets of the kind that a fitted model's classes have."""
        return self._with(self._given(), self._fitted, self._reads_text(classes), self._shared)

    def fitted_to(self, names: tuple[str, ...] | None, categories: Levels | None) -> Rows:
        """The model's columns, picked by name; text coded by the model's categories. Other columns are left unread."""
        names = self._given() if names is None else names
        check_known(names, self.source.types, "the model was fitted on it", self.source.where)
        levels = (None,) * len(names) if categories is None else categories
        if len(levels) == len(names):  # else the model says how many columns it expects
            if self.source.typed:
                self._check_kinds(names, levels)
            return self._with(names, levels, self._text_target, self._shared)
        return self

    def _with(self, names: tuple[str, ...], fitted: Levels | None, text_target: bool, shared: bool) -> FileRows:
        return FileRows(self.source, names, self._target, self._weight, fitted, text_target, shared)

    def _check_kinds(self, names: tuple[str, ...], levels: Levels) -> None:
        for name, known in zip(names, levels):
            dtype = self.source.types[name]
            is_category = kind_of(name, dtype) == "text"
            if is_category and known is None:
                raise SchemaError(
                    f"Column {name!r} holds text in {self.source.where}, but the model was fitted on numbers."
                )
            if known is not None and not is_category and not types.is_integer(dtype) and not types.is_null(dtype):
                raise SchemaError(
                    f"Column {name!r} holds {dtype} in {self.source.where}, but the model was fitted on text such as "
                    f"{known[0] if known else ''!r}."
                )

    def _given(self) -> tuple[str, ...]:
        assert self.names is not None
        return self.names


@dataclass(frozen=True)
class FileDecoding(Decoding):
    """The features as one matrix. `levels[j]` are the categories of feature j (None: numbers)."""

    features: tuple[str, ...]
    levels: Levels
    single: bool = False  # float32, where every feature is

    def features_read(self) -> dict[str, Reading]:
        return {name: "number" if levels is None else "text" for name, levels in zip(self.features, self.levels)}

    def matrix(self, table: Any, start: int) -> Array:
        columns = [
            as_numbers(table[name]) if levels is None else as_codes(table[name], levels)
            for name, levels in zip(self.features, self.levels)
        ]
        return interleave(columns, table.num_rows, np.float32 if self.single else np.float64)


def find_levels(source: Source, names: list[str]) -> dict[str, tuple[str, ...]]:
    """{column: its categories in order}; a column with a new text in nearly every row is refused, to bound the memory."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for batch in source.batches(dict.fromkeys(names, "text"), BATCH):
        for name, levels in found.items():
            levels.update(compute.unique(as_text(batch.column(name)).drop_null()).to_pylist())
            if len(levels) > MOST_LEVELS:
                raise DataError(
                    f"Column {name!r} holds more than {MOST_LEVELS} different texts: it names rows rather than describing "
                    "them. Leave it out (features=[…], --features in the shell)."
                )
    return {name: tuple(sorted(levels)) for name, levels in found.items()}


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n\0"':
        raise ParameterError(f"delimiter={delimiter!r} is not possible: it is one ASCII character, such as ';'.")


def _spool_stdin() -> Any:
    """Standard input as a temporary file: fitting reads the rows more than once."""
    file = temporary_file("stdin")
    while chunk := sys.stdin.buffer.read(1 << 20):
        file.write(chunk)
    file.flush()
    return file
