"""Rows of a file: read block by block in the calling thread, turned into numbers where they are computed with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow.types as types

from assay.engines import Block, Part, Rows, block_rows
from assay.errors import SchemaError
from assay.inputs import Levels
from assay.numerics import Array
from assay.tables.columns import check_known, is_text, kind_of
from assay.tables.levels import find_levels
from assay.tables.plan import Plan
from assay.tables.sources.anywhere import ranges
from assay.tables.sources.parquet import ParquetFiles
from assay.tables.sources.source import Decoding, Source, cut


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
    def plan(self) -> Plan:
        single = all(types.is_float32(self.source.types[name]) for name in self._given())
        return Plan(self._given(), self._levels, self._target, self._weight, single, self._text_target)

    def blocks(self) -> Iterator[Part]:
        return self._parts(self.plan)

    def targets(self) -> Iterator[Part]:
        if self._target is None and self._weight is None:
            return self.blocks()
        return self._parts(Plan((), (), self._target, self._weight, text_target=self._text_target))

    def _parts(self, plan: Plan) -> Iterator[Part]:
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
    def _parts(self, plan: Plan) -> Iterator[Part]:
        return ranges(self.source.paths, self.source.lengths, plan, block_rows(self.n_columns))
