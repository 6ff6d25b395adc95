"""Some columns of a block together with the class of each row: what a density family reads.

How much the zeros weigh that sparse rows do not keep, class by class and column by column:

    weight of the absent = weight of the class − weight of the kept entries

Both weights are summed with twice the digits, so that a few light rows are not lost beside heavy ones, and where every
row has an entry the difference is exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from assay.engines import SparseMatrix
from assay.errors import DataError
from assay.inputs import first_cell, largest
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats

TILE_ELEMENTS = 1 << 16
NO_WEIGHTS = np.empty(0)


class ColumnsOfClasses(NamedTuple):
    """X (m, c): the columns numbered `columns` of rows `start`, …; codes (m,): their classes 0 … K−1; w (m,) or None.

    X is an array or a sparse matrix.
    """

    X: Any
    codes: Array
    w: Array | None
    K: int
    columns: Array
    start: int
    names: Sequence[str] | None
    owner: str = "a density of counts"  # whose columns these are, for messages

    @property
    def values(self) -> Array:
        """All values, or those that a sparse matrix keeps: the others are zeros, which suit every density."""
        values: Array = self.X.data if isinstance(self.X, SparseMatrix) else self.X
        return values

    def column(self, j: int) -> str:
        """The name under which a user knows the j-th column of this part."""
        at = int(self.columns[j])
        return f"column {self.names[at]!r}" if self.names is not None else f"column {at}"

    def refuse_where(self, bad: Array, before: str, remedy: str) -> None:
        """Raise for the first of the `values` in a row of positive weight that is marked in `bad`."""
        if self.w is not None:
            counts = self.w > 0
            bad = bad & (counts[self.X.row_numbers()] if isinstance(self.X, SparseMatrix) else counts[:, None])
        if bad.any():
            i, j = first_cell(self.X, bad)
            value = self.values[bad][0]
            raise DataError(f"{before} (value {value:g} in row {self.start + i}, {self.column(j)}). {remedy}")

    def refuse_infinite(self) -> None:
        """Raise for the first infinite value."""
        what = f"Input X contains infinity or a value too large for dtype('{self.X.dtype}')"
        self.refuse_where(np.isinf(self.values), what, "Drop these rows or mark the values as missing (NaN).")

    def refuse_overflow(self) -> NoReturn:
        """Raise for the column with the largest values, whose squares or sums overflow, or for the weights that make them."""
        refuse_heavy(self.w)
        top = largest(self.X)
        j = int(np.argmax(top))
        column = self.column(j)
        raise DataError(
            f"{column[0].upper()}{column[1:]} holds values as large as {top[j]:.3g}, whose squares overflow float64. "
            "Rescale it (divide by a constant)."
        )


def take(X: Any, columns: Array) -> Any:
    """The columns of a block, in C order; all of them without a copy."""
    if len(columns) == X.shape[1]:
        return X
    return X.columns(columns) if isinstance(X, SparseMatrix) else np.ascontiguousarray(X[:, columns])


def tiles(X: Array | SparseMatrix) -> Iterator[slice]:
    """Slices of rows that fit the processor's cache."""
    rows = max(16, TILE_ELEMENTS // max(1, X.shape[1]))
    for a in range(0, len(X), rows):
        yield slice(a, a + rows)


class AbsentWeight(NamedTuple):
    """high + low: a sum of weights; rows: of how many rows. Each (K, d), or (K, 1) where all columns have the same."""

    high: Floats
    low: Floats
    rows: Array

    def without(self, part: AbsentWeight) -> AbsentWeight:
        """The weight of the other rows."""
        rows = self.rows - part.rows
        high, low = self.high - part.high, self.low - part.low
        return AbsentWeight(np.where(rows > 0, high, 0.0), np.where(rows > 0, low, 0.0), rows)

    @property
    def total(self) -> Floats:
        """Never negative; infinite where the sum overflows."""
        total: Floats = np.where(np.isfinite(self.low), np.maximum(self.high + self.low, 0.0), self.high)
        return total


def class_weight(codes: Array, w: Array | None, K: int) -> AbsentWeight:
    """The weight of each class, (K, 1)."""
    from assay.families.naive_bayes.loops import weigh_classes

    found = AbsentWeight(np.zeros(K), np.zeros(K), np.zeros(K, dtype=np.int64))
    weigh_classes(codes, NO_WEIGHTS if w is None else w, *found)
    return AbsentWeight(found.high[:, None], found.low[:, None], found.rows[:, None])


def entry_weight(X: SparseMatrix, codes: Array, w: Array | None, K: int, *, missing: bool) -> AbsentWeight:
    """The weight of the kept entries (K, d): of those that are missing (NaN), or of all others."""
    from assay.families.naive_bayes.loops import weigh_entries

    shape = (K, X.n_columns)
    found = AbsentWeight(np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64))
    weigh_entries(X.data, X.indices, X.indptr, codes, NO_WEIGHTS if w is None else w, missing, *found)
    return found


def nothing(K: int) -> AbsentWeight:
    """The weight of no entries at all, (K, 0)."""
    return AbsentWeight(np.empty((K, 0)), np.empty((K, 0)), np.empty((K, 0), dtype=np.int64))
