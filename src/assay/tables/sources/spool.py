"""The result of a query, copied once into a temporary Parquet file.

SQL promises no order of rows, and a table may change between two readings. Fitting reads the rows more than once and needs
the same rows in the same order each time: so the database is asked once, and every pass reads the copy.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from assay.abandoned import release, temporary_path
from assay.errors import DataError, WriteError
from assay.tables.arrow_columns import is_number, is_text
from assay.tables.sources.parquet import ParquetFiles
from assay.tables.sources.source import Reading, Source

ROWS_IN_GROUP = 1 << 16


class SpooledQuery(Source):
    """A temporary Parquet file that is removed with the source. Other processes of this machine may read it meanwhile.

    Of a column that no model can read (lists, JSON, bytes) only is kept where it is missing; it comes as empty lists.
    """

    def __init__(self, where: str, schema: Any, batches: Iterable[Any], notes: Sequence[str] = ()) -> None:
        if not schema.names:
            raise DataError(f"{where} gives no columns.")
        self.where, self.notes = where, notes
        self.types = dict(zip(schema.names, schema.types))
        self.path = write(where, kept(schema), (_kept(batch, schema) for batch in batches))
        self._remove = weakref.finalize(self, _remove, self.path, os.getpid())
        self._file = ParquetFiles([Path(self.path)], where)
        self.n_rows = self._file.n_rows

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        hollow = [i for i, name in enumerate(columns) if not is_readable(self.types[name])]
        for batch in self._file.batches(columns, size):
            for i in hollow:
                batch = batch.set_column(i, batch.schema.names[i], _empty_lists(batch.column(i)))
            yield batch

    def __getstate__(self) -> dict[str, Any]:
        """Without the duty to remove the file, which stays with the process that wrote it."""
        return {name: value for name, value in self.__dict__.items() if name != "_remove"}


def is_readable(dtype: Any) -> bool:
    """Whether a column can mean something to a model: numbers, text, dates and times."""
    temporal = pa.types.is_temporal(dtype) and not pa.types.is_interval(dtype)
    return is_number(dtype) or is_text(dtype) or temporal


def kept(schema: Any) -> Any:
    """The schema of the file: a column that no model can read becomes "it is there"."""
    return pa.schema([(f.name, f.type if is_readable(f.type) else pa.bool_()) for f in schema])


def _kept(batch: Any, schema: Any) -> Any:
    pairs = zip(batch.columns, schema.types)
    columns = [column.cast(dtype) if is_readable(dtype) else _there(column) for column, dtype in pairs]
    return pa.record_batch(columns, kept(schema))


def _there(column: Any) -> Any:
    """True, or missing where the column is."""
    there = column.is_valid()
    return compute.if_else(there, there, None)


def _empty_lists(there: Any) -> Any:
    offsets = pa.array([0] * (len(there) + 1), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.nulls(0), mask=there.is_null())


@contextmanager
def _writing(where: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"The rows of {where[0].lower() + where[1:]} cannot be copied to {str(Path(path).parent)!r}: "
            f"{error.strerror or error}. Set TMPDIR to a folder with more room."
        ) from None


def write(where: str, schema: Any, batches: Iterable[Any]) -> str:
    """The path of a new temporary file with the batches; nothing is left of it after an error or an interrupt."""
    with _writing(where, tempfile.gettempdir() + "/"):
        path = temporary_path("rows", ".parquet")
    text = [field.name for field in schema if is_text(field.type)]
    writer = None
    try:
        with _writing(where, path):
            writer = parquet.ParquetWriter(path, schema, compression="lz4", use_dictionary=text)
        for table in _groups(batches, schema):
            with _writing(where, path):
                writer.write_table(table, row_group_size=ROWS_IN_GROUP)
        with _writing(where, path):
            writer.close()
    except BaseException:
        with suppress(Exception):
            if writer is not None:
                writer.close()
        _remove(path, os.getpid())
        raise
    return path


def _groups(batches: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Batches put together until they fill a row group."""
    held: list[Any] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_IN_GROUP:
            yield pa.Table.from_batches(held, schema)
            held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held, schema)


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked process ends without taking the file from its parent
        release(path)  # first: elsewhere than on POSIX what is open cannot be removed
        Path(path).unlink(missing_ok=True)
