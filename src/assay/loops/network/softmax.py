"""The softmax of a row of outputs, NARROW lanes at a time.

greatest(z, at, many)                  top = max_j z[at + j], j < many
slopes(z, at, many, top, share, d)     d[at + j] = share·e^(z_j − top) / total for j < many, 0 up to the next multiple of NARROW; returns total = Σ_j e^(z_j − top)

Lanes are added two and two in a fixed order. What is no number makes the total none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.kernels import vectors as v
from assay.loops.kernels.vectors import WORD, Kind
from assay.loops.network.products import NARROW


def _kind(array: Any) -> Kind:
    return v.single(NARROW) if array.dtype == types.float32 else v.double(NARROW)


def _there(builder: Any, first: Any, many: Any) -> Any:
    """Which lanes of the vector that begins at output `first` are outputs at all."""
    lanes = ir.VectorType(WORD, NARROW)
    left = builder.insert_element(ir.Constant(lanes, ir.Undefined), builder.sub(many, first), ir.Constant(v.SHORT, 0))
    left = builder.shuffle_vector(
        left, ir.Constant(lanes, ir.Undefined), ir.Constant(ir.VectorType(v.SHORT, NARROW), [0] * NARROW)
    )
    return builder.icmp_signed("<", ir.Constant(lanes, list(range(NARROW))), left)


def _across(builder: Any, kind: Kind, x: Any, join: Any) -> Any:
    """One number of all lanes: halves joined, then their halves."""
    lanes = kind.lanes
    while lanes > 1:
        lanes //= 2
        nothing = ir.Constant(x.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(x, nothing, ir.Constant(ir.VectorType(v.SHORT, lanes), list(range(at, at + lanes))))
            for at in (0, lanes)
        )
        x = join(low, high)
    return builder.extract_element(x, ir.Constant(v.SHORT, 0))


def _each(builder: Any, many: Any) -> Any:
    """A loop over the vectors of `many` outputs."""
    vectors = builder.sdiv(builder.add(many, ir.Constant(WORD, NARROW - 1)), ir.Constant(WORD, NARROW))
    return cgutils.for_range(builder, vectors)


@intrinsic
def _greatest(typingctx: Any, z: Any, at: Any, many: Any) -> Any:
    kind, whole = _kind(z), types.int64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        z, at, many = args

        def larger(a: Any, b: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", a, b), a, b)

        least = kind.all(float("-inf"))
        top = cgutils.alloca_once_value(builder, least)
        builder.store(least, top)
        with _each(builder, many) as loop:
            first = builder.mul(loop.index, ir.Constant(WORD, NARROW))
            x = v.load(builder, kind, z, builder.add(at, first))
            x = builder.select(_there(builder, first, many), x, least)
            builder.store(larger(builder.load(top), x), top)
        return _across(builder, kind, builder.load(top), larger)

    return z.dtype(z, whole, whole), generate


@intrinsic
def _slopes(typingctx: Any, z: Any, at: Any, many: Any, top: Any, share: Any, d: Any) -> Any:
    kind, whole = _kind(z), types.int64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        z, at, many, top, share, d = args
        none = kind.all(0.0)
        top, total = v.spread(builder, kind, top), cgutils.alloca_once_value(builder, none)
        builder.store(none, total)
        with _each(builder, many) as loop:
            first = builder.mul(loop.index, ir.Constant(WORD, NARROW))
            place = builder.add(at, first)
            below = builder.fsub(v.load(builder, kind, z, place), top)
            e = v.exponential(builder, kind, below)
            e = builder.select(builder.fcmp_unordered("uno", below, below), below, e)
            e = builder.select(_there(builder, first, many), e, none)
            v.store(builder, kind, e, d, place)
            builder.store(builder.fadd(builder.load(total), e), total)
        found = _across(builder, kind, builder.load(total), builder.fadd)
        factor = v.spread(builder, kind, builder.fdiv(share, found))
        with _each(builder, many) as loop:
            place = builder.add(at, builder.mul(loop.index, ir.Constant(WORD, NARROW)))
            v.store(builder, kind, builder.fmul(v.load(builder, kind, d, place), factor), d, place)
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
