"""Rows made of other rows as they are read: zeros filled in, some rows picked, columns mapped to others, a part held out.

Which side of a split a row is on depends on nothing but its number and the seed (a hash of both), so a stream, a cluster and a later
verification all split alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines.rows import (
    LARGEST_BLOCK,
    SPARSE_BLOCK,
    ArrayRows,
    Block,
    Part,
    Rows,
    block_rows,
    rechunk,
    rows_of,
    settled,
)
from assay.errors import DataError, ParameterError, TooLargeError
from assay.numerics import Array

MOST_FILLED = 4e9  # bytes of a sparse table with its zeros, where a model needs all of it at once
MOST_COLUMNS = 1 << 16  # a block of the fewest rows then takes 128 MB, and some are in flight
Map = Callable[[Block], Array]


class _Filled(NamedTuple):
    """A block that is sparse until it is read."""

    block: Block

    def load(self) -> Block:
        return self.block._replace(X=self.block.X.toarray()).load()


class FilledRows(Rows):
    """The rows of `source`, sparse ones, as dense blocks: for a model that needs all numbers.

    Each block is filled up with its zeros when it is read, and cut where dense rows are cut: so the blocks, and with them
    every bit of a fit, are those of the dense table, of which no more is there at a time than blocks in flight.
    """

    local = True

    def __init__(self, source: Rows, who: str) -> None:
        if source.n_columns > MOST_COLUMNS:
            raise DataError(
                f"X has {source.n_columns} columns, and {who} fills the zeros of sparse rows in, a block at a time, which takes too much memory beyond "
                f"{MOST_COLUMNS}: keep the columns with the most entries, hash words into fewer columns, or use a linear model or naive Bayes, whose "
                "work follows the entries other than zero."
            )
        self.source, self.home = source, source.home
        self.n_columns, self.n_rows, self.names = source.n_columns, source.n_rows, source.names
        self.has_target, self.has_weight = source.has_target, source.has_weight

    def blocks(self) -> Iterator[Part]:
        loaded = (part.load() for part in self.source.blocks())
        return (_Filled(block) for block in rechunk((block[:3] for block in loaded), block_rows(self.n_columns)))

    def targets(self) -> Iterator[Part]:
        return self.source.targets()

    def in_memory(self) -> Rows:
        """As they are: all zeros at once may not fit."""
        return self

    def whole(self, who: str) -> Rows:
        """All rows with their zeros as one array, for a model that reads them in any order."""
        needed = 8.0 * (self.n_rows or 0) * self.n_columns
        if needed > MOST_FILLED:
            raise TooLargeError(
                f"{who} needs sparse rows with all their zeros, and those of {self.n_rows} rows × {self.n_columns} columns take {needed / 1e9:.1f} GB, more than the "
                f"{MOST_FILLED / 1e9:g} GB that are filled in: keep the columns with the most entries, take fewer rows, or use a linear model or naive Bayes, "
                "whose work follows the entries other than zero."
            )
        return super().in_memory()


class _TargetPart(NamedTuple):
    part: Part
    t: int

    def load(self) -> Block:
        block = self.part.load()
        assert block.y is not None
        return block._replace(y=settled(block.y[:, self.t]))


class OneTarget(Rows):
    """Rows of several targets, seen with the target t alone."""

    def __init__(self, source: Rows, t: int) -> None:
        self.source, self.t, self.home, self.local, self.sparse = source, t, source.home, source.local, source.sparse
        self.n_columns, self.n_rows, self.names = source.n_columns, source.n_rows, source.names
        self.has_target, self.has_weight = True, source.has_weight

    def blocks(self) -> Iterator[Part]:
        return (_TargetPart(part, self.t) for part in self.source.blocks())


def pick_rows(rows: Rows, which: Array) -> Rows:
    """The rows `which` (numbers, repeated ones allowed) of resident rows, in that order."""
    if not rows.sparse:
        return PickedRows(rows, which)
    y, w = (None if a is None else a[which] for a in (rows.y, rows.w))
    return rows_of(rows.X[which], y, w, like=rows)


class PickedRows(Rows):
    """The rows `which` of dense `rows`, which are resident: gathered block by block as they are read, without a copy of all."""

    local = True

    def __init__(self, rows: Rows, which: Array) -> None:
        self.rows, self.which, self.dtype = rows, which, rows.dtype
        self.n_rows, self.n_columns = len(which), rows.n_columns
        self.names, self.categories = rows.names, rows.categories
        self.has_target, self.has_weight = rows.has_target, rows.has_weight

    def blocks(self) -> Iterator[Part]:
        return self.stretches(block_rows(self.n_columns))

    def stretches(self, rows: int) -> Iterator[Part]:
        for a in range(0, len(self.which), rows):
            yield _Gathered(self.rows, self.which[a : a + rows], a)

    def targets(self) -> Iterator[Part]:
        bare = ArrayRows(self.rows.X[:, :0], self.rows.y, self.rows.w)
        for a in range(0, len(self.which), 2 * LARGEST_BLOCK):
            yield _Gathered(bare, self.which[a : a + 2 * LARGEST_BLOCK], a)

    @property
    def y(self) -> Array | None:  # type: ignore[override]
        return None if self.rows.y is None else self.rows.y[self.which]

    @property
    def w(self) -> Array | None:  # type: ignore[override]
        return None if self.rows.w is None else self.rows.w[self.which]

    def in_memory(self) -> Rows:
        return ArrayRows(self.rows.X[self.which], self.y, self.w, like=self)


class _Gathered(NamedTuple):
    rows: Rows
    which: Array
    start: int

    def load(self) -> Block:
        X = self.rows.X[self.which]
        y, w = (None if a is None else a[self.which] for a in (self.rows.y, self.rows.w))
        return Block(settled(X, None if X.dtype == np.float32 else np.float64), y, w, self.start)


@dataclass(frozen=True)
class MappedPart:
    """`count` rows from the row `first` of some parts of the source on, mapped where they are loaded."""

    parts: tuple[Part, ...]
    first: int
    count: int
    start: int
    map: Map

    @property
    def readable_anywhere(self) -> bool:
        """Whether another process can read the parts itself."""
        return all(getattr(part, "readable_anywhere", False) for part in self.parts)

    def load(self) -> Block:
        blocks = [part.load() for part in self.parts]
        X, y, w = (
            None if pieces[0] is None else pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            for pieces in zip(*(block[:3] for block in blocks))
        )
        here = slice(self.first, self.first + self.count)
        assert X is not None
        raw = Block(X[here], None if y is None else y[here], None if w is None else w[here], self.start).load()
        return raw._replace(X=self.map(raw)).load()


class MappedRows(Rows):
    """The rows of `source` with `n_columns` columns that `map` (picklable) makes of a block.

    The blocks are those that an array of the mapped columns would have, so that both give the same bits. One block takes rows
    of one or several blocks of the source; on a cluster the map travels to the source's blocks, wherever they lie.
    """

    def __init__(self, source: Rows, map: Map, n_columns: int, names: tuple[str, ...] | None = None) -> None:
        self.source, self.map, self.n_columns, self.names = source, map, n_columns, names
        self.home = source.home
        self.has_target, self.has_weight = source.has_target, source.has_weight

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        return self.source.n_rows

    def over(self, source: Rows) -> MappedRows:
        """The same map of other rows."""
        return MappedRows(source, self.map, self.n_columns, self.names)

    def blocks(self) -> Iterator[Part]:
        step, size = block_rows(self.n_columns), block_rows(self.source.n_columns)
        parts: list[Part] = []
        start = gone = 0  # the next block's first row; parts that lie before it
        for part in self.source.blocks():
            while start + step <= size * (gone + len(parts)):  # a part that another one follows is whole
                yield self._block(parts, start - gone * size, step, size, start)
                start += step
                done = start // size - gone
                parts, gone = parts[done:], gone + done
            parts.append(part)
        if not parts:
            return
        n = self.source.n_rows
        end = size * (gone + len(parts) - 1) + len(parts[-1].load().X) if n is None else n
        for a in range(start, end, step):
            yield self._block(parts, a - gone * size, min(step, end - a), size, a)

    def _block(self, parts: list[Part], first: int, count: int, size: int, start: int) -> Part:
        begin = first // size
        there = tuple(parts[begin : (first + count - 1) // size + 1])
        return MappedPart(there, first - begin * size, count, start, self.map)

    def targets(self) -> Iterator[Part]:
        return self.source.targets()

    def anywhere(self) -> Rows:
        return self.over(self.source.anywhere())

    def at_hand(self) -> Rows:
        return self.over(self.source.at_hand())


def unmapped(function: Callable[[Any], Any], item: Any) -> tuple[Callable[[Any], Any], Any]:
    """Work on mapped parts as work on the parts they are made of (each there once), with the map as a part of the function."""
    alone = isinstance(item, MappedPart)
    mapped: tuple[Any, ...] = (item,) if alone else item if type(item) is tuple else ()
    if not mapped or not all(isinstance(part, MappedPart) for part in mapped):
        return function, item
    sources = list({id(part): part for each in mapped for part in each.parts}.values())
    place = {id(part): k for k, part in enumerate(sources)}
    cuts = [(tuple(place[id(p)] for p in m.parts), m.first, m.count, m.start, m.map) for m in mapped]
    return partial(_with_map, cuts, alone, function), tuple(sources)


def _with_map(cuts: list[Any], alone: bool, function: Callable[[Any], Any], sources: Any) -> Any:
    blocks = [part.load() for part in sources]
    parts = tuple(MappedPart(tuple(blocks[k] for k in which), *rest) for which, *rest in cuts)
    return function(parts[0] if alone else parts)


def row_keys(start: int, n: int, seed: int) -> Array:
    """A 64-bit key of each of the rows start … start + n − 1 (splitmix64 of seed and row number); no two rows share one."""
    return keys_of(np.arange(start, start + n, dtype=np.uint64), seed)


def keys_of(numbers: Array, seed: int) -> Array:
    """A 64-bit key of each number (unsigned, 64 bits)."""
    with np.errstate(over="ignore"):
        z = numbers + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return z


def unit_interval(keys: Array) -> Array:
    """Keys as numbers 0 ≤ u < 1, evenly spread."""
    u: Array = (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return u


def held_out_mask(start: int, n: int, fraction: float, seed: int) -> Array:
    """True for the rows start … start + n − 1 that are held out, by their keys.

    >>> int(held_out_mask(0, 100_000, 0.25, 7).sum())
    25011
    """
    mask: Array = unit_interval(row_keys(start, n, seed)) < fraction
    return mask


@dataclass(frozen=True)
class SplitSide:
    """Which rows lie on one side of a split by hash: picklable, so that it travels with the rows."""

    fraction: float
    seed: int
    held_out: bool

    def __call__(self, start: int, n: int) -> Array:
        side: Array = held_out_mask(start, n, self.fraction, self.seed) == self.held_out
        return side


@dataclass(frozen=True, eq=False)
class MaskedRows:
    """The rows where a mask (one truth value a row of the table) is true."""

    mask: Array

    def __call__(self, start: int, n: int) -> Array:
        return self.mask[start : start + n]


class SomeRows(Rows):
    """Some of the rows of a table, cut into blocks again; `keep(start, n)` says which of the rows start … start + n − 1."""

    def __init__(self, rows: Rows, keep: Callable[[int, int], Array]) -> None:
        self._rows, self._keep = rows, keep
        self.n_columns, self.names, self.categories = rows.n_columns, rows.names, rows.categories
        self.has_target, self.has_weight, self.sparse = rows.has_target, rows.has_weight, rows.sparse
        self.home = "stream" if rows.home == "cluster" else rows.home

    def blocks(self) -> Iterator[Part]:
        step = SPARSE_BLOCK if self.sparse else block_rows(self.n_columns)
        return rechunk(self._pieces(self._rows.blocks()), step)

    def targets(self) -> Iterator[Part]:
        for part in self._rows.targets():
            block = part.load()
            keep = self._keep(block.start, len(block.X if block.y is None else block.y))
            y, w = (None if a is None else a[keep] for a in (block.y, block.w))
            yield Block(np.empty((int(keep.sum()), 0)), y, w, block.start)

    def _pieces(self, parts: Iterator[Part]) -> Iterator[tuple[Any, ...]]:
        for part in parts:
            block = part.load()
            keep = self._keep(block.start, len(block.X))
            yield tuple(None if a is None else a[keep] for a in block[:3])


def some_rows(rows: Rows, keep: Callable[[int, int], Array]) -> Rows:
    """The rows that `keep` marks: copied where the table lies in memory, else picked as they are read."""
    if not rows.resident:
        return SomeRows(rows, keep)
    mask = keep(0, len(rows.X))
    y, w = (None if a is None else a[mask] for a in (rows.y, rows.w))
    return rows_of(rows.X[mask], y, w, like=rows)


def split_rows(rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """The rows to fit on and the rows held out, about `fraction` of all."""
    if not 0 < fraction < 1:
        raise ParameterError(f"A share of {fraction!r} cannot be held out: it must lie between 0 and 1.")
    if not 0 <= seed < 1 << 64:
        raise ParameterError(f"The seed {seed!r} is not possible: give a whole number from 0 to 2⁶⁴ − 1.")
    return some_rows(rows, SplitSide(fraction, seed, False)), some_rows(rows, SplitSide(fraction, seed, True))
