"""Growing one tree on several threads: large nodes column by column, then whole subtrees; the same tree as on one.

The columns of a large node are searched in parts, of which the first best one wins, as in one go. Nodes that are no longer large become
subtrees of their own, which are grown as tasks and put together in preorder. A tree that tries all columns at every node keeps its rows
sorted by every column, and numbers those of a subtree anew, so that the codes and targets it reads lie together instead of all over the
table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from assay.compiled.mixing import child_key
from assay.engines.engine import Threads
from assay.families.trees.grow import FREE, TreeInputs, found_for, grow_from, grown_for, scratch_for
from assay.families.trees.loops.arrays import (
    ABSOLUTE,
    BestSplit,
    CodedColumns,
    NodeArrays,
    SortedLists,
    SplitRules,
    TreeScratch,
)
from assay.families.trees.loops.candidates import beats
from assay.families.trees.loops.draws import list_column, settle, unsettle
from assay.families.trees.loops.splitting import (
    child_bounds,
    node_gain,
    node_total,
    split_lists,
    split_node,
    split_part,
    write_split,
)
from assay.families.trees.nodes import LEAF, tree_ends
from assay.families.trees.target import Target
from assay.numerics import Array

WORTH = 512  # rows from which on keeping them sorted pays
MOST = 1 << 31  # rows that an item has room for
ROW = np.uint64(32)
PARTS = 16  # subtrees that a tree is cut into, about
LEAST = 2048  # rows of a node that is worth to be split by several threads


@dataclass
class TopNode:
    """A node of the top of a tree: its rows entries[begin : end], and what became of it."""

    begin: int
    end: int
    key: Any
    depth: int
    bounds: tuple[float, float]
    grown: NodeArrays | None = None  # of the root of a subtree all of it, of a split node its one node
    children: tuple[TopNode, TopNode] | None = field(default=None)


def grow_tree(inputs: TreeInputs, entries: Array, key: Any, workers: Threads, order: Array | None = None) -> NodeArrays:
    """A tree from all entries, which are put in the order of its leaves. order (d, n): the rows in the order of each column, where lists of
    them are wanted."""
    target, table, rules = inputs
    m = len(entries)
    lists = sorted_lists(target, table, order, entries, workers)
    root = TopNode(0, m, key, 0, FREE)
    if m < LEAST or rules.max_features < table.d or (workers.workers == 1 and lists is None):
        return grow_from(inputs, entries, key, lists=lists)
    subtrees = []
    work = _LargeNodes(inputs, entries, lists, workers)
    large = [root]
    while large:
        branch = large.pop()
        if branch.end - branch.begin < max(LEAST, m // PARTS) or not work.split(branch):
            subtrees.append(branch)
        else:
            assert branch.children is not None
            large.extend(branch.children)
    subtrees.sort(key=lambda b: b.begin - b.end)  # the largest first, so that none is left over at the end
    place = np.empty(0 if lists is None else table.n, np.uint32)
    for subtree, grown in zip(subtrees, workers.map(partial(_grow_subtree, inputs, entries, lists, place), subtrees)):
        subtree.grown = grown
    return assembled(root)


def _grow_subtree(
    inputs: TreeInputs, entries: Array, lists: SortedLists | None, place: Array, subtree: TopNode
) -> NodeArrays:
    if lists is None:
        return grow_from(inputs, entries, subtree.key, subtree.depth, subtree.bounds, subtree.begin, subtree.end)
    own = RenumberedRows(inputs, entries, lists, subtree.begin, subtree.end, place)
    grown = grow_from(own.inputs, own.entries, subtree.key, subtree.depth, subtree.bounds, lists=own.lists)
    own.bring_back()
    return grown._replace(start=grown.start + subtree.begin)


class _LargeNodes:
    """Splitting large nodes, with scratch for each of the threads."""

    def __init__(self, inputs: TreeInputs, entries: Array, lists: SortedLists | None, workers: Threads) -> None:
        self.inputs, self.entries, self.lists, self.workers = inputs, entries, lists, workers
        d, count = inputs.table.d, 4 * workers.workers
        edges = np.unique(np.linspace(0, d, min(d, count) + 1).astype(int)).tolist()
        self.parts = list(pairwise(edges))
        threads = min(len(self.parts), workers.workers)
        self.scratch = [scratch_for(len(entries), d, inputs.target.channels) for _ in range(threads)]
        self.spare = np.empty(len(entries), np.uint64)
        self.spares = [np.empty(1 if lists is None else lists.rows, np.uint32) for _ in range(threads)]
        self.order = np.arange(d, dtype=np.int64)

    def split(self, branch: TopNode) -> bool:
        """Split a node; False where it stays a leaf, or where that is found out with its subtree."""
        target, table, rules = self.inputs
        a, b = branch.begin, branch.end
        out = grown_for(1, target.channels, True, True)
        n, alike, cost = node_total(target.loops, rules, self.entries, a, b, out.sums[0], self.scratch[0].number)
        if alike or branch.depth >= rules.max_depth or n < rules.min_split or n < 2 * rules.min_leaf:
            return False
        found = self._search(branch, n, out.sums[0])
        if found.place[0] < 0:
            return False
        won, weight = node_gain(target.loops, rules, found.score[0], cost, n, out.sums[0])
        if rules.min_gain > 0.0 and won * weight < rules.min_gain:
            return False
        middle = split_node(table, found, self.entries, self.spare, a, b, self.lists)
        if self.lists is not None:
            for _ in self.workers.map(partial(self._part, a, b), self._shares()):
                pass
        left = np.empty(target.channels, np.int64)
        left_n, _, _ = node_total(target.loops, rules, self.entries, a, middle, left, self.scratch[0].number)
        sets = write_split(table, found, out, 1 if 2 * left_n > n else 0)
        bounds = np.array([branch.bounds, branch.bounds])
        if table.trend.any():
            room = self.scratch[0].number
            child_bounds(target.loops, table, found, self.entries, a, middle, b, room, out, left, bounds)
        out.rows[0], out.start[0], out.other[0], out.gain[0], out.right[0], out.bounds[0] = (
            n,
            a,
            0,
            won,
            -1,
            branch.bounds,
        )
        branch.grown = out._replace(sets=out.sets[:sets], bounds=out.bounds if table.trend.any() else out.bounds[:0])
        branch.children = (
            TopNode(a, middle, np.uint64(child_key(branch.key, True)), branch.depth + 1, tuple(bounds[1])),
            TopNode(middle, b, np.uint64(child_key(branch.key, False)), branch.depth + 1, tuple(bounds[0])),
        )
        return True

    def _shares(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """Parts of the columns for each of the threads."""
        return [(r, self.parts[r :: len(self.scratch)]) for r in range(len(self.scratch))]

    def _search(self, branch: TopNode, n: int, sums: Array) -> BestSplit:
        best = None
        answers = [f for share in self.workers.map(partial(self._look, branch, n, sums), self._shares()) for f in share]
        for found in sorted(answers, key=lambda f: int(f.place[0])):
            if found.place[0] >= 0 and (best is None or beats(found.score[0], best)):
                best = found
        return best if best is not None else answers[0]

    def _look(self, branch: TopNode, n: int, sums: Array, share: tuple[int, list[tuple[int, int]]]) -> list[BestSplit]:
        target, table, rules = self.inputs
        scratch: TreeScratch = self.scratch[share[0]]
        answers = []
        for k, stop in share[1]:
            found = found_for(*branch.bounds)
            found.place[0] = -1
            split_part(
                target.loops,
                table,
                rules,
                self.entries,
                branch.begin,
                branch.end,
                n,
                sums,
                self.order,
                k,
                stop - k,
                branch.key,
                self.lists,
                found,
                scratch,
            )
            answers.append(found)
        return answers

    def _part(self, a: int, b: int, share: tuple[int, list[tuple[int, int]]]) -> None:
        for k, stop in share[1]:
            split_lists(self.inputs.table, self.lists, self.order, k, stop - k, self.spares[share[0]], a, b)


def assembled(root: TopNode) -> NodeArrays:
    """All parts of a tree in preorder."""
    pieces: list[NodeArrays] = []
    waiting = [root]
    while waiting:
        branch = waiting.pop()
        assert branch.grown is not None
        pieces.append(branch.grown)
        if branch.children is not None:
            waiting.extend(reversed(branch.children))
    if len(pieces) == 1:
        return pieces[0]
    base = np.cumsum([0, *(len(p.sets) for p in pieces)])
    shifted = [
        p._replace(
            cut=np.where(p.feature < LEAF, p.cut + k, p.cut), code=np.where(p.feature < LEAF, p.code + k, p.code)
        )
        for p, k in zip(pieces, base)
    ]
    whole = NodeArrays(*(np.concatenate([getattr(p, name) for p in shifted]) for name in NodeArrays._fields))
    ends = tree_ends(whole.feature)
    split = np.flatnonzero(whole.feature != LEAF)
    right = np.full(len(whole.feature), -1, dtype=np.int32)
    right[split] = ends[split + 1]
    return whole._replace(right=right)


def empty_lists(d: int, m: int, n: int) -> SortedLists:
    """Room for d lists of m of n rows."""
    return SortedLists(
        np.empty((d, m), np.uint32),
        m,
        np.zeros(d, np.uint8),
        np.zeros(n, np.uint64),
        np.empty(n, np.uint8),
        np.empty(m, np.uint32),
    )


def lists_help(rules: SplitRules, d: int) -> bool:
    """Whether all splits of all columns are tried at every node, and found in one pass over the sorted rows."""
    return rules.max_features >= d and not rules.random and rules.criterion != ABSOLUTE


def sorted_lists(
    target: Target, table: CodedColumns, order: Array | None, entries: Array, workers: Threads
) -> SortedLists | None:
    """Every column of numbers sorted by its codes, equal ones by row; none where they do not pay, or where rows are drawn more than once."""
    m = len(entries)
    once = np.uint64(1 << 16)
    if order is None or not WORTH <= m < MOST or not ((entries & np.uint64(0xFFFF0000)) == once).all():
        return None
    lists = empty_lists(table.d, m, table.n)
    lists.entry[(entries >> ROW).astype(np.int64)] = entries
    numbers = [j for j in range(table.d) if table.levels[j] == 0]
    for _ in workers.map(partial(_list, target.two, table, order, lists), numbers):
        pass
    return lists


def _list(two: bool, table: CodedColumns, order: Array, lists: SortedLists, j: int) -> None:
    lists.tied[j] = list_column(order[j], table.codes[j], lists.entry, two, lists.items[j])[1]


class RenumberedRows:
    """Growing from entries[begin : end] of sorted inputs as if these were all rows."""

    def __init__(
        self, inputs: TreeInputs, entries: Array, lists: SortedLists, begin: int, end: int, place: Array
    ) -> None:
        target, table, rules = inputs
        self._home = entries[begin:end]
        self._rows = self._home >> ROW
        m = end - begin
        codes = np.empty((table.d, m), table.codes.dtype)
        self.entries = np.empty(m, np.uint64)
        self.lists = empty_lists(table.d, m, m)._replace(tied=lists.tied)
        settle(
            table.codes, table.levels, lists.items, entries, begin, end, place, codes, self.lists.items, self.entries
        )
        self.lists.entry[:] = self.entries
        own = target.loops
        names = [name for name in ("value", "weight", "plain") if len(getattr(own, name, ()))]
        rows = self._rows.astype(np.int64)
        loops = own._replace(**{name: getattr(own, name)[rows] for name in names})
        self.inputs = TreeInputs(replace(target, loops=loops), table._replace(codes=codes, n=m, far=False), rules)

    def bring_back(self) -> None:
        """Put the entries where they came from, in the order that they are in now."""
        unsettle(self._rows.copy(), self.entries, self._home)
