"""What units make of their sums: activations, their slopes, and the softmax of a row of outputs, NARROW lanes at a time.

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
from assay.compiled.simd.networks import NARROW
from assay.compiled.simd.vectors import WORD, Kind, word

ROOT, CUBE = math.sqrt(2.0 / math.pi), 0.044715


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
