"""Growing a tree from rows that are never in memory together: level by level, each level a fold of counts.

A large node's split is found from the counts of its codes, which blocks add up wherever they are. Of a node small enough the
codes of its rows are gathered, and its subtree is grown in memory. What a node becomes depends on its rows and key alone, so the
tree is the one that memory would have given, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.compiled.mixing import child_key
from assay.engines import Block, Engine, Rows, fold
from assay.families.trees.codes import Bins
from assay.families.trees.grow import FREE, TreeInputs, found_for, grow_from, grown_for, scratch_for
from assay.families.trees.grow_parallel import TopNode, assembled
from assay.families.trees.loops.arrays import BUCKETS, FEW_ROWS, NodeArrays, SplitRules
from assay.families.trees.loops.draws import fill_entries
from assay.families.trees.loops.splitting import best_counted, child_bounds, count_codes, node_gain, route, write_split
from assay.families.trees.target import Target, TargetScaling
from assay.numerics import Array

COUNTS = 1 << 23  # numbers that a pass counts into, of all its nodes together
GATHERED = 1 << 28  # codes that are in memory at once


class LevelRecipe(NamedTuple):
    """What a block of rows needs to know: how columns and target become whole numbers."""

    bins: Bins
    recipe: TargetScaling
    times: Array  # (n,) draws of each row; empty: once


@dataclass
class TopOfTree:
    """The nodes of the top of a tree, in the order in which they came to be."""

    feature: list[int] = field(default_factory=list)
    code: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    sets: list[Array] = field(default_factory=list)
    branch: list[TopNode] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)

    def add(self, branch: TopNode, rows: int) -> int:
        """A new node that is not split yet."""
        for part in (self.feature, self.code, self.left, self.right):
            part.append(-1)
        self.missing.append(0)
        self.branch.append(branch)
        self.rows.append(rows)
        return len(self.feature) - 1

    def arrays(self) -> tuple[Array, ...]:
        """As `families.trees.loops.splitting.route` takes them."""
        sets = np.array(self.sets, dtype=np.uint64).reshape(-1, 4)
        kinds = (np.int32, np.int32, np.int32, np.int32, np.uint8)
        parts = (self.feature, self.code, self.left, self.right, self.missing)
        return (*(np.array(p, dtype=k) for p, k in zip(parts, kinds)), sets)


class SubtreeRows(NamedTuple):
    """The rows of a subtree: codes (d, m), the target's numbers (m, C) and draws."""

    codes: Array
    numbers: Array


def _placed(recipe: LevelRecipe, top: tuple[Array, ...], block: Block) -> tuple[Array, Array, Array]:
    """(codes, target's numbers, node) of the rows of a block that are drawn."""
    codes = recipe.bins.codes(block.X)
    node = np.empty(codes.shape[1], dtype=np.int64)
    feature, code, left, right, missing, sets = top
    route(codes, feature, code, left, right, missing, recipe.bins.missing, sets, node)
    times = recipe.times[block.start : block.start + len(block.X)] if len(recipe.times) else None
    numbers = recipe.recipe.numbers(block.y, block.w, times)
    node[numbers[:, recipe.recipe.draws] == 0] = -1
    return codes, numbers, node


class Counts(NamedTuple):
    """Of some nodes the sums of their rows by column and code, (nodes, d, 256, C), and the least and greatest target."""

    sums: Array
    low: Array
    high: Array


def _count(recipe: LevelRecipe, top: tuple[Array, ...], open_: Array, block: Block) -> Counts:
    """The counts of the open nodes."""
    codes, numbers, node = _placed(recipe, top, block)
    slot_of = np.full(len(top[0]) + 1, -1, dtype=np.int64)
    slot_of[open_] = np.arange(len(open_))
    slot = slot_of[node]
    counts = np.zeros((len(open_), len(codes), BUCKETS, recipe.recipe.channels), dtype=np.int64)
    count_codes(codes, numbers, slot, counts)
    there, far = slot >= 0, np.iinfo(np.int64)
    low, high = np.full(len(open_), far.max), np.full(len(open_), far.min)
    np.minimum.at(low, slot[there], numbers[there, -1])
    np.maximum.at(high, slot[there], numbers[there, -1])
    return Counts(counts, low, high)


def _gather(recipe: LevelRecipe, top: tuple[Array, ...], subtrees: Array, block: Block) -> list[list[SubtreeRows]]:
    """The rows of each of the subtrees."""
    codes, numbers, node = _placed(recipe, top, block)
    found = []
    for subtree in subtrees:
        rows = np.flatnonzero(node == subtree)
        found.append([SubtreeRows(np.ascontiguousarray(codes[:, rows]), numbers[rows])])
    return found


def _join(a: list[list[SubtreeRows]], b: list[list[SubtreeRows]]) -> list[list[SubtreeRows]]:
    return [x + y for x, y in zip(a, b)]


def _add(a: Counts, b: Counts) -> Counts:
    return Counts(a.sums + b.sums, np.minimum(a.low, b.low), np.maximum(a.high, b.high))


def grow_levels(
    engine: Engine, rows: Rows, recipe: LevelRecipe, rules: SplitRules, trend: Array, key: Any, gathered: int = GATHERED
) -> NodeArrays:
    """A tree from rows that are read again and again; subtrees have at most `gathered` codes together."""
    d = rows.n_columns
    few = max(FEW_ROWS * 40 * (1 + recipe.recipe.classes), gathered // d // 4)
    splitter = _NodeSplitter(recipe, rules, trend)
    top = TopOfTree()
    root = TopNode(0, 0, key, 0, FREE)
    open_ = [top.add(root, few + 1)]
    subtrees: list[int] = []
    wide = d * BUCKETS * recipe.recipe.channels
    while open_:
        level, open_ = open_, []
        step = max(1, COUNTS // wide)
        for a in range(0, len(level), step):
            group = np.array(level[a : a + step])
            counts = fold(engine, rows.blocks(), partial(_count, recipe, top.arrays(), group), _add)
            assert counts is not None
            for node, own, alike in zip(group.tolist(), counts.sums, counts.low == counts.high):
                for child in splitter.split(top, node, own, bool(alike)):
                    (open_ if top.rows[child] > few else subtrees).append(child)
    _grow_subtrees(engine, rows, recipe, splitter, top, subtrees, gathered // d)
    return assembled(root)


def _grow_subtrees(
    engine: Engine,
    rows: Rows,
    recipe: LevelRecipe,
    splitter: _NodeSplitter,
    top: TopOfTree,
    subtrees: list[int],
    most: int,
) -> None:
    """Gather the rows of the subtrees, as many as fit at a time, and grow them."""
    while subtrees:
        group, held = [subtrees.pop()], 0
        held = top.rows[group[0]]
        while subtrees and held + top.rows[subtrees[-1]] <= most:
            held += top.rows[subtrees[-1]]
            group.append(subtrees.pop())
        subtree_rows = fold(engine, rows.blocks(), partial(_gather, recipe, top.arrays(), np.array(group)), _join)
        assert subtree_rows is not None
        branches = [top.branch[node] for node in group]
        tasks = [(_joined(parts), b.key, b.depth, b.bounds) for parts, b in zip(subtree_rows, branches)]
        for branch, tree in zip(branches, engine.map_with(_grow_subtree, splitter, tasks)):
            branch.grown = tree


def _joined(parts: list[SubtreeRows]) -> SubtreeRows:
    return SubtreeRows(np.concatenate([p.codes for p in parts], axis=1), np.concatenate([p.numbers for p in parts]))


def _grow_subtree(splitter: _NodeSplitter, task: tuple[SubtreeRows, Any, int, tuple[float, float]]) -> NodeArrays:
    subtree_rows, key, depth, bounds = task
    target = splitter.recipe.recipe.target(subtree_rows.numbers)
    table = splitter.recipe.bins.table(np.ascontiguousarray(subtree_rows.codes))._replace(trend=splitter.trend)
    draws = subtree_rows.numbers[:, splitter.recipe.recipe.draws].astype(np.uint16)
    entries = np.empty(len(draws), np.uint64)
    count = fill_entries(draws, target.labels, target.two, target.weight, len(target.weight) > 0, entries)
    return grow_from(TreeInputs(target, table, splitter.rules), entries[:count], key, depth, bounds)


@dataclass(frozen=True)
class _NodeSplitter:
    """What splitting a node from its counts needs."""

    recipe: LevelRecipe
    rules: SplitRules
    trend: Array

    def split(self, top: TopOfTree, node: int, counts: Array, alike: bool) -> list[int]:
        """Split a node; its children, or none where it is a leaf."""
        recipe, rules, branch = self.recipe.recipe, self.rules, top.branch[node]
        target: Target = recipe.target(np.zeros((0, recipe.channels + 1), np.int64))
        table = self.recipe.bins.table(np.zeros((counts.shape[0], 1), np.uint8))._replace(trend=self.trend)
        out = grown_for(1, target.channels, True, True)
        whole = counts[0].sum(axis=0)
        n = int(whole[recipe.draws])
        out.sums[0] = recipe.sums(whole)
        found = found_for(*branch.bounds)
        out.feature[0], out.cut[0], out.missing[0], out.gain[0], out.code[0] = -1, 0.0, 0, 0.0, 0
        out.rows[0], out.start[0], out.other[0], out.right[0], out.bounds[0] = n, 0, 0, -1, branch.bounds
        won, sets = 0.0, 0
        if not (alike or branch.depth >= rules.max_depth or n < rules.min_split or n < 2 * rules.min_leaf):
            scratch = scratch_for(1, table.d, target.channels)
            best_counted(target.loops, table, rules, n, out.sums[0], counts, branch.key, found, scratch)
            if found.place[0] >= 0:
                won, weight = node_gain(target.loops, rules, found.score[0], 0.0, n, out.sums[0])
                if rules.min_gain > 0.0 and won * weight < rules.min_gain:
                    found.place[0] = -1
        else:
            found.place[0] = -1
        trends = bool(self.trend.any())
        if found.place[0] < 0:
            branch.grown = out._replace(sets=out.sets[:0], bounds=out.bounds if trends else out.bounds[:0])
            return []
        on_left = self._left(found, table, counts)
        left = recipe.sums(on_left)
        left_n = int(on_left[recipe.draws])
        sets = write_split(table, found, out, 1 if 2 * left_n > n else 0)
        out.gain[0] = won
        bounds = np.array([branch.bounds, branch.bounds])
        if trends:
            no_rows = np.zeros(0, np.uint64)  # means follow from sums, and medians are never found from counts
            child_bounds(target.loops, table, found, no_rows, 0, 0, 0, scratch.number, out, left.copy(), bounds)
        branch.grown = out._replace(sets=out.sets[:sets].copy(), bounds=out.bounds if trends else out.bounds[:0])
        pair = (
            TopNode(0, 0, np.uint64(child_key(branch.key, True)), branch.depth + 1, tuple(bounds[1])),
            TopNode(0, 0, np.uint64(child_key(branch.key, False)), branch.depth + 1, tuple(bounds[0])),
        )
        branch.children = pair
        top.feature[node], top.missing[node] = int(out.feature[0]), int(out.missing[0])
        top.code[node] = len(top.sets) if sets else int(out.code[0])
        if sets:
            top.sets.append(out.sets[0].copy())
        top.left[node], top.right[node] = top.add(pair[0], left_n), top.add(pair[1], n - left_n)
        return [top.left[node], top.right[node]]

    def _left(self, found: Any, table: Any, counts: Array) -> Array:
        """The sums of what goes to the left."""
        f = int(found.place[0])
        if found.place[4]:
            side = found.sides.astype(bool)
        else:
            side = np.arange(BUCKETS) <= found.place[1]
            if table.missing[f] >= 0:
                side[table.missing[f]] = bool(found.place[3])
        total: Array = counts[f][side].sum(axis=0)
        return total
