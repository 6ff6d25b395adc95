"""Growing the trees of a forest: independent tasks, each from (seed, tree) alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.engines import Engine
from assay.hypotheses.trees.ground import Ground
from assay.hypotheses.trees.growing import Drawing, Plot, entries_of, grow_from, leaf_values
from assay.hypotheses.trees.nodes import LEAF, Tree, tree_of
from assay.hypotheses.trees.pruning import pruned
from assay.loops.tree.walk import leaf_of_codes
from assay.numerics import Array


class Orchard(NamedTuple):
    """What all trees of a forest share."""

    ground: Ground
    drawing: Drawing
    max_leaf_nodes: int | None
    ccp_alpha: float
    out_of_bag: bool  # say where the rows that a tree did not see end
    members: bool  # say which rows are in which leaf


class Sapling(NamedTuple):
    """A tree of a forest; `spared`: the rows that it did not see, `leaf`: their rows of its table; `rows`, `times`: those it saw, in the
    order of its leaves, `held`: how many are in each leaf."""

    tree: Tree
    spared: Array
    leaf: Array
    rows: Array
    times: Array
    held: Array


NOTHING = np.zeros(0, dtype=np.uint32)


def grow_sapling(orchard: Orchard, number: int) -> Sapling:
    """Tree `number` of a forest."""
    plot, drawing = orchard.ground.plot, orchard.drawing
    times = drawing.times(number, plot.table.n)
    entries = entries_of(plot, times)
    grown = grow_from(plot, entries, drawing.key(number))
    if orchard.max_leaf_nodes is not None or orchard.ccp_alpha > 0:
        grown = pruned(grown, orchard.ground, orchard.max_leaf_nodes, orchard.ccp_alpha)
    tree = tree_of(grown, leaf_values(plot, grown, entries))
    spared = leaf = rows = counts = held = NOTHING
    if orchard.out_of_bag:
        spared = np.flatnonzero(times == 0).astype(np.uint32)
        leaf = _leaves(plot, grown, tree, spared)
    if orchard.members:
        rows = (entries >> np.uint64(32)).astype(np.uint32)
        counts = ((entries >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.uint32)
        start = grown.start[grown.feature == LEAF]
        held = np.diff(np.append(start, len(entries))).astype(np.uint32)
    return Sapling(tree, spared, leaf, rows, counts, held)


def _leaves(plot: Plot, grown: object, tree: Tree, rows: Array) -> Array:
    """The row of the tree's table where each of the rows ends."""
    node = np.empty(len(rows), dtype=np.int64)
    g: object = grown
    leaf_of_codes(plot.table.codes, rows, g.feature, g.code, g.right, g.missing, plot.table.missing, g.sets, node)  # type: ignore[attr-defined]
    number = np.cumsum(tree.feature == LEAF) - 1
    return tree.leaf[number[node]]


def grow_saplings(engine: Engine, orchard: Orchard, first: int, last: int) -> Iterator[Sapling]:
    """Trees first … last − 1, in their order."""
    return engine.map_with(grow_sapling, orchard, range(first, last))
