"""Rows of which only the numbers other than zero are kept (compressed sparse rows, CSR).

X[i, indices[a:b]] = data[a:b]   with a, b = indptr[i], indptr[i + 1];   every other entry of row i is zero
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.numerics import Array


@dataclass(frozen=True, eq=False, slots=True)
class SparseMatrix:
    """A matrix (m, d) in canonical CSR: columns sorted in each row, none twice, no zero kept; `indptr` starts at 0.

    `data` is float64 or float32, `indices` int32, `indptr` int64. `inputs` makes it and checks it; the inside trusts it.
    """

    data: Array
    indices: Array
    indptr: Array
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return 2

    @property
    def nnz(self) -> int:
        """How many entries are kept."""
        return len(self.data)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice | Array) -> SparseMatrix:
        """Some rows: of a slice (step 1) the kept entries are a view; of a mask or row numbers, a copy."""
        if isinstance(rows, slice):
            first, stop, step = rows.indices(len(self))
            if step == 1:
                pointers = self.indptr[first : max(first, stop) + 1]
                a, b = int(pointers[0]), int(pointers[-1])
                return SparseMatrix(self.data[a:b], self.indices[a:b], pointers - a, self.n_columns)
            rows = np.arange(first, stop, step)
        at = np.asarray(rows)
        at = np.flatnonzero(at) if at.dtype == bool else np.where(at < 0, at + len(self), at)
        length = np.diff(self.indptr)[at]
        indptr = pointers_of(length)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[at] - indptr[:-1], length)
        return SparseMatrix(self.data[entries], self.indices[entries], indptr, self.n_columns)

    def row_numbers(self) -> Array:
        """The row of each kept entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def with_data(self, data: Array) -> SparseMatrix:
        """Other numbers in the same places."""
        return SparseMatrix(data, self.indices, self.indptr, self.n_columns)

    def keep(self, mask: Array) -> SparseMatrix:
        """The same rows with only the entries where `mask` (nnz,) is true."""
        before = np.concatenate([[0], np.cumsum(mask)])
        return SparseMatrix(self.data[mask], self.indices[mask], before[self.indptr], self.n_columns)

    def columns(self, wanted: Array) -> SparseMatrix:
        """The columns `wanted` (rising numbers) alone, numbered anew."""
        if len(wanted) == self.n_columns:
            return self
        place = np.full(self.n_columns, -1, dtype=np.int32)
        place[wanted] = np.arange(len(wanted), dtype=np.int32)
        at = place[self.indices]
        kept = self.keep(at >= 0)
        return SparseMatrix(kept.data, at[at >= 0], kept.indptr, len(wanted))

    def toarray(self) -> Array:
        """All entries, zeros too: (m, d) in C order."""
        dense = np.zeros(self.shape, dtype=self.dtype)
        dense[self.row_numbers(), self.indices] = self.data
        return dense

    def settled(self) -> SparseMatrix:
        """The same matrix with contiguous arrays at aligned addresses."""
        kept = (self.data, self.indices, self.indptr)
        data, indices, indptr = (np.require(a, None, ["C_CONTIGUOUS", "ALIGNED"]) for a in kept)
        return SparseMatrix(data, indices, indptr, self.n_columns)


def pointers_of(lengths: Array) -> Array:
    """indptr of rows with so many kept entries."""
    indptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def stack(pieces: Sequence[SparseMatrix]) -> SparseMatrix:
    """Matrices with the same columns, one below the other."""
    if len(pieces) == 1:
        return pieces[0]
    data, indices = (np.concatenate([getattr(p, name) for p in pieces]) for name in ("data", "indices"))
    indptr = pointers_of(np.concatenate([np.diff(p.indptr) for p in pieces]))
    return SparseMatrix(data, indices, indptr, pieces[0].n_columns)
