"""Hashes of what rows hold: a draw by them does not depend on the order of the rows, nor on how often one is repeated."""

from __future__ import annotations

import numpy as np

from assay.engines.split import keys_of
from assay.numerics import Array

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
