"""A studio from its start to its end: the private folder, the server on 127.0.0.1, the processes."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable

from assay.abandoned import temporary_folder
from assay.errors import AssayError, DataError
from assay.http.replies import Refusal
from assay.http.running import OwnedServer, listening, on_signals
from assay.studio.pool import Pool
from assay.studio.requests import TableLocation
from assay.studio.serving import Studio
from assay.studio.session_files import SessionFiles, new_identity

HOST = "127.0.0.1"


def run(port: int, start: TableLocation | None, ready: Callable[[str], None], figure: str | None = None) -> str | None:
    """Serve until a signal, whose name is returned; `ready` is told the address once the page can be opened. `port` 0: any that is free;
    `figure`: the one that the address opens."""
    words = "" if figure is None else f"&preset={figure}"
    pool = Pool()  # its processes load while the server does
    try:
        with temporary_folder("studio") as folder, _listening(port) as listener:
            studio = Studio(SessionFiles(folder), secrets.token_urlsafe(32), pool, listener.getsockname()[1])
            return asyncio.run(_serve(studio, listener, start, lambda address: ready(address + words)))
    finally:
        pool.close()


def _listening(port: int) -> socket.socket:
    try:
        return listening(HOST, port)[0]
    except OSError as error:
        raise DataError(f"Port {port} cannot be had ({error.strerror}): give another --port, or none.") from None


async def _serve(
    studio: Studio, listener: socket.socket, start: TableLocation | None, ready: Callable[[str], None]
) -> str | None:
    """Returns the name of the signal that ended it."""
    stopped: list[str] = []

    def started() -> None:
        if not stopped:
            ready(f"http://{HOST}:{studio.port}/#token={studio.token}")

    def stop(name: str) -> None:
        stopped.append(name)
        studio.pool.stop()
        server.should_exit = True

    studio.begin()
    server = OwnedServer(studio, started, log_level="warning", timeout_graceful_shutdown=1)
    try:
        with on_signals((signal.SIGINT, signal.SIGTERM), stop):
            if start is not None:
                await _open(studio, start)
            await server.serve(sockets=[listener])
    finally:
        studio.pool.stop()  # while the loop still runs
    return stopped[0] if stopped else None


async def _open(studio: Studio, start: TableLocation) -> None:
    """Open the table that the studio begins with."""
    try:
        studio.start = await studio.opened(start, new_identity())
    except Refusal as refusal:
        raise (DataError if refusal.status == 400 else AssayError)(refusal.message) from None
    names = [column["name"] for column in studio.start["columns"]]
    if start.target is not None and start.target not in names:
        from assay.errors import SchemaError, nearest

        raise SchemaError(f"There is no column {start.target!r}. {nearest(start.target, names)}")
