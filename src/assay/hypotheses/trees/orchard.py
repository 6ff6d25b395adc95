"""Growing the trees of a forest: independent tasks, each from (seed, tree) alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.engines import Engine, Part, Rows
from assay.engines.threads import Threads
from assay.errors import ParameterError
from assay.hypotheses.trees.coded import Bins
from assay.hypotheses.trees.ground import Ground
from assay.hypotheses.trees.growing import NONE, Drawing, entries_of, grow_from, leaf_values
from assay.hypotheses.trees.nodes import LEAF, Tree, tree_of
from assay.hypotheses.trees.pruning import pruned
from assay.hypotheses.trees.single import single_tree
from assay.hypotheses.trees.spared import can_walk, walked_leaves
from assay.loops.tree.shapes import Grown
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
    walked = can_walk(plot.table)
    spared = np.flatnonzero(times == 0).astype(np.uint32) if orchard.out_of_bag else NOTHING
    others = NONE if walked else spared.astype(np.uint64) << np.uint64(32)
    grown = grow_from(plot, entries, drawing.key(number), others=others)
    if orchard.max_leaf_nodes is not None or orchard.ccp_alpha > 0:
        grown = pruned(grown, orchard.ground, orchard.max_leaf_nodes, orchard.ccp_alpha)
    tree = tree_of(grown, leaf_values(plot, grown, entries))
    leaf = rows = counts = held = NOTHING
    if walked:
        leaf = walked_leaves(plot.table, grown, tree, spared)
    elif orchard.out_of_bag:
        spared = (others >> np.uint64(32)).astype(np.uint32)
        start = grown.other[grown.feature == LEAF]
        leaf = np.repeat(tree.leaf, np.diff(np.append(start, len(others))))
    if orchard.members:
        rows = (entries >> np.uint64(32)).astype(np.uint32)
        counts = ((entries >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.uint32)
        start = grown.start[grown.feature == LEAF]
        held = np.diff(np.append(start, len(entries))).astype(np.uint32)
    return Sapling(tree, spared, leaf, rows, counts, held)


def _leaves(codes: Array, lost: Array, grown: Grown, tree: Tree, rows: Array) -> Array:
    """The row of the tree's table where each of the rows ends."""
    node = np.empty(len(rows), dtype=np.int64)
    leaf_of_codes(codes, rows, grown.feature, grown.code, grown.right, grown.missing, lost, grown.sets, node)
    number = np.cumsum(tree.feature == LEAF) - 1
    leaves: Array = tree.leaf[number[node]]
    return leaves


def grow_saplings(engine: Engine, rows: Rows, orchard: Orchard, first: int, last: int) -> Iterator[Sapling]:
    """Trees first … last − 1, in their order."""
    if orchard.ground.soil is None:
        return engine.map_with(grow_sapling, orchard, range(first, last))
    return (_grow_far(engine, rows, orchard, number) for number in range(first, last))


def _grow_far(engine: Engine, rows: Rows, orchard: Orchard, number: int) -> Sapling:
    """A tree whose rows stay where they are; the rows that it did not see are brought to their leaves by one more pass."""
    ground, drawing = orchard.ground, orchard.drawing
    if orchard.members:
        raise ParameterError(
            "quantiles=True keeps every row of every tree, but the rows are more than memory is meant to hold: draw fewer for each tree "
            "(max_samples), or fit without quantiles."
        )
    grown, entries = single_tree(engine, rows, ground, drawing, number, Threads(1))
    grown = pruned(grown, ground, orchard.max_leaf_nodes, orchard.ccp_alpha)
    tree = tree_of(grown, leaf_values(ground.plot, grown, entries))
    spared = leaf = NOTHING
    if orchard.out_of_bag:
        assert ground.soil is not None
        times = drawing.times(number, ground.survey.n)
        far = _Far(ground.soil.bins, times, grown, tree)
        pieces = list(engine.map(far, rows.blocks()))
        spared, leaf = np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])
    return Sapling(tree, spared, leaf, NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True)
class _Far:
    """(rows, their rows of the tree's table) of a block's rows that a tree did not see."""

    bins: Bins
    times: Array
    grown: Grown
    tree: Tree

    def __call__(self, part: Part) -> tuple[Array, Array]:
        block = part.load()
        spared = np.flatnonzero(self.times[block.start : block.start + len(block.X)] == 0).astype(np.uint32)
        codes = self.bins.codes(block.X)
        return spared + np.uint32(block.start), _leaves(codes, self.bins.missing, self.grown, self.tree, spared)
