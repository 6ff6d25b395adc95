"""The access log: a line of JSON a request on standard error, written by a thread of its own.

A reader that does not read must not stop the service: beyond some thousands of lines further ones are counted, and the count is written.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

EVERY = 0.1  # seconds
MOST = 50_000  # lines held
WHOLE = 4096  # bytes that a pipe takes in one piece: lines of several processes do not mix


class AccessLog:
    """`add` costs the caller next to nothing."""

    def __init__(self, requests: bool) -> None:
        self._requests, self._held, self._lost = requests, deque[dict[str, Any]](), 0
        self._over = threading.Event()
        self._encode = msgspec.json.Encoder().encode
        self._thread = threading.Thread(target=self._run, name="assay-log", daemon=True)
        self._thread.start()

    def add(
        self, when: float, client: str, method: str, path: str, status: int, size: int, seconds: float, rows: int
    ) -> None:
        """A request that has been answered; `when` in seconds since 1970."""
        if not self._requests:
            return
        if len(self._held) >= MOST:
            self._lost += 1
            return
        self._held.append(
            {"time": when, "client": client, "method": method, "path": path, "status": status, "bytes": size, "ms": round(seconds * 1e3, 3), "rows": rows}
        )  # fmt: skip

    def emit(self, event: str, **facts: Any) -> None:
        """Something that happened to the service itself; it is written even where requests are not."""
        self._held.append({"time": datetime.now(UTC).timestamp(), "event": event, **facts})

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            self._write()
        self._write()

    def _write(self) -> None:
        lines = []
        while self._held:
            line = self._held.popleft()
            line["time"] = datetime.fromtimestamp(line["time"], UTC).isoformat(timespec="milliseconds")
            lines.append(self._encode(line))
        if self._lost:
            lines.append(self._encode({"event": "log lines lost", "count": self._lost}))
            self._lost = 0
        try:
            for piece in _pieces(lines):
                sys.stderr.buffer.write(piece)
                sys.stderr.buffer.flush()
        except (OSError, ValueError):  # nobody listens any more
            self._requests = False

    def close(self) -> None:
        self._over.set()
        self._thread.join(timeout=1.0)


def _pieces(lines: list[bytes]) -> Iterator[bytes]:
    """Whole lines, as many at a time as a pipe takes in one piece."""
    piece = b""
    for line in lines:
        if piece and len(piece) + len(line) >= WHOLE:
            yield piece
            piece = b""
        piece += line + b"\n"
    if piece:
        yield piece
