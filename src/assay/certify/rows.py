"""What a checker reads: blocks of plain arrays. Nothing that fits a model uses this page, so that no fault of theirs is shared.

What several claims about the same rows share is made once (`once`). Draws are made again by splitmix64 (Steele, Lea and Flood 2014) of a seed and
a number, as a fit draws its rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from assay.certify.claim import Claim

Array = NDArray[Any]
Floats = NDArray[Any]  # float64 or float32
Made = TypeVar("Made")

_known: WeakKeyDictionary[CheckedRows, tuple[bytes, Any]] = WeakKeyDictionary()
GOLDEN, STREAM = np.uint64(0x9E3779B97F4A7C15), 0xD1342543DE82EF95
A, B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
WORD = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class CsrBlock:
    """Sparse rows: X[i, indices[a:b]] = data[a:b] with a, b = indptr[i], indptr[i + 1]; every other entry is zero."""

    data: Array
    indices: Array
    indptr: Array
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.n_columns

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice | Array) -> CsrBlock:
        """Some rows, by a slice, a mask or their numbers."""
        at = np.arange(len(self))[rows]
        length = self.indptr[at + 1] - self.indptr[at]
        indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        kept = np.arange(indptr[-1]) + np.repeat(self.indptr[at] - indptr[:-1], length)
        return CsrBlock(self.data[kept], self.indices[kept], indptr, self.n_columns)

    def row_numbers(self) -> Array:
        """The row of each kept entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def with_data(self, data: Array) -> CsrBlock:
        """Other numbers in the same places."""
        return CsrBlock(data, self.indices, self.indptr, self.n_columns)

    def columns(self, wanted: Array) -> CsrBlock:
        """The columns `wanted` (rising numbers) alone, numbered anew."""
        place = np.full(self.n_columns, -1)
        place[wanted] = np.arange(len(wanted))
        at = place[self.indices]
        length = np.bincount(self.row_numbers()[at >= 0], minlength=len(self))
        indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        return CsrBlock(self.data[at >= 0], at[at >= 0], indptr, len(wanted))

    def toarray(self) -> Array:
        """All entries, zeros too."""
        dense = np.zeros(self.shape, dtype=self.data.dtype)
        dense[self.row_numbers(), self.indices] = self.data
        return dense


class RowBlock(NamedTuple):
    """Some consecutive rows: X (m, d), an array or a `CsrBlock`; y (m,), w (m,); the first row's number."""

    X: Any
    y: Array | None
    w: Array | None
    start: int


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """The rows that a claim speaks of. `read()` gives all blocks in order, as often as it is called.

    `read_targets` gives targets and weights alone, where that is cheaper. `columns_off` (d,): what float64 puts each column off by
    where it is computed; `extended`: here it was in numbers of more digits.
    """

    read: Callable[[], Iterator[RowBlock]]
    n_columns: int
    n_rows: int | None = None
    sparse: bool = False
    read_targets: Callable[[], Iterator[RowBlock]] | None = None
    columns_off: Floats | None = None
    extended: bool = False

    def blocks(self) -> Iterator[RowBlock]:
        """All blocks in order."""
        return self.read()

    def targets(self) -> Iterator[RowBlock]:
        """Targets and weights, in pieces of any length."""
        return self.read() if self.read_targets is None else self.read_targets()


def times(X: Any, w: Floats) -> Floats:
    """X·w for dense or sparse rows, w (d,) or (d, K)."""
    if not isinstance(X, CsrBlock):
        return np.asarray(X @ w)
    W = w if w.ndim == 2 else w[:, None]
    out = [np.bincount(X.row_numbers(), X.data * column[X.indices], minlength=len(X)) for column in W.T]
    return np.stack(out, axis=1) if w.ndim == 2 else out[0]


def back(X: Any, r: Floats) -> Floats:
    """Xᵀ·r for dense or sparse rows, r (n,) or (n, K)."""
    if not isinstance(X, CsrBlock):
        return np.asarray(X.T @ r)
    R = r if r.ndim == 2 else r[:, None]
    rows = X.row_numbers()
    out = [np.bincount(X.indices, X.data * column[rows], minlength=X.shape[1]) for column in R.T]
    return np.stack(out, axis=1) if r.ndim == 2 else out[0]


def sizes(X: Any) -> Any:
    """|x| of every entry."""
    return X.with_data(np.abs(X.data)) if isinstance(X, CsrBlock) else np.abs(X)


def codes_of(y: Array, classes: list[Any]) -> Array:
    """The number of each label among the classes; a label that is none of them is refused."""
    codes = np.full(len(y), -1)
    for k, label in enumerate(classes):
        codes[y == label] = k
    if (codes < 0).any():
        raise ValueError("the rows hold classes that the witness does not know")
    return codes


class CountedRows(NamedTuple):
    """All rows of positive weight: X, target (codes or numbers), weights, and their numbers in the whole table of n rows."""

    X: Floats
    y: Floats
    w: Floats
    number: Array
    n: int


def counted_rows(rows: CheckedRows, classes: list[Any] | None) -> CountedRows:
    """The rows of positive weight as one table; classes: None for a target of numbers."""
    blocks = list(rows.blocks())
    X = np.concatenate([np.asarray(b.X, dtype=np.float64) for b in blocks])
    w = np.concatenate([np.ones(len(b.X)) if b.w is None else b.w for b in blocks])
    if any(b.y is None for b in blocks):
        raise ValueError("the rows have no target")
    y = np.concatenate([np.asarray(b.y) for b in blocks])
    there = w > 0
    target = y[there] if classes is None else codes_of(y[there], classes)
    return CountedRows(X[there], target.astype(np.float64), w[there], np.flatnonzero(there), len(X))


def once(make: Callable[[dict[str, Any], CheckedRows], Made], claim: Claim, rows: CheckedRows) -> Made:
    """make(witness, rows), or what it gave for the same witness and rows the last time."""
    mark = _mark(claim.witness)
    known = _known.get(rows)
    if known is None or known[0] != mark:
        known = (mark, make(claim.witness, rows))
        _known[rows] = known
    made: Made = known[1]
    return made


def _mark(witness: dict[str, Any]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for key in sorted(witness):
        value = witness[key]
        if isinstance(value, np.ndarray):
            digest.update(f"{key}{value.dtype}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
        else:
            digest.update(f"{key}{value!r}".encode())
    return digest.digest()


def mixed(z: Array) -> Array:
    """The words mixed, bit for bit one to one."""
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * A
        z = (z ^ (z >> np.uint64(27))) * B
        z ^= z >> np.uint64(31)
    return z


def keys(numbers: Array, seed: int) -> Array:
    """A word of each number (unsigned): word n + 1 of the stream that the seed begins."""
    with np.errstate(over="ignore"):
        return mixed((numbers + np.uint64(int(seed) * STREAM & WORD) + np.uint64(1)) * GOLDEN)


def row_keys(n: int, seed: int) -> Array:
    """The words of rows 0 … n − 1."""
    return keys(np.arange(n, dtype=np.uint64), seed)


def between_0_and_1(words: Array) -> Array:
    """The first 53 bits of each word as a fraction, 0 ≤ u < 1."""
    u: Array = (words >> np.uint64(11)).astype(np.float64) / 2.0**53
    return u


def content_keys(X: Array, seed: int, dtype: type) -> Array:
    """A word of each row's numbers as they are in `dtype`: column after column is mixed in; −0 counts as 0."""
    bits = np.uint32 if dtype is np.float32 else np.uint64
    words = np.full(len(X), np.uint64(int(seed) & WORD))
    with np.errstate(over="ignore"):
        for j in range(X.shape[1]):
            column: Array = X[:, j].astype(dtype)
            column[column == 0] = 0
            words = keys(words ^ column.view(bits).astype(np.uint64), j)
    return words
