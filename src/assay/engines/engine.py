"""What an engine is, and which one is in force.

An engine is anything whose `map(function, items)` yields the results in order. `with assay.engine(...)` puts one in
force; without, rows run where they live (`Rows.home`): arrays on threads, files as a stream, Dask collections on their cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, Token
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from assay.engines.rows import Rows
from assay.errors import ParameterError, nearest

if TYPE_CHECKING:
    from assay.engines.threads import Threads

Item = TypeVar("Item")
Result = TypeVar("Result")

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
