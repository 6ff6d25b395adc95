"""What a file has to offer to be read as rows, and the cutting of its batches into blocks of a fixed size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from assay.engines import Block

Reading = Literal["number", "text", "as it is"]


class Decoding(Protocol):
    """How batches of a source become blocks: which columns are read, and as what."""

    def columns(self) -> Mapping[str, Reading]: ...

    def block(self, batches: list[Any], start: int) -> Block: ...


class Source(ABC):
    """One table, wherever it lies. `types` are the Arrow types of its columns, in order; `notes` are what the user should hear.

    A column is asked for as a `Reading`: "number" (whole numbers may then come as floats), "text" (a source of characters gives
    the very characters of the file, a typed one its own type), or "as it is" (the type of `types`).
    """

    where: str
    types: dict[str, Any]
    n_rows: int | None = None
    typed: bool = True  # False: the file holds characters, and a column may be read as another type than was guessed
    keep: Any = None  # a temporary file that has to live as long as its rows
    notes: Sequence[str] = ()

    @abstractmethod
    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        """Arrow record batches of these columns, in their order, rows in order, of about `size` rows; may be called again."""


def named(paths: Sequence[Path]) -> str:
    """The files as a message calls them."""
    more = f" (and {len(paths) - 1} more files)" if len(paths) > 1 else ""
    return f"{str(paths[0])!r}{more}"


def cut(batches: Iterable[Any], step: int) -> Iterator[tuple[int, list[Any]]]:
    """(first row, slices) of exactly `step` rows each, the last one perhaps shorter. Slices share memory: nothing is copied."""
    held: list[Any] = []
    rows = start = 0
    for batch in batches:
        offset = 0
        while rows + batch.num_rows - offset >= step:
            take = step - rows
            yield start, [*held, batch.slice(offset, take)]
            start, offset, rows, held = start + step, offset + take, 0, []
        if offset < batch.num_rows:
            held.append(batch.slice(offset))
            rows += batch.num_rows - offset
    if rows:
        yield start, held
