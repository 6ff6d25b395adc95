"""Anything that holds a table as a source: paths, databases, frames, and arrays whose columns are given names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.tables.file_rows import FileRows
from assay.tables.recognise import source_of
from assay.tables.source import Source
from assay.tables.table_rows import TableRows


def table_source(
    data: Any, *, names: Sequence[str] | None = None, extra: Mapping[str, Any] | None = None, **opening: Any
) -> Source:
    """The source of a table; `names` are those of an array's columns, `extra` further columns given beside (y, weights)."""
    if isinstance(data, FileRows | TableRows):
        return data.source
    beside = {name: values for name, values in (extra or {}).items() if values is not None}
    if isinstance(data, list | tuple | np.ndarray) and not _paths(data):
        data = named_columns(data, names)
    if beside:
        data = {**_columns(data), **beside}
    return source_of(data, **opening)


def _paths(data: Any) -> bool:
    return (
        not isinstance(data, np.ndarray)
        and len(data) > 0
        and all(hasattr(p, "__fspath__") or isinstance(p, str) for p in data)
    )


def named_columns(data: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """The columns of a two-dimensional array (or list of rows) by name; without names x0, x1, …"""
    if len(data) and isinstance(data[0], Mapping):
        keys = dict.fromkeys(key for row in data for key in row)
        return {str(key): [row.get(key) for row in data] for key in keys}
    array = np.asarray(data)
    if array.ndim != 2:
        raise DataError(f"A table has rows and columns; got an array of shape {array.shape}.")
    if names is not None and len(names) != array.shape[1]:
        raise DataError(
            f"The array has {array.shape[1]} columns where {len(names)} are expected: {', '.join(names[:8])} …"
        )
    names = names if names is not None else [f"x{j}" for j in range(array.shape[1])]
    return {str(name): array[:, j] for j, name in enumerate(names)}


def _columns(data: Any) -> dict[str, Any]:
    if isinstance(data, Mapping):
        return {str(name): values for name, values in data.items()}
    import narwhals as nw

    frame = nw.from_native(data, eager_only=True)
    return {name: frame[name].to_numpy() for name in frame.columns}
