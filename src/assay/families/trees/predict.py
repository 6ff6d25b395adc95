"""Answers of fitted trees.

Few rows are walked by NumPy, all trees and rows at once: that needs no compiler, and so no time to load it. For many rows, where that
pays, trees are packed: thresholds become numbers, so that a node takes one word and a row's values a byte each.

Quantile regression forests (Meinshausen 2006): a forest's answer is a mean of targets, and its weights give their whole distribution,

    F(y | x) = Σ_i w_i(x) [y_i ≤ y],   w_i(x) = 1/T Σ_t  (weight of row i in the leaf of x in tree t) / (weight of that leaf)

The weight of a row in a tree is how often it was drawn for it, times its own: so Σ_i w_i(x) y_i is what the forest predicts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Block
from assay.errors import ModelFileError, ParameterError
from assay.estimator.layout import Layout, Tensor
from assay.families.trees.nodes import (
    FLAG_LEAF,
    FLAG_MISSING,
    FLAG_SETS,
    LEAF,
    LOOPS,
    Trees,
    check_trees,
    depths_of,
    first_nodes,
    words_of,
)
from assay.families.trees.survey import Categories
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.forest_builder import OutOfBag
    from assay.families.trees.model import Forest
    from assay.families.trees.training_data import TrainingData

# columns, thresholds a column and nodes a tree that fit nodes of one word, and of two
NARROW_COLUMNS, NARROW_CUTS, NARROW_NODES = 1 << 8, 254, (1 << 17) - 1
WIDE_COLUMNS, WIDE_CUTS = 1 << 16, 65_534
MANY = 64  # rows that are asked for at a time, from which on packed trees answer
FEW = (
    1 << 19
)  # pairs of a row and a tree that NumPy walks, of all calls together, before the compiled loops are loaded: by then it has taken as long as that
CALL = 250  # pairs that take as long as what every call costs besides
HALF, EIGHT, FEATURE = np.uint64(32), np.uint64(8), np.uint64(0xFFFFFF)
STEPS = 64  # of the search for a row's codes, that cost what a packed tree saves
OF_QUANTILES: Layout = {
    "member_": Tensor(("M",), dtype="<u4", index="n", optional=True, doc="with quantiles=True the numbers of the rows in the leaves, leaf after leaf"),
    "member_times_": Tensor(("M",), dtype="|u1", low=1, optional=True, doc="how often each of these rows was drawn for its tree"),
    "member_count_": Tensor(("L",), dtype="<u4", most="M", low=1, optional=True, doc="how many rows each leaf holds"),
    "member_target_": Tensor(("n",), optional=True, doc="the targets of the rows of the fit, of which quantiles are taken"),
    "member_weight_": Tensor(("n",), low=0, optional=True, doc="the weights of the rows of the fit; absent where all are 1"),
}  # fmt: skip
MOST_TIMES = 255  # that a byte can say


class TreePredictor:
    """Trees with an answer for every row of their table of leaves."""

    def __init__(self, trees: Trees, columns: int, categories: Categories | None) -> None:
        self.trees, self.columns, self.categories = trees, columns, categories
        self.ends = check_trees(trees, columns)
        self.roots = first_nodes(trees.nodes)
        self.by_sets = bool((trees.feature < -1).any())
        self._asked = 0  # pairs of a row and a tree so far
        self._stepped_over = 0  # those that NumPy walked, with what calls cost

    @cached_property
    def words(self) -> Array:
        """The nodes as `families.trees.loops.walk` reads them."""
        return words_of(self.trees, self.ends)

    @cached_property
    def cuts(self) -> Floats:
        """Their thresholds, at the same places."""
        cuts: Floats = self.words.view(np.float64)
        return cuts

    @cached_property
    def packed(self) -> Packed | None:
        """The trees for many rows."""
        return packed_trees(self.trees, self.columns)

    @cached_property
    def depth(self) -> int:
        """The greatest number of splits on the way to a leaf."""
        return int(self.depths.max(initial=0))

    @cached_property
    def depths(self) -> Array:
        """The number of splits above each node."""
        return depths_of(self.trees.feature, self.ends)

    @cached_property
    def numbered(self) -> TreePredictor:
        """The same trees, where the row of the table of each leaf is its number among all leaves."""
        count = len(self.trees.leaf)
        leaf, table = np.arange(count, dtype=np.uint32), np.zeros((count, 1))
        return TreePredictor(self.trees._replace(leaf=leaf, table=table), self.columns, self.categories)

    def leaves(self, X: Array, tree: int) -> Array:
        """Of each row the row of the table where the tree brings it."""
        if self._at_once(len(X)):
            found: Array = self.words[self._stepped(X, self.roots[tree : tree + 1])[:, 0], 0].astype(np.int64)
            return found
        from assay.families.trees.loops.walk import walk_all, walk_plain

        out = np.empty(len(X), dtype=np.int64)
        if self.by_sets:
            assert self.categories is not None
            c = self.categories
            walk_all(X, self.words, self.cuts, self.roots[tree], self.trees.sets, c.levels, c.code, c.first, out)
        else:
            walk_plain(X, self.words, self.cuts, self.roots[tree], out)
        return out

    def nodes(self, X: Array) -> Array:
        """(m, T): of each row the leaf where each tree brings it, as a node of all trees."""
        if self._at_once(len(X) * len(self.roots)):
            return self._stepped(X, self.roots)
        return np.flatnonzero(self.trees.feature == LEAF)[self.numbers(X)]

    def numbers(self, X: Array) -> Array:
        """(m, T): of each row the leaf where each tree brings it, by its number among the leaves of all trees."""
        packed = self.numbered.packed_for(X)
        if packed is not None:
            from assay.families.trees.loops.packed import walk_packed

            found, lost = np.empty((len(X), len(self.roots)), dtype=np.int64), np.zeros(len(X), dtype=bool)
            walk_packed(X, *packed, found, lost)
            if lost.any():
                found[lost] = self._numbers(X[lost])
            return found
        return self._numbers(X)

    def _numbers(self, X: Array) -> Array:
        return np.column_stack([self.numbered.leaves(X, t) for t in range(len(self.roots))])

    def total(self, X: Array, table: Floats) -> Floats:
        """Σ over trees of the table's row that each row of X is brought to; the trees are added up in their order."""
        scores = np.zeros((len(X), table.shape[1]))
        if self._at_once(len(X) * len(self.roots)):
            at = self._stepped(X, self.roots)
            picked = table[self.words[at, 0].astype(np.int64)]
            for t in range(picked.shape[1]):
                scores += picked[:, t]
            return scores
        packed = self.packed_for(X)
        if packed is not None:
            from assay.families.trees.loops.packed import add_packed

            lost = np.zeros(len(X), dtype=bool)
            add_packed(X, *packed, table, scores, lost)
            if lost.any():
                scores[lost] = self._sum(X[lost], table)
            return scores
        return self._sum(X, table)

    def _sum(self, X: Array, table: Floats) -> Floats:
        """As `total`, by the nodes as they are: with missing values and categories."""
        from assay.families.trees.loops.walk import add_leaves, add_plain

        scores = np.zeros((len(X), table.shape[1]))
        if not self.by_sets:
            add_plain(X, self.words, self.cuts, self.roots, table, scores)
            return scores
        for tree in range(len(self.roots)):
            add_leaves(table, self.leaves(X, tree), scores)
        return scores

    def packed_for(self, X: Array) -> Packed | None:
        """The packed trees, where so many rows were asked for that packing them (10 ns a node; 35 ns less a row and tree) pays."""
        self._asked += len(X) * len(self.roots)
        if len(X) < MANY or 4 * self._asked < len(self.trees.feature):
            return None
        return self.packed

    def _at_once(self, pairs: int) -> bool:
        """Whether NumPy walks: where no compiler is loaded, and it does not pay yet to load it."""
        if LOOPS in sys.modules:
            return False
        self._stepped_over += pairs + CALL
        return self._stepped_over <= FEW

    def _stepped(self, X: Array, roots: Array) -> Array:
        """The nodes (rows, trees) where rows end, all taking a step together."""
        at = np.broadcast_to(roots, (len(X), len(roots))).copy()
        row = np.arange(len(X))[:, None]
        while True:
            link = self.words[at, 1]
            inner = (link & np.uint64(FLAG_LEAF)) == 0
            if not inner.any():
                return at
            x = X[row, ((link >> EIGHT) & FEATURE).astype(np.int64)].astype(np.float64)
            with np.errstate(invalid="ignore"):
                left = x <= self.cuts[at, 0]
            if self.by_sets:
                left = self._by_sets(link, at, x, left)
            else:
                left |= np.isnan(x) & ((link & np.uint64(FLAG_MISSING)) != 0)
            at = np.where(inner, np.where(left, at + 1, (link >> HALF).astype(np.int64)), at)

    def _by_sets(self, link: Array, at: Array, x: Array, left: Array) -> Array:
        assert self.categories is not None
        c = self.categories
        column = ((link >> EIGHT) & FEATURE).astype(np.int64)
        sets = (link & np.uint64(FLAG_SETS)) != 0
        with np.errstate(invalid="ignore"):
            known = np.where(sets, (x >= 0) & (x < c.levels[column]), ~np.isnan(x))
        level = np.where(sets & known, x, 0).astype(np.int64) + np.where(sets, c.first[column], 0)
        code = c.code[np.minimum(level, len(c.code) - 1)].astype(np.int64)
        number = np.where(sets, self.cuts[at, 0], 0).astype(np.int64)
        bit = (self.trees.sets[np.where(sets, number, 0), code >> 6] >> (code & 63).astype(np.uint64)) & np.uint64(1)
        side = np.where(sets, bit != 0, left)
        return np.where(known, side, (link & np.uint64(FLAG_MISSING)) != 0)


class Packed(NamedTuple):
    """As `families.trees.loops.packed` lays trees out, and `families.trees.loops.coding.ladders` their thresholds; like: an array of the type of codes."""

    words: Array
    starts: Array
    rows: Array
    ladder: Floats
    first: Array
    steps: Array
    like: Array


def packed_trees(trees: Trees, columns: int) -> Packed | None:
    """The trees packed; None where they split by categories, have too many thresholds, or are so few that it would not pay."""
    from assay.families.trees.loops.coding import ladders
    from assay.families.trees.loops.packed import columns_of, number_cuts, pack_nodes

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


class LeafMembers(NamedTuple):
    """Which rows are in which leaf: of each leaf in turn `held` rows, by their places among the targets in order; `times` drawn.

    target, weight (n,): of the rows ordered by target; weight None: one each.
    """

    place: Array
    times: Array
    held: Array
    target: Floats
    weight: Floats | None


def predict_quantiles(model: Any, X: Any, q: Any = (0.05, 0.5, 0.95)) -> Array:
    """Quantiles of the target given each row: (n,) for one level q, (n, len(q)) for several (Meinshausen 2006).

    Of the training targets, weighted by how often their rows share a leaf with the new one, the least at or below which
    lies a share of at least q (0: the least of all). Needs a fit with quantiles=True.
    """
    model._check_fitted()
    members = kept_members(model)
    if members is None:
        raise ParameterError(
            f"This {type(model).__name__} did not keep which rows are in which leaf: fit it with quantiles=True for predict_quantiles."
        )
    found: Array = model._answer(X, partial(_quantiles_block, model, members, _levels_asked(q)))
    return found[:, 0] if np.ndim(q) == 0 else found


def _quantiles_block(model: Forest, members: LeafMembers, levels: Floats, block: Block) -> Array:
    model._refuse_infinite(block)
    return _quantiles_at(members, model._predictor.numbers(block.X), levels)


def _levels_asked(q: Any) -> Floats:
    """The levels of quantiles as an array."""
    try:
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    except (TypeError, ValueError):
        levels = np.array([np.nan])
    if levels.ndim != 1 or not len(levels) or not np.all((levels >= 0) & (levels <= 1)):
        raise ParameterError(f"q={q!r} is not possible: give a number from 0 to 1, or a list of such.")
    return levels


def _quantiles_at(members: LeafMembers, leaves: Array, q: Floats) -> Floats:
    """(m, len(q)): quantiles for rows in these leaves (m, T), which are counted through all trees."""
    from assay.families.trees.loops.walk import weighted_quantiles

    order = np.argsort(q, kind="stable")
    out = np.empty((len(leaves), len(q)))
    first = np.concatenate([[0], np.cumsum(members.held.astype(np.int64))])
    weighted = members.weight is not None
    weight = members.weight if members.weight is not None else np.ones(1)
    weighted_quantiles(leaves, first, members.place, members.times, weight, weighted, members.target, q[order], out)
    answers = np.empty_like(out)
    answers[:, order] = out
    return answers


def kept_members(model: Any) -> LeafMembers | None:
    """The members that a forest has kept."""
    if getattr(model, "member_", None) is None:
        return None
    weight = getattr(model, "member_weight_", None)
    return LeafMembers(model.member_, model.member_times_, model.member_count_, model.member_target_, weight)


def keep_members(model: Any, bag: OutOfBag, training_data: TrainingData) -> None:
    """Keep which rows are in which leaf, where quantiles are asked for."""
    before = kept_members(model)
    for name in OF_QUANTILES:
        vars(model).pop(name, None)
    if not model.quantiles:
        return
    new = _members_of(bag.members, training_data.truth, training_data.weights)
    bag.members = []
    if len(new.held) < len(model.leaf_):
        if before is None:
            raise ParameterError(
                f"{type(model).__name__}: the trees of the fit before were grown without quantiles=True, so quantiles of all trees "
                "cannot be had: fit with warm_start=False."
            )
        new = _more_members(before, new)
    model.member_, model.member_times_, model.member_count_, model.member_target_ = new[:4]
    model.member_weight_ = new.weight


def _members_of(found: list[tuple[Array, Array, Array]], truth: Floats, weight: Floats | None) -> LeafMembers:
    """What (rows, times, held) of each tree say, for rows with these targets."""
    order = np.argsort(truth, kind="stable")
    place = np.empty(len(order), dtype=np.uint32)
    place[order] = np.arange(len(order), dtype=np.uint32)
    rows, times, held = (np.concatenate(parts) for parts in zip(*found))
    if times.max(initial=0) > MOST_TIMES:
        rows, times, held = _in_bytes(rows, times.astype(np.int64), held)
    return LeafMembers(
        place[rows],
        times.astype(np.uint8),
        held.astype(np.uint32),
        truth[order],
        None if weight is None else weight[order],
    )


def _in_bytes(rows: Array, times: Array, held: Array) -> tuple[Array, Array, Array]:
    """Rows drawn more often than a byte can say are there several times."""
    pieces = -(-times // MOST_TIMES)
    first = np.cumsum(pieces) - pieces
    many = np.full(int(pieces.sum()), MOST_TIMES)
    many[first + pieces - 1] = times - MOST_TIMES * (pieces - 1)
    ends = np.cumsum(held.astype(np.int64))
    return np.repeat(rows, pieces), many, np.diff(np.append(0, np.cumsum(pieces)[ends - 1]))


def _more_members(before: LeafMembers, new: LeafMembers) -> LeafMembers:
    """The members of some trees, then of others that were grown from the same rows."""
    place, times, held = (np.concatenate(pair) for pair in zip(before[:3], new[:3]))
    return new._replace(place=place, times=times, held=held)


def check_members(model: Forest, parts: Mapping[str, Any]) -> None:
    """Raise where the members of a file are impossible, or only some of their parts are there; their weights are optional."""
    there = [name in parts for name in OF_QUANTILES]
    if any(there) and not all(there[:-1]):
        raise ModelFileError("The model file has only some of the parts that say which rows are in which leaf.")
    members = kept_members(model)
    if members is None:
        return
    good = (
        int(members.held.astype(np.int64).sum()) == len(members.place)
        and int(members.place.max(initial=0)) < len(members.target)
        and bool(np.all(members.target[1:] >= members.target[:-1]))
        and (members.weight is None or bool(np.all(members.weight[members.place] > 0)))
    )
    if not good:
        raise ModelFileError("The model file's rows in leaves do not fit its trees or targets.")
