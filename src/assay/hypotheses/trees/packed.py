"""Trees packed for many rows, where that pays: thresholds become numbers, so that a node takes one word and a row's values a byte each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.hypotheses.trees.nodes import LEAF, Trees
from assay.numerics import Array, Floats

# columns, thresholds a column and nodes a tree that fit nodes of one word, and of two
NARROW_COLUMNS, NARROW_CUTS, NARROW_NODES = 1 << 8, 254, (1 << 17) - 1
WIDE_COLUMNS, WIDE_CUTS = 1 << 16, 65_534
STEPS = 64  # of the search for a row's codes, that cost what a packed tree saves


class Packed(NamedTuple):
    """As `loops.tree.packing` lays trees out, and `loops.tree.coding.ladders` their thresholds; like: an array of the type of codes."""

    words: Array
    starts: Array
    rows: Array
    ladder: Floats
    first: Array
    steps: Array
    like: Array


def packed_trees(trees: Trees, columns: int) -> Packed | None:
    """The trees packed; None where they split by categories, have too many thresholds, or are so few that it would not pay."""
    from assay.loops.tree.coding import ladders
    from assay.loops.tree.packing import columns_of, number_cuts, pack_nodes

    T, S = len(trees.nodes), len(trees.cut)
    if T == 1 or S == 0 or columns > WIDE_COLUMNS or bool((trees.feature < LEAF).any()):
        return None
    asked, number = np.empty(S + 1, dtype=np.int32), np.empty(S, dtype=np.int32)
    columns_of(trees.feature, asked)
    columns_found, bits = np.empty(S, dtype=np.int32), np.empty(S, dtype=np.uint64)
    found = number_cuts(asked, trees.cut.view(np.uint64), number, columns_found, bits)
    column, cut = columns_found[:found].astype(np.uint16), bits[:found].view(np.float64)
    order = np.argsort(cut)
    order = order[np.argsort(column[order], kind="stable")]
    count = np.bincount(column, minlength=columns)
    first = np.cumsum(count) - count
    ladder, start, steps = ladders(cut[order], first, count)
    if count.max() > WIDE_CUTS or steps.sum() > STEPS * T:
        return None
    rank = np.empty(found, dtype=np.uint16)
    rank[order] = np.arange(found) - np.repeat(first, count) + 1
    narrow = columns <= NARROW_COLUMNS and count.max() <= NARROW_CUTS and trees.nodes.max() <= NARROW_NODES
    starts = np.cumsum(trees.nodes + 1) - (trees.nodes + 1)
    places = int(starts[-1] + trees.nodes[-1] + 1)
    words = np.zeros(places if narrow else (places, 2), dtype=np.uint32)
    rows = np.zeros(places, dtype=np.uint32)
    like = np.zeros(0, dtype=np.uint8 if narrow else np.uint16)
    most = 1 + (NARROW_CUTS if narrow else WIDE_CUTS)
    pack_nodes(trees.feature, trees.nodes, starts, number, rank, trees.leaf, most, words, rows)
    return Packed(words, starts, rows, ladder, start, steps, like)
