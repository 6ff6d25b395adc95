"""What an engine is, which one is in force, and the two things that give every engine the same bits.

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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from functools import partial
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from assay.engines.rows import Block, Part, Rows
from assay.errors import ParameterError, nearest

if TYPE_CHECKING:
    from assay.engines.threads import Threads

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")

BUILT_IN = ("threads", "stream", "cluster")  # each in a module of its name, which is loaded when it is asked for
_by_name: dict[str, type[Engine]] = {}  # every engine whose class was made so far


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
        from assay.engines.threads import Threads

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
    if name in BUILT_IN:
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


def _after_fork() -> None:
    """Another thread may have held the lock when this process was forked off; nobody is left here to release it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
