"""A studio from its start to its end: the private folder, the server on 127.0.0.1, the processes."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import uvicorn

from assay.errors import AssayError, DataError
from assay.studio.pool import Pool
from assay.studio.protocol import Refused, TableLocation
from assay.studio.serving import Studio, application
from assay.studio.tables import Shelf, new_identity

HOST = "127.0.0.1"


def run(port: int, start: TableLocation | None, ready: Callable[[str], None]) -> str | None:
    """Serve until a signal, whose name is returned; `ready` is told the address once the page can be opened. `port` 0: any that is free."""
    pool = Pool()  # its processes load while the server does
    try:
        with tempfile.TemporaryDirectory(prefix="assay-studio-") as folder, _listening(port) as listener:
            studio = Studio(Shelf(folder), secrets.token_urlsafe(32), pool, listener.getsockname()[1])
            return asyncio.run(_serve(studio, listener, start, ready))
    finally:
        pool.close()


def _listening(port: int) -> socket.socket:
    listener = socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # or asyncio leaves Nagle's delay on: 44 ms
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise DataError(f"Port {port} cannot be had ({error.strerror}): give another --port, or none.") from None
    return listener


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it."""

    def capture_signals(self) -> Any:
        return nullcontext()


async def _serve(
    studio: Studio, listener: socket.socket, start: TableLocation | None, ready: Callable[[str], None]
) -> str | None:
    """Returns the name of the signal that ended it."""
    settings = uvicorn.Config(
        application(studio), log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=1,
        timeout_keep_alive=75,
        server_header=False, ws="none", h11_max_incomplete_event_size=32 << 10,
    )  # fmt: skip
    server = _Server(settings)
    stopped: list[str] = []

    def stop(name: str) -> None:
        stopped.append(name)
        studio.pool.stop()
        server.should_exit = True

    with _signals(stop):
        await _until_ended(studio, server, listener, start, ready)
    return stopped[0] if stopped else None


@contextmanager
def _signals(stop: Callable[[str], Any]) -> Iterator[None]:
    """Within, Ctrl-C and SIGTERM end the server in good order, unless they are ignored here."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in taken:
        loop.add_signal_handler(number, stop, signal.Signals(number).name)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


async def _until_ended(
    studio: Studio,
    server: uvicorn.Server,
    listener: socket.socket,
    start: TableLocation | None,
    ready: Callable[[str], None],
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        if start is not None:
            await _open(studio, start)
        if not server.should_exit:
            ready(f"http://{HOST}:{studio.port}/#token={studio.token}")
        await serving
    finally:
        server.should_exit = True
        await asyncio.wait({serving}, timeout=3)
        studio.pool.stop()


async def _open(studio: Studio, start: TableLocation) -> None:
    """Open the table that the studio begins with."""
    try:
        studio.start = await studio.opened(start, new_identity())
    except Refused as refusal:
        raise (DataError if refusal.status == 400 else AssayError)(str(refusal)) from None
    names = [column["name"] for column in studio.start["columns"]]
    if start.target is not None and start.target not in names:
        from assay.errors import SchemaError, nearest

        raise SchemaError(f"There is no column {start.target!r}. {nearest(start.target, names)}")
