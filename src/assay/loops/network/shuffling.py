"""The order of an epoch: rows shuffled by a key, the same wherever they lie."""

from __future__ import annotations

import numpy as np

from assay.compiled import inner, jit
from assay.loops.network.dropping import STEP, key_of, mixed

HALF = np.uint64(32)


@inner
def shuffle(rows, order, seed, epoch, start):  # type: ignore[no-untyped-def]
    """order: the numbers `rows` in an order drawn by seed, epoch and the number of the block's first row (Fisher and Yates, from the inside)."""
    key = key_of(seed, epoch, start, 0)
    for i in range(len(rows)):
        j = np.int64(((mixed(key + np.uint64(i) * STEP) >> HALF) * np.uint64(i + 1)) >> HALF)
        order[i] = order[j]
        order[j] = rows[i]


@jit
def shuffled(rows, seed, epoch, start):  # type: ignore[no-untyped-def]
    """The order of one epoch."""
    order = np.empty_like(rows)
    shuffle(rows, order, seed, epoch, start)
    return order
