"""How often a column has a value in each class, and the sum of these values: the statistics of coins and counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.engines import SparseMatrix
from assay.hypotheses.densities.absent import NO_WEIGHTS, class_weight, entry_weight
from assay.hypotheses.densities.part import Part
from assay.numerics import Floats


class Sums(NamedTuple):
    """n (K, c): weight of the values present; total (K, c): their weighted sum."""

    n: Floats
    total: Floats


class Found(NamedTuple):
    """The sums of a block, with the least and largest value and Σ (x − ⌊x⌋), which is zero where all are whole.

    An infinite value makes `rest` NaN. Of sparse rows the least and largest are those of the kept entries.
    """

    sums: Sums
    low: float
    high: float
    rest: float


class Ranges(NamedTuple):
    """Least value, largest value and Σ (x − ⌊x⌋) of each column, (c,)."""

    low: Floats
    high: Floats
    rest: Floats


def absorb_sums(part: Part) -> Found:
    """One pass over the values present of rows with positive weight."""
    return _of_entries(part) if isinstance(part.X, SparseMatrix) else absorb_ranges(part)[0]


def absorb_ranges(part: Part) -> tuple[Found, Ranges]:
    """As `absorb_sums`, and what each column holds."""
    from assay.loops.counts import add_present
    from assay.loops.sparse_counts import look_at_columns

    X, c, w = part.X, part.X.shape[1], NO_WEIGHTS if part.w is None else part.w
    ranges = Ranges(np.full(c, np.inf), np.full(c, -np.inf), np.zeros(c))
    if isinstance(X, SparseMatrix):
        kept = np.zeros(c, dtype=np.int64)
        look_at_columns(X.data, X.indices, X.indptr, w, *ranges, kept)
        some_zero = kept < (len(X) if part.w is None else np.count_nonzero(w))
        np.minimum(ranges.low, 0.0, out=ranges.low, where=some_zero)
        np.maximum(ranges.high, 0.0, out=ranges.high, where=some_zero)
        return _of_entries(part), ranges
    n, total = np.zeros((part.K, c)), np.zeros((part.K, c))
    add_present(X, part.codes, w, n, total, *ranges)
    low, high = ranges.low.min(initial=np.inf), ranges.high.max(initial=-np.inf)
    return Found(Sums(n, total), float(low), float(high), float(ranges.rest.sum())), ranges


def _of_entries(part: Part) -> Found:
    """The sums of sparse rows: absent entries are zeros, which are present and add nothing but their weight.

    Where nothing is missing, n is one column shown c times, which costs nothing to make, keep and merge.
    """
    from assay.loops.sparse_counts import add_entries

    X, codes, w, K = part.X, part.codes, part.w, part.K
    total = np.zeros((K, X.n_columns))
    weights = NO_WEIGHTS if w is None else w
    low, high, rest, missing = add_entries(X.data, X.indices, X.indptr, codes, weights, total)
    n = class_weight(codes, w, K)
    if missing:
        n = n.without(entry_weight(X, codes, w, K, missing=True))
    return Found(Sums(np.broadcast_to(n.total, total.shape), total), low, high, rest)


def merge_sums(a: Sums, b: Sums) -> Sums:
    """The sums of both together."""
    if a.n.strides[1] == b.n.strides[1] == 0:
        return Sums(np.broadcast_to(a.n[:, :1] + b.n[:, :1], a.n.shape), a.total + b.total)
    return Sums(a.n + b.n, a.total + b.total)
