"""How a batch's gradient changes the weights: stochastic gradient descent as written, with Nesterov's look ahead, and Adam."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from assay.compiled.decorator import inlined, inner
from assay.compiled.simd.memory import data_pointer
from assay.compiled.simd.networks import NARROW, adapt_lanes

SGD, ADAM = range(2)


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
