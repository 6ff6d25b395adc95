"""The server's side of the workers: who is free, who is at work for which panel, and how work ends that nobody wants any more.

A worker is kept for the next request: a small fit takes 10 ms in one that has fitted before, and 80 ms in one just forked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from assay.http.replies import Refusal
from assay.processes.messages import Event, Finish, send
from assay.studio.requests import StudioTask
from assay.studio.worker_processes import Worker, worker_source

MOST_WORKERS = 6
GRACE = 0.25  # seconds within which a worker may stop by itself
SUPERSEDED = "A newer request of this panel has taken its place."
ENDED = "The studio has ended: start it again with assay studio."
CRASHED = "The process at work has ended before its time: try again."
NO_FORKSERVER = "The studio's processes have ended: start it again."


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
