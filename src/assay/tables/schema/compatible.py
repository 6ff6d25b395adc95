"""Whether another table fits the schema that a model was fitted on: what does not fit is refused, what is odd is noted.

Refused: a column that the model learns from is not there, or holds another kind of values. Noted: columns that the model does
not know (they are not used), missing values where the fit had none, categories that it never saw, numbers and dates outside its
range. Columns the model does not learn from (ids, constants, ignored ones) may be absent.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types

from assay.errors import SchemaError, nearest
from assay.numerics import Array
from assay.tables.arrow_columns import Family, NotOfKind, as_kind, as_text, family_of, without_nan
from assay.tables.schema.schema import MOST_LEVELS, TEXTUAL, Column, Schema
from assay.tables.schema.survey import rows_at_once
from assay.tables.schema.text import values_text
from assay.tables.sources.source import INDEX_OF_PANDAS, Reading, Source, cut

FIRST_ROWS = 1024
HELD: dict[Family, str] = {
    "number": "numbers",
    "boolean": "truth values",
    "date": "dates",
    "dictionary": "categories",
    "text": "text",
    "nothing": "nothing",
    "other": "values of no use",
}
FITTED_ON = {
    "number": "numbers",
    "boolean": "truth values",
    "date": "dates",
    "category": "categories",
    "text": "text",
    "string": "text",
}
READABLE: dict[str, tuple[Family, ...]] = {  # text is read value by value
    "number": ("number", "boolean", "nothing", "text", "dictionary"),
    "boolean": ("boolean", "nothing", "number", "text", "dictionary"),
    "date": ("date", "nothing", "text", "dictionary"),
    "category": ("text", "dictionary", "nothing"),
    "text": ("text", "dictionary", "nothing"),
    "string": ("text", "dictionary", "nothing"),
}
OUTSIDE = 0.05  # share of values beyond the range of the fit that goes without saying: new rows always have a few
NAMED = 3
MOST_UNSEEN = 10_000


def check_same(schema: Schema, source: Source) -> list[str]:
    """Notes on how a table differs from the one the model was fitted on; SchemaError where it cannot be used. Takes a pass."""
    readings = check_columns(schema, source)
    notes = _unknown_columns(schema, source)
    if not readings:
        return notes
    columns = [ColumnDrift(column, source) for column in schema.used]
    step = rows_at_once(len(readings))
    rows = 0
    for start, batches in cut(source.batches(readings, step), step):
        table = pa.Table.from_batches(batches)
        for column, values in zip(columns, table.columns):
            column.add(values, start)
        rows = start + table.num_rows
    return [*notes, *(note for column in columns for note in column.notes(rows))]


def check_columns(schema: Schema, source: Source) -> dict[str, Reading]:
    """How each column that the model learns from is read; SchemaError where one is not there or of another type. No row is read."""
    readings: dict[str, Reading] = {}
    for column in schema.used:
        if column.name not in source.types:
            raise SchemaError(
                f"{source.where} has no column {column.name!r}, which the model was fitted on ({FITTED_ON[column.kind]}). "
                f"{nearest(column.name, source.types)}"
            )
        readings[column.name] = _reading(column, source)
    return readings


def _reading(column: Column, source: Source) -> Reading:
    dtype = source.types[column.name]
    family = family_of(dtype)
    if column.kind in ("category", *TEXTUAL):
        if not source.typed or types.is_integer(dtype) or str(dtype) == column.type or family in READABLE[column.kind]:
            return "text"
    elif family in READABLE[column.kind]:
        return "as it is" if family == "date" else "text" if family in ("text", "dictionary") else "number"
    raise _changed(column, source, _example(column.name, source))


def _example(name: str, source: Source) -> str:
    """The first value of a column, as an error shows it."""
    for batch in source.batches({name: "as it is"}, FIRST_ROWS):
        for value in batch.column(0):
            if value.is_valid:
                with suppress(OverflowError, ValueError):  # a moment that Python's calendar does not reach
                    return f", such as {str(value)[:60]!r}"
                return ""
    return ""


def _changed(column: Column, source: Source, such: str) -> SchemaError:
    return SchemaError(
        f"Column {column.name!r} holds {HELD[family_of(source.types[column.name])]} in {source.where}{such}, but "
        f"{FITTED_ON[column.kind]} when the model was fitted ({_briefly(column)}). Correct the values, or fit again."
    )


def _percent(share: float) -> str:
    """A share that is not 0 as people write it.

    >>> [_percent(share) for share in (1.0, 0.9999, 0.125, 0.034, 0.0001)]
    ['100 %', '99.9 %', '12.5 %', '3.4 %', 'less than 0.1 %']
    """
    if share < 0.001:
        return "less than 0.1 %"
    tenths = min(round(1000 * share), 999) if share < 1 else 1000
    return f"{tenths // 10} %" if tenths % 10 == 0 else f"{tenths / 10:.1f} %"


def _briefly(column: Column) -> str:
    """What the fit saw in the column."""
    text = values_text(column)
    return text if len(text) <= 60 else text[:59] + "…"


def _unknown_columns(schema: Schema, source: Source) -> list[str]:
    """A note on columns that the model does not know."""
    known = {column.name for column in schema.columns} | set(schema.roles.values())
    known |= {schema.target.name} if schema.target is not None else set()
    extra = [name for name in source.types if name not in known and not INDEX_OF_PANDAS.fullmatch(name)]
    if not extra:
        return []
    more = f" and {len(extra) - NAMED} more" if len(extra) > NAMED else ""
    named = ", ".join(repr(name) for name in extra[:NAMED]) + more
    return [f"not used, for the model does not know them: {named}"]


class ColumnDrift:
    """How one column differs from that of the fit."""

    def __init__(self, column: Column, source: Source) -> None:
        self.column, self._source = column, source
        self._missing = self._present = self._outside = 0
        self._unseen: Counter[str] = Counter()
        self._levels = None if column.levels is None else pa.array(column.levels, pa.large_string())

    def add(self, values: Any, start: int) -> None:
        """The values of some more rows, of which the first has the number `start`."""
        if self.column.kind in ("category", *TEXTUAL):
            self._add_texts(values)
            return
        x = self._numbers(values, start)
        missing = int(np.isnan(x).sum()) if x.dtype.kind == "f" else 0
        self._missing += missing
        self._present += len(x) - missing
        if self.column.low is not None and self.column.kind != "boolean":
            self._outside += int(((x < self.column.low) | (x > self.column.high)).sum())

    def _numbers(self, values: Any, start: int) -> Array:
        try:
            return as_kind(values, self.column.kind, self.column.name, start)
        except NotOfKind as error:
            raise _changed(self.column, self._source, f", such as {error.described}") from None

    def _add_texts(self, values: Any) -> None:
        texts = as_text(without_nan(values))
        self._missing += texts.null_count
        self._present += len(texts) - texts.null_count
        if self._levels is None or len(self._levels) == MOST_LEVELS:  # then rare ones were left out on purpose
            return
        texts = texts.drop_null()
        unseen = texts.filter(compute.invert(compute.is_in(texts, value_set=self._levels)))
        for pair in unseen.value_counts().to_pylist() if len(unseen) else []:
            if len(self._unseen) < MOST_UNSEEN or pair["values"] in self._unseen:
                self._unseen[pair["values"]] += pair["counts"]

    def notes(self, rows: int) -> list[str]:
        name, found = repr(self.column.name), []
        if self._missing and not self.column.missing:
            found.append(f"column {name} lacks a value in {self._missing} of {rows} rows; the fit had none missing")
        if self._unseen:
            some = ", ".join(repr(text[:40]) for text, _ in self._unseen.most_common(NAMED))
            more = ", …" if len(self._unseen) > NAMED else ""
            kinds = "category" if len(self._unseen) == 1 else "categories"
            found.append(
                f"column {name} has {len(self._unseen)} {kinds} the fit never saw, in {self._unseen.total()} of {rows} rows: "
                f"{some}{more}"
            )
        if self._outside > OUTSIDE * self._present:
            share = _percent(self._outside / self._present)
            found.append(f"column {name}: {share} of the values lie outside what the fit saw ({_briefly(self.column)})")
        return found
