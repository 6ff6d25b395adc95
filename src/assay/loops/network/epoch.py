"""An epoch of mini-batches, compiled whole: gather, forward, backward, update, and on to the next batch.

A batch is cut into pieces whose number depends on its size alone; every piece has a gradient of its own, and they are added in order, so it does not matter how
many threads share the pieces. Threads wait for each other twice a batch (`meeting`).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from assay.loops.network.meeting import meet
from assay.loops.network.passes import backward, forward, judge
from assay.loops.network.products import SHORT
from assay.loops.tree.bare import bare
from assay.loops.tree.inner import inner

SGD, ADAM = range(2)


@inner
def add_pieces(G, pieces, size, first, stop):  # type: ignore[no-untyped-def]
    """G[k] += the gradients of the other pieces, in their order."""
    for p in range(1, pieces):
        at = p * size
        for k in range(first, stop):
            G[k] += G[at + k]


@inner
def descend(P, M, G, first, stop, decays, rate, penalty, momentum):  # type: ignore[no-untyped-def]
    """Stochastic gradient descent with momentum, as written."""
    for k in range(first, stop):
        M[k] = momentum * M[k] - rate * (G[k] + penalty * decays[k] * P[k])
        P[k] += M[k]


@inner
def descend_ahead(P, M, G, first, stop, decays, rate, penalty, momentum):  # type: ignore[no-untyped-def]
    """The same with Nesterov's look ahead."""
    for k in range(first, stop):
        g = rate * (G[k] + penalty * decays[k] * P[k])
        M[k] = momentum * M[k] - g
        P[k] += momentum * M[k] - g


@inner
def adapt(P, M, V, G, first, stop, decays, rate, penalty, one, beta1, beta2, small):  # type: ignore[no-untyped-def]
    """Adam. `one`: 1 of the width of all others."""
    for k in range(first, stop):
        g = G[k] + penalty * decays[k] * P[k]
        M[k] = beta1 * M[k] + (one - beta1) * g
        V[k] = beta2 * V[k] + (one - beta2) * g * g
        P[k] -= rate * M[k] / (np.sqrt(V[k]) + small)


@inner
def bring(x, d, rows, first, many, m, A, at, wide):  # type: ignore[no-untyped-def]
    """Rows rows[first …] of x to A[at …], with rows of zeros up to m."""
    for i in range(m):
        to = at + i * wide
        if i < many:
            row = rows[first + i] * d
            for j in range(d):
                A[to + j] = x[row + j]
        else:
            for j in range(d):
                A[to + j] = 0.0


@njit(nogil=True, cache=True)
def run_epoch(  # type: ignore[no-untyped-def]
    X,
    codes,
    targets,
    c,
    order,
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
):  # type: ignore[no-untyped-def]
    """One pass over the rows in `order` by thread `rank` of `ranks`. numbers: rate, penalty, momentum, β₁, β₂, ε. sums[2 p], sums[2 p + 1]: Σ c loss and Σ c [wrong]
    of the pieces p. Returns the batches since the beginning."""
    size, n = len(P), len(order)
    p_, t_, m_, v_, g_, z_, a_, d_, s_ = (
        bare(P),
        bare(turned),
        bare(M),
        bare(V),
        bare(G),
        bare(Z),
        bare(A),
        bare(D),
        bare(S),
    )
    decay_, rows_, codes_, targets_, c_, x_ = bare(decays), bare(order), bare(codes), bare(targets), bare(c), bare(X)
    flags_ = bare(flags)
    rate, penalty, momentum, beta1, beta2, small = (
        numbers[0],
        numbers[1],
        numbers[2],
        numbers[3],
        numbers[4],
        numbers[5],
    )
    own_first, own_stop = size * rank // ranks, size * (rank + 1) // ranks
    places = np.empty(len(units), dtype=np.int64)
    given = np.empty_like(numbers)  # numbers of the width of all others
    given[2] = 1.0 / (1.0 - dropout)
    given[3] = 1.0
    times = given[2]
    met = 0
    for start in range(0, n, batch):
        many = min(batch, n - start)
        share = 1.0 / many
        for p in range(rank, pieces, ranks):
            first, stop = start + many * p // pieces, start + many * (p + 1) // pieces
            m = -(-(stop - first) // SHORT) * SHORT
            for layer in range(len(units)):
                places[layer] = p * work + units[layer]
            bring(x_, X.shape[1], rows_, first, stop - first, m, a_, places[0], wide[0])
            forward(real, wide, used, weights, biases, places, what, p_, z_, a_, m, dropout, times, seed, begun, p)
            total, wrong = judge(
                loss, outputs, wide, places, codes_, targets_, c_, rows_, first, stop - first, share, a_, d_, m
            )
            sums[2 * p] += total
            sums[2 * p + 1] += wrong
            backward(
                wide,
                used,
                weights,
                biases,
                places,
                what,
                t_,
                z_,
                a_,
                d_,
                s_,
                g_,
                p * size,
                m,
                bias,
                dropout,
                times,
                seed,
                begun,
                p,
            )
        met = meet(flags_, rank, ranks, met)
        begun += 1
        add_pieces(g_, pieces, size, own_first, own_stop)
        given[0] = penalty * share
        if how == ADAM:
            given[1] = rate * math.sqrt(1 - float(beta2) ** begun) / (1 - float(beta1) ** begun)
            adapt(p_, m_, v_, g_, own_first, own_stop, decay_, given[1], given[0], given[3], beta1, beta2, small)
        elif nesterov:
            descend_ahead(p_, m_, g_, own_first, own_stop, decay_, rate, given[0], momentum)
        else:
            descend(p_, m_, g_, own_first, own_stop, decay_, rate, given[0], momentum)
        met = meet(flags_, rank, ranks, met)
        if len(wide) > 2:
            for layer in range(2, len(wide)):
                turn(p_, t_, weights[layer], wide[layer - 1], wide[layer], rank, ranks)
            met = meet(flags_, rank, ranks, met)
    return begun


@inner
def turn(P, T, at, before, after, rank, ranks):  # type: ignore[no-untyped-def]
    """T: the weights at P[at …] transposed; a thread's share of them."""
    for i in range(before * rank // ranks, before * (rank + 1) // ranks):
        for j in range(after):
            T[at + j * before + i] = P[at + i * after + j]


@njit(nogil=True, cache=True)
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
    n = stop - first
    m = -(-n // SHORT) * SHORT
    a_, rows = bare(A), np.arange(first, stop)
    bring(bare(X), X.shape[1], bare(rows), 0, n, m, a_, units[0], wide[0])
    forward(real, wide, used, weights, biases, units, what, bare(P), bare(Z), a_, m, 0.0, X[0, 0], 0, 0, 0)
    total, wrong = judge(
        loss, outputs, wide, units, bare(codes), bare(targets), bare(c), bare(rows), 0, n, 1.0, a_, bare(D), m
    )
    backward(
        wide,
        used,
        weights,
        biases,
        units,
        what,
        bare(turned),
        bare(Z),
        a_,
        bare(D),
        bare(S),
        bare(G),
        0,
        m,
        bias,
        0.0,
        X[0, 0],
        0,
        0,
        0,
    )
    sums[0] += total
    sums[1] += wrong


@njit(nogil=True, cache=True)
def give_outputs(X, first, stop, real, wide, used, weights, biases, units, what, P, Z, A, F):  # type: ignore[no-untyped-def]
    """F[first …] (n, outputs): the outputs of rows first … stop − 1."""
    n = stop - first
    m = -(-n // SHORT) * SHORT
    rows = np.arange(first, stop)
    last = len(wide) - 1
    bring(bare(X), X.shape[1], bare(rows), 0, n, m, bare(A), units[0], wide[0])
    forward(real, wide, used, weights, biases, units, what, bare(P), bare(Z), bare(A), m, 0.0, X[0, 0], 0, 0, 0)
    for i in range(n):
        for j in range(F.shape[1]):
            F[first + i, j] = A[units[last] + i * wide[last] + j]
