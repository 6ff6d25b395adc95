"""What goes back over HTTP: replies, refusals, and who is let in by a token."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any

PIECE = 1 << 18  # bytes of a file that are sent at once

Headers = tuple[tuple[str, str], ...]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


@dataclass(slots=True)
class Reply:
    """An answer. `body` is bytes, a file of `size` bytes, or an asynchronous generator of bytes; `rows`: how many were answered, for the log."""

    body: Any
    kind: str = "application/json"
    status: int = 200
    headers: Headers = ()
    rows: int = 0
    last: bool = False  # the connection ends with it
    size: int = -1  # of a file


class Refusal(Exception):
    """A request that is not answered: status, what was wrong and what to do; `headers` go along; `last`: the connection ends."""

    def __init__(self, status: int, message: str, headers: Headers = (), last: bool = False) -> None:
        super().__init__(message)
        self.status, self.message, self.headers, self.last = status, message, headers, last


async def send_reply(reply: Reply, send: Send, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Send a reply, with `headers` besides its own."""
    body, head = reply.body, [(b"content-type", reply.kind.encode())]
    whole = isinstance(body, bytes)
    if whole or reply.size >= 0:
        head.append((b"content-length", b"%d" % (len(body) if whole else reply.size)))
    head += [(name.encode(), value.encode("latin-1")) for name, value in reply.headers]
    head += headers
    await send({"type": "http.response.start", "status": reply.status, "headers": head})
    if whole:
        await send({"type": "http.response.body", "body": body})
        return
    if isinstance(body, AsyncGenerator):
        async with aclosing(body):
            async for piece in body:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    else:
        with closing(body) as file:
            while piece := file.read(PIECE):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def knows_token(authorization: bytes, token: bytes) -> bool:
    """Whether the header `Authorization: Bearer TOKEN` has the token; it takes as long wherever they differ."""
    scheme, _, given = authorization.partition(b" ")
    return secrets.compare_digest(given.strip(), token) and scheme.lower() == b"bearer"
