"""The columns as codes: exact ranks of all values, or quantile bins.

Exact: a code is the rank of a value among the distinct ones, so every threshold between two values can be found. Binned: at most
255 bins whose edges lie between values of a sample of rows (all of them where they are few); codes take a byte a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from assay.engines import Block, Engine, Part, Rows
from assay.engines.derived import keys_of, unit_interval
from assay.engines.engine import Threads
from assay.engines.rows import settled
from assay.families.trees.loops.arrays import CodedColumns
from assay.families.trees.loops.coding import (
    MOST_VALUE_BUCKETS,
    code_block,
    order_words,
    pack_values,
    rank_values,
    turn,
)
from assay.families.trees.survey import MOST_LEVELS, Categories, TreeSurvey
from assay.numerics import Array, Floats

FEW_ROWS = 65_024  # ranks of so many rows, and of a missing value, fit 16 bits
SAMPLE = 50_000  # rows of which quantiles are taken
MOST_BINS = 255
CACHE = 4 << 20  # bytes of codes that are near the processor anyway
STRETCH = 16_384  # rows coded at a time where they are in memory
TOGETHER = 8  # columns turned at a time: as many as a line of the cache holds


def exact_table(rows: Rows, found: TreeSurvey, categories: Categories, workers: Threads) -> tuple[CodedColumns, Array]:
    """Ranks of all values, and of each column of numbers the rows in their order (d, n). The rows are brought into memory."""
    at_hand = rows.in_memory()
    X = at_hand.X
    n, d = X.shape
    codes = np.empty((d, n), dtype=np.uint16 if n <= FEW_ROWS else np.uint32)
    order, values = np.empty((d, n), dtype=np.uint32), np.empty((d, n))
    rank = partial(_rank_columns, X, codes, order, values, categories, found.missing)
    columns = [c for some in workers.map(rank, range(0, d, TOGETHER)) for c in some]
    shift, buckets, missing, count = (np.array(c, dtype=np.int64) for c in zip(*columns))
    if 2 * int(count.sum()) < d * n:
        flat, first = _strung([v[:k] for v, k in zip(values, count.tolist())])
    else:
        flat, first = values.reshape(-1), np.arange(d) * n
        for v, k in zip(values, count.tolist()):
            v[k:] = np.nan  # sorted after every value
    return _table(codes, shift, buckets, missing, categories, flat, first, False), order


def _rank_columns(
    X: Array, codes: Array, order: Array, values: Floats, categories: Categories, missing: Array, first: int
) -> list[tuple[int, int, int, int]]:
    """Fill the rows of codes, order and values of some columns; of each (shift, buckets of values, code of a missing value, values kept)."""
    n, d = X.shape
    columns = np.empty((min(TOGETHER, d - first), n))
    if X.flags.c_contiguous and X.flags.aligned and X.dtype.isnative:
        turn(X, first, columns)
    else:
        turn(settled(X[:, first : first + TOGETHER], X.dtype.newbyteorder("=")), 0, columns)
    words = np.empty(n, np.uint64)
    parts = zip(columns, codes[first:], order[first:], values[first:])
    return [_rank_column(*part, categories, missing, j, words) for j, part in enumerate(parts, first)]


def _rank_column(
    x: Floats,
    codes: Array,
    order: Array,
    values: Floats,
    categories: Categories,
    missing: Array,
    j: int,
    words: Array,
) -> tuple[int, int, int, int]:
    if categories.levels[j]:
        used = categories.used(j)
        lost = used if missing[j] else -1
        known = (x == x) & (x >= 0) & (x < categories.levels[j])
        at = np.where(known, x, 0).astype(np.int64) + categories.first[j]
        codes[:] = np.where(known, categories.code[at], max(lost, 0))
        values[0] = 0.0
        return 0, used, lost, 1
    there = pack_values(x.view(np.int64), words, order)
    words[:there].sort()
    if there and not order_words(x, words, there, order):
        order[:] = np.argsort(x, kind="stable")
    count = rank_values(x, order, there, codes, values)
    shift = 0
    while (max(count, 1) - 1) >> shift >= MOST_VALUE_BUCKETS:
        shift += 1
    buckets = ((count - 1) >> shift) + 1 if count else 0
    lost = -1
    if there < len(x):
        lost = buckets << shift
        codes[order[there:]] = lost
    if not count:
        values[0] = 0.0
    return shift, buckets, lost, max(1, count)


def _strung(values: list[Floats]) -> tuple[Floats, Array]:
    """The values of all columns one after another, and where each column's begin."""
    return np.concatenate(values), np.concatenate([[0], np.cumsum([len(v) for v in values])])[:-1].astype(np.int64)


def _table(
    codes: Array,
    shift: Array,
    buckets: Array,
    missing: Array,
    categories: Categories,
    values: Floats,
    first: Array,
    binned: bool,
) -> CodedColumns:
    d, n = codes.shape
    free, far = np.zeros(d, dtype=np.int64), codes.nbytes > CACHE
    return CodedColumns(codes, n, d, shift, buckets, missing, categories.levels, values, first, free, far, binned)


# --- bins ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bins:
    """The edges of each column's bins, one after another: bin b holds edge[b − 1] < x ≤ edge[b]; the last has no edge, but a greatest
    value `top` (d,) in the sample."""

    edges: Floats
    first: Array
    count: Array
    missing: Array
    categories: Categories
    top: Floats

    def codes(self, X: Array) -> Array:
        """Codes (d, m) of a block of rows."""
        out = np.empty((X.shape[1], X.shape[0]), dtype=np.uint8)
        c = self.categories
        code_block(X, self.edges, self.first, self.count, np.maximum(self.missing, 0), c.levels, c.code, c.first, out)
        return out

    def table(self, codes: Array) -> CodedColumns:
        """The table of such codes."""
        buckets = np.where(
            self.categories.levels > 0, np.minimum(self.categories.levels, MOST_LEVELS), self.count + 1
        ).astype(np.int64)
        places = zip(self.first.tolist(), self.count.tolist(), self.top)
        edges = [np.append(self.edges[a : a + k], top) for a, k, top in places]
        shift = np.zeros(len(codes), np.int64)
        return _table(codes, shift, buckets, self.missing, self.categories, *_strung(edges), True)


def _sampled(n: int, start: int, stop: int, seed: int) -> Array:
    """The rows start … stop − 1 that are in the sample: one of every n / SAMPLE, drawn within its stretch."""
    if n <= SAMPLE:
        return np.arange(start, stop)
    j = np.arange(start * SAMPLE // n, min(SAMPLE, stop * SAMPLE // n + 1))
    rows = ((j + unit_interval(keys_of(j.astype(np.uint64), seed))) * (n / SAMPLE)).astype(np.int64)
    return rows[(rows >= start) & (rows < stop)]


@dataclass(frozen=True)
class _Pick:
    n: int
    seed: int

    def __call__(self, part: Part) -> Array:
        block = part.load()
        rows = _sampled(self.n, block.start, block.start + len(block.X), self.seed) - block.start
        picked: Array = block.X[rows if block.w is None else rows[block.w[rows] > 0]]
        return picked


def find_bins(
    engine: Engine, rows: Rows, found: TreeSurvey, categories: Categories, most: int, workers: Threads
) -> Bins:
    """Edges of at most `most` bins a column: halfway between neighbouring values where these are few, else at quantiles."""
    picked = np.concatenate(list(engine.map(_Pick(found.n, 0), rows.blocks())))
    d = picked.shape[1]
    edges = list(workers.map(partial(_edges, picked, categories, min(most, MOST_BINS)), range(d)))
    count = np.array([len(e) for e in edges], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(count)])[:-1].astype(np.int64)
    after = [categories.used(j) if categories.levels[j] else len(edges[j]) + 1 for j in range(d)]
    missing = np.where(found.missing, after, -1).astype(np.int64)
    top = np.where(np.isnan(picked), -np.inf, picked).max(axis=0, initial=-np.inf).astype(np.float64)
    return Bins(np.concatenate([*edges, np.zeros(1)]), first, count, missing, categories, top)


def _edges(picked: Array, categories: Categories, most: int, j: int) -> Floats:
    if categories.levels[j]:
        return np.zeros(0)
    x = picked[:, j].astype(np.float64)
    x = np.sort(x[x == x])
    if not len(x):
        return np.zeros(0)
    new = np.flatnonzero(x[1:] != x[:-1])
    if len(new) >= most:
        at = np.arange(1, most) * len(x) // most
        ends = np.searchsorted(x, x[at - 1], side="right")  # quantiles, moved to the end of equal values
        new = np.unique(ends[ends < len(x)]) - 1
    low, high = x[new], x[new + 1]
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & (middle < high), middle, low)


@dataclass(frozen=True)
class ColumnCoder:
    bins: Bins

    def __call__(self, part: Part) -> tuple[int, Array]:
        block: Block = part.load()
        return block.start, self.bins.codes(block.X)


def binned_table(engine: Engine, rows: Rows, bins: Bins, n: int) -> CodedColumns:
    """The codes of all rows, a byte a value."""
    codes = np.empty((rows.n_columns, n), dtype=np.uint8)
    parts = rows.stretches(STRETCH) if engine.shares_memory else rows.blocks()
    for start, part in engine.map(ColumnCoder(bins), parts):
        codes[:, start : start + part.shape[1]] = part
    return bins.table(codes)
