"""The server's side of the workers: who is free, who is at work for which panel, how work ends that nobody wants any more, and where workers come from.

Workers are forked by a process that has everything loaded, or are Python started anew where nothing can fork. One is kept for the next request: a
small fit takes 10 ms in one that has fitted before, and 80 ms in one just forked. Nothing here needs NumPy: the server is there at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Protocol

from assay.http.replies import Refusal
from assay.processes.child import Event, Finish, receive, send, start, start_method
from assay.studio.requests import StudioTask

MOST_WORKERS = 6
GRACE = 0.25  # seconds within which a worker may stop by itself
SUPERSEDED = "A newer request of this panel has taken its place."
ENDED = "The studio has ended: start it again with assay studio."
CRASHED = "The process at work has ended before its time: try again."
NO_FORKSERVER = "The studio's processes have ended: start it again."
AHEAD = 16  # messages that wait for a slow reader before the worker has to


class Pool:
    """Workers, started when they are needed."""

    def __init__(self) -> None:
        self._source = worker_source()
        self._free: list[Worker] = []
        self._all: set[Worker] = set()
        self._panels: dict[
            str, tuple[int, asyncio.Event]
        ] = {}  # the newest turn of a panel; how it hears of a newer one
        self._settling: set[asyncio.Task[None]] = set()
        self._loaded, self._ending = 0, False

    def begin(self) -> None:
        """Once the server's loop runs."""
        self._places = asyncio.Semaphore(MOST_WORKERS)
        self._source.begin(self._have_loaded)

    def _have_loaded(self, loaded: int) -> None:
        """More is loaded from now on: workers that have less are not used again."""
        self._loaded = loaded
        while self._free:
            self._drop(self._free.pop())

    def stop(self) -> None:
        """End all work that is under way, and take no more."""
        self._ending = True
        for worker in list(self._all):
            self._drop(worker)

    def close(self) -> None:
        """End all processes."""
        self.stop()
        self._source.close()

    async def run(self, task: StudioTask, body: bytes, panel: str = "", turn: int = 0) -> AsyncGenerator[bytes, None]:
        """What a worker tells, line by line. A newer request of the same panel ends this one; so does closing the iterator.

        `turn` tells which is newer where two connections bring them in another order."""
        newer = asyncio.Event()
        mine = turn, newer
        if panel:
            if (other := self._panels.get(panel)) is not None:
                if other[0] > turn:
                    raise Refusal(409, SUPERSEDED)
                other[1].set()
            self._panels[panel] = mine
        try:
            async with self._places:
                worker = await self._take()
                try:
                    worker.idle = False
                    send(worker.connection, (task, body))
                    async for line in self._told(worker, newer):
                        yield line
                except OSError:
                    raise self._gone() from None
                finally:
                    self._keep(worker) if worker.idle else self._let_go(worker)
        finally:
            if self._panels.get(panel) is mine:
                del self._panels[panel]

    async def _told(self, worker: Worker, newer: asyncio.Event) -> AsyncGenerator[bytes, None]:
        superseded = asyncio.create_task(newer.wait())
        message: asyncio.Task[Event | Finish | None] | None = None
        try:
            while True:
                message = asyncio.create_task(worker.next())
                await asyncio.wait({message, superseded}, return_when=asyncio.FIRST_COMPLETED)
                if not message.done():
                    raise Refusal(409, SUPERSEDED)
                match message.result():
                    case Event(line):
                        yield line
                    case Finish("done"):
                        return
                    case Finish() as finish:
                        raise Refusal(500 if finish.traceback else 400, finish.message.strip())
                    case None:
                        raise self._gone()
        finally:
            superseded.cancel()
            if message is not None:
                message.cancel()  # or it would take a message that is meant for the next request

    def _gone(self, why: str = CRASHED) -> Refusal:
        return Refusal(503, ENDED) if self._ending else Refusal(500, why)

    async def _take(self) -> Worker:
        """A free worker, or a new one."""
        while self._free:
            worker = self._free.pop()
            if worker.open:
                return worker
            self._drop(worker)
        if self._ending:
            raise self._gone()
        try:
            worker = self._source.new_worker()
        except OSError:
            raise self._gone(NO_FORKSERVER) from None
        self._all.add(worker)
        try:
            hello = await worker.next()
            if not isinstance(hello, Event):
                raise EOFError
            worker.pid, worker.loaded = hello.content
        except (EOFError, OSError):
            self._drop(worker)
            raise self._gone(NO_FORKSERVER) from None
        except BaseException:
            self._drop(worker)
            raise
        return worker

    def _keep(self, worker: Worker) -> None:
        if worker.open and worker.loaded >= self._loaded:
            self._free.append(worker)
        else:
            self._drop(worker)

    def _drop(self, worker: Worker) -> None:
        worker.kill()
        self._all.discard(worker)

    def _let_go(self, worker: Worker) -> None:
        """Let a worker end what nobody wants; one that does not is killed."""
        task = asyncio.create_task(self._settle(worker))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _settle(self, worker: Worker) -> None:
        with suppress(OSError, TimeoutError):
            send(worker.connection, None)
            async with asyncio.timeout(GRACE):
                while isinstance(await worker.next(), Event):
                    pass
        self._keep(worker) if worker.idle else self._drop(worker)


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
    import assay.studio.playing  # noqa: F401 - what every worker needs
    from assay.studio.worker import serve

    serve(server, 0)
