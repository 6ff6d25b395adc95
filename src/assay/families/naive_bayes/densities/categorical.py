"""A table of probabilities for each class and column.

    p(x_j = c | k) = (N_kjc + α) / (N_kj + α·C_j),   c = 0 … C_j − 1

The tables of all columns lie side by side in one array (K, T); `offsets` says where each begins. A category that no
row of the fit had is left out of the product, as a missing value is.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from assay.engines import SparseMatrix
from assay.errors import DataConversionWarning, DataTypeError, ParameterError, as_seen_by_sklearn
from assay.families.naive_bayes.densities.columns import NO_WEIGHTS, ColumnsOfClasses, tiles
from assay.families.naive_bayes.densities.counts import absorb_ranges
from assay.numerics import Array, Floats, safe_log

LARGEST_CODE = (1 << 20) - 1
CUT = (
    "X holds numbers that are not whole where categories are due: their fractions were cut off. "
    "Number the categories 0, 1, 2, … or use a density for numbers (NaiveBayes)."
)


class Tables(NamedTuple):
    """counts (K, T): weight of each category; offsets (c + 1,): column j has the categories offsets[j] : offsets[j + 1]."""

    counts: Floats
    offsets: Array

    @classmethod
    def empty(cls, K: int, sizes: Array) -> Tables:
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(np.zeros((K, int(offsets[-1]))), offsets)

    @property
    def sizes(self) -> Array:
        return np.diff(self.offsets)

    def grown(self, sizes: Array) -> Tables:
        """The same counts with room for `sizes` categories."""
        if np.array_equal(sizes, self.sizes):
            return self
        wide = Tables.empty(len(self.counts), sizes)
        at = np.arange(self.counts.shape[1]) + np.repeat(wide.offsets[:-1] - self.offsets[:-1], self.sizes)
        wide.counts[:, at] = self.counts
        return wide

    def by_column(self, values: Floats) -> list[Floats]:
        """`values` (K, T) as a list with one array a column."""
        return np.split(values, self.offsets[1:-1], axis=1)


def whole(X: Any, cut: bool) -> Array:
    """X itself, or with `cut` its whole parts; never sparse rows, where a zero is a category like any other."""
    if isinstance(X, SparseMatrix):
        raise DataTypeError(
            "Sparse data is not supported by the categorical density: convert it with X.toarray(), or give these columns "
            "another density."
        )
    codes: Array = np.floor(X) if cut else X
    return codes


def absorb(part: ColumnsOfClasses, cut: bool) -> Tables:
    """The tables of a block; with `cut` fractions are cut off, with a warning, instead of refused."""
    from assay.families.naive_bayes.loops import count_categories

    given, part = part.X, part._replace(X=whole(part.X, cut))
    if cut and np.any((given != part.X) & ~np.isnan(given)):
        warnings.warn(CUT, as_seen_by_sklearn(DataConversionWarning), stacklevel=2)
    found, ranges = absorb_ranges(part)
    if found.low < 0 or found.high > LARGEST_CODE or found.rest != 0:
        refuse(part)
    tables = Tables.empty(part.K, np.maximum(ranges.high, -1).astype(np.int64) + 1)
    w = NO_WEIGHTS if part.w is None else part.w
    count_categories(part.X, part.codes, w, tables.offsets, tables.counts)
    return tables


def refuse(part: ColumnsOfClasses) -> None:
    """Raise where a value is no category: infinite, negative, not whole, or absurdly large."""
    part.refuse_infinite()
    X, remedy = part.X, "Number the categories 0, 1, 2, … (or pass a frame with text columns)."
    part.refuse_where(
        X < 0, "Negative values in data passed to CategoricalNB (input X), or a categorical column", remedy
    )
    part.refuse_where(~np.isnan(X) & (np.floor(X) != X), "A categorical column holds a value that is not whole", remedy)
    part.refuse_where(X > LARGEST_CODE, f"A categorical column holds a category above {LARGEST_CODE}", remedy)


def merge(a: Tables, b: Tables) -> Tables:
    """The tables of both together, with room for the categories of either."""
    sizes = np.maximum(a.sizes, b.sizes)
    a, b = a.grown(sizes), b.grown(sizes)
    return Tables(a.counts + b.counts, a.offsets)


def with_least(tables: Tables, least: Any) -> Tables:
    """Room for at least `least` categories: None, one number, or one a column."""
    if least is None:
        return tables
    wanted = np.asarray(least)
    if wanted.dtype.kind not in "iu" or wanted.ndim > 1 or (wanted.ndim == 1 and len(wanted) != len(tables.sizes)):
        raise ParameterError(
            f"min_categories={least!r} is not possible: it must be a whole number, or {len(tables.sizes)} of them (one a column)."
        )
    return tables.grown(np.maximum(tables.sizes, wanted))


def estimate(tables: Tables, alpha: Array) -> Floats:
    """The probabilities (K, T), with α a column; a table without any evidence is uniform."""
    sizes = tables.sizes
    filled = sizes > 0
    total = np.add.reduceat(tables.counts, tables.offsets[:-1][filled], axis=1) if filled.any() else tables.counts
    total = np.repeat(total + (alpha * sizes)[filled], sizes[filled], axis=1)
    uniform = np.tile(1 / np.repeat(sizes, sizes), (len(total), 1))
    p: Floats = np.divide(tables.counts + np.repeat(alpha, sizes), total, out=uniform, where=total > 0)
    return p


class Categorical(NamedTuple):
    """log_table (K, T + 1), whose last column is zero: what is missing or unseen adds nothing."""

    log_table: Floats
    offsets: Array

    @classmethod
    def of(cls, p: Floats, offsets: Array) -> Categorical:
        return cls(np.concatenate([safe_log(p), np.zeros((len(p), 1))], axis=1), offsets)

    def log_density(self, X: Array) -> Floats:
        """(m, K); a row with a value that is no category (negative, infinite, not whole) gives NaN."""
        Z: Floats = np.empty((len(self.log_table), len(X))).T
        first, size = self.offsets[:-1], np.diff(self.offsets)
        ones = np.ones(X.shape[1])
        for tile in tiles(X):
            x = X[tile]
            with np.errstate(invalid="ignore"):
                at = x.astype(np.int64)  # NaN and infinity become a negative number
            unknown = (at < 0) | (at >= size)
            exact = at == x
            at += first
            at[unknown] = self.log_table.shape[1] - 1
            for k, table in enumerate(self.log_table):
                Z[tile, k] = table.take(at) @ ones
            if unknown.any() or not exact.all():
                impossible = (x < 0) | np.isinf(x) | ((x != np.floor(x)) & ~np.isnan(x))
                Z[tile][impossible.any(axis=1)] = np.nan
        return Z
