"""A mini-batch whose pieces are computed apart and whose weights are changed elsewhere: the steps of `epoch`, one at a time, with the same bits."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from assay.loops.network.epoch import ADAM
from assay.loops.network.gathering import bring
from assay.loops.network.passes import backward, forward, judge
from assay.loops.network.products import SHORT
from assay.loops.network.rules import adapt, descend, descend_ahead
from assay.loops.network.summing import ROOM, sum_pieces
from assay.loops.tree.bare import bare


@njit(nogil=True, cache=True)
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
    g_, z_, a_, d_, s_, p_, t_ = bare(G), bare(Z), bare(A), bare(D), bare(S), bare(P), bare(turned)
    rows_, codes_, targets_, c_, x_ = bare(order), bare(codes), bare(targets), bare(c), bare(X)
    given = np.empty(1, dtype=P.dtype)
    given[0] = 1.0 / (1.0 - dropout)
    times, share = given[0], 1.0 / many
    for p in range(leader, last):
        first, stop = start + many * p // pieces, start + many * (p + 1) // pieces
        m = -(-(stop - first) // SHORT) * SHORT
        bring(x_, X.shape[1], rows_, first, stop - first, m, a_, units[0], wide[0])
        forward(real, wide, used, weights, biases, units, what, p_, z_, a_, m, dropout, times, seed, begun, p)
        total, wrong = judge(
            loss, outputs, wide, units, codes_, targets_, c_, rows_, first, stop - first, share, a_, d_, m
        )
        sums[p - leader, 0] = total
        sums[p - leader, 1] = wrong
        at = (p - leader) * size
        backward(
            real,
            wide,
            used,
            weights,
            biases,
            units,
            what,
            t_,
            z_,
            a_,
            d_,
            s_,
            g_,
            at,
            m,
            bias,
            dropout,
            times,
            seed,
            begun,
            p,
        )
    room = np.empty(ROOM, dtype=P.dtype)
    sum_pieces(g_, g_, 0, last - leader, size, room)


@njit(nogil=True, cache=True)
def change_weights(P, M, V, G, decays, numbers, nesterov, how, many, begun):  # type: ignore[no-untyped-def]
    """Change the weights by the gradient of a batch of `many` rows. numbers: rate, penalty, momentum, β₁, β₂, ε; begun: batches before."""
    size = len(P)
    p_, m_, v_, g_, decay_ = bare(P), bare(M), bare(V), bare(G), bare(decays)
    given = np.empty_like(numbers)  # numbers of the width of all others
    given[0] = numbers[1] * (1.0 / many)
    if how == ADAM:
        given[1] = numbers[0] * math.sqrt(1 - float(numbers[4]) ** (begun + 1)) / (1 - float(numbers[3]) ** (begun + 1))
        adapt(p_, m_, v_, g_, size, decay_, given[1], given[0], numbers[3], numbers[4], numbers[5])
    elif nesterov:
        descend_ahead(p_, m_, g_, size, decay_, numbers[0], given[0], numbers[2])
    else:
        descend(p_, m_, g_, size, decay_, numbers[0], given[0], numbers[2])
