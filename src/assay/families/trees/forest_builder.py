"""Where the rows end that a tree did not learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.compiled.simd.gathers import NODES
from assay.engines import Engine, Part, Rows
from assay.engines.threads import Threads
from assay.errors import ParameterError
from assay.families.trees.codes import Bins
from assay.families.trees.grow import NONE, RowSample, entries_of, grow_from, leaf_values
from assay.families.trees.loops.arrays import CodedColumns, NodeArrays
from assay.families.trees.loops.packed import leaves_of, pack_nodes
from assay.families.trees.loops.walk import leaf_of_codes
from assay.families.trees.nodes import LEAF, TreeNodes, tree_of
from assay.families.trees.predict import NARROW_COLUMNS, NARROW_CUTS, NARROW_NODES, WIDE_COLUMNS, WIDE_CUTS
from assay.families.trees.pruning import pruned
from assay.families.trees.training_data import TrainingData, single_tree
from assay.numerics import Array

MOST_BYTES = 1 << 31  # of codes, so that their places fit 32 bits


def can_walk(table: CodedColumns) -> bool:
    """Whether rows find their leaves by comparing codes alone, of a byte or two: nothing is missing, no category is asked for."""
    codes = table.codes
    small = codes.itemsize <= 2 and 4 <= codes.nbytes < MOST_BYTES and table.d <= WIDE_COLUMNS
    return small and not bool(table.levels.any()) and bool((table.missing < 0).all())


def walked_leaves(table: CodedColumns, grown: NodeArrays, tree: TreeNodes, rows: Array) -> Array:
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


# Growing the trees of a forest: independent tasks, each from (seed, tree) alone.


class ForestBuilder(NamedTuple):
    """What all trees of a forest share."""

    training_data: TrainingData
    drawing: RowSample
    max_leaf_nodes: int | None
    ccp_alpha: float
    out_of_bag: bool  # say where the rows that a tree did not see end
    members: bool  # say which rows are in which leaf


class GrownTree(NamedTuple):
    """A tree of a forest; `spared`: the rows that it did not see, `leaf`: their rows of its table; `rows`, `times`: those it saw, in the
    order of its leaves, `held`: how many are in each leaf."""

    tree: TreeNodes
    out_of_bag: Array
    leaf: Array
    rows: Array
    times: Array
    held: Array


NOTHING = np.zeros(0, dtype=np.uint32)


def grow_one(builder: ForestBuilder, number: int) -> GrownTree:
    """Tree `number` of a forest."""
    inputs, drawing = builder.training_data.inputs, builder.drawing
    times = drawing.times(number, inputs.table.n)
    entries = entries_of(inputs, times)
    walked = can_walk(inputs.table)
    out_of_bag = np.flatnonzero(times == 0).astype(np.uint32) if builder.out_of_bag else NOTHING
    others = NONE if walked else out_of_bag.astype(np.uint64) << np.uint64(32)
    grown = grow_from(inputs, entries, drawing.key(number), others=others)
    if builder.max_leaf_nodes is not None or builder.ccp_alpha > 0:
        grown = pruned(grown, builder.training_data, builder.max_leaf_nodes, builder.ccp_alpha)
    tree = tree_of(grown, leaf_values(inputs, grown, entries))
    leaf = rows = counts = held = NOTHING
    if walked:
        leaf = walked_leaves(inputs.table, grown, tree, out_of_bag)
    elif builder.out_of_bag:
        out_of_bag = (others >> np.uint64(32)).astype(np.uint32)
        start = grown.other[grown.feature == LEAF]
        leaf = np.repeat(tree.leaf, np.diff(np.append(start, len(others))))
    if builder.members:
        rows = (entries >> np.uint64(32)).astype(np.uint32)
        counts = ((entries >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.uint32)
        start = grown.start[grown.feature == LEAF]
        held = np.diff(np.append(start, len(entries))).astype(np.uint32)
    return GrownTree(tree, out_of_bag, leaf, rows, counts, held)


def _leaves(codes: Array, lost: Array, grown: NodeArrays, tree: TreeNodes, rows: Array) -> Array:
    """The row of the tree's table where each of the rows ends."""
    node = np.empty(len(rows), dtype=np.int64)
    leaf_of_codes(codes, rows, grown.feature, grown.code, grown.right, grown.missing, lost, grown.sets, node)
    number = np.cumsum(tree.feature == LEAF) - 1
    leaves: Array = tree.leaf[number[node]]
    return leaves


def grow_saplings(engine: Engine, rows: Rows, builder: ForestBuilder, first: int, last: int) -> Iterator[GrownTree]:
    """Trees first … last − 1, in their order."""
    if builder.training_data.recipe is None:
        return engine.map_with(grow_one, builder, range(first, last))
    return (_grow_far(engine, rows, builder, number) for number in range(first, last))


def _grow_far(engine: Engine, rows: Rows, builder: ForestBuilder, number: int) -> GrownTree:
    """A tree whose rows stay where they are; the rows that it did not see are brought to their leaves by one more pass."""
    training_data, drawing = builder.training_data, builder.drawing
    if builder.members:
        raise ParameterError(
            "quantiles=True keeps every row of every tree, but the rows are more than memory is meant to hold: draw fewer for each tree "
            "(max_samples), or fit without quantiles."
        )
    grown, entries = single_tree(engine, rows, training_data, drawing, number, Threads(1))
    grown = pruned(grown, training_data, builder.max_leaf_nodes, builder.ccp_alpha)
    tree = tree_of(grown, leaf_values(training_data.inputs, grown, entries))
    out_of_bag = leaf = NOTHING
    if builder.out_of_bag:
        assert training_data.recipe is not None
        times = drawing.times(number, training_data.survey.n)
        far = _Far(training_data.recipe.bins, times, grown, tree)
        pieces = list(engine.map(far, rows.blocks()))
        out_of_bag, leaf = np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])
    return GrownTree(tree, out_of_bag, leaf, NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True)
class _Far:
    """(rows, their rows of the tree's table) of a block's rows that a tree did not see."""

    bins: Bins
    times: Array
    grown: NodeArrays
    tree: TreeNodes

    def __call__(self, part: Part) -> tuple[Array, Array]:
        block = part.load()
        out_of_bag = np.flatnonzero(self.times[block.start : block.start + len(block.X)] == 0).astype(np.uint32)
        codes = self.bins.codes(block.X)
        return out_of_bag + np.uint32(block.start), _leaves(codes, self.bins.missing, self.grown, self.tree, out_of_bag)
