"""Who is answered, who waits, and who is turned away at once.

Small requests are answered in the event loop, one after another; large ones, and those of slow models, by threads. A request waits where
few are waiting (`queue`) or where the wait is short, by what requests took lately; a burst, before which nobody waited, may make it
longer. Else it is refused, which costs next to nothing: with more load than can be served those who are answered are answered soon.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from time import perf_counter
from typing import Any

from assay.http.replies import Refusal, Reply
from assay.server.schemas import RETRY

SHORT = 0.010  # seconds that more than `queue` requests may wait,
LONGER = 0.025  # or so many where nobody waited
LATELY = 0.5  # seconds ago
SLICE = 0.002  # seconds of work between two looks at the sockets
SLOW = 0.005  # seconds from which a small request is a large one
MOST = 64  # times `queue` that ever wait

Work = Callable[[], Reply]


def too_busy() -> Refusal:
    return Refusal(503, "The service has more requests than it can answer: try again in a second.", RETRY)


class Lane:
    """Requests under way and waiting, how long one takes (a running mean), and when last nobody waited."""

    def __init__(self, queue: int, servers: int) -> None:
        self.queue, self.servers, self.count, self.seconds = queue, servers, 0, 0.0
        self._nobody = 0.0

    def admit(self) -> bool:
        """Whether one more may wait."""
        waiting = self.count - self.servers
        if waiting < self.queue:
            if waiting < 0:
                self._nobody = perf_counter()
            return True
        limit = LONGER if perf_counter() - self._nobody < LATELY else SHORT
        return waiting < MOST * self.queue and waiting * self.seconds < limit * self.servers

    def over(self) -> None:
        """One has been answered."""
        self.count -= 1
        if self.count <= self.servers:
            self._nobody = perf_counter()

    def took(self, seconds: float) -> None:
        self.seconds += 0.05 * (seconds - self.seconds)


class Admission:
    """The two lanes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, queue: int, threads: int) -> None:
        self._loop = loop
        self.light, self.heavy = Lane(queue, 1), Lane(queue, threads)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="assay-serve")
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="assay-load")
        self._waiting: deque[tuple[Work, asyncio.Future[Reply]]] = deque()
        self._scheduled = False
        self._drained = 0.0
        self._at_work: set[Future[Any]] = set()

    def in_loop(self, work: Work) -> asyncio.Future[Reply]:
        """Answer a small request in the event loop; the caller has asked `light.admit()`."""
        self.light.count += 1
        answer = self._loop.create_future()
        self._waiting.append((work, answer))
        if not self._scheduled:
            self._scheduled, self._drained = True, perf_counter()
            self._loop.call_soon(self._drain)
        return answer

    def _drain(self) -> None:
        """Answer for a while; what else the event loop did meanwhile, such as refusing, counts as time that answers take."""
        now, start = perf_counter(), self._drained
        until = now + min(max(SLICE, now - start), SHORT)  # at least half of the time is for answers
        waiting, lane = self._waiting, self.light
        while waiting and start < until:
            work, answer = waiting.popleft()
            _give(answer, work())
            end = perf_counter()
            lane.over()
            lane.took(end - start)
            start = end
        self._drained, self._scheduled = start, bool(waiting)
        if waiting:
            self._loop.call_soon(self._drain)

    def in_thread(self, work: Work, after: Callable[[], None]) -> asyncio.Future[Reply]:
        """Answer a large request in a thread; the caller has asked `heavy.admit()`. `after` is called when the work is over."""
        self.heavy.count += 1
        answer = self._loop.create_future()

        def timed() -> tuple[Reply, float]:
            start = perf_counter()
            return work(), perf_counter() - start

        def over(reply: Reply, seconds: float) -> None:
            self.heavy.over()
            self.heavy.took(seconds)
            after()
            _give(answer, reply)

        def finished(future: Future[tuple[Reply, float]]) -> None:
            if future.cancelled():
                return
            with suppress(RuntimeError):  # the loop is closed: it was given up, and nobody waits for it any more
                self._loop.call_soon_threadsafe(over, *future.result())

        self._submit(self._pool, timed).add_done_callback(finished)
        return answer

    def aside(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Do what is no request, such as loading a model, in a thread of its own."""
        return asyncio.wrap_future(self._submit(self._loader, work), loop=self._loop)

    def _submit(self, pool: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
        future = pool.submit(work)
        self._at_work.add(future)
        future.add_done_callback(self._at_work.discard)
        return future

    def close(self) -> bool:
        """Begin nothing more; whether all that was begun is over. A thread cannot be stopped."""
        for pool in (self._pool, self._loader):
            pool.shutdown(wait=False, cancel_futures=True)
        return not self._at_work


def _give(answer: asyncio.Future[Reply], reply: Reply) -> None:
    """Hand over a reply, unless it has been given up."""
    if not answer.done():
        answer.set_result(reply)
    elif reply.size >= 0:
        reply.body.close()
