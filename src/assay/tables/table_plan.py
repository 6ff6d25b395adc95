"""How the batches of a source become blocks of a table: numbers, 0/1, seconds and codes as one matrix, words as counts beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types

from assay.engines import Block
from assay.errors import SchemaError
from assay.numerics import Array
from assay.tables.columns import is_text
from assay.tables.description.parsing import NotOfKind, parsed
from assay.tables.description.schema import Column
from assay.tables.encoding.wide import beside
from assay.tables.encoding.words import word_counts
from assay.tables.plan import as_numbers, as_target, as_text, as_weight, interleave, roles, side_by_side
from assay.tables.sources.source import Reading

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
