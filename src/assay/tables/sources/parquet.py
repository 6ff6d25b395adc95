"""Parquet files as a source: only the needed columns are decoded, a little at a time, however large the row groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from assay.errors import DataError, SchemaError
from assay.tables.columns import refuse_repeats
from assay.tables.sources.source import Reading, Source, named

PAGE_BUFFER = 1 << 16


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Arrow's errors in the user's words."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(
            f"There is no file {path!r} (on a cluster, every worker must see it under this path)."
        ) from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        text = str(error).splitlines()[0]
        raise DataError(f"{path!r} is not a readable Parquet file, it may be damaged or cut short: {text}") from None


def open_parquet(path: str) -> Any:
    """A Parquet file whose column chunks are read page by page instead of whole."""
    with explained(path):
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=PAGE_BUFFER)


def read_batches(path: str, file: Any, names: list[str], size: int, first_group: int = 0) -> Iterator[Any]:
    """Batches of the columns, from a row group on, with the columns in the order of `names`."""
    groups = list(range(first_group, file.num_row_groups))
    iterator = file.iter_batches(batch_size=size, row_groups=groups, columns=names, use_threads=False)
    while True:
        with explained(path):
            batch = next(iterator, None)
        if batch is None:
            return
        yield batch.select(names)


class ParquetFiles(Source):
    """One or more Parquet files with the same columns, one after another."""

    def __init__(self, paths: list[Path], where: str | None = None) -> None:
        self.paths = [str(p.resolve()) for p in paths]
        self.where = where or named(paths)
        first = open_parquet(self.paths[0])
        with explained(self.paths[0]):
            schema = first.schema_arrow
        refuse_repeats(schema.names, self.where)
        self.types = dict(zip(schema.names, schema.types))
        self.lengths = [first.metadata.num_rows, *(self._length(path) for path in self.paths[1:])]
        self.n_rows = sum(self.lengths)
        if self.n_rows == 0:
            raise DataError(f"{self.where} has columns but no rows.")

    def _length(self, path: str) -> int:
        file = open_parquet(path)
        schema = file.schema_arrow
        types = dict(zip(schema.names, schema.types))
        for name, dtype in self.types.items():
            if types.get(name) != dtype:
                raise SchemaError(
                    f"Column {name!r} is {dtype} in {self.paths[0]!r} but {types.get(name, 'missing')} in {path!r}: "
                    "files that are read as one table need the same columns."
                )
        return int(file.metadata.num_rows)

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        for path in self.paths:
            yield from read_batches(path, open_parquet(path), list(columns), size)
