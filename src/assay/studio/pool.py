"""The server's side of the workers: who is free, who is at work for which panel, and how work ends that nobody wants any more."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Coroutine
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle

import msgspec

from assay.studio.protocol import BROKEN, END, REFUSED, STOP, WARM, Refused, Task

MOST_WORKERS = 6
GRACE = 0.25  # seconds within which a worker may stop by itself
SUPERSEDED = "A newer request of this panel has taken its place."
ENDED = "The studio has ended: start it again with assay studio."
AHEAD = 16  # messages that wait for a slow reader before the worker has to


class Inbox:
    """The messages of a connection as they come; None once it is closed."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self.open = True
        self._loop.add_reader(connection.fileno(), self._read)

    def _read(self) -> None:
        try:
            self._queue.put_nowait(self.connection.recv_bytes())
        except (EOFError, OSError):
            self.close()
            self._queue.put_nowait(None)
        if self.open and self._queue.qsize() >= AHEAD:
            self._loop.remove_reader(self.connection.fileno())

    async def next(self) -> bytes | None:
        found = await self._queue.get()
        if self.open:
            self._loop.add_reader(self.connection.fileno(), self._read)
        return found

    def close(self) -> None:
        if self.open:
            self.open = False
            self._loop.remove_reader(self.connection.fileno())
            self.connection.close()


class Worker:
    """One process, at work for one request at a time."""

    def __init__(self, pid: int, connection: Connection, loaded: int) -> None:
        self.pid, self.inbox, self.loaded = pid, Inbox(connection), loaded

    def end(self) -> None:
        """At once, with whatever it has started."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        self.inbox.close()


class Pool:
    """Workers, forked when they are needed."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "assay.studio.workshop", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._link = Connection(ours.detach())
        self._free: list[Worker] = []
        self._all: set[Worker] = set()
        self._panels: dict[
            str, tuple[int, asyncio.Event]
        ] = {}  # the newest turn of a panel, and how it is told of a newer one
        self._active: set[asyncio.Event] = set()
        self._ending = False
        self.loaded = 0  # how often the workshop has said that more is loaded

    def begin(self) -> None:
        """Once the server's loop runs."""
        self._workshop, self._born = Inbox(self._link), asyncio.Queue[bytes | None]()
        self._places, self._forking = asyncio.Semaphore(MOST_WORKERS), asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._see_to(self._listen())

    def stop(self) -> None:
        """End all work that is under way, and take no more."""
        self._ending = True
        for event in self._active:
            event.set()
        self._born.put_nowait(None)  # nobody waits for another worker

    def close(self) -> None:
        """End all processes."""
        for worker in list(self._all):
            worker.end()
        self._link.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # --- asking -------------------------------------------------------------------------------------------------------

    async def ask(self, task: Task, body: bytes, panel: str = "", turn: int = 0) -> AsyncGenerator[bytes, None]:
        """What a worker tells, line by line. A newer ask of the same panel ends this one; so does closing the iterator.

        `turn` tells which is newer where two connections bring them in another order."""
        if self._ending:
            raise Refused(ENDED, 503)
        newer = asyncio.Event()
        mine = turn, newer
        if panel:
            if (other := self._panels.get(panel)) is not None:
                if other[0] > turn:
                    raise Refused(SUPERSEDED, 409)
                other[1].set()
            self._panels[panel] = mine
        self._active.add(newer)
        try:
            async with self._places:
                worker = await self._take()
                kept = False
                try:
                    worker.inbox.connection.send_bytes(msgspec.json.encode(task))
                    worker.inbox.connection.send_bytes(body)
                    async for line in self._told(worker, newer):
                        yield line
                    kept = True
                except Refused as refusal:
                    kept = refusal.kept
                    raise
                except OSError:
                    raise Refused("The process at work has ended before its time: try again.", 500) from None
                finally:
                    self._keep(worker) if kept else self._leave(worker)
        finally:
            self._active.discard(newer)
            if self._panels.get(panel) is mine:
                del self._panels[panel]

    async def _told(self, worker: Worker, newer: asyncio.Event) -> AsyncGenerator[bytes, None]:
        superseded = asyncio.create_task(newer.wait())
        message: asyncio.Task[bytes | None] | None = None
        try:
            while True:
                message = asyncio.create_task(worker.inbox.next())
                await asyncio.wait({message, superseded}, return_when=asyncio.FIRST_COMPLETED)
                if not message.done():
                    raise Refused(ENDED, 503) if self._ending else Refused(SUPERSEDED, 409)
                found = message.result()
                if found is None:
                    raise Refused("The process at work has ended before its time: try again.", 500)
                kind, line = found[:1], found[1:]
                if kind == END:
                    return
                if kind in (REFUSED, BROKEN):
                    await worker.inbox.next()  # the end
                    raise Refused(line.decode("utf-8", "replace"), 400 if kind == REFUSED else 500, kept=True)
                yield line
        finally:
            superseded.cancel()
            if message is not None:
                message.cancel()  # or it would take a message that is meant for the next request

    # --- workers ------------------------------------------------------------------------------------------------------

    async def _take(self) -> Worker:
        """A free worker, or a new one."""
        async with self._forking:
            while self._free:
                worker = self._free.pop()
                if worker.inbox.open:
                    return worker
                self._drop(worker)
            born = asyncio.ensure_future(self._fork())
            try:
                return await asyncio.shield(born)
            except asyncio.CancelledError:  # whoever asked is gone; the worker comes all the same, for the next
                born.add_done_callback(self._unclaimed)
                raise

    def _unclaimed(self, born: asyncio.Future[Worker]) -> None:
        if not born.cancelled() and born.exception() is None:
            self._keep(born.result())

    async def _fork(self) -> Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            send_handle(self._link, theirs.fileno(), self._process.pid)
            said = await self._born.get()
        if said is None:
            self._born.put_nowait(None)  # nor will there be another
            ours.close()
            raise Refused("The studio's processes have ended: start it again.", 500)
        worker = Worker(int(said), Connection(ours.detach()), self.loaded)
        self._all.add(worker)
        return worker

    async def _listen(self) -> None:
        """What the workshop says: process numbers of workers, and that from now on they have more loaded."""
        while True:
            said = await self._workshop.next()
            if said != WARM:
                self._born.put_nowait(said)
                if said is None:
                    return
                continue
            self.loaded += 1
            while self._free:  # those that have less are not used again
                self._drop(self._free.pop())

    def _keep(self, worker: Worker) -> None:
        if worker.loaded == self.loaded:
            self._free.append(worker)
        else:
            self._drop(worker)

    def _drop(self, worker: Worker) -> None:
        worker.end()
        self._all.discard(worker)

    def _leave(self, worker: Worker) -> None:
        """Let a worker end what nobody wants; one that does not is ended, and all are at the end."""
        if self._ending:
            self._drop(worker)
        else:
            self._see_to(self._settle(worker))

    def _see_to(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def rest(self) -> None:
        """End, and leave nothing to wait for."""
        self.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _settle(self, worker: Worker) -> None:
        try:
            worker.inbox.connection.send_bytes(STOP)
            async with asyncio.timeout(GRACE):
                while (found := await worker.inbox.next()) != END:
                    if found is None:
                        raise EOFError
            self._keep(worker)
        except (OSError, EOFError, TimeoutError):
            self._drop(worker)
