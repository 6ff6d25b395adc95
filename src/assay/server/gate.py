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

from assay.server.refusal import RETRY, Refusal

SHORT = 0.010  # seconds that more than `queue` requests may wait,
LONGER = 0.025  # or so many where nobody waited
LATELY = 0.5  # seconds ago
SLICE = 0.002  # seconds of work between two looks at the sockets
SLOW = 0.005  # seconds from which a small request is a large one
MOST = 64  # times `queue` that ever wait

Work = Callable[[], Any]
Done = Callable[[Any], None]


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


class Gate:
    """The two lanes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, queue: int, threads: int) -> None:
        self._loop = loop
        self.light, self.heavy = Lane(queue, 1), Lane(queue, threads)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="assay-serve")
        self._waiting: deque[tuple[Work, Done]] = deque()
        self._scheduled = False

    def soon(self, work: Work, done: Done) -> None:
        """Answer a small request in the event loop; the caller has asked `light.admit()`."""
        self.light.count += 1
        self._waiting.append((work, done))
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        start = perf_counter()
        until = start + SLICE
        waiting, lane = self._waiting, self.light
        while waiting and start < until:
            work, done = waiting.popleft()
            done(work())
            end = perf_counter()
            lane.over()
            lane.took(end - start)
            start = end
        self._scheduled = bool(waiting)
        if waiting:
            self._loop.call_soon(self._drain)

    def aside(self, work: Work, done: Done) -> None:
        """Answer a large request in a thread; the caller has asked `heavy.admit()`."""
        self.heavy.count += 1

        def timed() -> tuple[Any, float]:
            start = perf_counter()
            return work(), perf_counter() - start

        def finished(future: Future[tuple[Any, float]]) -> None:
            if future.cancelled():
                return
            found = future.result()
            with suppress(RuntimeError):  # the loop is closed: it was given up, and nobody waits for it any more
                self._loop.call_soon_threadsafe(self._over, found, done)

        self._pool.submit(timed).add_done_callback(finished)

    def _over(self, found: tuple[Any, float], done: Done) -> None:
        reply, seconds = found
        self.heavy.over()
        self.heavy.took(seconds)
        done(reply)

    @property
    def under_way(self) -> int:
        return self.light.count + self.heavy.count

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
