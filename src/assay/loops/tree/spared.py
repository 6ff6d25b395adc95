"""Rows of a table, named by their numbers, go down one packed tree by their codes, which lie column by column.

Rows come in rising order: those on their way together have their codes in a few lines of each column, and no copy row by row is needed.
A row takes 10 … 15 ns, where going along with the rows that the tree learns from took 30 and more.
"""

from __future__ import annotations

from assay.compiled import jit
from assay.compiled.simd.gathers import NODES, descend_narrow_bytes, descend_wide_bytes, descend_wide_halves
from assay.compiled.simd.memory import data_pointer


@jit
def leaves_of(words, wide, codes, rows, places, leaves):  # type: ignore[no-untyped-def]
    """leaves[i]: places[the place of the leaf] of row rows[i]; both arrays have room up to a multiple of `NODES`. words: as
    `packing.pack_nodes` lays them out, flat."""
    d, n = codes.shape
    for first in range(0, rows.shape[0], NODES):
        if codes.itemsize == 2:
            descend_wide_halves(
                data_pointer(words), data_pointer(codes), n, d, data_pointer(rows), first, data_pointer(leaves)
            )
        elif wide:
            descend_wide_bytes(
                data_pointer(words), data_pointer(codes), n, d, data_pointer(rows), first, data_pointer(leaves)
            )
        else:
            descend_narrow_bytes(
                data_pointer(words), data_pointer(codes), n, d, data_pointer(rows), first, data_pointer(leaves)
            )
    for i in range(rows.shape[0]):
        leaves[i] = places[leaves[i]]
