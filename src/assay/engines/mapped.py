"""Rows whose columns are a function of the columns of other rows, computed block by block where the blocks are read.

The blocks are those that an array of the mapped columns would have, so that both give the same bits. One block takes rows of one or
several blocks of the source; on a cluster the map travels to the source's blocks, wherever they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from assay.engines.rows import Block, Part, Rows, block_rows
from assay.numerics import Array

Map = Callable[[Block], Array]


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
    """The rows of `source` with `n_columns` columns that `map` (picklable) makes of a block."""

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
