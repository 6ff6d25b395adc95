"""Where the rows end that a tree did not learn from."""

from __future__ import annotations

import numpy as np

from assay.compiled.simd.gathers import NODES
from assay.hypotheses.trees.nodes import LEAF, Tree
from assay.hypotheses.trees.packed import NARROW_COLUMNS, NARROW_CUTS, NARROW_NODES, WIDE_COLUMNS, WIDE_CUTS
from assay.loops.tree.packing import pack_nodes
from assay.loops.tree.shapes import Grown, Table
from assay.loops.tree.spared import leaves_of
from assay.numerics import Array

MOST_BYTES = 1 << 31  # of codes, so that their places fit 32 bits


def can_walk(table: Table) -> bool:
    """Whether rows find their leaves by comparing codes alone, of a byte or two: nothing is missing, no category is asked for."""
    codes = table.codes
    small = codes.itemsize <= 2 and 4 <= codes.nbytes < MOST_BYTES and table.d <= WIDE_COLUMNS
    return small and not bool(table.levels.any()) and bool((table.missing < 0).all())


def walked_leaves(table: Table, grown: Grown, tree: Tree, rows: Array) -> Array:
    """The row of the tree's table where each of the rows of `table` ends, whose numbers rise; as `can_walk` allows."""
    feature, nodes = grown.feature, len(grown.feature)
    cuts = grown.code[np.flatnonzero(feature != LEAF)] + 1
    narrow = table.codes.itemsize == 1 and table.d <= NARROW_COLUMNS and nodes <= NARROW_NODES
    words = np.zeros(nodes + 1 if narrow else (nodes + 1, 2), dtype=np.uint32)
    places = np.zeros(nodes + 1, dtype=np.uint32)
    most = 1 + (NARROW_CUTS if narrow else WIDE_CUTS)
    number = np.arange(len(cuts), dtype=np.int32)
    pack_nodes(
        feature,
        np.array([nodes]),
        np.zeros(1, np.int64),
        number,
        cuts.astype(np.uint16),
        tree.leaf,
        most,
        words,
        places,
    )
    padded = np.zeros(-(-len(rows) // NODES) * NODES, dtype=np.uint32)
    padded[: len(rows)] = rows
    leaves = np.empty(len(padded), dtype=np.uint32)
    leaves_of(words.reshape(-1), not narrow, table.codes, padded, places, leaves)
    return leaves[: len(rows)]
