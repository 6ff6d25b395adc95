"""The fingerprint of the rows that a model saw: a fold like any other, so the same on every engine.

A block's columns are hashed in the loop that reads them anyway; a leaf digests those hashes with target and weights, and
leaves are joined pairwise. Equal fingerprints mean equal rows in equal order (by accident otherwise: 1 in 2⁶⁴ or so).
"""

from __future__ import annotations

import hashlib
import sys

import numpy as np

from assay.engines.csr import SparseMatrix
from assay.engines.derived import keys_of
from assay.numerics import Array

FEW = 20_000  # numbers that NumPy hashes in less time than it takes to load a compiled loop
SIZE = 16
LANES = 64


def bits(X: Array) -> tuple[Array, int]:
    """The bit patterns of a block of numbers, and the shift that the hash loop needs for their width."""
    return (X.view(np.uint32), 32) if X.dtype.itemsize == 4 else (X.view(np.uint64), 0)


def column_hashes(X: Array) -> Array:
    """Hash each column of a block (m, d)."""
    U, shift = bits(X)
    if U.size <= FEW and "numba" not in sys.modules:
        return _mix_few(U, shift)
    from assay.compiled.mixing import mix_rows

    h = np.zeros(X.shape[1], dtype=np.uint64)
    mix_rows(U, shift, 0, h)
    return h


def _mix_few(U: Array, shift: int) -> Array:
    """As `mix_rows`, whole numbers being exact: a model that needs no other loop need not load the compiler for this one."""
    x = U.astype(np.uint64)
    key = np.arange(1, len(U) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    v = (x | x << np.uint64(shift)) ^ key[:, None]
    found: Array = ((v & np.uint64(0xFFFFFFFF)) * (v >> np.uint64(32)) + x).sum(axis=0, dtype=np.uint64)
    return found


def leaf_of(X: Array | SparseMatrix, target: Array | None, w: Array | None) -> bytes:
    """The digest of one block, whose columns (or, of sparse rows, whose CSR arrays) are hashed here."""
    if not isinstance(X, SparseMatrix):
        return leaf(column_hashes(X), X, target, w)
    hashes = (_column_hash(a) for a in (X.indptr, X.indices, X.data))
    return leaf(b"|".join((b"csr", *hashes)), X, target, w)


def leaf(hashes: Array | bytes, X: Array | SparseMatrix, target: Array | None, w: Array | None) -> bytes:
    """The digest of one block: the hashes of its numbers, its shape, target (numbers or codes) and weights."""
    digest = hashlib.blake2b(digest_size=SIZE)
    digest.update(f"{X.shape}{X.dtype.str}".encode())
    digest.update(hashes if isinstance(hashes, bytes) else hashes.tobytes())
    for column in (target, w):
        if column is not None:
            kept = column.dtype in (np.float64, np.int64)
            digest.update(b"|" + _column_hash(np.ascontiguousarray(column, dtype=None if kept else np.float64)))
    return digest.digest()


def _column_hash(values: Array) -> bytes:
    """A single column is hashed as rows of LANES numbers: wide loops are the fast ones."""
    whole = len(values) // LANES * LANES
    return column_hashes(values[:whole].reshape(-1, LANES)).tobytes() + values[whole:].tobytes()


def join(left: bytes, right: bytes) -> bytes:
    """The digest of two neighbouring stretches of rows."""
    return hashlib.blake2b(left + right, digest_size=SIZE).digest()


# Hashes of what rows hold: a draw by them does not depend on the order of the rows, nor on how often one is repeated.

TILE = 1 << 13  # rows hashed at a time: their keys stay near the processor


def content_keys(X: Array, seed: int, dtype: type = np.float64) -> Array:
    """A 64-bit hash of the numbers of each row, as they are in `dtype` (float64 or float32).

    >>> a, b, c = content_keys(np.array([[1.0, 0.0], [1.0, -0.0], [0.0, 1.0]]), 7)
    >>> bool(a == b), bool(a == c)
    (True, False)
    """
    keys = np.full(len(X), np.uint64(seed & 0xFFFFFFFFFFFFFFFF))
    for a in range(0, len(X), TILE):
        with np.errstate(over="ignore"):
            numbers = np.ascontiguousarray((X[a : a + TILE].astype(dtype) + dtype(0)).T)  # −0 + 0 is 0
        for j, column in enumerate(numbers.view(np.uint32 if dtype is np.float32 else np.uint64)):
            keys[a : a + TILE] = keys_of(keys[a : a + TILE] ^ column.astype(np.uint64), j)
    return keys
