"""Anything that holds a table as a source: paths, databases, frames, and arrays whose columns are given names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.numerics import Array
from assay.tables.file_rows import FileRows
from assay.tables.sources.recognise import source_of
from assay.tables.sources.source import Source
from assay.tables.table_rows import TableRows

BATCH = 1 << 16


def table_source(
    data: Any, *, names: Sequence[str] | None = None, extra: Mapping[str, Any] | None = None, **opening: Any
) -> Source:
    """The source of a table; `names` are those of an array's columns, `extra` further columns given beside (y, weights)."""
    if isinstance(data, FileRows | TableRows):
        return data.source
    beside = {name: values for name, values in (extra or {}).items() if values is not None}
    if isinstance(data, list | tuple | np.ndarray) and not _paths(data):
        data = named_columns(data, names)
    source = source_of(data, **opening)
    return _with(source, beside) if beside else source


def _with(source: Source, beside: Mapping[str, Any]) -> Source:
    """A table with further columns, which take the place of those of the same name."""
    import pyarrow as pa

    from assay.tables.sources.frames import Frame

    given = Frame(dict(beside), "what is given beside the table")
    kept = [name for name in source.types if name not in given.types]
    table, more = (_read(s, names) for s, names in ((source, kept), (given, list(given.types))))
    if table is None:
        return given
    if more.num_rows != table.num_rows:
        raise DataError(f"{source.where} has {table.num_rows} rows, but {more.num_rows} values are given beside it.")
    return Frame(pa.table({**{n: table[n] for n in kept}, **{n: more[n] for n in given.types}}), source.where)


def _read(source: Source, names: list[str]) -> Any:
    """Columns of a source as an Arrow table; None where no columns are wanted."""
    import pyarrow as pa

    return pa.Table.from_batches(source.batches(dict.fromkeys(names, "as it is"), BATCH)) if names else None


def _paths(data: Any) -> bool:
    return (
        not isinstance(data, np.ndarray)
        and len(data) > 0
        and all(hasattr(p, "__fspath__") or isinstance(p, str) for p in data)
    )


def named_columns(data: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """The columns of a two-dimensional array (or list of rows) by name; without names x0, x1, …"""
    if isinstance(data, list | tuple) and len(data) and isinstance(data[0], Mapping):
        keys = dict.fromkeys(key for row in data for key in row)
        return {str(key): [row.get(key) for row in data] for key in keys}
    array = _table_of(data)
    if array.ndim != 2:
        raise DataError(f"A table has rows and columns; got an array of shape {array.shape}.")
    if names is not None and len(names) != array.shape[1]:
        raise DataError(
            f"The array has {array.shape[1]} columns where {len(names)} are expected: {', '.join(names[:8])} …"
        )
    names = names if names is not None else [f"x{j}" for j in range(array.shape[1])]
    return {str(name): array[:, j] for j, name in enumerate(names)}


def _table_of(data: Any) -> Array:
    """An array; of lists one of objects, so that a number beside a text stays a number."""
    if isinstance(data, np.ndarray):
        return data
    if any(not isinstance(row, list | tuple | np.ndarray) for row in data):
        raise DataError(f"A table has rows and columns; got a {type(data).__name__} of {type(data[0]).__name__}.")
    lengths = sorted({len(row) for row in data})
    if len(lengths) > 1:
        raise DataError(
            f"The rows have different lengths, from {lengths[0]} to {lengths[-1]}: a table has as many columns in each."
        )
    array = np.empty((len(data), lengths[0] if lengths else 0), dtype=object)
    for i, row in enumerate(data):
        array[i] = row
    return array
