"""What a mini-batch is made of: the order of an epoch, rows brought together, units left out, and the sum of its pieces' gradients.

*Dropout*: hidden units are left out by chance, and the others count for as much more. Which ones depends on a key and a unit's place alone.

*Order*: rows are shuffled by a key, the same wherever they lie. They are standardised on their way to the loops (`fill`), and brought together NARROW
numbers at a time (`bring`).

*Sums*: the gradients of a batch's pieces are added like a tournament: neighbours first, then neighbouring pairs, and so on. 2, 4, 8, … pieces that begin at
a multiple of their number are a branch of that tree, whose sum may come from elsewhere with the same bits.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.memory import data_pointer
from assay.compiled.simd.networks import NARROW, copy_lanes

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
HALF = np.uint64(32)
STRETCH = 256  # weights at a time, whose sums on the way stay near the processor
DEEP = 40  # rounds of the tournament, of more pieces than there can be
ROOM = STRETCH * DEEP


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


@inner
def bring(x, d, rows, first, many, m, A, at, wide):  # type: ignore[no-untyped-def]
    """Rows rows[first …] of x, of d numbers (a multiple of NARROW), to A[at …], with rows of zeros up to m. Addresses."""
    for i in range(many):
        row, to = rows[first + i] * d, at + i * wide
        for j in range(0, d, NARROW):
            copy_lanes(x, row + j, A, to + j)
    for i in range(many, m):
        to = at + i * wide
        for j in range(d):
            A[to + j] = 0.0


@inner
def sum_pieces(S, G, at, pieces, size, room):  # type: ignore[no-untyped-def]
    """S[k] = the sum of G[at + p size + k] over the pieces p. Addresses; `room`: an array of ROOM numbers, which the caller holds; S may be the first piece."""
    if pieces == 2:
        for k in range(size):
            S[k] = G[at + k] + G[at + size + k]
        return
    if pieces <= 3:  # the tournament is their order
        for k in range(size):
            S[k] = G[at + k]
        for p in range(1, pieces):
            other = at + p * size
            for k in range(size):
                S[k] += G[other + k]
        return
    held = data_pointer(room)
    for begin in range(0, size, STRETCH):
        n = min(STRETCH, size - begin)
        depth = 0  # sums on the way that wait for their neighbour
        for p in range(pieces):
            source, to = at + p * size + begin, depth * STRETCH
            for k in range(n):
                held[to + k] = G[source + k]
            played = p
            while played % 2 == 1:
                to -= STRETCH
                depth -= 1
                for k in range(n):
                    held[to + k] += held[to + STRETCH + k]
                played //= 2
            depth += 1
        for last in range(depth - 1, 0, -1):
            to = (last - 1) * STRETCH
            for k in range(n):
                held[to + k] += held[to + STRETCH + k]
        for k in range(n):
            S[begin + k] = held[k]


@jit(error_model="numpy")
def fill(X, mean, scale, out):  # type: ignore[no-untyped-def]
    """out[i, j] = (x_ij − mean_j) / scale_j, in float64 before it is rounded: the columns of X at the beginning of the wider rows of out."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = (X[i, j] - mean[j]) / scale[j]
