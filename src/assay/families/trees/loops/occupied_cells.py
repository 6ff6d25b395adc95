"""Which of a column's 256 cells hold rows of a node, so that a small node pays for its rows, not for the cells.

Counting a row raises the flag of its cell: a byte, as a bit would have to be read and written again (2 ns a row). Flags are read 64 at a time
as bits. Going through these gives the cells in the order of their codes, which is what a sort would give, without
one; cells and flags are zero again afterwards.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, jit
from assay.compiled.simd.scalars import lowest_bit
from assay.compiled.simd.trees import GROUP, taken
from assay.families.trees.loops.candidates import beats, first_best, greatest_of, keep

FEW = (
    160  # rows of a node of two classes below which it is searched cell by cell that holds rows, else through all cells
)
CELLS = 256
BIT = np.uint64(1)
RAISED = np.uint8(1)


@inlined
def marked(flags, place):  # type: ignore[no-untyped-def]
    """place[:count]: the cells whose flags are raised, in their order; they are lowered. Returns count."""
    count = 0
    for first in range(0, CELLS, GROUP):
        word = taken(flags, first)
        while word != 0:
            place[count] = first + lowest_bit(word)
            word &= word - BIT
            count += 1
    return count


@jit(inline="always")
def missing_cell(table, f):  # type: ignore[no-untyped-def]
    """The cell of a column's missing values, −1 where there are none."""
    return table.missing[f] >> table.shift[f] if table.missing[f] >= 0 else -1


@inlined
def keep_cell(found, f, place, stop, shift, missing, left, worth):  # type: ignore[no-untyped-def]
    """Of the splits after each of the cells place[:stop], keep the first that is the best; `left`: where missing values go."""
    best = greatest_of(worth, stop)
    if beats(best, found):
        at = first_best(worth, best)
        after = place[at + 1] << shift if at + 1 < stop else missing
        keep(found, worth[at], f, ((place[at] + 1) << shift) - 1, after, left)
