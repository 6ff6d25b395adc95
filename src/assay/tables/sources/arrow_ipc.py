"""Arrow IPC files (also called Feather) and streams as a source: batch by batch, files mapped into memory rather than read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc

from assay.errors import DataError, SchemaError
from assay.tables.sources.source import Reading, Source, named, refuse_repeats
from assay.tables.sources.text import plain_bytes

FILE_MAGIC = b"ARROW1"
STREAM_MAGIC = b"\xff\xff\xff\xff"


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Arrow's errors in the user's words."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        text = str(error).splitlines()[0]
        raise DataError(f"{path!r} is not a readable Arrow file, it may be damaged or cut short: {text}") from None


class ArrowFiles(Source):
    """One or more Arrow files or streams with the same columns, one after another."""

    def __init__(self, paths: list[Path], where: str | None = None) -> None:
        self.paths = [str(path) for path in paths]
        self.where = where or named(paths)
        schema = _schema(self.paths[0])
        refuse_repeats(schema.names, self.where)
        self.types = dict(zip(schema.names, schema.types))
        for path in self.paths[1:]:
            if not _schema(path).equals(schema):
                raise SchemaError(
                    f"{path!r} has other columns than {self.paths[0]!r}: files that are read as one table need the same columns."
                )
        if all(batch.num_rows == 0 for path in self.paths[:1] for batch in _first_batches(path)):
            raise DataError(f"{self.where} has columns but no rows.")

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        names = list(columns)
        wanted = sorted(list(self.types).index(name) for name in names)
        for path in self.paths:
            for batch in _batches(path, wanted):
                yield batch.select(names)


def _batches(path: str, wanted: list[int]) -> Iterator[Any]:
    """The batches of one file with some of its columns; the others are not decoded."""
    how = ipc.IpcReadOptions(included_fields=wanted)
    with explained(path), _source(path) as source:
        if _is_file(path):
            reader = ipc.open_file(source, options=how)
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)
        else:
            yield from ipc.open_stream(source, options=how)


def _first_batches(path: str) -> Iterator[Any]:
    for batch in _batches(path, [0]):
        yield batch
        if batch.num_rows:
            return


def _schema(path: str) -> Any:
    with explained(path), _source(path) as source:
        return (ipc.open_file if _is_file(path) else ipc.open_stream)(source).schema


def _is_file(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(FILE_MAGIC)) == FILE_MAGIC


def _source(path: str) -> Any:
    return pa.memory_map(path) if _is_file(path) else plain_bytes(path)
