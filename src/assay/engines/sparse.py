"""Sparse rows in blocks: a block holds a fixed number of rows, whatever the number of columns.

Blocks of dense rows shrink as columns grow; of sparse rows only the entries other than zero are kept, so 8192 rows of a
hundred thousand columns are a small block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.engines.csr import SparseMatrix
from assay.engines.rows import LARGEST_BLOCK, ArrayRows, Block, Part, Rows, block_rows, rechunk, settled
from assay.errors import DataError
from assay.numerics import Array

__all__ = ["SPARSE_BLOCK", "SparseMatrix", "SparseRows", "rows_of"]

SPARSE_BLOCK = 8192


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


# Sparse rows for a model that needs all numbers: each block is filled up with its zeros when it is read, and cut where dense rows are cut.
#
# So the blocks, and with them every bit of a fit, are those of the dense table, of which no more is there at a time than blocks in flight.

MOST_COLUMNS = 1 << 16  # a block of the fewest rows then takes 128 MB, and some are in flight


class _Filled(NamedTuple):
    """A block that is sparse until it is read."""

    block: Block

    def load(self) -> Block:
        return self.block._replace(X=self.block.X.toarray()).load()


class FilledRows(Rows):
    """The rows of `source`, sparse ones, as dense blocks."""

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


# Some rows of arrays in memory, by their numbers: gathered block by block when they are read, so that no copy of all is made.


class _Gathered(NamedTuple):
    rows: Rows
    which: Array
    start: int

    def load(self) -> Block:
        X = self.rows.X[self.which]
        y, w = (None if a is None else a[self.which] for a in (self.rows.y, self.rows.w))
        return Block(settled(X, None if X.dtype == np.float32 else np.float64), y, w, self.start)


def pick_rows(rows: Rows, which: Array) -> Rows:
    """The rows `which` (numbers, repeated ones allowed) of resident rows, in that order."""
    if not rows.sparse:
        return PickedRows(rows, which)
    y, w = (None if a is None else a[which] for a in (rows.y, rows.w))
    return rows_of(rows.X[which], y, w, like=rows)


class PickedRows(Rows):
    """The rows `which` of dense `rows`, which are resident."""

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
