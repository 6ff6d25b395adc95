"""Loops over eight numbers at a time, with vector types spelt out.

Left to itself, LLVM takes 32 at a time and does the rest one by one, and most nodes have fewer candidates than that. All arrays are bare
addresses with room up to a multiple of eight; without the compiler they are arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.tree.inner import inlined

LANE = 8
WORD = ir.IntType(64)
WORDS = ir.VectorType(WORD, LANE)
DOUBLES = ir.VectorType(ir.DoubleType(), LANE)
NOTHING = float("-inf")


class Lanes:
    """Loads, stores, constants and loops for one function under construction."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def place(self, array: Any, i: Any) -> Any:
        at = self.builder.gep(array, [i])
        return self.builder.bitcast(at, ir.VectorType(array.type.pointee, LANE).as_pointer())

    def load(self, array: Any, i: Any) -> Any:
        return self.builder.load(self.place(array, i), align=4 if array.type.pointee == ir.IntType(32) else 8)

    def store(self, v: Any, array: Any, i: Any) -> None:
        self.builder.store(v, self.place(array, i), align=4 if array.type.pointee == ir.IntType(32) else 8)

    def spread(self, x: Any) -> Any:
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANE), [0] * LANE)
        nothing = ir.Constant(ir.VectorType(x.type, LANE), ir.Undefined)
        one = self.builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(one, nothing, zeros)

    def doubles(self, words: Any) -> Any:
        return self.builder.sitofp(words, DOUBLES)

    def same(self, value: float) -> Any:
        return ir.Constant(DOUBLES, [value] * LANE)

    def variable(self, value: Any) -> Any:
        return cgutils.alloca_once_value(self.builder, value)

    def greater(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def over(self, count: Any, body: Callable[[Any], None]) -> None:
        """body(i) for i = 0, 8, … below count."""
        zero, lane = ir.Constant(WORD, 0), ir.Constant(WORD, LANE)
        with cgutils.for_range_slice(self.builder, zero, count, lane, WORD) as (i, _):
            body(i)

    def folded(self, v: Any, join: Callable[[Any, Any], Any]) -> Any:
        """The eight numbers of a vector joined in pairs."""
        nothing, width = ir.Constant(v.type, ir.Undefined), LANE
        while width > 1:
            width //= 2
            order = [*range(width, 2 * width), *([0] * (LANE - width))]
            other = self.builder.shuffle_vector(v, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANE), order))
            v = join(v, other)
        return self.builder.extract_element(v, ir.Constant(ir.IntType(32), 0))


@intrinsic
def _gini_of_words(typingctx: Any, running: Any, worth: Any, count: Any, n: Any, s: Any, least: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Lanes(builder)
        n, s, least = (code.spread(x) for x in args[3:])
        half, low = ir.Constant(WORDS, [32] * LANE), ir.Constant(WORDS, [0xFFFFFFFF] * LANE)
        best = code.variable(code.same(NOTHING))

        def body(i: Any) -> None:
            run = code.load(args[0], i)
            a, b = code.doubles(builder.lshr(run, half)), code.doubles(builder.and_(run, low))
            c, d = builder.fsub(n, a), builder.fsub(s, b)
            bbc, dda = builder.fmul(builder.fmul(b, b), c), builder.fmul(builder.fmul(d, d), a)
            w = builder.fdiv(builder.fadd(bbc, dda), builder.fmul(a, c))
            good = builder.and_(builder.fcmp_ordered(">=", a, least), builder.fcmp_ordered(">=", c, least))
            w = builder.select(good, w, code.same(NOTHING))
            code.store(w, args[1], i)
            builder.store(code.greater(w, builder.load(best)), best)

        code.over(args[2], body)
        return code.folded(builder.load(best), code.greater)

    real = types.float64
    return real(running, worth, types.int64, real, real, real), generate


@np.errstate(all="ignore")
def _gini_of_words_plain(running: Any, worth: Any, count: int, n: float, s: float, least: float) -> float:
    best = NOTHING
    for i in range(count):
        a, b = np.float64(int(running[i]) >> 32), np.float64(int(running[i]) & 0xFFFFFFFF)
        c, d = n - a, s - b
        worth[i] = (b * b * c + d * d * a) / (a * c) if a >= least and c >= least else NOTHING
        best = max(best, worth[i])
    return best


# gini_of_words(running, worth, count, n, s, least): worth[i] = (b² c + d² a) / (a c) with a, b the halves of running[i] and c, d what
# is left of n, s; −∞ where a or c is below `least`. Returns the greatest.
gini_of_words = _gini_of_words_plain if config.DISABLE_JIT else _gini_of_words


@intrinsic
def _squared_of_sums(
    typingctx: Any, left: Any, real: Any, A: Any, worth: Any, count: Any, W: Any, Z: Any, n: Any, least: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Lanes(builder)
        left, real, A, worth, count = args[:5]
        W, Z, n, least = (code.spread(x) for x in args[5:])
        half, zero = code.same(0.5), code.same(0.0)

        def body(i: Any) -> None:
            g = builder.fmul(half, code.load(real, i))
            h = builder.fmul(half, code.load(real, builder.add(A, i)))
            a, b, c, d = builder.fadd(W, g), builder.fadd(Z, h), builder.fsub(W, g), builder.fsub(Z, h)
            bbc, dda = builder.fmul(builder.fmul(b, b), c), builder.fmul(builder.fmul(d, d), a)
            w = builder.fdiv(builder.fadd(bbc, dda), builder.fmul(a, c))
            drawn = code.load(left, i)
            good = builder.icmp_signed(">=", drawn, least)
            good = builder.and_(good, builder.icmp_signed(">=", builder.sub(n, drawn), least))
            for side in (a, c):
                good = builder.and_(good, builder.fcmp_ordered(">", side, zero))
            code.store(builder.select(good, w, code.same(NOTHING)), worth, i)

        code.over(count, body)
        return context.get_dummy_value()

    real_, whole = types.float64, types.int64
    return types.void(left, real, whole, worth, whole, real_, real_, whole, whole), generate


@np.errstate(all="ignore")
def _squared_plain(
    left: Any, real: Any, A: int, worth: Any, count: int, W: float, Z: float, n: int, least: int
) -> None:
    for i in range(count):
        g, h = 0.5 * real[i], 0.5 * real[A + i]
        a, b, c, d = W + g, Z + h, W - g, Z - h
        good = left[i] >= least and n - left[i] >= least and a > 0.0 and c > 0.0
        worth[i] = (b * b * c + d * d * a) / (a * c) if good else NOTHING


# squared_of_sums(left, real, A, worth, count, W, Z, n, least): worth[i] = (b² c + d² a) / (a c), a, c = W ± real[i] / 2 and
# b, d = Z ± real[A + i] / 2; −∞ where left[i] or n − left[i] is below `least`, or a or c is not positive
squared_of_sums = _squared_plain if config.DISABLE_JIT else _squared_of_sums


@intrinsic
def _squares_after(typingctx: Any, cells: Any, at: Any, left: Any, whole: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Lanes(builder)
        cells, at, left, whole, lanes = args
        sums = [code.variable(code.same(0.0)) for _ in range(3)]

        def body(k: Any) -> None:
            place = builder.add(at, k)
            x = builder.fadd(code.load(left, k), code.doubles(code.load(cells, place)))
            code.store(x, left, k)
            y = builder.fsub(code.load(whole, k), x)
            for total, term in zip(sums, (x, builder.fmul(x, x), builder.fmul(y, y))):
                builder.store(builder.fadd(builder.load(total), term), total)

        code.over(lanes, body)
        found = [code.folded(builder.load(total), builder.fadd) for total in sums]
        return context.make_tuple(builder, signature.return_type, found)

    three = types.UniTuple(types.float64, 3)
    return three(cells, types.int64, left, whole, types.int64), generate


def _squares_after_plain(cells: Any, at: int, left: Any, whole: Any, lanes: int) -> tuple[float, float, float]:
    sums = [0.0, 0.0, 0.0]
    for k in range(lanes):
        left[k] += float(cells[at + k])
        x, y = left[k], whole[k] - left[k]
        sums = [total + term for total, term in zip(sums, (x, x * x, y * y))]
    return sums[0], sums[1], sums[2]


# squares_after(cells, at, left, whole, lanes): left[k] += cells[at + k] for all lanes; (Σ left, Σ left², Σ (whole − left)²). All are
# whole numbers below 2⁵³, so that their sums are exact in any order
squares_after = _squares_after_plain if config.DISABLE_JIT else _squares_after


@intrinsic
def _clear(typingctx: Any, cells: Any, at: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Lanes(builder)
        nothing = ir.Constant(ir.VectorType(args[0].type.pointee, LANE), None)
        code.over(args[2], lambda k: code.store(nothing, args[0], builder.add(args[1], k)))
        return context.get_dummy_value()

    return types.void(cells, types.int64, types.int64), generate


def _clear_plain(cells: Any, at: int, lanes: int) -> None:
    for k in range(lanes):
        cells[at + k] = 0


# clear(cells, at, lanes): cells[at : at + lanes] = 0; a plain loop becomes a call, which takes longer than this few
clear = _clear_plain if config.DISABLE_JIT else _clear


@intrinsic
def _gini_of_squares(typingctx: Any, real: Any, A: Any, worth: Any, count: Any, n: Any, least: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Lanes(builder)
        real, A, worth, count = args[:4]
        n, least = (code.spread(x) for x in args[4:])
        twice = builder.add(A, A)

        def body(i: Any) -> None:
            a = code.load(real, i)
            c = builder.fsub(n, a)
            w = builder.fadd(
                builder.fdiv(code.load(real, builder.add(A, i)), a),
                builder.fdiv(code.load(real, builder.add(twice, i)), c),
            )
            good = builder.and_(builder.fcmp_ordered(">=", a, least), builder.fcmp_ordered(">=", c, least))
            code.store(builder.select(good, w, code.same(NOTHING)), worth, i)

        code.over(count, body)
        return context.get_dummy_value()

    real_, whole = types.float64, types.int64
    return types.void(real, whole, worth, whole, real_, real_), generate


@np.errstate(all="ignore")
def _gini_of_squares_plain(real: Any, A: int, worth: Any, count: int, n: float, least: float) -> None:
    for i in range(count):
        a, c = real[i], n - real[i]
        worth[i] = real[A + i] / a + real[2 * A + i] / c if a >= least and c >= least else NOTHING


# gini_of_squares(real, A, worth, count, n, least): worth[i] = real[A + i] / a + real[2 A + i] / c with a = real[i] and c = n − a;
# −∞ where a or c is below `least`
gini_of_squares = _gini_of_squares_plain if config.DISABLE_JIT else _gini_of_squares


@intrinsic
def _greatest_of(typingctx: Any, worth: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Lanes(builder)
        best = code.variable(code.same(NOTHING))
        code.over(args[1], lambda i: builder.store(code.greater(code.load(args[0], i), builder.load(best)), best))
        return code.folded(builder.load(best), code.greater)

    return types.float64(worth, types.int64), generate


def _greatest_plain(worth: Any, count: int) -> float:
    return max((float(worth[i]) for i in range(count)), default=NOTHING)


_greatest = _greatest_plain if config.DISABLE_JIT else _greatest_of


@inlined
def greatest_of(worth, count):  # type: ignore[no-untyped-def]
    """The greatest of worth[:count], none of them NaN; up to seven places behind are overwritten."""
    stop = (count + 7) & -8
    for i in range(count, stop):
        worth[i] = -np.inf
    return _greatest(worth, stop)
