"""Growing one tree from some rows: room for the loops, and what they leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.errors import DataError
from assay.families.trees.loops.absolute import leaf_medians
from assay.families.trees.loops.arrays import (
    ABSOLUTE,
    BUCKETS,
    BestSplit,
    CodedColumns,
    NodeArrays,
    SortedLists,
    SplitRules,
    TreeScratch,
)
from assay.families.trees.loops.draws import draw_with, draw_without, fill_entries
from assay.families.trees.loops.grow import GatheredNode, grow
from assay.families.trees.loops.worth import NumberTargets
from assay.families.trees.target import Target
from assay.numerics import Array, Floats

FREE = (-np.inf, np.inf)
NONE = np.zeros(0, np.uint64)
NEAR = 1 << 20  # bytes of codes that stay near a core while a subtree is grown
LEAST_NEAR = 512  # rows of a subtree that is worth it
MOST_UNASKED = 8  # columns for each that a node asks for


class TreeInputs(NamedTuple):
    """All that a tree is grown from: shared by the trees of a forest, and picklable."""

    target: Target
    table: CodedColumns
    rules: SplitRules


@dataclass(frozen=True)
class RowSample:
    """Which rows a tree sees: m draws with or without replacement (None: every row once), by (seed, tree); only those of the rows that
    count, where some have weight zero."""

    seed: int
    m: int | None = None
    replace: bool = True
    counted: Array | None = None

    def key(self, tree: int) -> np.uint64:
        """The key of a tree's first node and of its draws."""
        z = (self.seed * 0x9E3779B97F4A7C15 + (tree + 1) * 0xD1342543DE82EF95) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        return np.uint64(z ^ (z >> 31))

    def times(self, tree: int, n: int) -> Array:
        """How often each of n rows is drawn; empty: once."""
        if self.m is None:
            return np.zeros(0, dtype=np.uint16)
        drawn = np.zeros(n if self.counted is None else len(self.counted), dtype=np.uint16)
        (draw_with if self.replace else draw_without)(self.key(tree), self.m, drawn)
        if self.counted is None:
            return drawn
        times = np.zeros(n, dtype=np.uint16)
        times[self.counted] = drawn
        return times


def scratch_for(rows: int, columns: int, channels: int) -> TreeScratch:
    """Room for a tree of so many rows."""
    A = max(rows, 4 * BUCKETS) + 8
    lanes = -(-channels // 8) * 8
    return TreeScratch(
        np.zeros(4 * BUCKETS, np.uint64),
        np.zeros(BUCKETS * (channels + 2), np.int64),
        np.empty(A, np.uint64),
        np.empty(A),
        np.empty(A, np.uint64),
        np.empty(A, np.uint64),
        np.empty(2050, np.int64),
        np.empty(A, np.int64),
        np.empty(A, np.int64),
        np.empty(A, np.int64),
        np.empty(4 * A),
        A,
        np.zeros(BUCKETS * max(4, lanes), np.uint64),
        np.zeros(4 * BUCKETS, np.uint8),
        np.empty(BUCKETS + 1, np.int64),
        np.empty(lanes),
        np.empty(lanes),
        np.arange(columns, dtype=np.int64),
        np.empty(columns, np.int64),
    )


def found_for(low: float, high: float) -> BestSplit:
    """No split yet, of a node that may answer between low and high."""
    return BestSplit(np.array([-np.inf, low, high, np.nan]), np.zeros(5, np.int64), np.zeros(BUCKETS, np.uint8))


def grown_for(most: int, channels: int, by_categories: bool, trends: bool) -> NodeArrays:
    """Room for so many nodes."""
    return NodeArrays(
        np.empty(most, np.int32),
        np.empty(most),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.uint8),
        np.empty((most if by_categories else 1, 4), np.uint64),
        np.empty((most, channels), np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most),
        np.empty((most if trends else 1, 2)),
    )


def gathered_node_for(inputs: TreeInputs, rows: int) -> GatheredNode:
    """Room for the codes of a node of a long table; none where all of them are near anyway, or a node asks for few of its columns."""
    target, table, rules = inputs
    size = min(rows, NEAR // (table.d * table.codes.itemsize))
    if target.targets > 1 or not table.far or size < LEAST_NEAR or table.d > MOST_UNASKED * rules.max_features:
        size = 0
    loops = target.loops
    names = [name for name in ("value", "weight", "plain") if len(getattr(loops, name, ()))]
    own = loops._replace(**{name: np.empty(size, getattr(loops, name).dtype) for name in names})
    return GatheredNode(np.empty(table.d * size, table.codes.dtype), np.empty(size, np.uint64), own, size, LEAST_NEAR)


def entries_of(inputs: TreeInputs, times: Array) -> Array:
    """The rows of the first node."""
    target = inputs.target
    entries = np.empty(inputs.table.n, np.uint64)
    weight = target.weight
    count = fill_entries(times, target.labels, target.two, weight, len(weight) > 0, entries)
    if not count:
        raise DataError(
            "The rows drawn for a tree all have weight zero: leave out the rows of weight zero, or draw more (max_samples)."
        )
    return entries[:count]


def grow_from(
    inputs: TreeInputs,
    entries: Array,
    key: Any,
    depth: int = 0,
    bounds: tuple[float, float] = FREE,
    begin: int = 0,
    end: int | None = None,
    lists: SortedLists | None = None,
    others: Array = NONE,
) -> NodeArrays:
    """The tree below a node with the rows entries[begin : end], which are put in the order of its leaves, and so are `others`, which
    the tree does not learn from."""
    target, table, rules = inputs
    end = len(entries) if end is None else end
    m = end - begin
    most = 2 * m
    if rules.max_depth - depth < 40:
        most = min(most, (2 << max(0, rules.max_depth - depth)) + 1)
    trends = bool(table.trend.any())
    out = grown_for(most, target.channels, bool(table.levels.any()), trends)
    deep = min(m, max(1, rules.max_depth - depth)) + 3
    nodes, sets = grow(
        target.loops,
        table,
        rules,
        trends,
        entries,
        begin,
        end,
        others,
        np.empty(max(m, len(others)), np.uint64),
        key,
        depth,
        lists,
        found_for(*bounds),
        scratch_for(m, table.d, target.channels),
        np.empty((deep, 6), np.int64),
        np.empty(deep, np.uint64),
        np.empty((deep, 2)),
        gathered_node_for(inputs, m if lists is None else 0),
        out,
    )
    kept = {
        "sets": out.sets[:sets].copy(),
        "bounds": out.bounds[: nodes if trends else 0].copy(),
    }
    return NodeArrays(**{name: kept.get(name, getattr(out, name)[:nodes].copy()) for name in NodeArrays._fields})


def leaf_values(inputs: TreeInputs, grown: NodeArrays, entries: Array) -> Floats:
    """What the leaves know, (leaves, C): the weight of each class; of numbers the answer and the weight."""
    target = inputs.target
    leaf = np.flatnonzero(grown.feature == -1)
    sums = grown.sums[leaf]
    if isinstance(target.loops, NumberTargets) and target.classes:  # classes 0 and 1 as numbers
        weight, one = sums[:, 0] * target.weight_unit, sums[:, 1] * target.weight_unit
        if len(grown.bounds):
            one = weight * np.clip(one / weight, grown.bounds[leaf, 0], grown.bounds[leaf, 1])
        return np.column_stack([weight - one, one])
    if target.classes:
        weights: Floats = (sums if target.targets == 1 else sums[:, 1:]) * target.weight_unit
        return weights
    if target.targets > 1:
        return _several_values(target, grown, leaf, entries)
    weight = sums[:, 0] * target.weight_unit
    if target.criterion == ABSOLUTE:
        value, cost = np.empty(len(leaf)), np.empty(len(leaf))
        start = grown.start[leaf]
        leaf_medians(target.loops, entries, np.append(start, len(entries)), value, cost)
        return np.column_stack([_within(grown, leaf, value), weight])
    mean = _within(grown, leaf, sums[:, 1] / sums[:, 0])
    return np.column_stack([target.offset + mean * target.mean_unit, weight])


def _several_values(target: Target, grown: NodeArrays, leaf: Array, entries: Array) -> Floats:
    """The answer of each of several numbers, and the weight."""
    loops, T = target.loops, target.targets
    weight, start = grown.sums[leaf, 0], np.append(grown.start[leaf], len(entries))
    out = np.empty((len(leaf), T + 1))
    out[:, T] = weight * target.weight_unit
    for t, own in enumerate(target.each):
        if target.criterion == ABSOLUTE:
            value = np.empty(len(leaf))
            one = own.loops._replace(plain=loops.value, stride=T, first=t)
            leaf_medians(one, entries, start, value, np.empty(len(leaf)))
            out[:, t] = value
        else:
            out[:, t] = own.offset + grown.sums[leaf, 1 + t] / weight * own.mean_unit
    return out


def _within(grown: NodeArrays, nodes: Array, answers: Floats) -> Floats:
    """Answers of nodes as near as the trends of the columns allow."""
    if not len(grown.bounds):
        return answers
    found: Floats = np.clip(answers, grown.bounds[nodes, 0], grown.bounds[nodes, 1])
    return found
