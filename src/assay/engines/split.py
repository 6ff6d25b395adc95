"""Splitting rows into a part to fit on and a part held out, by a hash of (seed, row number).

A row's side depends on nothing but its number and the seed, so a stream, a cluster and a later verification all split alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.engines.rows import SPARSE_BLOCK, Block, Part, Rows, block_rows, rechunk, rows_of
from assay.errors import ParameterError
from assay.numerics import Array


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
