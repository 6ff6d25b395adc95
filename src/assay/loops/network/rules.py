"""How a batch's gradient changes the weights: stochastic gradient descent as written, with Nesterov's look ahead, and Adam."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.kernels import vectors as v
from assay.loops.network.products import NARROW
from assay.loops.tree.inner import inner

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


def _square_root(builder: Any, kind: v.Kind) -> Any:
    """LLVM's own, of all lanes."""
    name = f"llvm.sqrt.v{kind.lanes}f{kind.bits}"
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind.vector, [kind.vector]), name)


@intrinsic
def _adapt_lanes(
    typingctx: Any,
    P: Any,
    M: Any,
    V: Any,
    G: Any,
    decays: Any,
    k: Any,
    rate: Any,
    penalty: Any,
    beta1: Any,
    beta2: Any,
    small: Any,
) -> Any:
    kind = v.single(NARROW) if P.dtype == types.float32 else v.double(NARROW)
    number = P.dtype

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        P, M, V, G, decays, k = args[:6]
        rate, penalty, beta1, beta2, small = (v.spread(builder, kind, x) for x in args[6:])
        p, m, s, g, decay = (v.load(builder, kind, array, k) for array in (P, M, V, G, decays))
        g = v.multiply_add(builder, builder.fmul(penalty, decay), p, g)
        m = v.multiply_add(builder, beta1, m, builder.fmul(builder.fsub(kind.all(1.0), beta1), g))
        s = v.multiply_add(builder, beta2, s, builder.fmul(builder.fmul(builder.fsub(kind.all(1.0), beta2), g), g))
        root = builder.call(_square_root(builder, kind), [s])
        step = builder.fdiv(builder.fmul(rate, m), builder.fadd(root, small))
        for array, x in ((P, builder.fsub(p, step)), (M, m), (V, s)):
            v.store(builder, kind, x, array, k)
        return context.get_dummy_value()

    return types.void(P, P, P, P, P, types.int64, number, number, number, number, number), generate


def _plain_adapt_lanes(
    P: Any, M: Any, V: Any, G: Any, decays: Any, k: int, rate: Any, penalty: Any, beta1: Any, beta2: Any, small: Any
) -> None:
    at = slice(k, k + NARROW)
    g = G[at] + penalty * decays[at] * P[at]
    M[at] = beta1 * M[at] + (1 - beta1) * g
    V[at] = beta2 * V[at] + (1 - beta2) * g * g
    P[at] -= rate * M[at] / (np.sqrt(V[at]) + small)


adapt_lanes = _plain_adapt_lanes if config.DISABLE_JIT else _adapt_lanes


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
