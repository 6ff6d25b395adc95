"""Where the studio's workers come from: a process that has everything loaded and forks them, or Python started anew where nothing can fork.

Neither this module nor the pool needs NumPy: the server is there at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Protocol

from assay.processes.child import start, start_method
from assay.processes.messages import Event, Finish, receive

AHEAD = 16  # messages that wait for a slow reader before the worker has to


class Worker:
    """A process that is at work for one request at a time, until it is `idle`. `pid` and `loaded` are what it says of itself first."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.open, self.pid, self.loaded = connection, True, 0, 0
        self.idle = True
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._listen()

    def _listen(self) -> None:
        self._loop.add_reader(self.connection.fileno(), self._read)

    def _stop_listening(self) -> None:
        self._loop.remove_reader(self.connection.fileno())

    def _read(self) -> None:
        try:
            self._queue.put_nowait(receive(self.connection))
        except (EOFError, OSError):
            self.close()
        if self.open and self._queue.qsize() >= AHEAD:
            self._stop_listening()

    async def next(self) -> Event | Finish | None:
        """The next message; None once there are no more."""
        found: Event | Finish | None = await self._queue.get()
        self.idle = isinstance(found, Finish)
        if self.open:
            self._listen()
        return found

    def close(self) -> None:
        if self.open:
            self.open = False
            self._stop_listening()
            self.connection.close()
            self._queue.put_nowait(None)

    def kill(self) -> None:
        """End it at once, with whatever it has started."""
        self.close()
        if self.pid:
            with suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)


class SpawnedWorker(Worker):
    """One whose messages a thread waits for, since not every system's loop can watch a pipe."""

    def __init__(self, connection: Connection, process: Any) -> None:
        self._process, self._room = process, threading.Semaphore(AHEAD)
        super().__init__(connection)
        threading.Thread(target=self._wait, daemon=True).start()

    def _listen(self) -> None:
        self._room.release()

    def _stop_listening(self) -> None:
        pass

    def _wait(self) -> None:
        """Bring every message to the loop, until the process has ended or the loop has."""
        with suppress(RuntimeError), self.connection:
            try:
                while self._room.acquire():
                    self._loop.call_soon_threadsafe(self._queue.put_nowait, receive(self.connection))
            except (EOFError, OSError):
                self._loop.call_soon_threadsafe(self.close)

    def close(self) -> None:
        if self.open:
            self.open = False
            self._queue.put_nowait(None)
            self._room.release()  # the thread goes on to find that all is over

    def kill(self) -> None:
        """End it at once; whatever it has started ends with it."""
        self.close()
        self._process.kill()


class WorkerSource(Protocol):
    """What a pool asks for workers."""

    def begin(self, have_loaded: Callable[[int], None]) -> None:
        """Once the server's loop runs: from then on `have_loaded` is told how often more was loaded."""

    def new_worker(self) -> Worker:
        """One more; OSError where none is to be had."""

    def close(self) -> None:
        """End all that has been started."""


def worker_source() -> WorkerSource:
    """Workers as this system can have them."""
    return ForkServer() if start_method() == "fork" else Spawner()


class ForkServer:
    """The process that workers are forked from (forkserver.py)."""

    def __init__(self) -> None:
        self._loaded = 0
        self._connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "assay.studio.forkserver", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def begin(self, have_loaded: Callable[[int], None]) -> None:
        self._have_loaded = have_loaded
        asyncio.get_running_loop().add_reader(self._connection.fileno(), self._listen)

    def _listen(self) -> None:
        try:
            self._loaded = self._connection.recv()
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(self._connection.fileno())
        self._have_loaded(self._loaded)

    def new_worker(self) -> Worker:
        from multiprocessing.reduction import send_handle

        ours, theirs = Pipe()
        try:
            with theirs:
                send_handle(self._connection, theirs.fileno(), self._process.pid)
        except OSError:
            ours.close()
            raise
        return Worker(ours)

    def close(self) -> None:
        self._connection.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Spawner:
    """Python started anew for each worker. One is started ahead, since to load what a fit needs takes a second or more."""

    def __init__(self) -> None:
        self._processes: list[Any] = []
        self._ahead = self._start()

    def begin(self, have_loaded: Callable[[int], None]) -> None:
        pass  # no worker has more loaded than another

    def new_worker(self) -> Worker:
        found, self._ahead = self._ahead, self._start()
        return SpawnedWorker(*found)

    def _start(self) -> tuple[Connection, Any]:
        ours, theirs = Pipe()
        with theirs:
            process = start(_live, theirs, own_group=True)
        self._processes = [process, *(each for each in self._processes if each.is_alive())]
        return ours, process

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()


def _live(server: Connection) -> None:
    """The life of a worker that is spawned."""
    import assay.studio.playing
    import assay.studio.tables  # noqa: F401 - what every worker needs
    from assay.studio.worker import serve

    serve(server, 0)
