"""Draws that a checker makes again: splitmix64 (Steele, Lea and Flood 2014) of a seed and a number, as a fit draws its rows."""

from __future__ import annotations

import numpy as np

from assay.certify.rows import Array

GOLDEN, STREAM = np.uint64(0x9E3779B97F4A7C15), 0xD1342543DE82EF95
A, B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
WORD = (1 << 64) - 1


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
