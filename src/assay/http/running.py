"""uvicorn as the service and the studio run it: on sockets that are open already, with signals left to whoever runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing.connection import Connection, wait
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


@contextmanager
def on_signals(numbers: tuple[int, ...], stop: Callable[[str], None]) -> Iterator[None]:
    """Within, these signals call `stop` with their name in the running loop, unless they are ignored here; afterwards all is as before."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in numbers}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in taken:
        _on_signal(loop, number, stop)
    try:
        yield
    finally:
        for number in taken:
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, before[number])


def _on_signal(loop: asyncio.AbstractEventLoop, number: int, stop: Callable[[str], None]) -> None:
    name = signal.Signals(number).name
    try:
        loop.add_signal_handler(number, stop, name)
    except NotImplementedError:  # Windows: by Python's own handler, from which the loop is woken
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop, name))


@contextmanager
def on_end_of(connection: Connection | None, stop: Callable[[], None]) -> Iterator[None]:
    """Within, `stop` is called in the running loop once the other end of the connection is closed."""
    if connection is None:
        yield
        return
    loop = asyncio.get_running_loop()

    def ended() -> None:
        with suppress(NotImplementedError):
            loop.remove_reader(connection.fileno())
        stop()

    try:
        loop.add_reader(connection.fileno(), ended)
    except NotImplementedError:  # Windows: a thread waits
        threading.Thread(target=_wait_for_end, args=(connection, loop, ended), daemon=True).start()
    yield


def _wait_for_end(connection: Connection, loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
    wait([connection])
    with suppress(RuntimeError):  # the loop has ended before
        loop.call_soon_threadsafe(ended)
