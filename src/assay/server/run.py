"""The life of the service: start, watch the model files, stop when told, finishing what is under way.

Several worker processes behind one address are started, replaced where one dies, and stopped together.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
import socket
import ssl
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from assay.errors import AssayError, MissingExtraError, install
from assay.processes.child import ignore_interrupts, interrupts_held

if TYPE_CHECKING:
    from assay.http.running import OwnedServer
    from assay.server.app import ServerSettings, Service
    from assay.server.metrics import AccessLog

WATCH = 1.0  # seconds between two looks at the model files
SWEEP = 0.5  # seconds between two looks at the connections
GRACE = 5.0  # seconds that requests under way have to end once the service is stopping
SWITCH = 0.0005  # seconds after which a thread with a large request lets the event loop go on
KEPT = 32_000_000  # bytes, just below the most that the C library may be taught

PAUSE = 1.0  # seconds before a worker that died is replaced

Started = Callable[[str, list[str]], None]
_spawn = multiprocessing.get_context("spawn")


def run(path: Path, settings: ServerSettings, started: Started) -> None:
    """Serve until SIGTERM or SIGINT; `started(url, models)` is called once requests are answered."""
    try:
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"Serving needs {error.name}: {install('serve')}.") from None
    _check_certificate(settings)
    listeners = _listening(settings)
    scheme = "http" if settings.certfile is None else "https"
    host, port = listeners[0].getsockname()[:2]
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    try:
        if settings.workers > 1:
            supervise(path, settings, listeners, lambda names: started(url, names))
        else:
            signals = (signal.SIGTERM, signal.SIGINT)
            serve(path, settings, listeners, lambda names: started(url, names), signals)
    finally:
        for listener in listeners:
            listener.close()


def _check_certificate(settings: ServerSettings) -> None:
    """Raise unless the files of `--certfile` and `--keyfile` can be used: before anything starts, and once for all workers."""
    if settings.certfile is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.certfile, settings.keyfile, password="")
    except (OSError, ValueError) as error:  # of ssl too
        why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        if isinstance(error, ssl.SSLError):
            why = f"no PEM file of a certificate with its key, without a password: {error.reason or why}"
        raise AssayError(f"--certfile {settings.certfile!r} cannot be used ({why.lower()}).") from None


def _listening(settings: ServerSettings) -> list[socket.socket]:
    from assay.http.running import listening

    try:
        return listening(settings.host, settings.port)
    except OSError as error:
        where, why = f"{settings.host}:{settings.port}", (error.strerror or str(error)).lower()
        text = f"The service cannot listen at {where} ({why}): choose another --port (0: any that is free) or --host."
        raise AssayError(text) from None


def serve(
    path: Path,
    settings: ServerSettings,
    listeners: list[socket.socket],
    ready: Callable[[list[str]], None],
    signals: tuple[signal.Signals, ...],
    worker: int | None = None,
    parent: Connection | None = None,
) -> None:
    """Serve in this process. Of several `worker` processes each ends when the connection to its `parent` does."""
    from assay.abandoned import tidy
    from assay.http.running import on_end_of, on_signals
    from assay.server.app import Service
    from assay.server.metrics import AccessLog
    from assay.server.served import Catalogue

    log = AccessLog(settings.access_log)

    async def life() -> bool:
        loop = asyncio.get_running_loop()
        service = Service(catalogue, settings, log, loop, worker)
        server = _server(service, lambda: ready(catalogue.names()))

        def stop(_signal: str = "") -> None:
            server.force_exit = server.should_exit
            for connection in list(service.connections) if server.force_exit else ():
                connection.transport.abort()
            service.stopping = server.should_exit = True

        loop.set_exception_handler(lambda _, what: log.emit("error", error=str(what.get("exception", what["message"]))))
        with on_signals(signals, stop), on_end_of(parent, stop):
            return await _until_stopped(service, server, listeners)

    over = True
    try:
        tidy()
        catalogue = Catalogue(path, log.emit)
        for name in catalogue.names():
            catalogue.find(name).warm()
        sys.setswitchinterval(SWITCH)
        _keep_freed_memory()
        with _warnings_logged(log), asyncio.Runner(loop_factory=_loop_factory()) as runner:
            gc.collect()
            gc.freeze()  # what is there now stays: the collector need not look at it again
            over = runner.run(life())
    finally:
        log.close()
    if not over:
        _leave()


def _leave() -> NoReturn:
    """End the process with threads at work: their requests have been given up, and Python itself would wait for them."""
    from assay.server.bodies import remove_files

    remove_files()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)


def _server(service: Service, ready: Callable[[], None]) -> OwnedServer:
    """uvicorn with the service, and its protocol with our limits."""
    from assay.http.running import OwnedServer
    from assay.server.protocol import LimitedProtocol

    settings = service.settings
    server = OwnedServer(
        service, ready, http=LimitedProtocol, log_level="error", timeout_graceful_shutdown=min(settings.timeout, GRACE),
        ssl_certfile=settings.certfile, ssl_keyfile=settings.keyfile, ssl_keyfile_password="",
    )  # fmt: skip
    service.connections = server.server_state.connections
    return server


async def _until_stopped(service: Service, server: OwnedServer, listeners: list[socket.socket]) -> bool:
    """Serve; whether all that was begun is over at the end."""
    loop = asyncio.get_running_loop()
    watching = [loop.create_task(_watch(service)), loop.create_task(_sweep(service))]
    try:
        await server.serve(sockets=listeners)
    finally:
        for task in watching:
            task.cancel()
        over = service.admission.close()
    return over


@contextmanager
def _warnings_logged(log: AccessLog) -> Iterator[None]:
    """Warnings, and errors of the server itself, as lines of JSON like all others."""

    class LogHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            log.emit("error", error=record.getMessage().strip() + (f": {error!r}" if error else ""))

    handler, logger = LogHandler(), logging.getLogger("uvicorn")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: log.emit("warning", text=str(message))
            yield
    finally:
        logger.removeHandler(handler)


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


async def _watch(service: Service) -> None:
    """Look for new, replaced and removed model files."""
    catalogue, told = service.catalogue, ""
    while True:
        await asyncio.sleep(WATCH)
        try:
            for key, file in catalogue.changed().items():
                served = None
                if file is not None:
                    served = await service.admission.aside(partial(catalogue.load, key, file))
                service.metrics.reloads["removed" if file is None else "failed" if served is None else "loaded"] += 1
                if file is None or served is not None:
                    catalogue.put(key, served)
            told = ""
        except Exception as error:  # a folder that cannot be read now may be readable later
            if told != (told := f"{type(error).__name__}: {error}"):
                service.log.emit("models not looked at", error=told)


async def _sweep(service: Service) -> None:
    """End what takes too long."""
    while True:
        await asyncio.sleep(SWEEP)
        now = monotonic()
        for connection in list(service.connections):
            connection.check(now)


def supervise(
    path: Path, settings: ServerSettings, listeners: list[socket.socket], ready: Callable[[list[str]], None]
) -> None:
    """Serve by `settings.workers` processes until SIGTERM or SIGINT; a second signal waits for nobody."""
    workers = ServerWorkers(path, settings, listeners)
    before = {number: signal.signal(number, workers.stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        ready(workers.start())
        workers.watch()
    except AssayError:
        if not workers.stopped_by:
            raise
        raise KeyboardInterrupt(workers.stopped_by) from None  # before anything was served
    finally:
        workers.end()
        for number, handler in before.items():
            signal.signal(number, handler)


class ServerWorker:
    """A process that serves; it says when it does (the names of its models) or why it cannot, and ends when its pipe does."""

    def __init__(self, number: int, path: Path, settings: ServerSettings, listeners: list[socket.socket]) -> None:
        self.number = number
        self.pipe, theirs = _spawn.Pipe()
        self.process = _spawn.Process(target=_work, args=(number, path, settings, listeners, theirs), daemon=True)
        with interrupts_held():
            self.process.start()
        theirs.close()

    def names(self) -> list[str]:
        """The names of its models, once it serves."""
        try:
            found = self.pipe.recv()
        except EOFError:
            found = AssayError(f"Worker {self.number} ended before it could serve.")
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]

    def end(self) -> str:
        """Why it ended, as far as it said so."""
        found = None
        self.process.join()
        with suppress(EOFError, OSError):
            while self.pipe.poll():
                found = self.pipe.recv()
        self.pipe.close()
        return str(found).strip() if isinstance(found, Exception) else f"exit code {self.process.exitcode}"


class ServerWorkers:
    """The workers of one address."""

    def __init__(self, path: Path, settings: ServerSettings, listeners: list[socket.socket]) -> None:
        threads = max(1, settings.threads // settings.workers)
        self._arguments = path, replace(settings, threads=threads), listeners
        self._workers: list[ServerWorker] = []
        self.stopped_by = ""  # the name of a signal

    def start(self) -> list[str]:
        """The names of the models, once all workers serve."""
        for number in range(1, self._arguments[1].workers + 1):
            self._begin(number)
        names = [worker.names() for worker in self._workers]
        return names[0]

    def _begin(self, number: int) -> None:
        worker = ServerWorker(number, *self._arguments)
        self._workers.append(worker)
        if self.stopped_by:  # since a moment ago
            worker.process.terminate()

    def stop(self, number: int, _frame: Any) -> None:
        """Tell all workers; told twice they wait for nobody."""
        self.stopped_by = signal.Signals(number).name
        for worker in self._workers:
            worker.process.terminate()

    def watch(self) -> None:
        """Return when all have ended after `stop`; one that ends before is replaced."""
        while self._workers:
            ended = wait([worker.process.sentinel for worker in self._workers])
            for worker in [w for w in self._workers if w.process.sentinel in ended]:
                why = worker.end()
                self._workers.remove(worker)
                if not self.stopped_by:
                    line = {"event": "worker died", "worker": worker.number, "error": why}
                    print(msgspec.json.encode(line).decode(), file=sys.stderr, flush=True)
                    time.sleep(PAUSE)
                if not self.stopped_by:
                    self._begin(worker.number)

    def end(self) -> None:
        for worker in self._workers:
            worker.process.kill()
            worker.end()


def _work(
    number: int, path: Path, settings: ServerSettings, listeners: list[socket.socket], parent: Connection
) -> None:
    ignore_interrupts()
    try:
        serve(path, settings, listeners, parent.send, (signal.SIGTERM,), number, parent)
    except AssayError as error:
        parent.send(error)
