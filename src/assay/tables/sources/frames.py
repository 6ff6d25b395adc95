"""A frame in memory as a source: pandas, polars, Arrow, DuckDB, whatever speaks Arrow or is known to narwhals, a dict of columns.

The columns keep their types: categories stay categories (Arrow dictionaries), nullable whole numbers stay whole, times stay
times; pandas' row labels are no column. What can be read but once (a stream of batches, a query) is kept in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as types

from assay.errors import DataError, DataTypeError
from assay.tables.sources.source import Reading, Source, check_known, refuse_repeats


class FrameSource(Source):
    """An Arrow table, or what has been turned into one."""

    def __init__(self, data: Any, where: str | None = None) -> None:
        self.where = where or f"the {type(data).__name__}"
        table = _table(data, self.where)
        refuse_repeats(table.column_names, self.where)
        if table.num_columns == 0:
            raise DataError(f"{self.where} has no columns.")
        if table.num_rows == 0:
            raise DataError(f"{self.where} has columns but no rows.")
        self._columns = _plain_text(table)
        self.types = dict(zip(self._columns.column_names, self._columns.schema.types))
        self.n_rows = self._columns.num_rows

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        check_known(columns, self.types, "it is to be read", self.where)
        yield from self._columns.select(list(columns)).to_batches(max_chunksize=size)


def is_frame(data: Any) -> bool:
    """Whether an object is a table in memory (and not a path, an array or a list)."""
    if isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return True
    import narwhals.stable.v2 as nw

    return nw.from_native(data, pass_through=True) is not data or isinstance(data, nw.DataFrame | nw.LazyFrame)


def _table(data: Any, where: str) -> Any:
    if isinstance(data, Mapping):
        return _from_columns(data, where)
    if isinstance(data, pa.Table):
        return data
    native = _native(data, where)
    try:
        if _is_pandas(native):
            return _from_pandas(native, where)
        return pa.table(native)
    except (pa.ArrowException, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise _refusal(error, where) from None


def _native(data: Any, where: str) -> Any:
    """The frame itself, out of narwhals' wrapping; a lazy one computed."""
    if _is_pandas(data):
        return data
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(data, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"{where} cannot be read: {error}") from None
    return frame.to_native() if isinstance(frame, nw.DataFrame) else data


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pandas"


def _from_pandas(frame: Any, where: str) -> Any:
    names = [str(name) for name in frame.columns]
    refuse_repeats(names, where)
    if any(not isinstance(name, str) for name in frame.columns):
        frame = frame.set_axis(names, axis=1)
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


def _from_columns(columns: Mapping[Any, Any], where: str) -> Any:
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[str(name)] = pa.array(
                values.tolist() if getattr(values, "ndim", 1) > 1 else values, from_pandas=True
            )
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataTypeError(f"Column {str(name)!r} of {where} cannot be read: {error}") from None
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"The columns of {where} have different lengths: {lengths}.")
    return pa.table(arrays)


def _plain_text(table: Any) -> Any:
    """Text views (as polars hands them over) as plain text: not every function knows views."""
    for j, dtype in enumerate(table.schema.types):
        held = dtype.value_type if types.is_dictionary(dtype) else dtype
        if types.is_string_view(held):
            plain = (
                pa.dictionary(dtype.index_type, pa.large_string()) if types.is_dictionary(dtype) else pa.large_string()
            )
            table = table.set_column(j, table.field(j).name, table.column(j).cast(plain))
    return table


def _refusal(error: Exception, where: str) -> DataTypeError:
    column = re.search(r"[Cc]olumn (\S+) with type", str(error))
    what = f"Column {column[1]!r} of {where}" if column else where
    return DataTypeError(
        f"{what} cannot be read as a column of one type ({str(error).splitlines()[0]}): make it text or numbers, as with "
        "astype(str)."
    )
