"""Functions of vectors of float32 or float64 as LLVM instructions: exp and tanh of all lanes at once, and what a kernel function makes of products.

e^x = 2^k·e^r,  |r| ≤ ½ ln 2;  relative error below 2e-7 in float32, 3e-16 in float64 (tested); where e^x would be subnormal it is the least normal number
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils

WORD, SHORT = ir.IntType(64), ir.IntType(32)
FUSED = ("contract",)
PRODUCT, POWER, GAUSS, CITY, TANH = range(
    5
)  # scale·t + shift, (scale·t + shift)^degree, e^(t − a − b), e^(−t), tanh(scale·t + shift)


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
        return ir.Constant(self.vector, [x] * self.lanes)

    def all_whole(self, n: int) -> Any:
        return ir.Constant(self.whole, [n] * self.lanes)


def single(lanes: int) -> Kind:
    return Kind(ir.FloatType(), lanes, 32, 23, 127, 0.693145751953125, 1.428606765330187e-06, -87.0, 7)


def double(lanes: int) -> Kind:
    return Kind(ir.DoubleType(), lanes, 64, 52, 1023, 0.693147180369123816490, 1.90821492927058770002e-10, -708.0, 13)


def spread(builder: Any, kind: Kind, x: Any) -> Any:
    """The scalar x in all lanes."""
    nothing = ir.Constant(kind.vector, ir.Undefined)
    one = builder.insert_element(nothing, x, ir.Constant(SHORT, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(SHORT, kind.lanes), [0] * kind.lanes))


def load(builder: Any, kind: Kind, array: Any, at: Any) -> Any:
    place = builder.bitcast(builder.gep(array, [at]), kind.vector.as_pointer())
    return builder.load(place, align=kind.bits // 8)


def store(builder: Any, kind: Kind, x: Any, array: Any, at: Any) -> None:
    place = builder.bitcast(builder.gep(array, [at]), kind.vector.as_pointer())
    builder.store(x, place, align=kind.bits // 8)


def multiply_add(builder: Any, x: Any, y: Any, z: Any) -> Any:
    return builder.fadd(builder.fmul(x, y, flags=FUSED), z, flags=FUSED)


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


def power(builder: Any, kind: Kind, x: Any, degree: Any) -> Any:
    """x·x·…·x."""
    total = cgutils.alloca_once_value(builder, kind.all(1.0))
    builder.store(kind.all(1.0), total)
    with cgutils.for_range(builder, degree):
        builder.store(builder.fmul(builder.load(total), x), total)
    return builder.load(total)
