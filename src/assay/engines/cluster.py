"""A dask.distributed cluster: the only file that names Dask.

Parts that workers can read themselves (row ranges of a Parquet file, chunks of a Dask collection) are read there; rows
that only this process has are sent. An algorithm of several passes asks to `keep` them there. Four blocks make one task, so little more than the states travels back.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines.derived import MappedRows, unmapped
from assay.engines.engine import Engine, Item, Result, one_thread_blas
from assay.engines.rows import ArrayRows, Block, Part, Rows, SparseRows, block_rows, check_weights, settled
from assay.errors import DataTypeError, EngineError, ParameterError, install

try:
    import dask
    import distributed
except ImportError as missing:  # pragma: no cover - the tests have the extra installed
    raise EngineError(f"The cluster engine needs Dask: {install('cluster')}.") from missing


ATTEMPTS = 4
PAUSE = 0.2  # seconds until a lost connection is tried again, for the scheduler to learn of the death; longer each time
DIED = "A worker of the cluster died again and again, perhaps for want of memory: {}"


def _client_of(given: Any, timeout: Any) -> Any:
    if isinstance(given, distributed.Client):
        return given
    if given is None:
        try:
            return distributed.get_client()
        except ValueError:
            raise EngineError(
                "No Dask client is connected. Give one: assay.engine('cluster', client) "
                "or assay.engine('cluster', 'tcp://host:8786')."
            ) from None
    if isinstance(given, str):
        try:
            return distributed.Client(given, timeout=timeout, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(f"No Dask scheduler answers at {given!r}: {error}") from error
    raise ParameterError(
        f"A cluster is given as a dask.distributed Client or a scheduler address, not {type(given).__name__}."
    )


def _send(client: Any, value: Any, *, everywhere: bool = False) -> Any:
    """A value on a worker, or on all. A worker that dies meanwhile takes the connection with it, so a lost one is tried again, a few times."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return client.scatter([value], hash=False, broadcast=everywhere)[0]
        except OSError as error:
            if attempt == ATTEMPTS or isinstance(error, TimeoutError):  # no worker is left to take it
                raise EngineError(DIED.format(error)) from error
            time.sleep(PAUSE * attempt)
    raise AssertionError("unreachable")


def _run(function: Callable[[Any], Any], item: Any) -> Any:
    with one_thread_blas():
        return _landed(function)(item)


def _run_with(function: Callable[[Any, Any], Any], shared: Any, item: Any) -> Any:
    with one_thread_blas():
        return function(_aligned(shared), item)


def _aligned(value: Any) -> Any:
    """A tuple of arrays (and of tuples of such) with arrays that travelled to odd addresses copied."""
    if isinstance(value, np.ndarray):
        return value if value.flags.aligned else value.copy(order="K")
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_aligned, value))
    return value


def _landed(value: Any) -> Any:
    """A function with its bound arguments, arrays that travelled to odd addresses copied: products of such have other bits."""
    if isinstance(value, partial):
        return partial(
            _landed(value.func), *map(_landed, value.args), **{k: _landed(v) for k, v in value.keywords.items()}
        )
    if isinstance(value, np.ndarray) and not value.flags.aligned:
        return value.copy(order="K")
    return value


class Cluster(Engine):
    """Work on a dask.distributed cluster."""

    name = "cluster"
    group = 4

    def __init__(self, client: Any = None, *, timeout: Any = "10s") -> None:
        self._own = isinstance(client, str)
        self.client = _client_of(client, timeout)

    def open(self, rows: Rows) -> Rows:
        return rows.anywhere()

    def keep(self, rows: Rows) -> Rows:
        if isinstance(rows, MappedRows):
            return rows.over(self.keep(rows.source))
        return PlacedRows(rows) if isinstance(rows, ArrayRows | SparseRows | DaskRows) else rows

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        waiting: deque[tuple[Any, Any, Any]] = deque()
        ahead = 2 * max(1, sum(self.client.nthreads().values()))
        try:
            for item in items:
                work = unmapped(function, item)
                waiting.append((self._submit(*work), *work))
                if len(waiting) > ahead:
                    yield self._result(*waiting.popleft())
            while waiting:
                yield self._result(*waiting.popleft())
        finally:
            for future, _, _ in waiting:
                future.cancel()

    def map_with(self, function: Callable[[Any, Item], Result], shared: Any, items: Iterable[Item]) -> Iterator[Result]:
        there = _send(self.client, shared, everywhere=True)
        waiting: deque[Any] = deque()
        ahead = 2 * max(1, sum(self.client.nthreads().values()))
        try:
            for item in items:
                waiting.append(self.client.submit(_run_with, function, there, item, pure=False))
                if len(waiting) > ahead:
                    yield self._landed_result(waiting.popleft())
            while waiting:
                yield self._landed_result(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()

    def _landed_result(self, future: Any) -> Any:
        try:
            return future.result()
        except (distributed.KilledWorker, CancelledError) as error:
            raise EngineError(DIED.format(error)) from error

    def _submit(self, function: Callable[[Any], Any], item: Any) -> Any:
        parts = item if isinstance(item, tuple) and not hasattr(item, "load") else (item,)
        if any(isinstance(part, DaskPart) for part in parts):
            blocks = [part.delayed() for part in parts]
            graph = dask.delayed(_run, pure=False)(function, blocks[0] if parts[0] is item else blocks)
            return self.client.compute(graph)
        if all(getattr(part, "readable_anywhere", False) for part in parts):
            return self.client.submit(_run, function, item, pure=False)
        if all(isinstance(part, PlacedPart) for part in parts):
            placed = [part.place(self.client) for part in parts]
            return self.client.submit(_run_placed, function, placed, parts[0] is item, pure=False)
        loaded: Any = tuple(part.load() if hasattr(part, "load") else part for part in parts)
        sent = _send(self.client, loaded[0] if parts[0] is item else loaded)
        return self.client.submit(_run, function, sent, pure=False)

    def _result(self, future: Any, function: Callable[[Any], Any], item: Any) -> Any:
        """The result of a task. Rows that were sent to a worker die with it, so they are sent again, a few times."""
        for _ in range(ATTEMPTS):
            try:
                return future.result()
            except distributed.KilledWorker as error:
                raise EngineError(DIED.format(error)) from error
            except CancelledError as error:
                lost = error
                for part in item if isinstance(item, tuple) else ():
                    if isinstance(part, PlacedPart):
                        part.lose()
                future = self._submit(function, item)
        raise EngineError(DIED.format(lost)) from lost

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if self._own and not self._tokens:
            self.client.close()


def _run_placed(function: Callable[[Any], Any], blocks: list[Block], alone: bool) -> Any:
    return _run(function, blocks[0] if alone else tuple(blocks))


class PlacedPart:
    """A block of this process's memory or of a Dask collection, and where on the cluster it lies once it was brought there."""

    def __init__(self, part: Part) -> None:
        self.part, self.future = part, None

    def load(self) -> Block:
        return self.part.load()

    def place(self, client: Any) -> Any:
        """The block on the cluster; it is sent the first time."""
        if self.future is None:
            if isinstance(self.part, DaskPart):
                self.future = client.compute(self.part.delayed())
            else:
                self.future = _send(client, self.part.load())
        return self.future

    def lose(self) -> None:
        """Forget where it lay: a worker died with it."""
        self.future = None


class PlacedRows(Rows):
    """Rows that are brought into the cluster's memory once, however often they are read there."""

    home = "cluster"

    def __init__(self, rows: ArrayRows | SparseRows | DaskRows) -> None:
        self._rows, self._placed = rows, [PlacedPart(part) for part in rows.blocks()]
        self.n_rows, self.n_columns, self.sparse = rows.n_rows, rows.n_columns, rows.sparse
        self.names, self.categories = rows.names, rows.categories
        self.has_target, self.has_weight = rows.has_target, rows.has_weight

    def blocks(self) -> Iterator[Part]:
        return iter(self._placed)

    def targets(self) -> Iterator[Part]:
        return self._rows.targets()

    def at_hand(self) -> Rows:
        return self._rows

    def in_memory(self) -> Rows:
        return self._rows.in_memory()


class DaskPart(NamedTuple):
    """A block of a Dask collection, not computed yet."""

    X: Any
    y: Any
    w: Any
    start: int

    def delayed(self) -> Any:
        return dask.delayed(_block, pure=False)(self.X, self.y, self.w, self.start)

    def load(self) -> Block:
        X, y, w = dask.compute(self.X, self.y, self.w)
        return _block(X, y, w, self.start)


def _block(X: Any, y: Any, w: Any, start: int) -> Block:
    X = np.asarray(X)
    X = settled(X, np.float32 if X.dtype == np.float32 else np.float64)
    y = None if y is None else np.asarray(y)
    return Block(X, y, None if w is None else check_weights(np.asarray(w, dtype=np.float64), start), start)


class DaskRows(Rows):
    """A Dask array or frame, cut into our blocks. Without a client, Dask's own threads compute the chunks."""

    def __init__(self, X: Any, y: Any, w: Any) -> None:
        if hasattr(X, "columns"):  # names and types by the rules of `frame_matrix`
            if all(isinstance(c, str) for c in X.columns):
                self.names = tuple(X.columns)
            kinds = {np.dtype(t) if isinstance(t, np.dtype) else None for t in X.dtypes}
            if all(k is not None and k.kind in "fiub" for k in kinds):
                X = X.astype(np.float32 if kinds == {np.dtype(np.float32)} else np.float64)
        array = _as_dask_array(X)
        if array.ndim != 2:
            raise DataTypeError(f"X has {array.ndim} dimension(s) and needs 2. Reshape your data: rows by columns.")
        if array.dtype.kind not in "fiub":
            raise DataTypeError(f"The Dask collection holds {array.dtype}, not numbers: encode its text columns first.")
        self.n_rows, self.n_columns = (int(s) for s in array.shape)
        step = block_rows(self.n_columns)
        self._X = array.rechunk((step, self.n_columns))
        self._y, self._w = (
            None if a is None else _column(a, step, self.n_rows, name) for a, name in ((y, "y"), (w, "sample_weight"))
        )
        self.has_target, self.has_weight = y is not None, w is not None
        self._step = step
        try:
            distributed.get_client()
            self.home = "cluster"
        except ValueError:
            self.home = "stream"

    def blocks(self) -> Iterator[Part]:
        return self._parts(self._X.to_delayed().ravel())

    def targets(self) -> Iterator[Part]:
        return self._parts([np.empty((0, 0))] * len(self._X.chunks[0]))

    def _parts(self, pieces: Any) -> Iterator[Part]:
        for i, X in enumerate(pieces):
            yield DaskPart(
                X,
                None if self._y is None else self._y[i],
                None if self._w is None else self._w[i],
                i * self._step,
            )


def _as_dask_array(a: Any) -> Any:
    array = a.to_dask_array(lengths=True) if hasattr(a, "to_dask_array") else a
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        array = array.compute_chunk_sizes()
    return array


def _column(a: Any, step: int, n: int, name: str) -> Any:
    """A target or weight column as a list of pieces, one a block."""
    if hasattr(a, "__dask_graph__"):
        array = _as_dask_array(a)
        array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
        length, pieces = int(array.shape[0]), array.rechunk((step,)).to_delayed().ravel()
    else:
        array = np.asarray(a).ravel()
        length, pieces = len(array), [array[i : i + step] for i in range(0, len(array), step)]
    if length != n:
        raise DataTypeError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, {name} has {length}."
        )
    return pieces


def dask_rows(X: Any, y: Any, w: Any) -> DaskRows:
    """Rows of Dask collections (`y` and `w` may be NumPy arrays)."""
    return DaskRows(X, y, w)
