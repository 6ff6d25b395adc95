"""Rows in blocks: what every fit, prediction and check reads.

A block has a fixed number of rows that depends on the number of columns alone, never on threads, workers or files:
that is what makes the same rows give the same bits everywhere. Blocks of dense rows shrink as columns grow; of sparse rows
only the entries other than zero are kept, so 8192 rows of a hundred thousand columns are a small block. Where rows are brought
into memory, there must be room: a container's limit counts, not the machine's, as what lies beyond it ends the process without a word.
"""

from __future__ import annotations

import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from assay.engines.csr import SparseMatrix, stack
from assay.errors import DataError
from assay.numerics import Array

BLOCK_ELEMENTS = 1 << 22
LARGEST_BLOCK = 1 << 17
SMALLEST_BLOCK = 1 << 8
SPARSE_BLOCK = 8192  # rows, whatever the number of columns
GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")
MACHINE = Path("/proc/meminfo")
UNKNOWN = 8e9  # bytes of a system that does not say
WORTH_SAYING = 2e9  # bytes: who reads a stream does not expect that much


def block_rows(n_columns: int) -> int:
    """Rows a block: about four million numbers, a multiple of 256, at most 131 072.

    >>> block_rows(50), block_rows(1)
    (83712, 131072)
    """
    rows = BLOCK_ELEMENTS // max(1, n_columns) // SMALLEST_BLOCK * SMALLEST_BLOCK
    return min(LARGEST_BLOCK, max(SMALLEST_BLOCK, rows))


def settled(a: Array, dtype: Any = None) -> Array:
    """The array in C order at aligned addresses: NumPy adds up any other in another order, and bits would differ."""
    return np.require(a, dtype, ["C_CONTIGUOUS", "ALIGNED"])


class Block(NamedTuple):
    """Some consecutive rows: X (m, d), an array in C order or a `SparseMatrix`; y (m,), w (m,); the first row's number."""

    X: Any
    y: Array | None
    w: Array | None
    start: int

    def load(self) -> Block:
        """The block itself, settled: blocks that travelled may lie at odd addresses."""
        y, w = (None if a is None else settled(a) for a in (self.y, self.w))
        X = self.X.settled() if isinstance(self.X, SparseMatrix) else settled(self.X)
        return Block(X, y, w, self.start)


def cut(block: Block, step: int) -> Iterator[Block]:
    """The pieces of a block, of `step` rows each."""
    for a in range(0, len(block.X), step):
        y, w = (None if column is None else column[a : a + step] for column in (block.y, block.w))
        yield Block(block.X[a : a + step], y, w, block.start + a)


class Part(Protocol):
    """A block that may not have been read yet; an engine loads it where it computes."""

    def load(self) -> Block: ...


class Rows(ABC):
    """A table seen as blocks of numbers, wherever it lies.

    `home` names the engine on which such rows run unless the user chose one. `categories` gives for each column the
    categories whose codes it holds, or None where it holds numbers.

    - `sparse`: the blocks hold a `SparseMatrix`.
    - `resident`: all numbers, targets and weights lie in this process's memory as `X`, `y` and `w`.
    - `local`: blocks are made in this process, whichever engine reads them.
    - `size`: numbers that are held in memory; infinite where they are not resident.
    """

    home: str = "threads"
    n_columns: int
    n_rows: int | None = None
    names: tuple[str, ...] | None = None
    categories: tuple[tuple[str, ...] | None, ...] | None = None
    has_target: bool = False
    has_weight: bool = False
    sparse: bool = False
    resident: bool = False
    local: bool = False
    dtype: Any  # of the numbers, where they are in memory
    X: Any  # these three of resident rows only
    y: Any
    w: Any

    @property
    def size(self) -> float:
        return math.inf

    @abstractmethod
    def blocks(self) -> Iterator[Part]:
        """All blocks in order."""

    def targets(self) -> Iterator[Part]:
        """The targets and weights alone, in pieces of any length; a source that can skip the columns does so."""
        return self.blocks()

    def stretches(self, rows: int) -> Iterator[Part]:
        """All rows in order, for work on single rows: in parts of so many rows where they lie in memory, else in their blocks."""
        return self.blocks()

    def fitted_to(self, names: tuple[str, ...] | None, categories: tuple[tuple[str, ...] | None, ...] | None) -> Rows:
        """The same rows with the columns and categories of a fitted model; a source with more columns picks those."""
        return self

    def anywhere(self) -> Rows:
        """The same rows in parts that other processes can read themselves, where the source allows that."""
        return self

    def at_hand(self) -> Rows:
        """The same rows as they lie in this process's memory, where they do."""
        return self

    def in_memory(self) -> Rows:
        """The same rows, resident."""
        from assay.engines.engine import engine

        reader = engine(self.home if self.home == "stream" else "threads")
        if self.n_rows is not None and not self.sparse:
            check_room(self.n_rows, 8.0 * self.n_columns)
            return self._gathered(reader)
        loaded = list(reader.map(load, self.blocks()))
        if not loaded:
            return ArrayRows(np.empty((0, self.n_columns)), None, None, like=self)
        y = np.concatenate([b.y for b in loaded if b.y is not None]) if self.has_target else None
        w = np.concatenate([b.w for b in loaded if b.w is not None]) if self.has_weight else None
        if self.sparse:
            return SparseRows(stack([b.X for b in loaded]), y, w, names=self.names)
        return ArrayRows(np.concatenate([b.X for b in loaded]), y, w, like=self)

    def _gathered(self, reader: Any) -> Rows:
        """Blocks put into one array of known length where they are loaded: never more than the array and a few blocks are there."""
        parts = self.blocks()
        first = next(parts, None)
        if first is None:
            return ArrayRows(np.empty((0, self.n_columns)), None, None, like=self)
        block = first.load()
        X = np.empty((self.n_rows or 0, block.X.shape[1]), block.X.dtype)
        rest = [(_put(X, block), block.y, block.w), *reader.map(partial(_load_into, X), parts)]
        y = np.concatenate([y for _, y, _ in rest]) if self.has_target else None
        w = np.concatenate([w for _, _, w in rest]) if self.has_weight else None
        return ArrayRows(X[: sum(n for n, _, _ in rest)], y, w, like=self)


def targets_of(rows: Rows) -> tuple[Any, Any]:
    """The targets and the weights of all rows, each None where they have none."""
    if rows.resident:
        y, w = (None if a is None else settled(a) for a in (rows.y, rows.w))
        return y, w
    pieces = [part.load() for part in rows.targets()]
    y = np.concatenate([p.y for p in pieces if p.y is not None]) if rows.has_target else None
    return y, np.concatenate([p.w for p in pieces if p.w is not None]) if rows.has_weight else None


def load(part: Part) -> Block:
    """The part's block: what an engine maps over parts."""
    return part.load()


def _put(X: Array, block: Block) -> int:
    X[block.start : block.start + len(block.X)] = block.X
    return len(block.X)


def _load_into(X: Array, part: Part) -> tuple[int, Any, Any]:
    block = part.load()
    return _put(X, block), block.y, block.w


class _Slice(NamedTuple):
    X: Array
    y: Array | None
    w: Array | None
    start: int

    def load(self) -> Block:
        X = settled(self.X, None if self.X.dtype == np.float32 else np.float64)
        return Block(X, self.y, self.w, self.start).load()


class ArrayRows(Rows):
    """Arrays in memory. float32 stays float32; every other number becomes float64 block by block."""

    resident = local = True

    def __init__(
        self,
        X: Array,
        y: Array | None = None,
        w: Array | None = None,
        *,
        names: tuple[str, ...] | None = None,
        categories: tuple[tuple[str, ...] | None, ...] | None = None,
        like: Rows | None = None,
    ) -> None:
        self.X, self.y, self.w, self.dtype = X, y, w, X.dtype
        self.n_rows, self.n_columns = X.shape
        self.names = like.names if like is not None else names
        self.categories = like.categories if like is not None else categories
        self.has_target, self.has_weight = y is not None, w is not None

    def blocks(self) -> Iterator[Part]:
        return self._parts(self.X, block_rows(self.n_columns))

    def targets(self) -> Iterator[Part]:
        return self._parts(self.X[:, :0], 2 * LARGEST_BLOCK)

    def stretches(self, rows: int) -> Iterator[Part]:
        return self._parts(self.X, rows)

    @property
    def size(self) -> float:
        return float(self.X.size)

    def _parts(self, X: Array, step: int) -> Iterator[Part]:
        for a in range(0, X.shape[0], step):
            b = a + step
            y = None if self.y is None else self.y[a:b]
            w = None if self.w is None else self.w[a:b]
            yield _Slice(X[a:b], y, w, a)

    def in_memory(self) -> Rows:
        return self


class SparseRows(Rows):
    """A sparse matrix in memory, with target and weights."""

    sparse = resident = local = True

    def __init__(
        self, X: SparseMatrix, y: Array | None = None, w: Array | None = None, *, names: tuple[str, ...] | None = None
    ) -> None:
        self.X, self.y, self.w, self.dtype = X, y, w, X.dtype
        self.n_rows, self.n_columns = X.shape
        self.names = names
        self.has_target, self.has_weight = y is not None, w is not None

    def blocks(self) -> Iterator[Part]:
        for a, y, w in self._pieces(SPARSE_BLOCK):
            yield Block(self.X[a : a + SPARSE_BLOCK], y, w, a)

    def targets(self) -> Iterator[Part]:
        for a, y, w in self._pieces(2 * LARGEST_BLOCK):
            yield Block(np.empty((min(2 * LARGEST_BLOCK, len(self.X) - a), 0)), y, w, a)

    def _pieces(self, step: int) -> Iterator[tuple[int, Array | None, Array | None]]:
        for a in range(0, len(self.X), step):
            y, w = (None if c is None else c[a : a + step] for c in (self.y, self.w))
            yield a, y, w

    @property
    def size(self) -> float:
        return float(len(self.X) + self.X.nnz)

    def in_memory(self) -> Rows:
        return self


def rows_of(X: Any, y: Array | None = None, w: Array | None = None, *, like: Rows) -> ArrayRows | SparseRows:
    """Rows of a block's X, an array or a sparse matrix, with the names (and categories) of the columns of `like`."""
    return SparseRows(X, y, w, names=like.names) if isinstance(X, SparseMatrix) else ArrayRows(X, y, w, like=like)


def check_weights(w: Array, start: int = 0) -> Array:
    """The weights of rows `start`, …; raise where one is not finite or negative."""
    if not np.all(np.isfinite(w)):
        raise DataError("Input sample_weight contains NaN or infinity: every row needs a finite weight.")
    if np.any(w < 0):
        at = start + int(np.flatnonzero(w < 0)[0])
        raise DataError(f"Negative values in sample_weight (first at row {at}): weights must be ≥ 0.")
    return w


def rechunk(pieces: Iterator[tuple[Any, ...]], step: int) -> Iterator[Block]:
    """Cut pieces (X, y, w) of any length into blocks of exactly `step` rows (the last one may be shorter)."""
    held: list[tuple[Any, ...]] = []
    rows = start = 0
    for piece in pieces:
        offset, length = 0, len(piece[0])
        while rows + length - offset >= step:
            cut = offset + step - rows
            held.append(tuple(None if a is None else a[offset:cut] for a in piece))
            yield _join(held, start)
            start, rows, held, offset = start + step, 0, [], cut
        if offset < length:
            held.append(tuple(None if a is None else a[offset:] for a in piece))
            rows += length - offset
    if rows:
        yield _join(held, start)


def _join(held: list[tuple[Any, ...]], start: int) -> Block:
    X, y, w = (None if pieces[0] is None else _concatenated(pieces) for pieces in zip(*held))
    return Block(X, y, w, start).load()


def _concatenated(pieces: Sequence[Any]) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    return stack(pieces) if isinstance(pieces[0], SparseMatrix) else np.concatenate(pieces)


def memory_limit(groups: Path = GROUPS, own: Path = OWN_GROUP) -> float:
    """Bytes that this process may use in all: the least of the machine's and of all the groups that it is in."""
    return min([_machine(), *(limit for limit, _ in _limits(groups, own))])


def free_memory(groups: Path = GROUPS, own: Path = OWN_GROUP) -> float:
    """Bytes that are still there for this process; infinite where the system does not say."""
    return min([_available(), *(limit - used for limit, used in _limits(groups, own))])


def check_room(rows: int, bytes_a_row: float) -> None:
    """Say what it takes to hold so many rows at once before they are read, and refuse where there is no room for them."""
    needed = rows * bytes_a_row
    if needed < WORTH_SAYING:
        return
    free = free_memory()
    if needed > free:
        raise DataError(
            f"All {rows} rows are needed in memory at once, about {_gigabytes(needed)}, and {_gigabytes(free)} are free. Take a model that "
            "reads them as a stream (logistic-regression, linear-svc, kernel-features, ridge, …), or fewer rows: "
            "--sql 'select * from data using sample 100000'."
        )
    warnings.warn(f"All {rows} rows are read into memory, which takes about {_gigabytes(needed)}.", stacklevel=3)


def _machine() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def _available() -> float:
    try:
        lines = MACHINE.read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return float("inf")


def _limits(groups: Path, own: Path) -> Iterator[tuple[float, float]]:
    """(limit, used) of the group of this process and of those that it lies in; nothing where there are no groups."""
    for folder in _folders(groups, own):
        for most, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            try:
                yield float((folder / most).read_text()), float((folder / used).read_text())
            except (OSError, ValueError):  # "max": no limit
                continue


def _folders(groups: Path, own: Path) -> Iterator[Path]:
    try:
        paths = [line.split(":", 2)[2] for line in own.read_text().splitlines() if line.split(":")[1] in ("", "memory")]
    except (OSError, IndexError):
        paths = []
    for root in (groups, groups / "memory"):
        yield root
        for path in paths:
            place = Path(path.strip().lstrip("/"))
            yield from (root / part for part in (place, *place.parents) if part != Path())


def _gigabytes(amount: float) -> str:
    """
    >>> _gigabytes(8.43e9)
    '8.4 GB'
    """
    return f"{max(0.0, amount) / 1e9:.1f} GB"
