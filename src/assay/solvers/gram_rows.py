"""Which rows a preconditioner is made from: every s-th, so many that all products of their columns cost little."""

from __future__ import annotations

import numpy as np

from assay.engines import Block

ENOUGH = 10_000  # rows, unless columns are so many or few that
LEAST, MOST = (
    10,
    100,
)  # rows a column are not reached or exceeded: these leave open a third and a tenth of the curvature


def row_stride(n: int | None, d: int) -> int:
    """Every how many rows one is used; it depends on the shape of the table alone.

    >>> row_stride(100_000, 100), row_stride(1000, 100)
    (10, 1)
    """
    return 1 if n is None else max(1, n // min(max(ENOUGH, LEAST * (d + 1)), MOST * (d + 1)))


def every(block: Block, stride: int) -> Block:
    """The rows of a block whose number is a multiple of `stride`."""
    if stride == 1:
        return block
    first = -block.start % stride
    X = block.X[np.arange(first, len(block.X), stride)]
    y, w = (None if a is None else np.ascontiguousarray(a[first::stride]) for a in (block.y, block.w))
    return Block(X, y, w, block.start + first)
