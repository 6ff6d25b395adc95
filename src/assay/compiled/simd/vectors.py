"""Loads, stores and arithmetic of whole vectors, for functions under construction.

Arrays are addresses; vectors have eight numbers (`LANE`) unless more are asked for. `Kind` tells float32 from float64.

e^x = 2^k·e^r,  |r| ≤ ½ ln 2;  relative error below 2e-7 in float32, 3e-16 in float64 (tested); where e^x would be subnormal it is the least normal number
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from assay.compiled.tiers import TIER

LANE = 8  # numbers a vector; rows are padded to a multiple of it
BYTE, INT16, INT32, WORD = (ir.IntType(bits) for bits in (8, 16, 32, 64))
SINGLE, DOUBLE = ir.FloatType(), ir.DoubleType()
WORDS, DOUBLES = ir.VectorType(WORD, LANE), ir.VectorType(DOUBLE, LANE)


def word(n: int) -> Any:
    """The constant n."""
    return ir.Constant(WORD, n)


def same(kind: Any, value: float) -> Any:
    """A vector of type `kind` that holds one number."""
    return ir.Constant(kind, [value] * kind.count)


def data_of(context: Any, builder: Any, signature: Any, args: Any, number: int) -> Any:
    """The array that is an argument."""
    return cgutils.create_struct_proxy(signature.args[number])(context, builder, value=args[number])


def spread(builder: Any, x: Any, lanes: int = LANE) -> Any:
    """The scalar x in all lanes."""
    nothing = ir.Constant(ir.VectorType(x.type, lanes), ir.Undefined)
    one = builder.insert_element(nothing, x, ir.Constant(INT32, 0))
    return builder.shuffle_vector(one, nothing, same(ir.VectorType(INT32, lanes), 0))


def place(builder: Any, array: Any, at: Any, lanes: int = LANE) -> Any:
    """The address of array[at : at + lanes] as one of a vector."""
    return builder.bitcast(builder.gep(array, [at]), ir.VectorType(array.type.pointee, lanes).as_pointer())


def _alignment(kind: Any) -> int:
    """Bytes of one number: no more is promised of an array."""
    return 4 if kind == SINGLE else 8 if kind == DOUBLE else int(kind.width) // 8


def load(builder: Any, array: Any, at: Any, lanes: int = LANE) -> Any:
    """array[at : at + lanes]."""
    return builder.load(place(builder, array, at, lanes), align=_alignment(array.type.pointee))


def store(builder: Any, v: Any, array: Any, at: Any) -> None:
    """array[at …] = v."""
    builder.store(v, place(builder, array, at, v.type.count), align=_alignment(array.type.pointee))


def fold(builder: Any, v: Any, join: Callable[[Any, Any], Any]) -> Any:
    """One number of all lanes: halves joined, then their halves, in this fixed order."""
    lanes = v.type.count
    while lanes > 1:
        lanes //= 2
        nothing = ir.Constant(v.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(v, nothing, ir.Constant(ir.VectorType(INT32, lanes), list(range(at, at + lanes))))
            for at in (0, lanes)
        )
        v = join(low, high)
    return builder.extract_element(v, ir.Constant(INT32, 0))


def bits_of(builder: Any, good: Any) -> Any:
    """Which lanes are true, as the bits of a word."""
    return builder.zext(builder.bitcast(good, ir.IntType(good.type.count)), WORD)


def greater(builder: Any, a: Any, b: Any) -> Any:
    """The greater of the two, b where one of them is NaN."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def multiply_add(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x·y + z, of numbers or vectors: rounded once on all tiers that can."""
    if not TIER.fused:
        return builder.fadd(builder.fmul(x, y), z)
    lanes, one = (f"v{x.type.count}", x.type.element) if isinstance(x.type, ir.VectorType) else ("", x.type)
    return call(builder, f"llvm.fma.{lanes}f{32 if one == SINGLE else 64}", x.type, x, y, z)


def call(builder: Any, name: str, result: Any, *args: Any) -> Any:
    """What LLVM's or the C library's function of this name gives."""
    kind = ir.FunctionType(result, [a.type for a in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def variable(builder: Any, value: Any) -> Any:
    """Room for a vector that changes, set to `value` each time that this is passed."""
    return cgutils.alloca_once_value(builder, value)


class Kind(NamedTuple):
    """How numbers of one width are taken apart: lanes of a vector, bits, those of the fraction, the exponent's offset, terms of the series."""

    element: Any
    lanes: int
    bits: int
    fraction: int
    offset: int
    high: float
    low: float
    least: float
    terms: int

    @property
    def vector(self) -> Any:
        return ir.VectorType(self.element, self.lanes)

    @property
    def whole(self) -> Any:
        return ir.VectorType(ir.IntType(self.bits), self.lanes)

    def all(self, x: float) -> Any:
        return same(self.vector, x)

    def all_whole(self, n: int) -> Any:
        return same(self.whole, n)

    def load(self, builder: Any, array: Any, at: Any) -> Any:
        return load(builder, array, at, self.lanes)

    def spread(self, builder: Any, x: Any) -> Any:
        return spread(builder, x, self.lanes)


def single(lanes: int) -> Kind:
    return Kind(SINGLE, lanes, 32, 23, 127, 0.693145751953125, 1.428606765330187e-06, -87.0, 7)


def double(lanes: int) -> Kind:
    return Kind(DOUBLE, lanes, 64, 52, 1023, 0.693147180369123816490, 1.90821492927058770002e-10, -708.0, 13)


def kind_of(array: Any, lanes: int) -> Kind:
    """The kind of an array's numbers, by its type in Numba."""
    return single(lanes) if array.dtype == types.float32 else double(lanes)


def exponential(builder: Any, kind: Kind, x: Any) -> Any:
    """e^x for x ≤ 0; anything above counts as 0."""
    x = builder.select(builder.fcmp_ordered("<", x, kind.all(0.0)), x, kind.all(0.0))
    x = builder.select(builder.fcmp_ordered(">", x, kind.all(kind.least)), x, kind.all(kind.least))
    magic = kind.all(1.5 * 2.0**kind.fraction)
    shifted = multiply_add(builder, x, kind.all(1.4426950408889634), magic)
    k = builder.fsub(shifted, magic)
    r = multiply_add(builder, k, kind.all(-kind.high), x)
    r = multiply_add(builder, k, kind.all(-kind.low), r)
    s = kind.all(1.0 / math.factorial(kind.terms))
    for n in range(kind.terms - 1, -1, -1):
        s = multiply_add(builder, s, r, kind.all(1.0 / math.factorial(n)))
    power = builder.add(builder.bitcast(shifted, kind.whole), kind.all_whole(kind.offset))
    return builder.fmul(s, builder.bitcast(builder.shl(power, kind.all_whole(kind.fraction)), kind.vector))


def hyperbolic_tangent(builder: Any, kind: Kind, x: Any) -> Any:
    """(1 − e) / (1 + e) with e = e^(−2|x|), and the sign of x."""
    below = builder.fcmp_ordered("<", x, kind.all(0.0))
    size = builder.select(below, builder.fsub(kind.all(0.0), x), x)
    e = exponential(builder, kind, builder.fmul(size, kind.all(-2.0)))
    found = builder.fdiv(builder.fsub(kind.all(1.0), e), builder.fadd(kind.all(1.0), e))
    return builder.select(below, builder.fsub(kind.all(0.0), found), found)
