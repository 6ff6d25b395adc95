"""Parquet files as a source: only the needed columns are decoded, a little at a time, however large the row groups.

Workers of a cluster read ranges of rows themselves. A process keeps a few cursors: open files with a position. A range that begins
behind a cursor in the same row group goes on from there, so that a worker which gets every other stretch of a large row group
decodes that group once, not once a block.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as parquet

from assay.engines import Block
from assay.errors import DataError, SchemaError
from assay.tables.sources.source import Decoding, Reading, Source, named, refuse_repeats

PAGE_BUFFER = 1 << 16
MOST_IDLE = 4  # cursors
BATCH = 1 << 14


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

    readable_anywhere = True

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

    def ranges(self, decoding: Decoding, step: int) -> Iterator[RangePart]:
        """The blocks of the files, each as the stretches that it covers."""
        for start in range(0, sum(self.lengths), step):
            stretches, begin = [], 0
            for path, length in zip(self.paths, self.lengths):
                first, last = max(start, begin), min(start + step, begin + length)
                if first < last:
                    stretches.append((path, first - begin, last - begin))
                begin += length
            yield RangePart(tuple(stretches), decoding, start)


_lock = threading.Lock()
_idle: list[Cursor] = []


class Cursor:
    """A place in a Parquet file from which some columns can be read on."""

    def __init__(self, path: str, names: list[str]) -> None:
        self.path, self.names = path, names
        self.key = cursor_key(path, names)
        self._file = open_parquet(path)
        metadata = self._file.metadata
        self._ends: list[int] = []
        for group in range(metadata.num_row_groups):
            self._ends.append(metadata.row_group(group).num_rows + (self._ends[-1] if self._ends else 0))
        self.at = 0
        self._held: Any = None
        self._batches: Iterator[Any] | None = None

    def _seek(self, first: int) -> None:
        group = next(g for g, end in enumerate(self._ends) if first < end)
        begin = self._ends[group - 1] if group else 0
        if self._batches is None or first < self.at or begin > self.at + (self._held.num_rows if self._held else 0):
            self._batches = read_batches(self.path, self._file, self.names, BATCH, group)
            self.at, self._held = begin, None

    def read(self, first: int, last: int) -> list[Any]:
        """Slices of batches that hold the rows first … last − 1."""
        self._seek(first)
        assert self._batches is not None
        slices = []
        while self.at < last:
            if self._held is None:
                self._held = next(self._batches)
            skip = max(0, first - self.at)
            take = min(self._held.num_rows, last - self.at)
            if skip < take:
                slices.append(self._held.slice(skip, take - skip))
            self.at += take
            self._held = self._held.slice(take) if take < self._held.num_rows else None
        return slices


def cursor_key(path: str, names: list[str]) -> tuple[Any, ...]:
    """What a cursor may be reused for: the same columns of the same file, unchanged."""
    with explained(path):
        status = os.stat(path)
    return (path, status.st_mtime_ns, status.st_size, *names)


def read_range(path: str, names: list[str], first: int, last: int) -> list[Any]:
    """The rows first … last − 1 of a Parquet file, from the nearest idle cursor or a new one."""
    key = cursor_key(path, names)
    with _lock:
        ours = [c for c in _idle if c.key == key]
        cursor = max(ours, key=lambda c: (c.at <= first, c.at), default=None)
        if cursor is not None:
            _idle.remove(cursor)
    cursor = cursor or Cursor(path, names)
    slices = cursor.read(first, last)
    with _lock:
        _idle.append(cursor)
        del _idle[:-MOST_IDLE]
    return slices


@dataclass(frozen=True)
class RangePart:
    """A block as stretches (path, first row, last row) of files: small to send, read where it is computed."""

    stretches: tuple[tuple[str, int, int], ...]
    decoding: Decoding
    start: int
    readable_anywhere: ClassVar[bool] = True

    def load(self) -> Block:
        names = list(self.decoding.columns())
        batches = [b for path, first, last in self.stretches for b in read_range(path, names, first, last)]
        return self.decoding.block(batches, self.start)
