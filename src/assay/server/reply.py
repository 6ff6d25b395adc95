"""An answer on its way out: status, headers and body, as the bytes of HTTP/1.1."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import formatdate
from functools import cache, lru_cache
from http import HTTPStatus
from time import time
from typing import Any


@dataclass(slots=True)
class Reply:
    """What goes back. `body` is bytes, or a file that is sent from its start; `rows`: how many were answered, for the log."""

    body: Any
    kind: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    rows: int = 0
    last: bool = False  # the connection ends with it
    size: int = -1  # of a file

    def head(self, keep: bool, http_1_0: bool = False) -> bytes:
        """The status line and the headers."""
        size = len(self.body) if self.size < 0 else self.size
        head = b"%bcontent-length: %d\r\n%b" % (_start(self.status, self.kind), size, _date(int(time())))
        if self.headers:
            head += "".join(f"{name}: {value}\r\n" for name, value in self.headers).encode("latin-1")
        if not keep:
            return head + b"connection: close\r\n\r\n"
        return head + (b"connection: keep-alive\r\n\r\n" if http_1_0 else b"\r\n")


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return f"date: {formatdate(second, usegmt=True)}\r\n".encode()


@cache
def _start(status: int, kind: str) -> bytes:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: {kind}\r\n".encode("latin-1")
