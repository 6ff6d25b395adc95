"""uvicorn as the service and the studio run it: on sockets that are open already, with signals left to whoever runs it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import uvicorn

BACKLOG = 512
IDLE = 75  # seconds that a connection is kept without a request


def listening(host: str, port: int) -> list[socket.socket]:
    """Sockets at every address of the host, with one port (0: any that is free)."""
    found: list[socket.socket] = []
    try:
        for family, kind, proto, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            listener = socket.socket(
                family, kind, proto
            )  # with its protocol, or asyncio leaves Nagle's delay on: 44 ms
            found.append(listener)
            if os.name == "posix":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((address[0], port, *address[2:]))
            port = listener.getsockname()[1]
            listener.listen(BACKLOG)
    except OSError:
        for listener in found:
            listener.close()
        raise
    return found


class OwnedServer(uvicorn.Server):
    """uvicorn with an ASGI application; it leaves signals to its owner and calls `ready` once requests are answered."""

    def __init__(self, application: Any, ready: Callable[[], None], **options: Any) -> None:
        config = uvicorn.Config(
            application, ws="none", lifespan="off", interface="asgi3", log_config=None, access_log=False,
            proxy_headers=False, server_header=False, backlog=BACKLOG, timeout_keep_alive=IDLE, **options,
        )  # fmt: skip
        config.load()
        super().__init__(config)
        self._ready = ready

    def capture_signals(self) -> Any:
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()
