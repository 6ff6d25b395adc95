"""What an encoding has to know of the rows it is made for: one fold of counts, means and scatters.

mean_j, M2_j = Σ(x_j − mean_j)²   over the rows that have a number in column j
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.engines.csr import SparseMatrix
from assay.engines.engine import merge_in_order
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.tables.encoding.columns import MISSING, ColumnGroups

TILE = 1 << 12  # rows
ROUNDING = 1e-12  # deviations up to this share of the mean are those of one number added up


class EncodingStatistics(NamedTuple):
    """n rows; of a numbers: how many, mean, M2; of the categories: how often each occurs."""

    n: int
    present: Array  # (a,): rows that have a number
    mean: Floats  # (a,)
    m2: Floats  # (a,)
    levels: tuple[Array, ...]  # per category column: (levels + 2,) with OTHER and MISSING last
    documents: Array  # (buckets,): rows with such a word

    @property
    def deviation(self) -> Floats:
        """√(M2/rows present); 1 where nothing varies, so that division changes nothing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            s = np.sqrt(self.m2 / self.present)
        constant = s <= ROUNDING * np.abs(self.mean)  # 0.1 many times over has a mean that is off by rounding
        return np.where(np.isfinite(s) & ~constant & (s > 0), s, 1.0)


@dataclass(frozen=True)
class _Absorb:
    groups: ColumnGroups

    def __call__(self, block: Block) -> EncodingStatistics:
        if isinstance(block.X, SparseMatrix):
            return self._of(block.X, block.start)
        starts = range(0, max(1, len(block.X)), TILE)  # what is made of a tile stays in the cache
        found = merge_in_order((self._of(block.X[a : a + TILE], block.start + a) for a in starts), _merge)
        assert found is not None
        return found

    def _of(self, X: Any, start: int) -> EncodingStatistics:
        found = self.groups.expand(X)
        N = np.asarray(found.numbers, dtype=np.float64)
        known = ~np.isnan(N)
        whole = bool(known.all())
        count = known.sum(axis=0)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            filled = N if whole else np.where(known, N, 0.0)
            mean = np.where(count > 0, filled.sum(axis=0) / np.maximum(count, 1), 0.0)
            off = N - mean if whole else np.where(known, N - mean, 0.0)
            m2 = np.einsum("ij,ij->j", off, off)
        if not np.isfinite(m2).all():
            self._refuse(N, start)
        levels = tuple(
            np.bincount(
                np.where(codes >= 0, codes, len(column.levels or ()) + (codes == MISSING)),
                minlength=len(column.levels or ()) + 2,
            )
            for codes, column in zip(found.codes.T, self.groups.categories)
        )
        words = found.words
        documents = np.zeros(0, np.int64) if words is None else np.bincount(words.indices, minlength=words.n_columns)
        return EncodingStatistics(len(N), count, mean, m2, levels, documents)

    def _refuse(self, N: Floats, start: int) -> None:
        names = self.groups.number_names()
        bad = np.argwhere(np.isinf(N))
        if len(bad):
            i, j = bad[0]
            raise DataError(
                f"Column {names[j][0]!r} is infinite in row {start + i} (counted from 0, without the header). Leave such rows out, or "
                "write the value as missing."
            )
        j = int(np.argmax(np.abs(np.nan_to_num(N)).max(axis=0)))
        raise too_large(self.groups, j)


def _merge(a: EncodingStatistics, b: EncodingStatistics) -> EncodingStatistics:
    present = a.present + b.present
    share = b.present / np.maximum(present, 1)
    with np.errstate(over="ignore"):
        shift = b.mean - a.mean
        m2 = a.m2 + b.m2 + shift * shift * a.present * share
    return EncodingStatistics(
        a.n + b.n,
        present,
        np.where(a.present > 0, a.mean + shift * share, b.mean),
        m2,
        tuple(x + y for x, y in zip(a.levels, b.levels)),
        a.documents + b.documents,
    )


def statistics_of(engine: Engine, groups: ColumnGroups, rows: Rows) -> EncodingStatistics:
    """The statistics of the rows of a table; the same bits on every engine."""
    found = fold(engine, rows.blocks(), _Absorb(groups), _merge)
    if found is None:
        raise DataError("There are no rows to learn the encoding from.")
    bad = np.flatnonzero(~np.isfinite(found.m2))
    if len(bad):  # each block could be squared, but not all of them together
        raise too_large(groups, int(bad[0]))
    return found


def too_large(groups: ColumnGroups, j: int) -> DataError:
    """The error about numbers of which no deviation can be taken."""
    name = groups.number_names()[j][0]
    return DataError(f"Column {name!r} holds numbers too large to square: bring it to other units.")
