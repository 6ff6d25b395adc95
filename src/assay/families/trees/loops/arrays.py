"""What the loops of a tree read and write, as tuples of arrays; within the loops, of their addresses.

A column of numbers becomes *codes*: the ranks of its values (exact), or the numbers of its quantile bins. Codes lie column by
column, (d, n). A code's *bucket* is code >> shift, at most 255. An *entry* is a row of a node in one 64-bit word:
row · 2³² | times · 2¹⁶ | label, where `times` says how often the row was drawn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import jit
from assay.compiled.simd.memory import data_pointer

BUCKETS = 256
FEW_ROWS = 32  # nodes with fewer rows are sorted instead of counted into buckets
ZERO, ONE = np.int64(0), np.int64(1)  # plain numbers in a call would be compiled for apart
LOW16 = np.uint64(0xFFFF)
LOW32 = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
AHEAD = 16  # rows whose codes are asked for ahead
NONE_MISSING = 2  # in place of the side where missing values go: the node has none
BITS_A_NAT = 1.0 / np.log(2.0)
GINI, ENTROPY, POISSON, ABSOLUTE = 0, 1, 2, 3  # squared error is GINI's text


class CodedColumns(NamedTuple):
    """The columns. `missing` (d,): the code of a missing value, −1 where there is none; `levels` (d,): categories, 0: numbers."""

    codes: Any  # (d, n) unsigned; within the loops flat
    n: Any
    d: Any
    shift: Any  # (d,) int64
    buckets: Any  # (d,) int64: buckets of values that are there
    missing: Any  # (d,) int64
    levels: Any  # (d,) int64
    values: Any  # the greatest value of each code, column after column
    first: Any  # (d,) int64: where a column's values begin
    trend: Any  # (d,) int64: 1, −1: the answer must not fall, not rise with the column; 0: free
    far: bool  # the codes are too many for the cache of a core
    binned: bool  # a code is a range of values that ends at `values`, not a single one


class SplitRules(NamedTuple):
    """When a node is split, and how a split is found."""

    criterion: int
    max_depth: int
    min_split: int  # draws of rows
    min_leaf: int
    min_leaf_weight: float  # in the units of the target's weights
    max_features: int
    random: bool  # a random threshold of each feature
    exact_below: int  # nodes with fewer rows are searched code by code, others bucket by bucket
    min_gain: float  # in the units of the criterion's score


class BestSplit(NamedTuple):
    """The best split so far: `score` (4,): its score, the least and the greatest answer that the node may give, a random threshold
    (NaN: none); `place` (5,): feature, last code on the left, next code, missing to the left (or NONE_MISSING), by categories; `sides` (256,): 1
    where a category goes to the left."""

    score: Any
    place: Any
    sides: Any


class SortedLists(NamedTuple):
    """The rows of a node sorted by each column of numbers, where all columns are tried at every node and every row is drawn once. rows: 0
    where there are no lists."""

    items: Any  # (d, rows) uint32: row · 2 | label where it is one of two classes
    rows: int
    tied: Any  # (d,) uint8: whether rows have equal values
    entry: Any  # (n,) uint64: the entry of each row
    side: Any  # (n,) uint8
    spare: Any  # (rows,) uint32


class TreeScratch(NamedTuple):
    """Room to work in, of one thread. A: the greatest of BUCKETS · 4 and the number of rows."""

    hist: Any  # (BUCKETS * 4,) uint64
    sums: Any  # (BUCKETS * (channels + 2),) int64
    running: Any  # (max(BUCKETS * 4, n),) uint64
    worth: Any  # (max(BUCKETS * 4, n) + 1,) float64
    items: Any  # (n + 1,) uint64
    other: Any  # (n + 1,) uint64
    count: Any  # (2049,) int64
    number: Any  # (A + 1,) int64
    weight: Any  # (A + 1,) int64
    signed: Any  # (A + 1,) int64
    real: Any  # (4, A + 1) float64, flat
    reach: int  # A + 1
    cells: Any  # (BUCKETS * max(4, channels up to eight together),) uint64, zero between uses
    flags: Any  # (4 * BUCKETS,) uint8, zero between uses: which cells hold rows
    place: Any  # (BUCKETS + 1,) int64
    left: Any  # (channels up to eight together,) float64
    whole: Any  # the same
    order: Any  # (d,) int64: the columns, in their order between two nodes
    swaps: Any  # (d,) int64


@jit(inline="always")
def table_pointers(t):  # type: ignore[no-untyped-def]
    return CodedColumns(
        data_pointer(t.codes),
        t.n,
        t.d,
        data_pointer(t.shift),
        data_pointer(t.buckets),
        data_pointer(t.missing),
        data_pointer(t.levels),
        data_pointer(t.values),
        data_pointer(t.first),
        data_pointer(t.trend),
        t.far,
        t.binned,
    )


@jit(inline="always")
def scratch_pointers(s):  # type: ignore[no-untyped-def]
    return TreeScratch(
        data_pointer(s.hist),
        data_pointer(s.sums),
        data_pointer(s.running),
        data_pointer(s.worth),
        data_pointer(s.items),
        data_pointer(s.other),
        data_pointer(s.count),
        data_pointer(s.number),
        data_pointer(s.weight),
        data_pointer(s.signed),
        data_pointer(s.real),
        s.reach,
        data_pointer(s.cells),
        data_pointer(s.flags),
        data_pointer(s.place),
        data_pointer(s.left),
        data_pointer(s.whole),
        data_pointer(s.order),
        data_pointer(s.swaps),
    )


@jit(inline="always")
def lists_pointers(t):  # type: ignore[no-untyped-def]
    return SortedLists(
        data_pointer(t.items),
        t.rows,
        data_pointer(t.tied),
        data_pointer(t.entry),
        data_pointer(t.side),
        data_pointer(t.spare),
    )


@jit(inline="always")
def found_pointers(f):  # type: ignore[no-untyped-def]
    return BestSplit(data_pointer(f.score), data_pointer(f.place), data_pointer(f.sides))


class NodeArrays(NamedTuple):
    """Nodes in preorder: the left child of a node follows it. feature (N,): −1 for a leaf, −2 − f for a split by categories; right (N,);
    cut (N,): the threshold, or the number of the split by categories; code (N,): the last code on the left, or that number;
    missing (N,): 1 where missing values go to the left;
    sets (S, 4): its sides as bits; sums (N, C): the target's sums; rows (N,): draws; start, other (N,): its first entry, of those learnt from and of the others; gain (N,): what the split gained;
    bounds (N, 2): the least and the greatest answer, where columns have a trend (else empty)."""

    feature: Any
    cut: Any
    code: Any
    right: Any
    missing: Any
    sets: Any
    sums: Any
    rows: Any
    start: Any
    other: Any
    gain: Any
    bounds: Any


@jit(inline="always")
def grown_pointers(g):  # type: ignore[no-untyped-def]
    return NodeArrays(
        data_pointer(g.feature),
        data_pointer(g.cut),
        data_pointer(g.code),
        data_pointer(g.right),
        data_pointer(g.missing),
        data_pointer(g.sets),
        data_pointer(g.sums),
        data_pointer(g.rows),
        data_pointer(g.start),
        data_pointer(g.other),
        data_pointer(g.gain),
        data_pointer(g.bounds),
    )
