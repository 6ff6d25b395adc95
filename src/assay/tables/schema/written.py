"""A later table read as that of the fit was: the same way of writing for the same column, unless the table proves another.

A model knows how the text of its columns writes numbers and dates. A new table of the same office is read so, however few rows it has;
numbers that are numbers already stay as they are. Text that is not written so, but plainly in another way, is read that way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.types as types

from assay.tables.arrow_columns import NotOfKind
from assay.tables.schema.schema import Schema
from assay.tables.sources.source import Source
from assay.tables.written.recognise import recognise
from assay.tables.written.source import WrittenSource
from assay.tables.written.writing import Writing, WritingOptions

LOOKED_AT = 1 << 12


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
