"""A source whose rows are dear to read, such as text that has to be parsed: what one pass has read serves the next.

The schema takes one pass over a table, bringing it into memory another. Batches of the first are kept, as Arrow holds them, until
the second is done and says `forget`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.types as types

from assay.tables.sources.delimited import DelimitedFiles
from assay.tables.sources.json_lines import JsonLines
from assay.tables.sources.source import Reading, Source

MOST_BYTES = 1 << 30  # of the files


class CachedSource(Source):
    """Another source, with the batches of its first pass at hand."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.where, self.types, self.n_rows, self.typed = source.where, source.types, source.n_rows, source.typed
        self.keep, self.notes = source.keep, source.notes
        self._readings: dict[str, Reading] = {}
        self._batches: list[Any] | None = None
        self._over = False

    def forget(self) -> None:
        """Let go of what was read; later passes read the source again."""
        self._batches, self._over = None, True

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        if self._batches is not None:
            known = self._known(columns)
            if known is not None:
                return known
        return self.source.batches(columns, size) if self._over else self._first(columns, size)

    def _first(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        kept: list[Any] = []
        for batch in self.source.batches(columns, size):
            kept.append(batch)
            yield batch
        if not self._over:
            self._batches, self._readings, self._over = kept, dict(columns), True
            self.n_rows = sum(batch.num_rows for batch in kept)

    def _known(self, columns: Mapping[str, Reading]) -> Iterator[Any] | None:
        """The batches kept with just these columns, where they were read as is now asked for."""
        assert self._batches is not None
        for name, reading in columns.items():
            if self._readings.get(name) not in (reading, "number" if self._was_whole(name, reading) else reading):
                return None
        try:
            return iter([self._chosen(batch, columns) for batch in self._batches])
        except pa.ArrowInvalid:  # decimals among whole numbers: the source itself has to say where
            return None

    def _was_whole(self, name: str, reading: Reading) -> bool:
        return reading == "as it is" and types.is_integer(self.types[name])

    def _chosen(self, batch: Any, columns: Mapping[str, Reading]) -> Any:
        arrays = [
            batch.column(name).cast(self.types[name]) if self._was_whole(name, reading) else batch.column(name)
            for name, reading in columns.items()
        ]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def remembered(source: Source) -> Source:
    """The source itself, or one that remembers its first pass where reading means parsing and the files are not huge."""
    if not isinstance(source, DelimitedFiles | JsonLines):
        return source
    return CachedSource(source) if sum(Path(p).stat().st_size for p in source.paths) <= MOST_BYTES else source


def forget(source: Source) -> None:
    """Let go of what a source remembers, if it does."""
    if isinstance(source, CachedSource):
        source.forget()
