"""The body of a request: in memory while it is small, then in a file; unpacked where it is packed; never more than is allowed."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from assay.abandoned import temporary_file
from assay.http.replies import Refusal
from assay.server.schemas import RETRY

IN_MEMORY = 8 << 20
PIECE = 1 << 16  # bytes that are unpacked at once,
SLICE = 1 << 12  # of so many packed ones
MOST_MEMBERS = 10_000  # of a gzip body; bgzip needs one for each 64 kB


class BodyBudget:
    """The bytes of all bodies that are held; beyond `most` nobody may send more."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0


class Body:
    """Bytes as they arrive. `add` raises a `Refusal` beyond `most` bytes, or where all bodies together are too many."""

    __slots__ = ("_budget", "_file", "_most", "_parts", "size")

    def __init__(self, most: int, budget: BodyBudget | None = None) -> None:
        self._most, self._budget, self.size = most, budget or BodyBudget(most), 0
        self._parts: list[bytes] = []
        self._file: IO[bytes] | None = None

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self._budget.held += len(data)
        if self.size > self._most:
            raise too_large(self._most)
        if self._budget.held > self._budget.most:
            raise Refusal(503, "The service has more bodies than it can hold: try again in a second.", RETRY, last=True)
        if self._file is not None:
            self._file.write(data)
            return
        self._parts.append(data)
        if self.size > IN_MEMORY:
            self._file = _temporary_file()
            self._file.writelines(self._parts)
            self._parts = []

    def whole(self) -> bytes:
        """All of it in memory."""
        if self._file is None:
            parts = self._parts
            return parts[0] if len(parts) == 1 else b"".join(parts)
        self._file.seek(0)
        return self._file.read()

    def pieces(self, size: int) -> Iterator[bytes]:
        """All of it, a little at a time."""
        if self._file is None:
            yield from (part[at : at + size] for part in self._parts for at in range(0, len(part), size))
            return
        self._file.seek(0)
        while piece := self._file.read(size):
            yield piece

    def in_file(self) -> AbstractContextManager[Path]:
        """The path of a file that holds it, for as long as the context lasts."""
        if self._file is None:
            return _written(self.whole())
        self._file.flush()
        return nullcontext(Path(self._file.name))

    @property
    def small(self) -> bool:
        return self._file is None

    def close(self) -> None:
        self._budget.held -= self.size
        self.size = 0
        if self._file is not None:
            _close(self._file)
            self._file = None
        self._parts = []


_files: set[str] = set()  # where bodies are


def _temporary_file() -> IO[bytes]:
    file = temporary_file("body")
    _files.add(file.name)
    return file


def _close(file: IO[bytes]) -> None:
    file.close()
    _files.discard(file.name)


def remove_files() -> None:
    """Remove the files of all bodies, before the process ends without a word to those who have them."""
    for name in list(_files):
        with suppress(OSError):  # Windows removes nothing that is open
            os.unlink(name)


@contextmanager
def _written(data: bytes) -> Iterator[Path]:
    file = _temporary_file()
    try:
        file.write(data)
        file.flush()
        yield Path(file.name)
    finally:
        _close(file)


def too_large(most: int) -> Refusal:
    return Refusal(
        413, f"The body is larger than the {most} bytes that are allowed: send fewer rows at a time.", last=True
    )


def unpacked(body: Body, most: int) -> Body:
    """What a gzip body holds; what a few bytes can become is stopped at the limit, while it grows."""
    whole = Body(most)
    try:
        for piece in _inflated(body.pieces(SLICE)):
            whole.add(piece)
    except BaseException as error:
        whole.close()
        if isinstance(error, zlib.error):
            raise Refusal(400, f"The body is not gzip, as its Content-Encoding says: {error}.") from None
        raise
    return whole


def _inflated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of gzip members one after another. What is left of a piece is copied for each of its members and for each `PIECE` that comes
    out of it, so pieces are short: of a whole body the copies would take time that grows with its square."""
    stream, members = zlib.decompressobj(wbits=31), 1
    for data in pieces:
        while data:
            if stream.eof:
                stream, members = zlib.decompressobj(wbits=31), members + 1
            if members > MOST_MEMBERS:
                raise Refusal(400, f"The packed body has more than {MOST_MEMBERS} members: pack it as one.")
            yield stream.decompress(data, PIECE)
            data = stream.unused_data if stream.eof else stream.unconsumed_tail
    while not stream.eof and (more := stream.decompress(b"", PIECE)):
        yield more
    if not stream.eof:
        raise Refusal(400, "The packed body is cut short.")


def answer_file() -> Any:
    """Where an answer grows that may become large."""
    return tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)
