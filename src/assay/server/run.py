"""The life of the service: start, watch the model files, stop when told, finishing what is under way."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.errors import AssayError, MissingExtraError
from assay.server.settings import Settings

WATCH = 1.0  # seconds between two looks at the model files
SWEEP = 0.5  # seconds between two looks at the connections
LAST_CALL = 0.3  # seconds in which connections that stand idle may still ask, once the service is stopping
SWITCH = 0.0005  # seconds after which a thread with a large request lets the event loop go on
KEPT = 32_000_000  # bytes, just below the most that the C library may be taught


def run(path: Path, settings: Settings, started: Callable[[str, list[str]], None]) -> None:
    """Serve until SIGTERM or SIGINT; `started(url, models)` is called once requests are answered."""
    try:
        import httptools  # noqa: F401
    except ImportError:
        raise MissingExtraError("Serving needs httptools: pip install 'assay[serve]'.") from None
    from assay.server.access_log import AccessLog
    from assay.server.catalogue import Catalogue

    log = AccessLog(settings.access_log)
    try:
        catalogue = Catalogue(path, log.tell)
        sys.setswitchinterval(SWITCH)
        _keep_freed_memory()
        with warnings.catch_warnings(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
            warnings.showwarning = lambda message, *_: log.tell("warning", text=str(message))  # a line of JSON, as all
            runner.run(_serve(catalogue, settings, log, started))
    finally:
        log.close()


def _keep_freed_memory() -> None:
    """Have the C library keep the memory of one request for the next.

    glibc gives large freed blocks back to the system at once, until it has seen a larger one freed; each request would then wait for
    the system to clear the same pages again, more than half of the time that 10 000 rows in Arrow take. Elsewhere this does nothing.
    """
    import numpy as np

    np.empty(KEPT, dtype=np.uint8)


def _loop_factory() -> Any:
    """uvloop where it is there: about a third more requests."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(catalogue: Any, settings: Settings, log: Any, started: Callable[[str, list[str]], None]) -> None:
    from assay.server.connection import Connection
    from assay.server.service import Service

    loop = asyncio.get_running_loop()
    service = Service(catalogue, settings, log, loop)
    stop, at_once = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: (at_once if stop.is_set() else stop).set())
    try:
        server = await loop.create_server(lambda: Connection(service), settings.host, settings.port, backlog=512)
    except OSError as error:
        raise AssayError(_cannot_listen(settings, error)) from None
    for name in catalogue.names():
        catalogue.find(name).warm()
    gc.collect()
    gc.freeze()  # what is there now stays: the collector need not look at it again
    host, port = server.sockets[0].getsockname()[:2]
    started(f"http://{f'[{host}]' if ':' in host else host}:{port}", catalogue.names())
    watching = [loop.create_task(_watch(service)), loop.create_task(_sweep(service))]
    await stop.wait()
    server.close()
    await _drained(service, at_once)
    for task in watching:
        task.cancel()
    service.gate.close()


def _cannot_listen(settings: Settings, error: OSError) -> str:
    where = f"{settings.host}:{settings.port}"
    why = (error.strerror or str(error)).lower()
    return f"The service cannot listen at {where} ({why}): choose another --port (0: any that is free) or --host."


async def _watch(service: Any) -> None:
    """Look for new, replaced and removed model files."""
    loop = asyncio.get_running_loop()
    catalogue, told = service.catalogue, ""
    while True:
        await asyncio.sleep(WATCH)
        try:
            for key, file in catalogue.changed().items():
                served = None if file is None else await loop.run_in_executor(None, catalogue.load, key, file)
                service.metrics.reloads["removed" if file is None else "failed" if served is None else "loaded"] += 1
                if file is None or served is not None:
                    catalogue.put(key, served)
            told = ""
        except Exception as error:  # a folder that cannot be read now may be readable later
            if told != (told := f"{type(error).__name__}: {error}"):
                service.log.tell("models not looked at", error=told)


async def _sweep(service: Any) -> None:
    while True:
        await asyncio.sleep(SWEEP)
        now = service.now()
        for connection in list(service.connections):
            connection.check(now)


async def _drained(service: Any, at_once: asyncio.Event) -> None:
    """Wait until what is under way is answered, no longer than a request may take, nor after a second signal."""
    service.stopping = True
    began = service.now()
    until = began + service.settings.timeout
    while service.connections and service.now() < until and not at_once.is_set():
        await asyncio.sleep(0.02)
        if service.now() - began > LAST_CALL:
            for connection in list(service.connections):
                if connection.idle:
                    connection.close()
