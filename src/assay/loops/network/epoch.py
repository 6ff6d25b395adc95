"""Epochs of mini-batches, compiled whole: shuffle, gather, forward, backward, update, and on to the next batch.

A batch is cut into pieces whose number depends on its size alone; every piece has a gradient of its own, and they are added in a fixed order (`summing`), so it does not matter how
many threads share the pieces. Each thread adds up all of them and changes weights of its own, the same in all threads: weights that one thread changes and
another reads take longer to go from core to core than to compute (10 µs a batch of 5000 weights). Gradients of a batch and of the next one lie apart, so that threads wait for
each other once a batch (`meeting`).
"""

from __future__ import annotations

import numpy as np

from assay.compiled import inner, jit
from assay.compiled.barrier import barrier
from assay.compiled.simd.memory import data_pointer, keep_alive
from assay.compiled.simd.networks import SHORT
from assay.loops.network.gathering import bring
from assay.loops.network.passes import forward
from assay.loops.network.piece import there_and_back
from assay.loops.network.rules import change
from assay.loops.network.shuffling import shuffle
from assay.loops.network.summing import ROOM, sum_pieces


@jit
def run_epochs(  # type: ignore[no-untyped-def]
    X,
    codes,
    targets,
    c,
    train,
    order,
    shuffles,
    place,
    batch,
    pieces,
    real,
    wide,
    used,
    weights,
    biases,
    units,
    work,
    what,
    loss,
    bias,
    outputs,
    how,
    P,
    turned,
    M,
    V,
    summed,
    G,
    Z,
    A,
    D,
    S,
    decays,
    numbers,
    nesterov,
    dropout,
    seed,
    begun,
    rank,
    ranks,
    flags,
    sums,
    kept,
):  # type: ignore[no-untyped-def]
    """Passes over the rows `train` by thread `rank` of `ranks`: one for each row of sums. shuffles: in an order of its own each, drawn by place: seed, the first
    pass' number and that of the block's first row. numbers: rate, penalty, momentum, β₁, β₂, ε. sums[e, 2 p], sums[e, 2 p + 1]: Σ c loss and Σ c [wrong]
    of the pieces p in pass e; kept[e]: P, M and V after it, where there is room. P, turned, M, V and summed have a row for each thread. Returns the batches
    since the beginning."""
    size, n = P.shape[1], len(train)
    p_, t_, m_, v_, sum_, g_, z_, a_, d_, s_ = (
        data_pointer(P[rank]),
        data_pointer(turned[rank]),
        data_pointer(M[rank]),
        data_pointer(V[rank]),
        data_pointer(summed[rank]),
        data_pointer(G),
        data_pointer(Z),
        data_pointer(A),
        data_pointer(D),
        data_pointer(S),
    )
    decay_, rows_, codes_, targets_, c_, x_ = (
        data_pointer(decays),
        data_pointer(order),
        data_pointer(codes),
        data_pointer(targets),
        data_pointer(c),
        data_pointer(X),
    )
    flags_ = data_pointer(flags)
    room = np.empty(ROOM, dtype=P.dtype)
    places = np.empty(len(units), dtype=np.int64)
    given = np.empty_like(numbers)  # numbers of the width of all others
    given[2] = 1.0 / (1.0 - dropout)
    times = given[2]
    met = 0
    lying = 0  # where the gradients of this batch begin
    for e in range(len(sums)):
        if rank == 0:
            if shuffles:
                shuffle(train, order, place[0], place[1] + e, place[2])
            else:
                order[:] = train
        met = barrier(flags_, rank, ranks, met)
        for start in range(0, n, batch):
            many = min(batch, n - start)
            share = 1.0 / many
            for p in range(rank, pieces, ranks):
                first, stop = start + many * p // pieces, start + many * (p + 1) // pieces
                for layer in range(len(units)):
                    places[layer] = p * work + units[layer]
                total, wrong = there_and_back(
                    x_, X.shape[1], rows_, first, stop, codes_, targets_, c_, share, real, wide, used, weights, biases, places, what, loss,
                    bias, outputs, p_, t_, z_, a_, d_, s_, g_, lying + p * size, dropout, times, seed, begun, p,
                )  # fmt: skip
                sums[e, 2 * p] += total
                sums[e, 2 * p + 1] += wrong
            met = barrier(flags_, rank, ranks, met)
            begun += 1
            sum_pieces(sum_, g_, lying, pieces, size, room)
            if ranks > 1:
                lying = pieces * size - lying
            change(p_, m_, v_, sum_, size, decay_, numbers, given, how, nesterov, share, begun)
            for layer in range(2, len(wide)):
                turn(p_, t_, weights[layer], wide[layer - 1], wide[layer])
        if rank == ranks - 1 and e < len(kept):  # while the first one draws the next order
            for k in range(size):
                kept[e, 0, k] = p_[k]
                kept[e, 1, k] = m_[k]
                kept[e, 2, k] = v_[k]
    return begun


@inner
def turn(P, T, at, before, after):  # type: ignore[no-untyped-def]
    """T: the weights at P[at …] transposed."""
    for i in range(before):
        for j in range(after):
            T[at + j * before + i] = P[at + i * after + j]


@jit
def add_gradient(  # type: ignore[no-untyped-def]
    X,
    codes,
    targets,
    c,
    first,
    stop,
    real,
    wide,
    used,
    weights,
    biases,
    units,
    what,
    loss,
    bias,
    outputs,
    P,
    turned,
    G,
    Z,
    A,
    D,
    S,
    sums,
):  # type: ignore[no-untyped-def]
    """sums += (Σ c loss, Σ c [wrong]) of rows first … stop − 1, and G becomes the gradient of the first."""
    rows = np.arange(first, stop)
    total, wrong = there_and_back(
        data_pointer(X), X.shape[1], data_pointer(rows), 0, stop - first, data_pointer(codes), data_pointer(targets), data_pointer(c), 1.0, real, wide, used, weights, biases, units,
        what, loss, bias, outputs, data_pointer(P), data_pointer(turned), data_pointer(Z), data_pointer(A), data_pointer(D), data_pointer(S), data_pointer(G), 0, 0.0, X[0, 0], 0, 0, 0,
    )  # fmt: skip
    keep_alive((rows,))
    sums[0] += total
    sums[1] += wrong


@jit
def give_outputs(X, first, stop, real, wide, used, weights, biases, units, what, P, Z, A, F):  # type: ignore[no-untyped-def]
    """F[first …] (n, outputs): the outputs of rows first … stop − 1."""
    n = stop - first
    m = -(-n // SHORT) * SHORT
    rows = np.arange(first, stop)
    last = len(wide) - 1
    bring(data_pointer(X), X.shape[1], data_pointer(rows), 0, n, m, data_pointer(A), units[0], wide[0])
    forward(
        real,
        wide,
        used,
        weights,
        biases,
        units,
        what,
        data_pointer(P),
        data_pointer(Z),
        data_pointer(A),
        m,
        0.0,
        X[0, 0],
        0,
        0,
        0,
    )
    for i in range(n):
        for j in range(F.shape[1]):
            F[first + i, j] = A[units[last] + i * wide[last] + j]
    keep_alive((rows,))
