"""The body of a request: in memory while it is small, then in a file; unpacked where it is packed; never more than is allowed."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from assay.http.replies import Refusal
from assay.server.replies import RETRY

IN_MEMORY = 8 << 20
PIECE = 1 << 16


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
            self._file = tempfile.NamedTemporaryFile(prefix="assay-body-")  # noqa: SIM115 - `close` ends it
            self._file.writelines(self._parts)
            self._parts = []

    def whole(self) -> bytes:
        """All of it in memory."""
        if self._file is None:
            parts = self._parts
            return parts[0] if len(parts) == 1 else b"".join(parts)
        self._file.seek(0)
        return self._file.read()

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
            self._file.close()
            self._file = None
        self._parts = []


@contextmanager
def _written(data: bytes) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(prefix="assay-body-") as file:
        file.write(data)
        file.flush()
        yield Path(file.name)


def too_large(most: int) -> Refusal:
    return Refusal(
        413, f"The body is larger than the {most} bytes that are allowed: send fewer rows at a time.", last=True
    )


def unpacked(body: Body, most: int) -> Body:
    """What a gzip body holds, a piece at a time: what a few bytes can become is stopped at the limit."""
    whole, stream, data = Body(most), zlib.decompressobj(wbits=31), body.whole()
    try:
        while data:
            whole.add(stream.decompress(data, PIECE))
            data = stream.unconsumed_tail
            if stream.eof and stream.unused_data:  # one member follows another
                data, stream = stream.unused_data, zlib.decompressobj(wbits=31)
    except zlib.error as error:
        raise Refusal(400, f"The body is not gzip, as its Content-Encoding says: {error}.") from None
    while not stream.eof and (more := stream.decompress(b"", PIECE)):
        whole.add(more)
    if not stream.eof:
        raise Refusal(400, "The packed body is cut short.")
    return whole


def answer_file() -> Any:
    """Where an answer grows that may become large."""
    return tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)
