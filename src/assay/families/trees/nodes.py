"""Trees as they are kept: nodes in preorder, so that a left child follows its parent and no links need be stored or believed.

A split takes 13 bytes, a leaf 8: its number in one table of all leaves, where equal ones are the same row.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.errors import ModelFileError
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.loops.arrays import NodeArrays

LEAF = -1
FLAG_MISSING, FLAG_SETS, FLAG_LEAF = 1, 2, 4
LOOPS = "assay.families.trees.loops.walk"
MOST_COLUMNS = 1 << 24
NO_CUTS = np.zeros(0)


class Trees(NamedTuple):
    """T trees, one after another.

    feature (N,): the column of a split, −2 − column of a split by categories, −1 of a leaf; cut, missing (S,): of each split its
    threshold (or the number of its set) and whether missing values go to the left; leaf (L,): of each leaf its row of the table;
    sets (Q, 4): the categories that go to the left, as bits; nodes (T,): how many each tree has; table (R, C); gain (S,): what each
    split gained, where that is known.
    """

    feature: Array
    cut: Floats
    missing: Array
    leaf: Array
    sets: Array
    nodes: Array
    table: Floats
    gain: Floats | None = None


class TreeNodes(NamedTuple):
    """One tree on its way into `Trees`."""

    feature: Array
    cut: Floats
    missing: Array
    leaf: Array
    sets: Array
    table: Floats
    gain: Floats | None = None


def distinct_rows(table: Floats) -> tuple[Floats, Array]:
    """The distinct rows of a table, in the order in which they are first met, and where each row went."""
    from assay.families.trees.loops.coding import distinct

    n = len(table)
    bits = np.ascontiguousarray(table).view(np.uint64)
    slots = np.full(1 << max(4, (2 * n - 1).bit_length()), -1, dtype=np.int32)
    first, where = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.uint32)
    count = distinct(bits, slots, first, where)
    return table[first[:count]], where


def tree_of(grown: NodeArrays, values: Floats) -> TreeNodes:
    """A grown tree with what its leaves know."""
    split = np.flatnonzero(grown.feature != LEAF)
    table, leaf = distinct_rows(values)
    parts = (grown.feature, grown.cut[split], grown.missing[split], leaf, grown.sets, table)
    return TreeNodes(*parts, grown.gain[split])


def labels_of_leaves(table: Floats) -> Array:
    """The class of each leaf; of equal shares the first."""
    said: Array = (table / table.sum(axis=1, keepdims=True)).argmax(axis=1)
    return said


def _pooled(parts: Sequence[Array]) -> tuple[Array, list[int]]:
    """Arrays one after another and where each begins; one that several share is there once."""
    begin: dict[int, int] = {}
    kept, where, length = [], [], 0
    for part in parts:
        if id(part) not in begin:
            begin[id(part)] = length
            kept.append(part)
            length += len(part)
        where.append(begin[id(part)])
    return np.concatenate(kept), where


def join_trees(trees: Sequence[TreeNodes]) -> Trees:
    """Trees in one, with one table of leaves."""
    sets, first_set = _pooled([t.sets for t in trees])
    cuts = []
    for t, base in zip(trees, first_set):
        by_set = t.feature[t.feature != LEAF] < LEAF
        cuts.append(np.where(by_set, t.cut + base, t.cut) if base else t.cut)
    tables, first_row = _pooled([t.table for t in trees])
    table, inverse = distinct_rows(tables)
    leaf = inverse[np.concatenate([t.leaf.astype(np.int64) + a for t, a in zip(trees, first_row)])]
    return Trees(
        np.concatenate([t.feature for t in trees]).astype(np.int32),
        np.concatenate(cuts),
        np.concatenate([t.missing for t in trees]).astype(np.uint8),
        leaf,
        sets.reshape(-1, 4).astype(np.uint64),
        np.array([len(t.feature) for t in trees], dtype=np.int64),
        np.ascontiguousarray(table),
        np.concatenate(gains) if len(gains := [t.gain for t in trees if t.gain is not None]) == len(trees) else None,
    )


def split_trees(trees: Trees) -> list[TreeNodes]:
    """The single trees; all of them share the table."""
    found = []
    starts = first_nodes(trees.nodes)
    is_leaf = trees.feature == LEAF
    leaves = np.concatenate([[0], np.cumsum(is_leaf)])
    for a, b in zip(starts, starts + trees.nodes):
        leaf = trees.leaf[leaves[a] : leaves[b]]
        s, e = a - leaves[a], b - leaves[b]
        gain = None if trees.gain is None else trees.gain[s:e]
        found.append(
            TreeNodes(trees.feature[a:b], trees.cut[s:e], trees.missing[s:e], leaf, trees.sets, trees.table, gain)
        )
    return found


def ends_of(feature: Array) -> Array:
    """Of each node the first node behind its subtree; a split's right child is the end of its left one.

    Count a split as 1 and a leaf as −1: a subtree ends where the sum from its first node on reaches −1 first.
    Raises where the nodes are no trees in preorder.

    >>> ends_of(np.array([0, -1, 3, -1, -1])).tolist()
    [5, 2, 5, 4, 5]
    """
    n, number = len(feature), np.arange(len(feature))
    step = np.where(feature == LEAF, -1, 1)
    level = np.cumsum(step) + n + 1
    wanted = level - step - 1
    order = np.argsort(level * n + number)  # places of each level together, in their order
    found = np.searchsorted(level[order] * n + order, wanted * n + number)
    place = order[np.minimum(found, n - 1)]
    if np.any(level[place] != wanted) or np.any(found == n):
        raise ModelFileError("The model file's nodes are no trees: a split lacks its children.")
    return place + 1


def depths_of(feature: Array, ends: Array) -> Array:
    """The number of splits above each node."""
    delta = np.zeros(len(ends) + 1, dtype=np.int64)
    split = np.flatnonzero(feature != LEAF)
    np.add.at(delta, split + 1, 1)
    np.add.at(delta, ends[split], -1)
    return np.cumsum(delta)[:-1]


def first_nodes(nodes: Array) -> Array:
    """Where each tree begins."""
    return np.concatenate([[0], np.cumsum(nodes)])[:-1].astype(np.int64)


def check_trees(trees: Trees, columns: int) -> Array:
    """The nodes' ends; raises unless the parts are trees that can be walked."""
    if len(trees.nodes) < 1 or trees.nodes.min() < 1 or int(trees.nodes.sum()) != len(trees.feature):
        raise ModelFileError("The model file's trees do not have the nodes that it tells of.")
    leaves = int(np.count_nonzero(trees.feature == LEAF))
    splits = len(trees.feature) - leaves
    if len(trees.cut) != splits or len(trees.missing) != splits or len(trees.leaf) != leaves:
        raise ModelFileError("The model file's trees have parts of other lengths than their nodes.")
    least = int(trees.feature.min())
    if columns > MOST_COLUMNS or max(int(trees.feature.max()), -2 - least) >= columns:
        raise ModelFileError("The model file's trees ask for columns that there are not.")
    if trees.leaf.max(initial=0) >= len(trees.table):
        raise ModelFileError("The model file's leaves are not all in its table.")
    cut = trees.cut[trees.feature[trees.feature != LEAF] < LEAF] if least < LEAF else NO_CUTS
    if np.isnan(trees.cut).any() or not np.all((cut >= 0) & (cut < len(trees.sets)) & (cut == np.floor(cut))):
        raise ModelFileError("The model file's splits have impossible thresholds.")
    ends = tree_ends(trees.feature)
    if not np.array_equal(ends[first_nodes(trees.nodes)], np.cumsum(trees.nodes)):
        raise ModelFileError("The model file's nodes are no trees in the order that it tells of.")
    return ends


def tree_ends(feature: Array) -> Array:
    """As `ends_of`, by the compiled loop where it is loaded anyway."""
    if LOOPS not in sys.modules:
        return ends_of(feature)
    from assay.families.trees.loops.walk import preorder_ends

    ends = np.empty(len(feature), dtype=np.int64)
    if not preorder_ends(feature, ends):
        raise ModelFileError("The model file's nodes are no trees: a split lacks its children.")
    return ends


def words_of(trees: Trees, ends: Array) -> Array:
    """Nodes as two words each, (N, 2), as `families.trees.loops.walk` reads them."""
    n = len(trees.feature)
    words = np.zeros((n, 2), dtype=np.uint64)
    if LOOPS in sys.modules:
        from assay.families.trees.loops.packed import plain_words

        plain_words(trees.feature, trees.cut.view(np.uint64), trees.missing, trees.leaf, ends, words)
        return words
    split = np.flatnonzero(trees.feature != LEAF)
    leaves = np.flatnonzero(trees.feature == LEAF)
    column = np.where(trees.feature < LEAF, -2 - trees.feature, trees.feature)[split].astype(np.uint64)
    words[split, 0] = trees.cut.view(np.uint64)
    words[leaves, 0] = trees.leaf
    flags = trees.missing.astype(np.uint64) * FLAG_MISSING + (trees.feature[split] < LEAF).astype(np.uint64) * FLAG_SETS
    right = ends[split + 1].astype(np.uint64)
    words[split, 1] = (right << np.uint64(32)) | (column << np.uint64(8)) | flags
    words[leaves, 1] = FLAG_LEAF
    return words


def parts_of(trees: Trees) -> dict[str, Any]:
    """The learnt parts of a model with these trees, of which nothing else is made yet."""
    return {
        "feature_": trees.feature,
        "cut_": trees.cut,
        "missing_left_": trees.missing,
        "leaf_": trees.leaf,
        "nodes_": trees.nodes,
        "table_": trees.table,
        "sets_": trees.sets if len(trees.sets) else None,
        "_made": {},
        "_impurity": None,  # a fit knows them
        "_node_answer": None,
    }
