"""Sparse rows for a model that needs all numbers: each block is filled up with its zeros when it is read, and cut where dense rows are cut.

So the blocks, and with them every bit of a fit, are those of the dense table, of which no more is there at a time than blocks in flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay.engines.rows import Block, Part, Rows, block_rows, rechunk
from assay.errors import DataError

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
