"""What an engine is, which one is in force, the two things that give every engine the same bits, and threads (in memory or as a stream).

An engine is anything whose `map(function, items)` yields the results in order. `with assay.engine(...)` puts one in
force; without, rows run where they live (`Rows.home`): arrays on threads, files as a stream, Dask collections on their cluster.

The law of equal bits: `fold` merges the states of blocks in a tree that depends on their order alone, and BLAS runs on one
thread, as a product's bits must not depend on the number of threads, which come from the engine.
"""

from __future__ import annotations

import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, Token
from functools import lru_cache, partial
from importlib import import_module
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

from assay.engines.rows import Block, Part, Rows
from assay.errors import ParameterError, nearest

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")

BUILT_IN = ("threads", "stream", "cluster")  # the last in a module of its own, which is loaded when it is asked for
_by_name: dict[str, type[Engine]] = {}  # every engine whose class was made so far
_inside = threading.local()  # `busy`: this thread is already a worker; work it maps runs in place
_most: int | None = None  # threads that this process may use at all, see `thread_limit`


class Engine(ABC):
    """Where work runs. Only `map` must be given; algorithms ask what an engine can do, never which one it is.

    - `group`: blocks a task of a fold, a power of two.
    - `shares_memory`: tasks see this process's memory: they may write into its arrays, and nothing has to be sent or pickled.
    - `opens_in_memory`: opened rows are arrays in memory, and what is made of them may be too. Such an engine shares memory.
    - `workers`: threads of this process that it keeps busy; None where that is not known, or they are elsewhere.
    """

    name: str
    group: int = 1
    shares_memory: bool = False
    opens_in_memory: bool = False
    workers: int | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            _by_name[cls.name] = cls

    @abstractmethod
    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) for every item, yielded in the order of the items."""

    def map_with(self, function: Callable[[Any, Item], Result], shared: Any, items: Iterable[Item]) -> Iterator[Result]:
        """function(shared, item) for every item, in order; what all share is brought to where the work runs only once."""
        return self.map(partial(function, shared), items)

    def open(self, rows: Rows) -> Rows:
        """The rows in the form in which this engine reads them."""
        return rows

    def keep(self, rows: Rows) -> Rows:
        """Opened rows that are about to be read many times, brought nearer where that pays."""
        return rows

    def threads(self, n_jobs: int | None = None) -> Threads:
        """Threads of this process for work that is not handed out: as many as the engine has here, or else `n_jobs`."""

        return Threads(self.workers or n_jobs)

    def reader(self) -> Engine:
        """An engine that reads blocks in this process: this one, or threads."""
        return self if self.shares_memory else self.threads()

    def __enter__(self) -> Engine:
        self._tokens: list[Token[Engine | None]] = [*getattr(self, "_tokens", []), _in_force.set(self)]
        return self

    def __exit__(self, *exc: Any) -> None:
        _in_force.reset(self._tokens.pop())


_in_force: ContextVar[Engine | None] = ContextVar("assay_engine", default=None)


def engine(name: str = "threads", *args: Any, **options: Any) -> Engine:
    """Choose where work runs: `with assay.engine("threads", workers=2): …`.

    - `("threads", workers=None)`: rows in memory, blocks spread over threads;
    - `("stream", workers=None)`: rows read block by block, memory bounded whatever the size of the table;
    - `("cluster", client_or_address)`: a dask.distributed cluster;
    - the name of any other `Engine` that was imported.
    """
    if name in BUILT_IN and name not in _by_name:
        import_module(f"assay.engines.{name}")
    if name not in _by_name:
        raise ParameterError(
            f"There is no engine {name!r}. {nearest(name, list(dict.fromkeys([*BUILT_IN, *_by_name])))}"
        )
    return _by_name[name](*args, **options)


def in_force() -> Engine | None:
    """The engine that a `with` has put in force, if any."""
    return _in_force.get()


def engine_for(rows: Rows, n_jobs: int | None = None) -> Engine:
    """The engine in force, or else the one where these rows live, with `n_jobs` threads."""
    chosen = in_force()
    if chosen is not None:
        return chosen
    if rows.home == "cluster":
        return engine("cluster")
    return engine(rows.home, workers=n_jobs)


# --- fold: one pass over the blocks --------------------------------------------------------------------------------


def fold(
    engine: Engine,
    parts: Iterable[Part],
    absorb: Callable[[Block], State],
    merge: Callable[[State, State], State],
) -> State | None:
    """Absorb every block and merge the states; None where there are no blocks. `absorb` and `merge` must be picklable.

    An engine may hand several blocks to one task (`engine.group`, a power of two): such a group is a whole subtree of the
    merge, so the tree, and with it every bit of the result, stays the same.
    """
    work = partial(_absorb_group, absorb, merge)
    states: Iterator[Any] = engine.map(work, _groups(parts, engine.group))
    return merge_in_order(states, merge)


def _absorb_group(
    absorb: Callable[[Block], State], merge: Callable[[State, State], State], group: tuple[Part, ...]
) -> State | None:
    return merge_in_order((absorb(part.load()) for part in group), merge)


def _groups(parts: Iterable[Part], size: int) -> Iterator[tuple[Part, ...]]:
    iterator = iter(parts)
    while group := tuple(islice(iterator, size)):
        yield group


def merge_in_order(states: Iterable[State], merge: Callable[[State, State], State]) -> State | None:
    """Merge states like a binary counter: two neighbours that stand for equally many blocks as soon as both are there.

    >>> merge_in_order("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    counter: list[tuple[int, State]] = []
    for state in states:
        level = 0
        while counter and counter[-1][0] == level:
            state = merge(counter.pop()[1], state)
            level += 1
        counter.append((level, state))
    if not counter:
        return None
    total = counter.pop()[1]
    while counter:
        total = merge(counter.pop()[1], total)
    return total


# --- BLAS on one thread -----------------------------------------------------------------------------------------------

_lock = threading.Lock()
_users = 0
_libraries: list[Any] = []
_before: list[int] = []
_with_scipy = False  # whether SciPy, which brings a BLAS of its own, was there when they were found


@contextmanager
def one_thread_blas() -> Iterator[None]:
    """Within, matrix products run on the calling thread alone. May be nested and entered from many threads."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _hold()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _let_go()


def scipy_linalg() -> Any:
    """The module scipy.linalg, its BLAS on one thread where the others are: it may be loaded while they are held."""
    global _with_scipy
    import scipy.linalg

    with _lock:
        if _users and not _with_scipy:
            known = {library.filepath for library in _libraries}
            for library in _find_libraries():
                if library.filepath not in known:
                    _libraries.append(library)
                    _before.append(library.get_num_threads())
                    library.set_num_threads(1)
            _with_scipy = True
    return scipy.linalg


def _hold() -> None:
    """Set every library to one thread; called with the lock held."""
    global _libraries, _before, _with_scipy
    if not _libraries or _with_scipy != ("scipy.linalg" in sys.modules):
        _libraries, _with_scipy = _find_libraries(), "scipy.linalg" in sys.modules
    _before = [library.get_num_threads() for library in _libraries]
    for library, n in zip(_libraries, _before):
        if n != 1:
            library.set_num_threads(1)


def _let_go() -> None:
    for library, n in zip(_libraries, _before):
        if n != 1:
            library.set_num_threads(n)


def _find_libraries() -> list[Any]:
    import numpy as np
    from threadpoolctl import ThreadpoolController

    np.dot(np.ones((2, 2)), np.ones((2, 2)))  # the library is there once it has been used
    return [c for c in ThreadpoolController().lib_controllers if c.user_api == "blas"]


# --- threads: over blocks in memory, or out of core. Loops are serial and release the interpreter lock; the pool makes them parallel ----------------


def _after_fork() -> None:
    """Another thread may have held the lock when this process was forked off: nobody is left here to release it. The thread that
    forked is the child's main thread and no worker there. (Pools are kept by process number.)"""
    global _lock
    _lock = threading.Lock()
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


class Stream(Threads):
    """As `Threads`, but the rows stay where they are: the calling thread reads while the pool computes, and at most `workers` + 1 blocks are in
    flight. Memory stays bounded whatever the size of the table, and repeated folds read it again."""

    name = "stream"
    opens_in_memory = False
    reads_ahead = True

    @property
    def ahead(self) -> int:
        return self.workers

    def open(self, rows: Rows) -> Rows:
        return rows
