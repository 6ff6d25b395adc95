"""Epochs of mini-batches, compiled whole: shuffle, gather, forward, backward, update, and on to the next batch.

A batch is cut into pieces whose number depends on its size alone; every piece has a gradient of its own, and they are added in a fixed order (`summing`), so it does not matter how
many threads share the pieces. Each thread adds up all of them and changes weights of its own, the same in all threads: weights that one thread changes and
another reads take longer to go from core to core than to compute (10 µs a batch of 5000 weights). Gradients of a batch and of the next one lie apart, so that threads wait for
each other once a batch (`barrier`).

A batch's gradient changes the weights by stochastic gradient descent as written, with Nesterov's look ahead, or by Adam.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.simd.memory import barrier, data_pointer, keep_alive
from assay.compiled.simd.networks import NARROW, SHORT, adapt_lanes
from assay.families.networks.loops.backprop import (
    Dropout,
    Parameters,
    example_pointers,
    forward,
    layer_pointers,
    there_and_back,
    workspace_pointers,
)
from assay.families.networks.loops.minibatch import ROOM, bring, shuffle, sum_pieces

SGD, ADAM = range(2)


class BatchPlan(NamedTuple):
    """Rows `train` of which an epoch takes `batch` at a time, in so many pieces whose units lie at `units`, those of the next piece `work` numbers on. shuffles:
    in an order of its own each, drawn by place: seed, the first epoch's number and that of the block's first row."""

    train: Any
    shuffles: bool
    place: Any
    batch: int
    pieces: int
    units: Any
    work: int


class Team(NamedTuple):
    """Thread `rank` of `ranks`, and the flags by which they wait for each other."""

    rank: int
    ranks: int
    flags: Any


@inlined
def _own_weights(weights, rank):  # type: ignore[no-untyped-def]
    """Of arrays with a row for each thread."""
    return Parameters(
        data_pointer(weights.P[rank]),
        data_pointer(weights.transposed[rank]),
        data_pointer(weights.M[rank]),
        data_pointer(weights.V[rank]),
        data_pointer(weights.summed[rank]),
        weights.size,
    )


@jit
def run_epochs(rows, plan, layers, room, weights, rule, team, sums, kept):  # type: ignore[no-untyped-def]
    """Passes over the rows of a plan by one thread of a team: one for each row of sums. `rows.rows` receives the order of each. sums[e, 2 p], sums[e, 2 p + 1]: Σ c loss
    and Σ c [wrong] of the pieces p in pass e; kept[e]: P, M and V after it, where there is room. Arrays of `weights` have a row for each thread. Returns the batches
    since the beginning, or BROKEN where another thread has failed."""
    rank, ranks, pieces, size = team.rank, team.ranks, plan.pieces, weights.size
    order, train, units, place = rows.rows, plan.train, plan.units, plan.place
    n = len(train)
    examples, net, work, update = (
        example_pointers(rows),
        layer_pointers(layers),
        workspace_pointers(room),
        update_pointers(rule),
    )
    own, flags = _own_weights(weights, rank), data_pointer(team.flags)
    sum_room = np.empty(ROOM, dtype=weights.P.dtype)
    places = np.empty(len(units), dtype=np.int64)
    given = np.empty_like(rule.numbers)  # numbers of the width of all others
    given[2] = 1.0 / (1.0 - rule.dropout)
    times = given[2]
    passed = 0
    lying = 0  # where the gradients of this batch begin
    begun = rule.begun
    for e in range(len(sums)):
        if rank == 0:
            if plan.shuffles:
                shuffle(train, order, place[0], place[1] + e, place[2])
            else:
                order[:] = train
        passed = barrier(flags, rank, ranks, passed)
        if passed < 0:
            return passed
        for start in range(0, n, plan.batch):
            many = min(plan.batch, n - start)
            share = 1.0 / many
            for p in range(rank, pieces, ranks):
                first, stop = start + many * p // pieces, start + many * (p + 1) // pieces
                for layer in range(len(units)):
                    places[layer] = p * plan.work + units[layer]
                dropout = Dropout(rule.dropout, times, rule.seed, begun, p)
                total, wrong = there_and_back(
                    net, places, examples, first, stop, share, own, work, lying + p * size, dropout
                )
                sums[e, 2 * p] += total
                sums[e, 2 * p + 1] += wrong
            passed = barrier(flags, rank, ranks, passed)
            if passed < 0:
                return passed
            begun += 1
            sum_pieces(own.summed, work.G, lying, pieces, size, sum_room)
            if ranks > 1:
                lying = pieces * size - lying
            change(own, update, given, share, begun)
            for layer in range(2, net.last + 1):
                turn(own.P, own.transposed, net.weights[layer], net.wide[layer - 1], net.wide[layer])
        if rank == ranks - 1 and e < len(kept):  # while the first one draws the next order
            for k in range(size):
                kept[e, 0, k] = own.P[k]
                kept[e, 1, k] = own.M[k]
                kept[e, 2, k] = own.V[k]
    return begun


@inner
def turn(P, T, at, before, after):  # type: ignore[no-untyped-def]
    """T: the weights at P[at …] transposed."""
    for i in range(before):
        for j in range(after):
            T[at + j * before + i] = P[at + i * after + j]


@inlined
def _no_dropout(like):  # type: ignore[no-untyped-def]
    none = np.int64(0)
    return Dropout(0.0, like, none, none, none)


@jit
def add_gradient(rows, layers, units, P, transposed, room, sums):  # type: ignore[no-untyped-def]
    """sums += (Σ c loss, Σ c [wrong]) of the rows `rows.rows`, and G becomes the gradient of the first."""
    own = Parameters(
        data_pointer(P), data_pointer(transposed), data_pointer(P), data_pointer(P), data_pointer(P), len(P)
    )
    total, wrong = there_and_back(
        layer_pointers(layers),
        units,
        example_pointers(rows),
        0,
        len(rows.rows),
        1.0,
        own,
        workspace_pointers(room),
        0,
        _no_dropout(rows.X[0, 0]),
    )
    sums[0] += total
    sums[1] += wrong


@jit
def give_outputs(X, first, stop, layers, units, P, room, F):  # type: ignore[no-untyped-def]
    """F[first …] (n, outputs): the outputs of rows first … stop − 1."""
    n = stop - first
    m = -(-n // SHORT) * SHORT
    rows = np.arange(first, stop)
    net, work = layer_pointers(layers), workspace_pointers(room)
    bring(data_pointer(X), X.shape[1], data_pointer(rows), 0, n, m, work.A, units[0], net.wide[0])
    forward(net, units, data_pointer(P), work, m, _no_dropout(X[0, 0]))
    A, at, wide = work.A, units[net.last], net.wide[net.last]
    for i in range(n):
        for j in range(F.shape[1]):
            F[first + i, j] = A[at + i * wide + j]
    keep_alive((rows,))


class Update(NamedTuple):
    """How weights are changed: numbers: rate, penalty, momentum, β₁, β₂, ε; decays: 1 where a weight is penalised; the share of hidden units that are
    left out, drawn by the seed; begun: batches before."""

    how: int
    numbers: Any
    decays: Any
    nesterov: bool
    dropout: float
    seed: int
    begun: int


@inlined
def update_pointers(update):  # type: ignore[no-untyped-def]
    return Update(
        update.how,
        data_pointer(update.numbers),
        data_pointer(update.decays),
        update.nesterov,
        update.dropout,
        update.seed,
        update.begun,
    )


@inner
def descend(weights, decays, rate, penalty, momentum):  # type: ignore[no-untyped-def]
    """Stochastic gradient descent with momentum, as written."""
    P, M, G = weights.P, weights.M, weights.summed
    for k in range(weights.size):
        M[k] = momentum * M[k] - rate * (G[k] + penalty * decays[k] * P[k])
        P[k] += M[k]


@inner
def descend_ahead(weights, decays, rate, penalty, momentum):  # type: ignore[no-untyped-def]
    """The same with Nesterov's look ahead."""
    P, M, G = weights.P, weights.M, weights.summed
    for k in range(weights.size):
        g = rate * (G[k] + penalty * decays[k] * P[k])
        M[k] = momentum * M[k] - g
        P[k] += momentum * M[k] - g


@inner
def adapt(weights, decays, rates):  # type: ignore[no-untyped-def]
    """Adam, NARROW weights at a time. rates: rate, penalty, β₁, β₂, ε."""
    for k in range(0, weights.size, NARROW):
        adapt_lanes(weights.P, weights.M, weights.V, weights.summed, decays, k, rates)


@inner
def change(weights, update, given, share, begun):  # type: ignore[no-untyped-def]
    """Change the weights by the gradient of a batch, the begun-th, whose rows are counted `share` each; given: room for two numbers of the same width."""
    numbers, decays = update.numbers, update.decays
    rate = numbers[0]
    given[0] = numbers[1] * share
    if update.how == ADAM:
        beta1, beta2 = numbers[3], numbers[4]
        given[1] = rate * math.sqrt(1 - float(beta2) ** begun) / (1 - float(beta1) ** begun)
        adapt(weights, decays, (given[1], given[0], beta1, beta2, numbers[5]))
    elif update.nesterov:
        descend_ahead(weights, decays, rate, given[0], numbers[2])
    else:
        descend(weights, decays, rate, given[0], numbers[2])
