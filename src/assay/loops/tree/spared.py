"""Rows of a table, named by their numbers, go down one packed tree by their codes, which lie column by column.

Rows come in rising order: those on their way together have their codes in a few lines of each column, and no copy row by row is needed.
A row takes 10 … 15 ns, where going along with the rows that the tree learns from took 30 and more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

from assay.loops.tree.bare import bare
from assay.loops.tree.gathers import BYTE, HALF, LANE, LONG, NODES, WORD, Vectors, narrow_nodes

LANES = 2 * LANE
GROUPS = range(NODES // LANES)


def _wide(v: Vectors, words: Any, at: Any) -> tuple[Any, Any, Any]:
    """(child, column, cut) of nodes in two words: 16 bits of the column, 16 of the cut; half the child."""
    b = v.builder
    word = v.gather(words, at, LONG, WORD, 4)
    half = v.gather(b.gep(words, [ir.Constant(LONG, 1)]), at, LONG, WORD, 4)
    return b.shl(half, v.all(1)), b.lshr(word, v.all(16)), b.and_(word, v.all(0xFFFF))


def _descent(node: Callable[..., tuple[Any, Any, Any]], code: Any) -> Any:
    """Of codes of one type and nodes of one kind."""
    size = code.width // 8

    @intrinsic
    def descend(typingctx: Any, words: Any, codes: Any, n: Any, d: Any, rows: Any, first: Any, leaves: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            v = Vectors(builder, LANES)
            words, codes, n, d, rows, first, leaves = args
            stride = builder.mul(builder.trunc(n, WORD), ir.Constant(WORD, size))
            last = v.spread(builder.sub(builder.mul(stride, builder.trunc(d, WORD)), ir.Constant(WORD, 4)))
            stride = v.spread(stride)
            rows, leaves = builder.gep(rows, [first]), builder.gep(leaves, [first])
            own = [builder.load(v.place(rows, LANES * g, WORD), align=4) for g in GROUPS]
            start = [builder.mul(row, v.all(size)) for row in own]

            def step(at: Any, g: int) -> Any:
                child, column, cut = node(v, words, at)
                place = builder.add(builder.mul(column, stride), start[g])
                inside = builder.select(builder.icmp_unsigned("<", place, last), place, last)
                word = v.gather(codes, inside, BYTE, WORD, 1)
                word = builder.lshr(word, builder.shl(builder.sub(place, inside), v.all(3)))
                above = builder.add(builder.and_(word, v.all((1 << code.width) - 1)), v.all(1))
                return builder.add(child, builder.zext(builder.icmp_unsigned(">", above, cut), v.words))

            v.walk(step, GROUPS, leaves)
            return context.get_dummy_value()

        return types.void(words, codes, types.int64, types.int64, rows, types.int64, leaves), generate

    return descend


def _plain(wide: bool) -> Any:
    def descend(words: Any, codes: Any, n: int, d: int, rows: Any, first: int, leaves: Any) -> None:
        for i in range(first, first + NODES):
            at, before = 0, -1
            while at != before:
                word = int(words[2 * at]) if wide else int(words[at])
                child = int(words[2 * at + 1]) << 1 if wide else word >> 16 << 1
                column, cut = (word >> 16, word & 0xFFFF) if wide else (word >> 8 & 0xFF, word & 0xFF)
                at, before = child + int(int(codes[column * n + int(rows[i])]) + 1 > cut), at
            leaves[i] = at

    return descend


# _…(words, codes, n, d, rows, first, leaves): leaves[first : first + 96] of the rows with these numbers; codes (d, n) lie flat. A row
# goes to its node's child, or to the one behind it where its code + 1 is above the node's cut; a leaf is its own child
_narrow_bytes = _plain(False) if config.DISABLE_JIT else _descent(narrow_nodes, BYTE)
_wide_bytes = _plain(True) if config.DISABLE_JIT else _descent(_wide, BYTE)
_wide_halves = _plain(True) if config.DISABLE_JIT else _descent(_wide, HALF)


@njit(nogil=True, cache=True)
def leaves_of(words, wide, codes, rows, places, leaves):  # type: ignore[no-untyped-def]
    """leaves[i]: places[the place of the leaf] of row rows[i]; both arrays have room up to a multiple of `NODES`. words: as
    `packing.pack_nodes` lays them out, flat."""
    d, n = codes.shape
    for first in range(0, rows.shape[0], NODES):
        if codes.itemsize == 2:
            _wide_halves(bare(words), bare(codes), n, d, bare(rows), first, bare(leaves))
        elif wide:
            _wide_bytes(bare(words), bare(codes), n, d, bare(rows), first, bare(leaves))
        else:
            _narrow_bytes(bare(words), bare(codes), n, d, bare(rows), first, bare(leaves))
    for i in range(rows.shape[0]):
        leaves[i] = places[leaves[i]]
