"""Dropout: hidden units are left out by chance, and the others count for as much more. Which ones depends on a key and a unit's place alone."""

from __future__ import annotations

import numpy as np

from assay.compiled import inner

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inner
def mixed(x):  # type: ignore[no-untyped-def]
    """64 bits that depend on all bits of x (splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return x ^ (x >> np.uint64(31))


@inner
def key_of(seed, batch, piece, layer):  # type: ignore[no-untyped-def]
    key = mixed(np.uint64(seed) + STEP)
    key = mixed(key ^ (np.uint64(batch) * STEP))
    return mixed(key ^ ((np.uint64(piece) * np.uint64(64) + np.uint64(layer)) * STEP))


@inner
def stays(key, i, share):  # type: ignore[no-untyped-def]
    """Whether unit i stays, with a chance of 1 − share."""
    return float(mixed(key + np.uint64(i) * STEP) >> np.uint64(11)) * 2.0**-53 >= share


@inner
def drop(A, at, many, key, share, times):  # type: ignore[no-untyped-def]
    """Units that go are 0, others are taken `times` = 1 / (1 − share)."""
    for i in range(many):
        A[at + i] = A[at + i] * times if stays(key, i, share) else A[at + i] * 0


@inner
def drop_slopes(A, D, at, many, key, share, times):  # type: ignore[no-untyped-def]
    """The slopes likewise; outputs become what they were before."""
    for i in range(many):
        if stays(key, i, share):
            D[at + i] *= times
            A[at + i] /= times
        else:
            D[at + i] = A[at + i] * 0
