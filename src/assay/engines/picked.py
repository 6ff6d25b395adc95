"""Some rows of arrays in memory, by their numbers: gathered block by block when they are read, so that no copy of all is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.engines.rows import LARGEST_BLOCK, ArrayRows, Block, Part, Rows, block_rows, settled
from assay.numerics import Array


class _Gathered(NamedTuple):
    rows: ArrayRows
    which: Array
    start: int

    def load(self) -> Block:
        X = self.rows.X[self.which]
        y, w = (None if a is None else a[self.which] for a in (self.rows.y, self.rows.w))
        return Block(settled(X, None if X.dtype == np.float32 else np.float64), y, w, self.start)


class PickedRows(Rows):
    """The rows `which` (numbers, repeated ones allowed) of `rows`, in that order."""

    def __init__(self, rows: ArrayRows, which: Array) -> None:
        self.rows, self.which = rows, which
        self.n_rows, self.n_columns = len(which), rows.n_columns
        self.names, self.categories = rows.names, rows.categories
        self.has_target, self.has_weight = rows.has_target, rows.has_weight

    def blocks(self) -> Iterator[Part]:
        return self.parts(block_rows(self.n_columns))

    def parts(self, step: int) -> Iterator[Part]:
        """The rows in parts of `step` rows."""
        for a in range(0, len(self.which), step):
            yield _Gathered(self.rows, self.which[a : a + step], a)

    def targets(self) -> Iterator[Part]:
        bare = ArrayRows(self.rows.X[:, :0], self.rows.y, self.rows.w)
        for a in range(0, len(self.which), 2 * LARGEST_BLOCK):
            yield _Gathered(bare, self.which[a : a + 2 * LARGEST_BLOCK], a)

    def in_memory(self) -> Rows:
        y, w = (None if a is None else a[self.which] for a in (self.rows.y, self.rows.w))
        return ArrayRows(self.rows.X[self.which], y, w, like=self)
