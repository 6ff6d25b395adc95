"""A mini-batch whose pieces are computed apart and whose weights are changed elsewhere: the steps of `epoch`, one at a time, with the same bits."""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.compiled.simd.memory import data_pointer
from assay.loops.network.piece import there_and_back
from assay.loops.network.rules import change
from assay.loops.network.summing import ROOM, sum_pieces


@jit
def team_gradient(  # type: ignore[no-untyped-def]
    X,
    codes,
    targets,
    c,
    order,
    start,
    many,
    pieces,
    leader,
    last,
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
    dropout,
    seed,
    begun,
    sums,
):  # type: ignore[no-untyped-def]
    """Of the batch order[start …] of `many` rows in so many pieces: the gradients of pieces leader … last − 1 added up in G[: size], where `leader` is a multiple
    of a power of two that is at least last − leader; sums[p] = (Σ c loss, Σ c [wrong]) of each. G has room for these pieces, Z, A, D, S for one."""
    size = len(P)
    g_, z_, a_, d_, s_, p_, t_ = (
        data_pointer(G),
        data_pointer(Z),
        data_pointer(A),
        data_pointer(D),
        data_pointer(S),
        data_pointer(P),
        data_pointer(turned),
    )
    rows_, codes_, targets_, c_, x_ = (
        data_pointer(order),
        data_pointer(codes),
        data_pointer(targets),
        data_pointer(c),
        data_pointer(X),
    )
    given = np.empty(1, dtype=P.dtype)
    given[0] = 1.0 / (1.0 - dropout)
    times, share = given[0], 1.0 / many
    for p in range(leader, last):
        first, stop = start + many * p // pieces, start + many * (p + 1) // pieces
        total, wrong = there_and_back(
            x_, X.shape[1], rows_, first, stop, codes_, targets_, c_, share, real, wide, used, weights, biases, units, what, loss,
            bias, outputs, p_, t_, z_, a_, d_, s_, g_, (p - leader) * size, dropout, times, seed, begun, p,
        )  # fmt: skip
        sums[p - leader, 0] = total
        sums[p - leader, 1] = wrong
    room = np.empty(ROOM, dtype=P.dtype)
    sum_pieces(g_, g_, 0, last - leader, size, room)


@jit
def change_weights(P, M, V, G, decays, numbers, nesterov, how, many, begun):  # type: ignore[no-untyped-def]
    """Change the weights by the gradient of a batch of `many` rows. numbers: rate, penalty, momentum, β₁, β₂, ε; begun: batches before."""
    size = len(P)
    p_, m_, v_, g_, decay_ = data_pointer(P), data_pointer(M), data_pointer(V), data_pointer(G), data_pointer(decays)
    given = np.empty_like(numbers)  # numbers of the width of all others
    change(p_, m_, v_, g_, size, decay_, numbers, given, how, nesterov, 1.0 / many, begun + 1)
