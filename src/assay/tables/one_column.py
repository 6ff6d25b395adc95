"""A single column of a source as an array: the groups that rows belong to, or the moments they were taken at."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types

from assay.errors import DataError
from assay.numerics import Array
from assay.tables.columns import check_known
from assay.tables.plan import as_numbers, as_text
from assay.tables.sources.source import Reading, Source
from assay.tables.table_plan import as_seconds, without_nan

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
