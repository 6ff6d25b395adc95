"""Several worker processes behind one address: started, replaced where one dies, stopped together."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import msgspec

from assay.errors import AssayError
from assay.processes.child import ignore_interrupts, interrupts_held
from assay.server.app import ServerSettings
from assay.server.run import serve

PAUSE = 1.0  # seconds before one that died is replaced
_spawn = multiprocessing.get_context("spawn")


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
