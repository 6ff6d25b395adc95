"""Single numbers taken apart as Numba has no words for it, and what is made of that: e^x for x ≤ 0, of which LLVM takes eight at a time.

    e^x = 2^k·e^r with |r| ≤ ½ ln 2

Relative error below 3e-16 (tested); below −708 the answer is 2^−1021, which every sum here takes for nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.extending import intrinsic

from assay.compiled.decorator import jit
from assay.compiled.simd import vectors
from assay.compiled.simd.vectors import DOUBLE, WORD, word

ROUND = 6755399441055744.0  # 1.5·2^52: adding it leaves the nearest whole number in the lowest bits
PER_LN2 = 1.4426950408889634
LN2_HIGH = 0.693147180369123816490  # the leading 32 bits, so that k·LN2_HIGH is exact
LN2_LOW = 1.90821492927058770002e-10
LEAST = -708.0


@intrinsic
def _power_of_two(typingctx: Any, shifted: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        power = builder.shl(builder.add(builder.bitcast(args[0], WORD), word(1023)), word(52))
        return builder.bitcast(power, DOUBLE)

    return types.float64(types.float64), generate


def _plain_power_of_two(shifted: float) -> float:
    return float(np.ldexp(1.0, int(shifted - ROUND)))


# power_of_two(shifted): 2^k from the double ROUND + k
power_of_two = _plain_power_of_two if config.DISABLE_JIT else _power_of_two


@intrinsic
def _multiply_add(typingctx: Any, x: Any, y: Any, z: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return vectors.multiply_add(builder, *args)

    return types.float64(types.float64, types.float64, types.float64), generate


def _plain_multiply_add(x: float, y: float, z: float) -> float:
    return x * y + z


# multiply_add(x, y, z): x·y + z, rounded once on all tiers that can; nothing else is ever contracted
multiply_add = _plain_multiply_add if config.DISABLE_JIT else _multiply_add


@intrinsic
def _lowest_bit(typingctx: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def _plain_lowest_bit(word: Any) -> int:
    return (int(word) & -int(word)).bit_length() - 1


# lowest_bit(word): the place of the lowest bit of a word that is not zero
lowest_bit = _plain_lowest_bit if config.DISABLE_JIT else _lowest_bit


@intrinsic
def _is_single(typingctx: Any, array: Any) -> Any:
    single = array.dtype == types.float32

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(1), int(single))

    return types.boolean(array), generate


def _plain_is_single(array: Any) -> bool:
    return bool(array.dtype == np.float32)


# is_single(array): whether its numbers are float32; known when a loop is compiled
is_single = _plain_is_single if config.DISABLE_JIT else _is_single


@jit(inline="always")
def exp_of_negative(x):  # type: ignore[no-untyped-def]
    """e^x for x ≤ 0."""
    x = max(x, LEAST)
    shifted = multiply_add(x, PER_LN2, ROUND)
    k = shifted - ROUND
    r = multiply_add(k, -LN2_LOW, multiply_add(k, -LN2_HIGH, x))
    s = 1.6059043836821613e-10  # 1/13!
    s = multiply_add(s, r, 2.08767569878681e-09)
    s = multiply_add(s, r, 2.505210838544172e-08)
    s = multiply_add(s, r, 2.755731922398589e-07)
    s = multiply_add(s, r, 2.7557319223985893e-06)
    s = multiply_add(s, r, 2.48015873015873e-05)
    s = multiply_add(s, r, 0.0001984126984126984)
    s = multiply_add(s, r, 0.001388888888888889)
    s = multiply_add(s, r, 0.008333333333333333)
    s = multiply_add(s, r, 0.041666666666666664)
    s = multiply_add(s, r, 0.16666666666666666)
    s = multiply_add(s, r, 0.5)
    s = multiply_add(s, r, 1.0)
    s = multiply_add(s, r, 1.0)
    return s * power_of_two(shifted)
