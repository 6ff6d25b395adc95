"""What a unit makes of its sum z, and its slope, for whole arrays.

identity z      relu max(0, z)      logistic 1/(1 + e^−z)      tanh      gelu ½z(1 + tanh(√(2/π)(z + 0.044715 z³)))
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from assay.loops.kernels import vectors as v
from assay.loops.kernels.vectors import Kind
from assay.loops.network.products import NARROW
from assay.loops.tree.inner import inner

IDENTITY, RELU, LOGISTIC, TANH, GELU = range(5)
NAMES = ("identity", "relu", "logistic", "tanh", "gelu")
ROOT, CUBE = math.sqrt(2.0 / math.pi), 0.044715


def _kind(array: Any) -> Kind:
    return v.single(NARROW) if array.dtype == types.float32 else v.double(NARROW)


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
        kind = _kind(Z)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            Z, A, at = args
            v.store(builder, kind, make(builder, kind, v.load(builder, kind, Z, at)), A, at)
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
    kind = _kind(Z)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        Z, D, at = args
        zero, d = kind.all(0.0), v.load(builder, kind, D, at)
        above = builder.fcmp_ordered(">", v.load(builder, kind, Z, at), zero)
        v.store(builder, kind, builder.select(above, d, builder.fmul(d, zero)), D, at)
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


@inner
def needs_no_sums(what):  # type: ignore[no-untyped-def]
    """Whether φ may be taken in place, since its outputs alone say what its slopes are."""
    return what != GELU


@inner
def activate(what, Z, A, at, many):  # type: ignore[no-untyped-def]
    """A[at + i] = φ(Z[at + i]) for i < many, a multiple of NARROW; bare addresses, of one array where φ needs no sums."""
    if what == RELU:
        for i in range(at, at + many, NARROW):
            relu_of(Z, A, i)
    elif what == LOGISTIC:
        for i in range(at, at + many, NARROW):
            logistic_of(Z, A, i)
    elif what == TANH:
        for i in range(at, at + many, NARROW):
            tanh_of(Z, A, i)
    elif what == GELU:
        for i in range(at, at + many, NARROW):
            gelu_of(Z, A, i)


@inner
def times_slope(what, Z, A, D, S, at, many):  # type: ignore[no-untyped-def]
    """D[i] *= φ′(Z[i]), by A = φ(Z) where that says it; S: room as large as Z."""
    if what == RELU:
        for i in range(at, at + many, NARROW):
            keep_above(A, D, i)
    elif what == LOGISTIC:
        for i in range(at, at + many):
            D[i] *= A[i] - A[i] * A[i]
    elif what == TANH:
        for i in range(at, at + many):
            D[i] -= D[i] * A[i] * A[i]
    elif what == GELU:
        for i in range(at, at + many, NARROW):
            gelu_slope_of(Z, S, i)
        for i in range(at, at + many):
            D[i] *= S[i]
