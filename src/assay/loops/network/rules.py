"""How a batch's gradient changes the weights: stochastic gradient descent as written, with Nesterov's look ahead, and Adam."""

from __future__ import annotations

import math

from assay.compiled import inner
from assay.compiled.simd.networks import NARROW, adapt_lanes

SGD, ADAM = range(2)


@inner
def descend(P, M, G, size, decays, rate, penalty, momentum):  # type: ignore[no-untyped-def]
    """Stochastic gradient descent with momentum, as written."""
    for k in range(size):
        M[k] = momentum * M[k] - rate * (G[k] + penalty * decays[k] * P[k])
        P[k] += M[k]


@inner
def descend_ahead(P, M, G, size, decays, rate, penalty, momentum):  # type: ignore[no-untyped-def]
    """The same with Nesterov's look ahead."""
    for k in range(size):
        g = rate * (G[k] + penalty * decays[k] * P[k])
        M[k] = momentum * M[k] - g
        P[k] += momentum * M[k] - g


@inner
def adapt(P, M, V, G, size, decays, rate, penalty, beta1, beta2, small):  # type: ignore[no-untyped-def]
    """Adam, NARROW weights at a time."""
    for k in range(0, size, NARROW):
        adapt_lanes(P, M, V, G, decays, k, rate, penalty, beta1, beta2, small)


@inner
def change(P, M, V, G, size, decays, numbers, given, how, nesterov, share, begun):  # type: ignore[no-untyped-def]
    """Change the weights by the gradient of a batch, the begun-th, whose rows are counted `share` each. numbers: rate, penalty, momentum, β₁, β₂, ε; given: room
    for two numbers of the same width."""
    rate = numbers[0]
    given[0] = numbers[1] * share
    if how == ADAM:
        beta1, beta2 = numbers[3], numbers[4]
        given[1] = rate * math.sqrt(1 - float(beta2) ** begun) / (1 - float(beta1) ** begun)
        adapt(P, M, V, G, size, decays, given[1], given[0], beta1, beta2, numbers[5])
    elif nesterov:
        descend_ahead(P, M, G, size, decays, rate, given[0], numbers[2])
    else:
        descend(P, M, G, size, decays, rate, given[0], numbers[2])
