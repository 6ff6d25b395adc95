"""The categories of text columns: their sorted distinct values, found in one pass over those columns alone."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow.compute as compute
import pyarrow.types as types

from assay.engines import Block, Part, Rows, block_rows
from assay.errors import DataError, ParameterError, SchemaError
from assay.inputs import Levels
from assay.numerics import Array
from assay.tables.plan import ColumnPlan, as_text, check_known, is_text, kind_of
from assay.tables.sources.parquet import ParquetFiles, ranges
from assay.tables.sources.source import Decoding, Source, cut

MOST_LEVELS = 1 << 17
BATCH = 1 << 16


def find_levels(source: Source, names: list[str]) -> dict[str, tuple[str, ...]]:
    """{column: its categories in order}; a column with a new text in nearly every row is refused, to bound the memory."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for batch in source.batches(dict.fromkeys(names, "text"), BATCH):
        for name, seen in found.items():
            seen.update(compute.unique(as_text(batch.column(name)).drop_null()).to_pylist())
            if len(seen) > MOST_LEVELS:
                raise DataError(
                    f"Column {name!r} holds more than {MOST_LEVELS} different texts: it names rows rather than describing "
                    "them. Leave it out (features=[…], --features in the shell)."
                )
    return {name: tuple(sorted(seen)) for name, seen in found.items()}


# Rows of a file: read block by block in the calling thread, turned into numbers where they are computed with.


class BatchPart(NamedTuple):
    """A block as Arrow batches, not yet converted."""

    batches: list[Any]
    plan: Decoding
    start: int

    def load(self) -> Block:
        return self.plan.block(self.batches, self.start)


def text_labels(source: Source, target: str, classes: Array) -> bool:
    """Whether the target is to be read as text, so that its labels are of the kind of a model's classes; SchemaError where it cannot be."""
    text = classes.dtype.kind in "OUT"
    dtype = source.types[target]
    readable = types.is_integer(dtype) or not (source.typed or types.is_floating(dtype))
    if text == is_text(dtype) or (text and readable):
        return text
    kinds = ("text", "numbers") if text else ("numbers", "text")
    raise SchemaError(
        f"The model's classes are {kinds[0]}, such as {classes.tolist()[0]!r}, but the target {target!r} holds {kinds[1]} "
        f"in {source.where}."
    )


class FileRows(Rows):
    """The rows of a source. `fitted` are the categories that a fitted model knows; without, they are looked for."""

    home = "stream"

    def __init__(
        self,
        source: Source,
        features: tuple[str, ...],
        target: str | None,
        weight: str | None,
        fitted: Levels | None = None,
        text_target: bool = False,
    ) -> None:
        self.source, self._target, self._weight, self._fitted = source, target, weight, fitted
        self.names, self.n_columns, self.n_rows = features, len(features), source.n_rows
        self._text_target = text_target
        self.has_target, self.has_weight = target is not None, weight is not None

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
    def plan(self) -> ColumnPlan:
        single = all(types.is_float32(self.source.types[name]) for name in self._given())
        return ColumnPlan(self._given(), self._levels, self._target, self._weight, single, self._text_target)

    def blocks(self) -> Iterator[Part]:
        return self._parts(self.plan)

    def targets(self) -> Iterator[Part]:
        if self._target is None and self._weight is None:
            return self.blocks()
        return self._parts(ColumnPlan((), (), self._target, self._weight, text_target=self._text_target))

    def _parts(self, plan: ColumnPlan) -> Iterator[Part]:
        step = block_rows(self.n_columns)
        rows = 0
        for start, batches in cut(self.source.batches(plan.columns(), step), step):
            yield BatchPart(batches, plan, start)
            rows = start + sum(batch.num_rows for batch in batches)
        self.n_rows = rows

    def fitted_to(self, names: tuple[str, ...] | None, categories: Levels | None) -> Rows:
        """The model's columns, picked by name; text coded by the model's categories. Other columns are left unread."""
        names = self._given() if names is None else names
        check_known(names, self.source.types, "the model was fitted on it", self.source.where)
        levels = (None,) * len(names) if categories is None else categories
        if len(levels) == len(names):  # else the model says how many columns it wants
            if self.source.typed:
                self._check_kinds(names, levels)
            return type(self)(self.source, names, self._target, self._weight, levels, self._text_target)
        return self

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

    def labelled_like(self, classes: Array) -> FileRows:
        """The same rows with targets of the kind that a fitted model's classes have."""
        assert self._target is not None
        text = text_labels(self.source, self._target, classes)
        return type(self)(self.source, self._given(), self._target, self._weight, self._fitted, text_target=text)

    def _given(self) -> tuple[str, ...]:
        assert self.names is not None
        return self.names


class ParquetRows(FileRows):
    """Rows of Parquet files, which the workers of a cluster can read themselves."""

    source: ParquetFiles

    def anywhere(self) -> Rows:
        """The same rows as parts that any process can read which sees the files."""
        return _AnywhereRows(self.source, self._given(), self._target, self._weight, self._levels, self._text_target)


class _AnywhereRows(ParquetRows):
    def _parts(self, plan: ColumnPlan) -> Iterator[Part]:
        return ranges(self.source.paths, self.source.lengths, plan, block_rows(self.n_columns))


# `assay.rows`: a table that stays where it is, opened by what it is rather than by how it is called.


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
) -> FileRows:
    """The rows of a table, read block by block whenever a model needs them.

    `source`: the path of a CSV/TSV, JSON lines (these also compressed by gzip or zstd), Parquet, Arrow IPC or Excel file,
    several paths, a pattern such as "part-*.parquet", a folder of Parquet files or of classes of images, the address of a database
    (with `table` or `sql`), a frame (pandas, polars, Arrow, a dict of columns), or "-" for a file from standard input. `features`
    names the columns to learn from (default: all but target and weight); `delimiter` is found in the file unless given; `sheet` is
    the sheet of a workbook (default: the first). The same object serves fit, predict and verify:

        model.fit(assay.rows("big.parquet", target="y"))
    """
    from assay.tables.sources.parquet import ParquetFiles
    from assay.tables.sources.recognise import source_of

    if delimiter is not None:
        _check_delimiter(delimiter)
    spooled = _spool_stdin() if isinstance(source, str) and source == "-" else None
    if spooled is None:
        opened = source_of(source, delimiter=delimiter, table=table, sql=sql, sheet=sheet)
    else:
        where = "standard input"
        opened = source_of(spooled.name, delimiter=delimiter, table=table, sql=sql, sheet=sheet, where=where)
        opened.keep = spooled
    kind = ParquetRows if type(opened) is ParquetFiles else FileRows  # a cluster's workers see the user's files only
    return _choose(kind, opened, target, features, weight)


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n\0"':
        raise ParameterError(f"delimiter={delimiter!r} is not possible: it is one ASCII character, such as ';'.")


def _choose(
    kind: type[FileRows], source: Any, target: str | None, features: Iterable[str] | None, weight: str | None
) -> FileRows:
    from assay.tables.plan import check_known, feature_names, refuse_repeats

    check_known([target] if target is not None else [], source.types, "the target", source.where)
    check_known([weight] if weight is not None else [], source.types, "the weight", source.where)
    if target is not None and target == weight:
        raise SchemaError(
            f"Column {target!r} cannot be both the target and the weight: give the weights a column of their own."
        )
    if features is None:
        names = feature_names(source.types, (target, weight))
    else:
        names = (features,) if isinstance(features, str) else tuple(features)
        check_known(names, source.types, "a feature", source.where)
        refuse_repeats(list(names), "features")
        for role, name in (("target", target), ("weight", weight)):
            if name in names:
                raise SchemaError(f"Column {name!r} cannot be both the {role} and a feature: leave it out of features.")
    if not names:
        raise SchemaError(f"{source.where} has no column left to learn from besides the target and the weight.")
    return kind(source, names, target, weight)


def _spool_stdin() -> Any:
    """Standard input as a temporary file: fitting reads the rows more than once."""
    file = tempfile.NamedTemporaryFile(prefix="assay-stdin-")  # noqa: SIM115 - it outlives this function
    while chunk := sys.stdin.buffer.read(1 << 20):
        file.write(chunk)
    file.flush()
    return file
