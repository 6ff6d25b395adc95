"""Which of a column's 256 cells hold rows of a node, so that a small node pays for its rows, not for the cells.

Counting a row raises the flag of its cell: a byte, as a bit would have to be read and written again (2 ns a row). Flags are read 64 at a time
as bits. Going through these gives the cells in the order of their codes, which is what a sort would give, without
one; cells and flags are zero again afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

from assay.loops.tree.candidates import beats, first_best, keep
from assay.loops.tree.eight import greatest_of
from assay.loops.tree.inner import inlined

FEW = (
    160  # rows of a node of two classes below which it is searched cell by cell that holds rows, else through all cells
)
CELLS, GROUP = 256, 64
BIT = np.uint64(1)
RAISED = np.uint8(1)


@intrinsic
def _lowest_bit(typingctx: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def _lowest_bit_plain(word: Any) -> int:
    return (int(word) & -int(word)).bit_length() - 1


# lowest_bit(word): the place of the lowest bit of a word that is not zero
lowest_bit = _lowest_bit_plain if config.DISABLE_JIT else _lowest_bit


@intrinsic
def _taken(typingctx: Any, flags: Any, first: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bytes_ = ir.VectorType(ir.IntType(8), GROUP)
        at = builder.bitcast(builder.gep(args[0], [args[1]]), bytes_.as_pointer())
        none = ir.Constant(bytes_, [0] * GROUP)
        word = builder.bitcast(builder.icmp_unsigned("!=", builder.load(at, align=1), none), ir.IntType(GROUP))
        builder.store(none, at, align=1)
        return word

    return types.uint64(flags, types.int64), generate


def _taken_plain(flags: Any, first: int) -> Any:
    word = sum(1 << i for i in range(GROUP) if flags[first + i])
    for i in range(GROUP):
        flags[first + i] = 0
    return np.uint64(word)


# taken(flags, first): the flags of 64 cells as bits, of one byte each; they are lowered
taken = _taken_plain if config.DISABLE_JIT else _taken


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


@njit(nogil=True, cache=True, inline="always")
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
