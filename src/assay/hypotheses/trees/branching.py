"""Growing one tree on several threads: large nodes column by column, then whole subtrees; the same tree as on one.

The columns of a large node are searched in parts, of which the first best one wins, as in one go. Nodes that are no longer large
become stubs, which are grown as tasks and put together in preorder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from assay.engines.threads import Threads
from assay.hypotheses.trees.growing import FREE, Plot, found_for, grow_from, grown_for, scratch_for
from assay.hypotheses.trees.lists import sorted_lists
from assay.hypotheses.trees.nodes import LEAF, tree_ends
from assay.hypotheses.trees.settling import Settled
from assay.loops.tree.candidates import beats
from assay.loops.tree.dice import child_key
from assay.loops.tree.node_steps import (
    child_bounds,
    node_gain,
    node_total,
    split_lists,
    split_node,
    split_part,
    write_split,
)
from assay.loops.tree.shapes import Found, Grown, Lists, Scratch
from assay.numerics import Array

PARTS = 16  # subtrees that a tree is cut into, about
LEAST = 2048  # rows of a node that is worth to be split by several threads


@dataclass
class Branch:
    """A node of the top of a tree: its rows entries[begin : end], and what became of it."""

    begin: int
    end: int
    key: Any
    depth: int
    bounds: tuple[float, float]
    grown: Grown | None = None  # of a stub its subtree, of a split node its one node
    children: tuple[Branch, Branch] | None = field(default=None)


def grow_tree(plot: Plot, entries: Array, key: Any, workers: Threads, order: Array | None = None) -> Grown:
    """A tree from all entries, which are put in the order of its leaves. order (d, n): the rows in the order of each column, where lists of
    them are wanted."""
    target, table, rules = plot
    m = len(entries)
    lists = sorted_lists(target, table, order, entries, workers)
    root = Branch(0, m, key, 0, FREE)
    if m < LEAST or rules.max_features < table.d or (workers.workers == 1 and lists is None):
        return grow_from(plot, entries, key, lists=lists)
    stubs = []
    work = _Work(plot, entries, lists, workers)
    large = [root]
    while large:
        branch = large.pop()
        if branch.end - branch.begin < max(LEAST, m // PARTS) or not work.split(branch):
            stubs.append(branch)
        else:
            assert branch.children is not None
            large.extend(branch.children)
    stubs.sort(key=lambda b: b.begin - b.end)  # the largest first, so that none is left over at the end
    place = np.empty(0 if lists is None else table.n, np.uint32)
    for stub, grown in zip(stubs, workers.map(partial(_grow_stub, plot, entries, lists, place), stubs)):
        stub.grown = grown
    return assembled(root)


def _grow_stub(plot: Plot, entries: Array, lists: Lists | None, place: Array, stub: Branch) -> Grown:
    if lists is None:
        return grow_from(plot, entries, stub.key, stub.depth, stub.bounds, stub.begin, stub.end)
    own = Settled(plot, entries, lists, stub.begin, stub.end, place)
    grown = grow_from(own.plot, own.entries, stub.key, stub.depth, stub.bounds, lists=own.lists)
    own.bring_back()
    return grown._replace(start=grown.start + stub.begin)


class _Work:
    """Splitting large nodes, with the room that each part of the columns needs."""

    def __init__(self, plot: Plot, entries: Array, lists: Lists | None, workers: Threads) -> None:
        self.plot, self.entries, self.lists, self.workers = plot, entries, lists, workers
        d, count = plot.table.d, 4 * workers.workers
        edges = np.unique(np.linspace(0, d, min(d, count) + 1).astype(int)).tolist()
        self.parts = list(pairwise(edges))
        rooms = min(len(self.parts), workers.workers)
        self.room = [scratch_for(len(entries), d, plot.target.channels) for _ in range(rooms)]
        self.spare = np.empty(len(entries), np.uint64)
        self.spares = [np.empty(1 if lists is None else lists.rows, np.uint32) for _ in range(rooms)]
        self.order = np.arange(d, dtype=np.int64)

    def split(self, branch: Branch) -> bool:
        """Split a node; False where it stays a leaf, or where that is for the stub to find out."""
        target, table, rules = self.plot
        a, b = branch.begin, branch.end
        out = grown_for(1, target.channels, True, True)
        n, alike, cost = node_total(target.loops, rules, self.entries, a, b, out.sums[0], self.room[0].number)
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
        left_n, _, _ = node_total(target.loops, rules, self.entries, a, middle, left, self.room[0].number)
        sets = write_split(table, found, out, 1 if 2 * left_n >= n else 0)
        bounds = np.array([branch.bounds, branch.bounds])
        if table.trend.any():
            child_bounds(target.loops, table, found, out, left, bounds)
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
            Branch(a, middle, np.uint64(child_key(branch.key, True)), branch.depth + 1, tuple(bounds[1])),
            Branch(middle, b, np.uint64(child_key(branch.key, False)), branch.depth + 1, tuple(bounds[0])),
        )
        return True

    def _shares(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """Parts of the columns for each of the rooms."""
        return [(r, self.parts[r :: len(self.room)]) for r in range(len(self.room))]

    def _search(self, branch: Branch, n: int, sums: Array) -> Found:
        best = None
        answers = [f for share in self.workers.map(partial(self._look, branch, n, sums), self._shares()) for f in share]
        for found in sorted(answers, key=lambda f: int(f.place[0])):
            if found.place[0] >= 0 and (best is None or beats(found.score[0], best)):
                best = found
        return best if best is not None else answers[0]

    def _look(self, branch: Branch, n: int, sums: Array, share: tuple[int, list[tuple[int, int]]]) -> list[Found]:
        target, table, rules = self.plot
        room: Scratch = self.room[share[0]]
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
                room,
            )
            answers.append(found)
        return answers

    def _part(self, a: int, b: int, share: tuple[int, list[tuple[int, int]]]) -> None:
        for k, stop in share[1]:
            split_lists(self.plot.table, self.lists, self.order, k, stop - k, self.spares[share[0]], a, b)


def assembled(root: Branch) -> Grown:
    """All parts of a tree in preorder."""
    pieces: list[Grown] = []
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
    whole = Grown(*(np.concatenate([getattr(p, name) for p in shifted]) for name in Grown._fields))
    ends = tree_ends(whole.feature)
    split = np.flatnonzero(whole.feature != LEAF)
    right = np.full(len(whole.feature), -1, dtype=np.int32)
    right[split] = ends[split + 1]
    return whole._replace(right=right)
