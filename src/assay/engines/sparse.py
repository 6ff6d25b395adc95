"""Sparse rows in blocks: a block holds a fixed number of rows, whatever the number of columns.

Blocks of dense rows shrink as columns grow; of sparse rows only the entries other than zero are kept, so 8192 rows of a
hundred thousand columns are a small block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.engines.csr import SparseMatrix
from assay.engines.rows import LARGEST_BLOCK, ArrayRows, Block, Part, Rows
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
