"""What a mini-batch is made of: the order of an epoch, rows brought together, units left out, and the sum of its pieces' gradients; what a unit makes of
its sum z, for whole arrays; the loss of a row's outputs and whether the answer is wrong; and the slopes of both.

*Dropout*: hidden units are left out by chance, and the others count for as much more. Which ones depends on a key and a unit's place alone.

*Order*: rows are shuffled by a key, the same wherever they lie. They are standardised on their way to the loops (`fill`), and brought together NARROW
numbers at a time (`bring`).

*Sums*: the gradients of a batch's pieces are added like a tournament: neighbours first, then neighbouring pairs, and so on. 2, 4, 8, … pieces that begin at
a multiple of their number are a branch of that tree, whose sum may come from elsewhere with the same bits.

*Activations*: identity z      relu max(0, z)      logistic 1/(1 + e^−z)      tanh      gelu ½z(1 + tanh(√(2/π)(z + 0.044715 z³)))

*Losses*: SOFTMAX −log p_y, p = softmax z; SQUARED ½ Σ_j (z_j − t_j)², SIGNS likewise with t = ±1, +1 for the row's own class; LOG log(1 + e^(−t z)),
one output, t = ±1; HINGE max(0, 1 − t z), one output, max(0, 1 + max_{j≠y} z_j − z_y) of more.
"""

from __future__ import annotations

import math

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.memory import data_pointer
from assay.compiled.simd.networks import (
    NARROW,
    copy_lanes,
    gelu_of,
    gelu_slope_of,
    greatest,
    keep_above,
    logistic_of,
    relu_of,
    slopes,
    tanh_of,
)

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
HALF = np.uint64(32)
STRETCH = 256  # weights at a time, whose sums on the way stay near the processor
DEEP = 40  # rounds of the tournament, of more pieces than there can be
ROOM = STRETCH * DEEP
SOFTMAX, LOG, SQUARED, HINGE, SIGNS = range(5)
IDENTITY, RELU, LOGISTIC, TANH, GELU = range(5)
NAMES = ("identity", "relu", "logistic", "tanh", "gelu")


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


@inner
def row_loss(what, z, at, many, code, target, to, share, d):  # type: ignore[no-untyped-def]
    """Loss of the outputs z[at …]; d[at …] becomes `share` times its slope. Returns (loss, 1.0 where the answer is wrong)."""
    if what == SQUARED:
        loss = 0.0
        for j in range(many):
            off = float(z[at + j]) - float(target[to + j])
            loss += 0.5 * off * off
            d[at + j] = share * off
        return loss, 0.0
    if many == 1:
        x = float(z[at])
        t = 1.0 if code == 1 else -1.0
        wrong = 1.0 if (x > 0) != (code == 1) else 0.0
        if what == HINGE:
            short = 1.0 - t * x
            d[at] = -share * t if short > 0 else 0.0
            return (0.0 if short <= 0 else short), wrong
        if what == SIGNS:
            d[at] = share * (x - t)
            return 0.5 * (x - t) * (x - t), wrong
        e = math.exp(-abs(x))
        p = (e if t * x > 0 else 1.0) / (1.0 + e)  # of the other class
        d[at] = -share * t * p
        return max(0.0, -t * x) + math.log1p(e), wrong
    if what == SOFTMAX:
        total, below, wrong = softmax_loss(z, at, many, code, share, d)
        return math.log(total) + below, wrong
    top, best, rival, second = -np.inf, 0, -1, -np.inf
    for j in range(many):
        x = float(z[at + j])
        if x > top:
            top, best = x, j
        if j != code and x > second:
            second, rival = x, j
    wrong = 1.0 if best != code else 0.0
    if what == SIGNS:
        loss = 0.0
        for j in range(many):
            off = float(z[at + j]) - (1.0 if j == code else -1.0)
            loss += 0.5 * off * off
            d[at + j] = share * off
        return loss, wrong
    short = 1.0 + second - float(z[at + code])
    for j in range(many):
        d[at + j] = 0.0
    if short > 0:
        d[at + rival] = share
        d[at + code] = -share
    return (0.0 if short <= 0 else short), wrong


@inner
def softmax_loss(z, at, many, code, share, d):  # type: ignore[no-untyped-def]
    """(total, below, 1.0 where the answer is wrong): the loss is log(total) + below; d[at …] becomes `share` times its slope."""
    highest = greatest(z, at, many)
    total = slopes(z, at, many, highest, share, d)
    d[at + code] -= share
    own = z[at + code]
    return float(total), float(highest) - float(own), (0.0 if wins(z, at, code, own, highest) else 1.0)


@inner
def wins(z, at, code, own, highest):  # type: ignore[no-untyped-def]
    """Whether the output `own` of class `code` is the first of the greatest."""
    first = own == highest
    for j in range(code):
        first &= z[at + j] != highest
    return first


@inner
def needs_no_sums(what):  # type: ignore[no-untyped-def]
    """Whether φ may be taken in place, since its outputs alone say what its slopes are."""
    return what != GELU


@inner
def activate(what, Z, A, at, many):  # type: ignore[no-untyped-def]
    """A[at + i] = φ(Z[at + i]) for i < many, a multiple of NARROW; addresses, of one array where φ needs no sums."""
    if what == RELU:
        for i in range(at, at + many, NARROW):
            relu_of(Z, A, i)
    elif what == LOGISTIC:
        for i in range(at, at + many, NARROW):
            logistic_of(Z, A, i)
    elif what == TANH:
        for i in range(at, at + many, NARROW):
            tanh_of(Z, A, i)
    elif what == GELU:
        for i in range(at, at + many, NARROW):
            gelu_of(Z, A, i)


@inner
def times_slope(what, Z, A, D, S, at, many):  # type: ignore[no-untyped-def]
    """D[i] *= φ′(Z[i]), by A = φ(Z) where that says it; S: room as large as Z."""
    if what == RELU:
        for i in range(at, at + many, NARROW):
            keep_above(A, D, i)
    elif what == LOGISTIC:
        for i in range(at, at + many):
            D[i] *= A[i] - A[i] * A[i]
    elif what == TANH:
        for i in range(at, at + many):
            D[i] -= D[i] * A[i] * A[i]
    elif what == GELU:
        for i in range(at, at + many, NARROW):
            gelu_slope_of(Z, S, i)
        for i in range(at, at + many):
            D[i] *= S[i]
