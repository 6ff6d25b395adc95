"""The zeros that sparse rows do not keep: how much they weigh, class by class and column by column.

    weight of the absent = weight of the class − weight of the kept entries

Both weights are summed with twice the digits, so that a few light rows are not lost beside heavy ones, and where every
row has an entry the difference is exactly zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.engines import SparseMatrix
from assay.numerics import Array, Floats

NO_WEIGHTS = np.empty(0)


class Weight(NamedTuple):
    """high + low: a sum of weights; rows: of how many rows. Each (K, d), or (K, 1) where all columns have the same."""

    high: Floats
    low: Floats
    rows: Array

    def without(self, part: Weight) -> Weight:
        """The weight of the other rows."""
        rows = self.rows - part.rows
        high, low = self.high - part.high, self.low - part.low
        return Weight(np.where(rows > 0, high, 0.0), np.where(rows > 0, low, 0.0), rows)

    @property
    def total(self) -> Floats:
        """Never negative; infinite where the sum overflows."""
        total: Floats = np.where(np.isfinite(self.low), np.maximum(self.high + self.low, 0.0), self.high)
        return total


def class_weight(codes: Array, w: Array | None, K: int) -> Weight:
    """The weight of each class, (K, 1)."""
    from assay.loops.sparse_counts import weigh_classes

    found = Weight(np.zeros(K), np.zeros(K), np.zeros(K, dtype=np.int64))
    weigh_classes(codes, NO_WEIGHTS if w is None else w, *found)
    return Weight(found.high[:, None], found.low[:, None], found.rows[:, None])


def entry_weight(X: SparseMatrix, codes: Array, w: Array | None, K: int, *, missing: bool) -> Weight:
    """The weight of the kept entries (K, d): of those that are missing (NaN), or of all others."""
    from assay.loops.sparse_counts import weigh_entries

    shape = (K, X.n_columns)
    found = Weight(np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64))
    weigh_entries(X.data, X.indices, X.indptr, codes, NO_WEIGHTS if w is None else w, missing, *found)
    return found


def nothing(K: int) -> Weight:
    """The weight of no entries at all, (K, 0)."""
    return Weight(np.empty((K, 0)), np.empty((K, 0)), np.empty((K, 0), dtype=np.int64))
