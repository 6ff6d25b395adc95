"""Some rows of arrays in memory, by their numbers: gathered block by block when they are read, so that no copy of all is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.engines.rows import LARGEST_BLOCK, ArrayRows, Block, Part, Rows, block_rows, settled
from assay.engines.sparse import rows_of
from assay.numerics import Array


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
