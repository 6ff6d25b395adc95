"""Steps of neural networks: products of matrices that fit a core's cache, rows brought together, weights changed by Adam.

A tile is TALL (or SHORT) rows by WIDE (or NARROW) columns. While k goes by, each number of A is spread over a vector of B and added: nothing is
packed or copied, which is what a library does first and what takes it as long as the product where matrices are small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.host import AVX512
from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import word

TALL, SHORT = (12, 4) if AVX512 else (4, 4)
# of float32; float64 takes twice the registers, and its tiles are all NARROW
WIDE, NARROW = (32, 16) if AVX512 else (16, 16)


def _tile(rows: int, lanes: int) -> Any:
    """An intrinsic: tile(A, at, row, k, B, from, row of B, many, C, to, row of C, begin, begun, from, row of begun)."""

    @intrinsic
    def tile(
        typingctx: Any,
        A: Any,
        a: Any,
        ai: Any,
        ak: Any,
        B: Any,
        b: Any,
        bk: Any,
        many: Any,
        C: Any,
        c: Any,
        ci: Any,
        begin: Any,
        begun: Any,
        i: Any,
        ii: Any,
    ) -> Any:
        kind = v.kind_of(A, lanes)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            A, a, ai, ak, B, b, bk, many, C, c, ci, begin, begun, i, ii = args
            sums = [v.variable(builder, kind.all(0.0)) for _ in range(rows)]
            places = [builder.add(c, builder.mul(ci, word(q))) for q in range(rows)]
            with builder.if_then(builder.icmp_signed("!=", begin, word(0))):
                for q, total in enumerate(sums):
                    place = builder.add(i, builder.mul(ii, word(q)))
                    builder.store(kind.load(builder, begun, place), total)
            with cgutils.for_range(builder, many) as loop:
                y = kind.load(builder, B, builder.add(b, builder.mul(loop.index, bk)))
                first = builder.add(a, builder.mul(loop.index, ak))
                for q, total in enumerate(sums):
                    x = builder.load(builder.gep(A, [builder.add(first, builder.mul(ai, word(q)))]))
                    builder.store(v.multiply_add(builder, kind.spread(builder, x), y, builder.load(total)), total)
            for total, place in zip(sums, places):
                v.store(builder, builder.load(total), C, place)
            return context.get_dummy_value()

        whole = types.int64
        return types.void(
            A, whole, whole, whole, A, whole, whole, whole, A, whole, whole, whole, A, whole, whole
        ), generate

    def plain(
        A: Any,
        a: int,
        ai: int,
        ak: int,
        B: Any,
        b: int,
        bk: int,
        many: int,
        C: Any,
        c: int,
        ci: int,
        begin: int,
        begun: Any,
        i: int,
        ii: int,
    ) -> None:
        for q in range(rows):
            total = begun[i + q * ii : i + q * ii + lanes].copy() if begin else np.zeros(lanes, dtype=C.dtype)
            for k in range(many):
                total += A[a + q * ai + k * ak] * B[b + k * bk : b + k * bk + lanes]
            C[c + q * ci : c + q * ci + lanes] = total

    return plain if config.DISABLE_JIT else tile


tall_wide, tall_narrow = _tile(TALL, WIDE), _tile(TALL, NARROW)


short_wide, short_narrow = _tile(SHORT, WIDE), _tile(SHORT, NARROW)


@intrinsic
def _sum_rows(typingctx: Any, D: Any, at: Any, step: Any, many: Any, G: Any, to: Any) -> Any:
    kind = v.kind_of(D, NARROW)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        D, at, step, many, G, to = args
        total = v.variable(builder, kind.all(0.0))
        with cgutils.for_range(builder, many) as loop:
            row = kind.load(builder, D, builder.add(at, builder.mul(loop.index, step)))
            builder.store(builder.fadd(builder.load(total), row), total)
        v.store(builder, builder.load(total), G, to)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(D, whole, whole, whole, D, whole), generate


def _plain_sum_rows(D: Any, at: int, step: int, many: int, G: Any, to: int) -> None:
    total = np.zeros(NARROW, dtype=G.dtype)
    for k in range(many):
        total += D[at + k * step : at + k * step + NARROW]
    G[to : to + NARROW] = total


# sum_rows(D, at, step, many, G, to): G[to + j] = Σ_k D[at + k step + j] for j < NARROW
sum_rows = _plain_sum_rows if config.DISABLE_JIT else _sum_rows


@intrinsic
def _copy_lanes(typingctx: Any, source: Any, first: Any, target: Any, to: Any) -> Any:
    kind = v.kind_of(source, NARROW)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, first, target, to = args
        v.store(builder, kind.load(builder, source, first), target, to)
        return context.get_dummy_value()

    return types.void(source, types.int64, source, types.int64), generate


def _plain_copy_lanes(source: Any, first: int, target: Any, to: int) -> None:
    target[to : to + NARROW] = source[first : first + NARROW]


copy_lanes = _plain_copy_lanes if config.DISABLE_JIT else _copy_lanes


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
    kind = v.kind_of(P, NARROW)
    number = P.dtype

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        P, M, V, G, decays, k = args[:6]
        rate, penalty, beta1, beta2, small = (kind.spread(builder, x) for x in args[6:])
        p, m, s, g, decay = (kind.load(builder, array, k) for array in (P, M, V, G, decays))
        g = v.multiply_add(builder, builder.fmul(penalty, decay), p, g)
        m = v.multiply_add(builder, beta1, m, builder.fmul(builder.fsub(kind.all(1.0), beta1), g))
        s = v.multiply_add(builder, beta2, s, builder.fmul(builder.fmul(builder.fsub(kind.all(1.0), beta2), g), g))
        root = v.call(builder, f"llvm.sqrt.v{kind.lanes}f{kind.bits}", kind.vector, s)
        step = builder.fdiv(builder.fmul(rate, m), builder.fadd(root, small))
        for array, x in ((P, builder.fsub(p, step)), (M, m), (V, s)):
            v.store(builder, x, array, k)
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
