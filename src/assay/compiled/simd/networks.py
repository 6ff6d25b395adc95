"""Steps of neural networks: products of matrices that fit a core's cache, rows brought together, weights changed by Adam.

A tile is TALL (or SHORT) rows by WIDE (or NARROW) columns. While k goes by, each number of A is spread over a vector of B and added: nothing is
packed or copied, which is what a library does first and what takes it as long as the product where matrices are small.

What units make of their sums: activations, their slopes, and the softmax of a row of outputs, NARROW lanes at a time.

    identity z      relu max(0, z)      logistic 1/(1 + e^−z)      tanh      gelu ½z(1 + tanh(√(2/π)(z + 0.044715 z³)))

    greatest(z, at, many)                  top = max_j z[at + j], j < many
    slopes(z, at, many, top, share, d)     d[at + j] = share·e^(z_j − top) / total for j < many, 0 up to the next multiple of NARROW; returns total = Σ_j e^(z_j − top)

Lanes are added two and two in a fixed order. What is no number makes the total none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import WORD, Kind, word
from assay.compiled.tiers import WIDE_REGISTERS

TALL, SHORT = (12, 4) if WIDE_REGISTERS else (4, 4)
# of float32; float64 takes twice the registers, and its tiles are all NARROW
WIDE, NARROW = (32, 16) if WIDE_REGISTERS else (16, 16)
ROOT, CUBE = math.sqrt(2.0 / math.pi), 0.044715


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


def _relu(builder: Any, kind: Kind, z: Any) -> Any:
    """z·0 elsewhere: what is no number stays none."""
    zero = kind.all(0.0)
    return builder.select(builder.fcmp_ordered(">", z, zero), z, builder.fmul(z, zero))


def _logistic(builder: Any, kind: Kind, z: Any) -> Any:
    """1/(1 + e^−|z|), or what is missing to one."""
    below = builder.fcmp_ordered("<", z, kind.all(0.0))
    minus = builder.select(below, z, builder.fsub(kind.all(0.0), z))
    e = v.exponential(builder, kind, minus)
    share = builder.fdiv(kind.all(1.0), builder.fadd(kind.all(1.0), e))
    return _or_none(builder, z, builder.select(below, builder.fmul(e, share), share))


def _tanh(builder: Any, kind: Kind, z: Any) -> Any:
    return _or_none(builder, z, v.hyperbolic_tangent(builder, kind, z))


def _or_none(builder: Any, z: Any, found: Any) -> Any:
    """What is no number stays none: a network that has diverged must not look as if it had an answer."""
    return builder.select(builder.fcmp_unordered("uno", z, z), z, found)


def _bend(builder: Any, kind: Kind, z: Any) -> tuple[Any, Any]:
    """t = tanh(√(2/π)(z + 0.044715 z³)) and the slope of what it is taken of."""
    square = builder.fmul(z, z)
    inside = builder.fmul(
        kind.all(ROOT), builder.fmul(z, v.multiply_add(builder, square, kind.all(CUBE), kind.all(1.0)))
    )
    slope = builder.fmul(kind.all(ROOT), v.multiply_add(builder, square, kind.all(3 * CUBE), kind.all(1.0)))
    return v.hyperbolic_tangent(builder, kind, inside), slope


def _gelu(builder: Any, kind: Kind, z: Any) -> Any:
    t, _ = _bend(builder, kind, z)
    return builder.fmul(builder.fmul(kind.all(0.5), z), builder.fadd(kind.all(1.0), t))


def _gelu_slope(builder: Any, kind: Kind, z: Any) -> Any:
    t, inner_slope = _bend(builder, kind, z)
    rest = builder.fsub(kind.all(1.0), builder.fmul(t, t))
    first = builder.fmul(kind.all(0.5), builder.fadd(kind.all(1.0), t))
    second = builder.fmul(builder.fmul(kind.all(0.5), z), builder.fmul(rest, inner_slope))
    return builder.fadd(first, second)


def _over_lanes(make: Any, plain: Any) -> Any:
    """function(Z, A, at): A[at …] = make(Z[at …]), NARROW at a time."""

    @intrinsic
    def lanes(typingctx: Any, Z: Any, A: Any, at: Any) -> Any:
        kind = v.kind_of(Z, NARROW)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            Z, A, at = args
            v.store(builder, make(builder, kind, kind.load(builder, Z, at)), A, at)
            return context.get_dummy_value()

        return types.void(Z, A, types.int64), generate

    def slowly(Z: Any, A: Any, at: int) -> None:
        A[at : at + NARROW] = plain(Z[at : at + NARROW])

    return slowly if config.DISABLE_JIT else lanes


def _plain_bend(z: Any) -> Any:
    return np.tanh(ROOT * (z + CUBE * z**3))


def _plain_gelu_slope(z: Any) -> Any:
    t = _plain_bend(z)
    return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * ROOT * (1 + 3 * CUBE * z * z)


@intrinsic
def _keep_above(typingctx: Any, Z: Any, D: Any, at: Any) -> Any:
    kind = v.kind_of(Z, NARROW)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        Z, D, at = args
        zero, d = kind.all(0.0), kind.load(builder, D, at)
        above = builder.fcmp_ordered(">", kind.load(builder, Z, at), zero)
        v.store(builder, builder.select(above, d, builder.fmul(d, zero)), D, at)
        return context.get_dummy_value()

    return types.void(Z, D, types.int64), generate


def _plain_keep_above(Z: Any, D: Any, at: int) -> None:
    lanes = slice(at, at + NARROW)
    D[lanes] = np.where(Z[lanes] > 0, D[lanes], D[lanes] * 0)


# keep_above(Z, D, at): D[at …] is kept where Z[at …] > 0, NARROW at a time
keep_above = _plain_keep_above if config.DISABLE_JIT else _keep_above
relu_of = _over_lanes(_relu, lambda z: np.maximum(z, 0.0))
logistic_of = _over_lanes(_logistic, lambda z: 1 / (1 + np.exp(-z)))
tanh_of = _over_lanes(_tanh, np.tanh)
gelu_of = _over_lanes(_gelu, lambda z: 0.5 * z * (1 + _plain_bend(z)))
gelu_slope_of = _over_lanes(_gelu_slope, _plain_gelu_slope)


def _there(builder: Any, first: Any, many: Any) -> Any:
    """Which lanes of the vector that begins at output `first` are outputs at all."""
    lanes = ir.VectorType(WORD, NARROW)
    left = v.spread(builder, builder.sub(many, first), NARROW)
    return builder.icmp_signed("<", ir.Constant(lanes, list(range(NARROW))), left)


def _each(builder: Any, many: Any) -> Any:
    """A loop over the vectors of `many` outputs."""
    vectors = builder.sdiv(builder.add(many, word(NARROW - 1)), word(NARROW))
    return cgutils.for_range(builder, vectors)


@intrinsic
def _greatest(typingctx: Any, z: Any, at: Any, many: Any) -> Any:
    kind, whole = v.kind_of(z, NARROW), types.int64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        z, at, many = args

        def larger(a: Any, b: Any) -> Any:
            return v.greater(builder, a, b)

        least = kind.all(float("-inf"))
        top = v.variable(builder, least)
        with _each(builder, many) as loop:
            first = builder.mul(loop.index, word(NARROW))
            x = kind.load(builder, z, builder.add(at, first))
            x = builder.select(_there(builder, first, many), x, least)
            builder.store(larger(builder.load(top), x), top)
        return v.fold(builder, builder.load(top), larger)

    return z.dtype(z, whole, whole), generate


@intrinsic
def _slopes(typingctx: Any, z: Any, at: Any, many: Any, top: Any, share: Any, d: Any) -> Any:
    kind, whole = v.kind_of(z, NARROW), types.int64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        z, at, many, top, share, d = args
        none = kind.all(0.0)
        top, total = kind.spread(builder, top), v.variable(builder, none)
        with _each(builder, many) as loop:
            first = builder.mul(loop.index, word(NARROW))
            place = builder.add(at, first)
            below = builder.fsub(kind.load(builder, z, place), top)
            e = v.exponential(builder, kind, below)
            e = builder.select(builder.fcmp_unordered("uno", below, below), below, e)
            e = builder.select(_there(builder, first, many), e, none)
            v.store(builder, e, d, place)
            builder.store(builder.fadd(builder.load(total), e), total)
        found = v.fold(builder, builder.load(total), builder.fadd)
        factor = kind.spread(builder, builder.fdiv(share, found))
        with _each(builder, many) as loop:
            place = builder.add(at, builder.mul(loop.index, word(NARROW)))
            v.store(builder, builder.fmul(kind.load(builder, d, place), factor), d, place)
        return found

    return z.dtype(z, whole, whole, z.dtype, z.dtype, z), generate


def _plain_greatest(z: Any, at: int, many: int) -> Any:
    return z[at : at + many].max()


def _plain_slopes(z: Any, at: int, many: int, top: Any, share: Any, d: Any) -> Any:
    e = np.exp(z[at : at + many] - top)
    d[at : at - (-many // NARROW) * NARROW] = 0.0
    d[at : at + many] = e * (share / e.sum())
    return e.sum()


greatest, slopes = (_plain_greatest, _plain_slopes) if config.DISABLE_JIT else (_greatest, _slopes)
