"""Splitting rows into a part to fit on and a part held out, by a hash of (seed, row number).

A row's side depends on nothing but its number and the seed, so a stream, a cluster and a later verification all split alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.engines.rows import ArrayRows, Block, Part, Rows, block_rows, rechunk
from assay.engines.sparse import SparseRows, rows_of
from assay.errors import ParameterError
from assay.numerics import Array


def held_out_mask(start: int, n: int, fraction: float, seed: int) -> Array:
    """True for the rows start … start + n − 1 that are held out (splitmix64 of seed and row number).

    >>> int(held_out_mask(0, 100_000, 0.25, 7).sum())
    25011
    """
    with np.errstate(over="ignore"):
        z = np.arange(start, start + n, dtype=np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    mask: Array = (z >> np.uint64(11)).astype(np.float64) * 2.0**-53 < fraction
    return mask


class _Side(Rows):
    """The rows on one side of a split, cut into blocks again."""

    def __init__(self, rows: Rows, fraction: float, seed: int, held_out: bool) -> None:
        self._rows, self._fraction, self._seed, self._held_out = rows, fraction, seed, held_out
        self.n_columns, self.names, self.categories = rows.n_columns, rows.names, rows.categories
        self.has_target, self.has_weight = rows.has_target, rows.has_weight
        self.home = "stream" if rows.home == "cluster" else rows.home

    def blocks(self) -> Iterator[Part]:
        return rechunk(self._pieces(self._rows.blocks()), block_rows(self.n_columns))

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

    def _keep(self, start: int, n: int) -> Array:
        side: Array = held_out_mask(start, n, self._fraction, self._seed) == self._held_out
        return side


def split_rows(rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """The rows to fit on and the rows held out, about `fraction` of all."""
    if not 0 < fraction < 1:
        raise ParameterError(f"A share of {fraction!r} cannot be held out: it must lie between 0 and 1.")
    if not 0 <= seed < 1 << 64:
        raise ParameterError(f"The seed {seed!r} is not possible: give a whole number from 0 to 2⁶⁴ − 1.")
    if not isinstance(rows, ArrayRows | SparseRows):
        return _Side(rows, fraction, seed, False), _Side(rows, fraction, seed, True)
    mask = held_out_mask(0, len(rows.X), fraction, seed)

    def side(keep: Array) -> Rows:
        y, w = (None if a is None else a[keep] for a in (rows.y, rows.w))
        return rows_of(rows.X[keep], y, w, like=rows)

    return side(~mask), side(mask)
