"""Threads over blocks in memory. Loops are serial and release the interpreter lock; the pool makes them parallel."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from itertools import islice
from numbers import Integral
from pathlib import Path

from assay.engines.engine import Engine, Item, Result, in_force, one_thread_blas
from assay.engines.rows import Rows
from assay.errors import ParameterError

_inside = threading.local()  # `busy`: this thread is already a worker; work it maps runs in place
_most: int | None = None  # threads that this process may use at all, see `thread_limit`


def _after_fork() -> None:
    """The thread that forked is the child's main thread and no worker there. (Pools are kept by process number.)"""
    _inside.busy = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _cgroup_quota(root: Path = Path("/sys/fs/cgroup")) -> float:
    """The processors that the container's quota allows, or infinity."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
        return float("inf") if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        pass
    try:
        quota_us = int((root / "cpu/cpu.cfs_quota_us").read_text())
        return quota_us / int((root / "cpu/cpu.cfs_period_us").read_text()) if quota_us > 0 else float("inf")
    except (OSError, ValueError, ZeroDivisionError):
        return float("inf")


@lru_cache(maxsize=1)
def _available() -> int:
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(affinity, _cgroup_quota())))


def worker_count(asked: int | None = None) -> int:
    """Threads to use: what is asked; else `ASSAY_THREADS`; else the least of affinity, container quota and `OMP_NUM_THREADS`.

    Within a `thread_limit` never more than that.
    """
    count = _unlimited_count(asked)
    return count if _most is None else min(count, _most)


def _unlimited_count(asked: int | None) -> int:
    if asked is not None:
        if asked == -1:
            return _available()
        if not isinstance(asked, Integral) or asked < 1:
            raise ParameterError(f"{asked!r} threads are not possible: give a number ≥ 1, −1 for all, or None.")
        return int(asked)
    ours = os.environ.get("ASSAY_THREADS", "")
    if ours:
        if not ours.isdigit() or int(ours) < 1:
            raise ParameterError(f"ASSAY_THREADS={ours!r} is not possible: set it to a whole number ≥ 1, or unset it.")
        return int(ours)
    omp = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(_available(), int(omp)) if omp.isdigit() and int(omp) > 0 else _available()


@contextmanager
def thread_limit(most: int) -> Iterator[None]:
    """Within, no engine of this process uses more threads than `most`, whatever is asked for; an engine in force is replaced."""
    global _most
    before, _most = _most, min(most, _most or most)
    chosen = in_force()
    try:
        with type(chosen)(_most) if isinstance(chosen, Threads) and chosen.workers > _most else nullcontext():
            yield
    finally:
        _most = before


@lru_cache(maxsize=4)
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="assay")


def _call(function: Callable[[Item], Result], item: Item) -> Result:
    _inside.busy = True
    try:
        return function(item)
    finally:
        _inside.busy = False


class Threads(Engine):
    """The default engine: the rows are brought into memory, blocks are spread over a pool of threads."""

    name = "threads"
    shares_memory = True
    opens_in_memory = True
    workers: int
    reads_ahead = False  # a single worker needs a thread of its own only where reading goes on meanwhile

    def __init__(self, workers: int | None = None) -> None:
        self.workers = worker_count(workers)

    @property
    def ahead(self) -> int:
        """Items that may be handed out before the first of them is done."""
        return 4 * self.workers

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        with one_thread_blas():
            if getattr(_inside, "busy", False) or (self.workers == 1 and not self.reads_ahead):
                for item in items:
                    yield function(item)
                return
            yield from self._map_on_pool(function, iter(items))

    def _map_on_pool(self, function: Callable[[Item], Result], items: Iterator[Item]) -> Iterator[Result]:
        start = list(islice(items, 2))
        if len(start) < 2:  # a single item gains nothing from another thread
            yield from map(function, start)
            return
        pool = _pool(self.workers, os.getpid())
        waiting: deque[Future[Result]] = deque()
        try:
            while start:
                waiting.append(pool.submit(_call, function, start.pop(0)))
            for item in items:
                waiting.append(pool.submit(_call, function, item))
                if len(waiting) > self.ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # an error or an interrupt: let nothing run on behind the caller's back
            for future in waiting:
                future.cancel()
            wait(waiting)

    @property
    def at_once(self) -> int:
        """Threads that `together` may use: within a task of this engine one, as the others have work of their own."""
        return 1 if getattr(_inside, "busy", False) else self.workers

    def together(self, run: Callable[[int], Result], ranks: int) -> list[Result]:
        """run(0) … run(ranks − 1), all at the same time, so that they may wait for each other: each on a thread of its own, not of the pool. What one of
        them raises is raised here, after all have ended: others must not wait for one that has failed."""
        found: dict[int, Result] = {}
        failed: list[BaseException] = []

        def one(rank: int) -> None:
            try:
                found[rank] = _call(run, rank)
            except BaseException as error:
                failed.append(error)

        others = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(1, ranks)]
        with one_thread_blas():
            for thread in others:
                thread.start()
            try:
                found[0] = run(0)
            finally:
                for thread in others:
                    thread.join()
        if failed:
            raise failed[0]
        return [found[rank] for rank in range(ranks)]

    def open(self, rows: Rows) -> Rows:
        return rows.in_memory()


def default_engine() -> Threads:
    """All threads that this process may use."""
    return Threads()
