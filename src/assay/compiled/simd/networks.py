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

from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import word
from assay.compiled.tiers import WIDE_REGISTERS

TALL, SHORT = (12, 4) if WIDE_REGISTERS else (4, 4)
# of float32; float64 takes twice the registers, and its tiles are all NARROW
WIDE, NARROW = (32, 16) if WIDE_REGISTERS else (16, 16)


def _tile(rows: int, lanes: int) -> Any:
    """tile(A, B, C, i, j, many, begin, begun): C[i + q, j + l] = Σ_{k < many} A[i + q, k] B[k, j + l], q < rows, l < lanes, and where `begin` is not 0
    + begun[i + q, j + l]. Matrices are (data, at, row, column): entry (i, j) at data[at + i row + j column]; column is 1 but for A."""

    @intrinsic
    def tile(typingctx: Any, A: Any, B: Any, C: Any, i: Any, j: Any, many: Any, begin: Any, begun: Any) -> Any:
        kind, whole = v.kind_of(A.types[0], lanes), types.int64

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            _, _, _, i, j, many, begin, _ = args

            def fields(number: int) -> list[Any]:
                return [builder.extract_value(args[number], field) for field in range(4)]

            (a, a_at, a_row, a_column), (b, b_at, b_row, _) = fields(0), fields(1)
            (c, c_at, c_row, _), (d, d_at, d_row, _) = fields(2), fields(7)
            sums = [v.variable(builder, kind.all(0.0)) for _ in range(rows)]
            corner = builder.add(d_at, builder.add(builder.mul(i, d_row), j))
            with builder.if_then(builder.icmp_signed("!=", begin, word(0))):
                for q, total in enumerate(sums):
                    builder.store(kind.load(builder, d, builder.add(corner, builder.mul(d_row, word(q)))), total)
            left, right = builder.add(a_at, builder.mul(i, a_row)), builder.add(b_at, j)
            with cgutils.for_range(builder, many) as loop:
                y = kind.load(builder, b, builder.add(right, builder.mul(loop.index, b_row)))
                first = builder.add(left, builder.mul(loop.index, a_column))
                for q, total in enumerate(sums):
                    x = builder.load(builder.gep(a, [builder.add(first, builder.mul(a_row, word(q)))]))
                    builder.store(v.multiply_add(builder, kind.spread(builder, x), y, builder.load(total)), total)
            corner = builder.add(c_at, builder.add(builder.mul(i, c_row), j))
            for q, total in enumerate(sums):
                v.store(builder, builder.load(total), c, builder.add(corner, builder.mul(c_row, word(q))))
            return context.get_dummy_value()

        return types.void(A, B, C, whole, whole, whole, whole, begun), generate

    def plain(A: Any, B: Any, C: Any, i: int, j: int, many: int, begin: int, begun: Any) -> None:
        for q in range(i, i + rows):
            first = begun.at + q * begun.row + j
            total = begun.data[first : first + lanes].copy() if begin else np.zeros(lanes, dtype=C.data.dtype)
            for k in range(many):
                at = B.at + k * B.row + j
                total += A.data[A.at + q * A.row + k * A.column] * B.data[at : at + lanes]
            to = C.at + q * C.row + j
            C.data[to : to + lanes] = total

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
def _adapt_lanes(typingctx: Any, P: Any, M: Any, V: Any, G: Any, decays: Any, k: Any, rates: Any) -> Any:
    kind = v.kind_of(P, NARROW)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        P, M, V, G, decays, k, rates = args
        numbers = (builder.extract_value(rates, field) for field in range(5))
        rate, penalty, beta1, beta2, small = (kind.spread(builder, x) for x in numbers)
        p, m, s, g, decay = (kind.load(builder, array, k) for array in (P, M, V, G, decays))
        g = v.multiply_add(builder, builder.fmul(penalty, decay), p, g)
        m = v.multiply_add(builder, beta1, m, builder.fmul(builder.fsub(kind.all(1.0), beta1), g))
        s = v.multiply_add(builder, beta2, s, builder.fmul(builder.fmul(builder.fsub(kind.all(1.0), beta2), g), g))
        root = v.call(builder, f"llvm.sqrt.v{kind.lanes}f{kind.bits}", kind.vector, s)
        step = builder.fdiv(builder.fmul(rate, m), builder.fadd(root, small))
        for array, x in ((P, builder.fsub(p, step)), (M, m), (V, s)):
            v.store(builder, x, array, k)
        return context.get_dummy_value()

    return types.void(P, P, P, P, P, types.int64, types.UniTuple(P.dtype, 5)), generate


def _plain_adapt_lanes(P: Any, M: Any, V: Any, G: Any, decays: Any, k: int, rates: Any) -> None:
    rate, penalty, beta1, beta2, small = rates
    at = slice(k, k + NARROW)
    g = G[at] + penalty * decays[at] * P[at]
    M[at] = beta1 * M[at] + (1 - beta1) * g
    V[at] = beta2 * V[at] + (1 - beta2) * g * g
    P[at] -= rate * M[at] / (np.sqrt(V[at]) + small)


# adapt_lanes(P, M, V, G, decays, k, (rate, penalty, β₁, β₂, ε)): Adam's step of the weights k … k + NARROW − 1
adapt_lanes = _plain_adapt_lanes if config.DISABLE_JIT else _adapt_lanes
