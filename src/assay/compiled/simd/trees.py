"""Scores of splits, eight at a time.

Left to itself, LLVM takes 32 at a time and does the rest one by one, and most nodes have fewer candidates than that. All arrays are
addresses with room up to a multiple of eight; without the compiler they are arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import BYTE, DOUBLES, LANE, WORD, WORDS, word

NOTHING = float("-inf")
GROUP = 64  # flags that are read at once
HALF, LOW = 32, 0xFFFFFFFF  # the halves of a word of counts


class _Lanes:
    """Loads, stores, constants and loops for one function under construction."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def load(self, array: Any, i: Any) -> Any:
        return v.load(self.builder, array, i)

    def store(self, x: Any, array: Any, i: Any) -> None:
        v.store(self.builder, x, array, i)

    def spread(self, x: Any) -> Any:
        return v.spread(self.builder, x)

    def doubles(self, words: Any) -> Any:
        return self.builder.sitofp(words, DOUBLES)

    def halves(self, words: Any) -> tuple[Any, Any]:
        """The upper and lower halves of words, as doubles."""
        upper = self.builder.lshr(words, v.same(WORDS, HALF))
        return self.doubles(upper), self.doubles(self.builder.and_(words, v.same(WORDS, LOW)))

    def same(self, value: float) -> Any:
        return v.same(DOUBLES, value)

    def variable(self, value: Any) -> Any:
        return v.variable(self.builder, value)

    def greater(self, a: Any, b: Any) -> Any:
        return v.greater(self.builder, a, b)

    def over(self, count: Any, body: Callable[[Any], None]) -> None:
        """body(i) for i = 0, 8, … below count."""
        with cgutils.for_range_slice(self.builder, word(0), count, word(LANE), WORD) as (i, _):
            body(i)

    def folded(self, x: Any, join: Callable[[Any, Any], Any]) -> Any:
        return v.fold(self.builder, x, join)


@intrinsic
def _gini_of_words(typingctx: Any, running: Any, worth: Any, count: Any, n: Any, s: Any, least: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Lanes(builder)
        n, s, least = (code.spread(x) for x in args[3:])
        best = code.variable(code.same(NOTHING))

        def body(i: Any) -> None:
            a, b = code.halves(code.load(args[0], i))
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
def _plain_gini_of_words(running: Any, worth: Any, count: int, n: float, s: float, least: float) -> float:
    best = NOTHING
    for i in range(count):
        a, b = np.float64(int(running[i]) >> 32), np.float64(int(running[i]) & 0xFFFFFFFF)
        c, d = n - a, s - b
        worth[i] = (b * b * c + d * d * a) / (a * c) if a >= least and c >= least else NOTHING
        best = max(best, worth[i])
    return best


# gini_of_words(running, worth, count, n, s, least): worth[i] = (b² c + d² a) / (a c) with a, b the halves of running[i] and c, d what
# is left of n, s; −∞ where a or c is below `least`. Returns the greatest.
gini_of_words = _plain_gini_of_words if config.DISABLE_JIT else _gini_of_words


@intrinsic
def _squared_of_sums(
    typingctx: Any, left: Any, real: Any, A: Any, worth: Any, count: Any, W: Any, Z: Any, n: Any, least: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Lanes(builder)
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
def _plain_squared_of_sums(
    left: Any, real: Any, A: int, worth: Any, count: int, W: float, Z: float, n: int, least: int
) -> None:
    for i in range(count):
        g, h = 0.5 * real[i], 0.5 * real[A + i]
        a, b, c, d = W + g, Z + h, W - g, Z - h
        good = left[i] >= least and n - left[i] >= least and a > 0.0 and c > 0.0
        worth[i] = (b * b * c + d * d * a) / (a * c) if good else NOTHING


# squared_of_sums(left, real, A, worth, count, W, Z, n, least): worth[i] = (b² c + d² a) / (a c), a, c = W ± real[i] / 2 and
# b, d = Z ± real[A + i] / 2; −∞ where left[i] or n − left[i] is below `least`, or a or c is not positive
squared_of_sums = _plain_squared_of_sums if config.DISABLE_JIT else _squared_of_sums


@intrinsic
def _squares_after(typingctx: Any, cells: Any, at: Any, left: Any, whole: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Lanes(builder)
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


def _plain_squares_after(cells: Any, at: int, left: Any, whole: Any, lanes: int) -> tuple[float, float, float]:
    sums = [0.0, 0.0, 0.0]
    for k in range(lanes):
        left[k] += float(cells[at + k])
        x, y = left[k], whole[k] - left[k]
        sums = [total + term for total, term in zip(sums, (x, x * x, y * y))]
    return sums[0], sums[1], sums[2]


# squares_after(cells, at, left, whole, lanes): left[k] += cells[at + k] for all lanes; (Σ left, Σ left², Σ (whole − left)²). All are
# whole numbers below 2⁵³, so that their sums are exact in any order
squares_after = _plain_squares_after if config.DISABLE_JIT else _squares_after


@intrinsic
def _clear(typingctx: Any, cells: Any, at: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Lanes(builder)
        nothing = ir.Constant(ir.VectorType(args[0].type.pointee, LANE), None)
        code.over(args[2], lambda k: code.store(nothing, args[0], builder.add(args[1], k)))
        return context.get_dummy_value()

    return types.void(cells, types.int64, types.int64), generate


def _plain_clear(cells: Any, at: int, lanes: int) -> None:
    for k in range(lanes):
        cells[at + k] = 0


# clear(cells, at, lanes): cells[at : at + lanes] = 0; a plain loop becomes a call, which takes longer than this few
clear = _plain_clear if config.DISABLE_JIT else _clear


@intrinsic
def _gini_of_squares(typingctx: Any, real: Any, A: Any, worth: Any, count: Any, n: Any, least: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Lanes(builder)
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
def _plain_gini_of_squares(real: Any, A: int, worth: Any, count: int, n: float, least: float) -> None:
    for i in range(count):
        a, c = real[i], n - real[i]
        worth[i] = real[A + i] / a + real[2 * A + i] / c if a >= least and c >= least else NOTHING


# gini_of_squares(real, A, worth, count, n, least): worth[i] = real[A + i] / a + real[2 A + i] / c with a = real[i] and c = n − a;
# −∞ where a or c is below `least`
gini_of_squares = _plain_gini_of_squares if config.DISABLE_JIT else _gini_of_squares


@intrinsic
def _greatest(typingctx: Any, worth: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Lanes(builder)
        best = code.variable(code.same(NOTHING))
        code.over(args[1], lambda i: builder.store(code.greater(code.load(args[0], i), builder.load(best)), best))
        return code.folded(builder.load(best), code.greater)

    return types.float64(worth, types.int64), generate


def _plain_greatest(worth: Any, count: int) -> float:
    return max((float(worth[i]) for i in range(count)), default=NOTHING)


# greatest(worth, count): the greatest of worth[:count], a multiple of eight, none of them NaN
greatest = _plain_greatest if config.DISABLE_JIT else _greatest


def _sums_up_to(weighted: bool) -> Any:
    """Without weights draws are added up once."""

    @intrinsic
    def add_up_to(
        typingctx: Any, code: Any, t: Any, w: Any, z: Any, m: Any, W: Any, Z: Any, number: Any, real: Any, A: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lanes = _Lanes(builder)
            code, t, w, z, m, W, Z, number, real, A = args
            nothing, twice = v.same(WORDS, 0), v.same(WORDS, 1)
            W, Z = lanes.spread(W), lanes.spread(Z)

            def body(i: Any) -> None:
                own = lanes.load(code, i)
                sources = (t, z, w) if weighted else (t, z)
                sums = [lanes.variable(nothing) for _ in sources]
                with cgutils.for_range_slice(builder, word(0), m, word(1), WORD) as (k, _):
                    left = builder.icmp_signed("<=", lanes.spread(builder.load(builder.gep(code, [k]))), own)
                    for total, source in zip(sums, sources):
                        x = lanes.spread(builder.load(builder.gep(source, [k])))
                        builder.store(builder.add(builder.load(total), builder.select(left, x, nothing)), total)
                found = [builder.load(total) for total in sums]
                lanes.store(found[0], number, i)
                lanes.store(lanes.doubles(builder.sub(builder.shl(found[-1 if weighted else 0], twice), W)), real, i)
                lanes.store(lanes.doubles(builder.sub(builder.shl(found[1], twice), Z)), real, builder.add(A, i))

            lanes.over(m, body)
            return context.get_dummy_value()

        whole = types.int64
        return types.void(code, t, w, z, whole, whole, whole, number, real, whole), generate

    return add_up_to


def _plain_sums_up_to(
    code: Any, t: Any, w: Any, z: Any, m: int, W: int, Z: int, number: Any, real: Any, A: int
) -> None:
    for i in range((m + 7) & -8):
        left = [k for k in range(m) if code[k] <= code[i]]
        number[i] = sum(int(t[k]) for k in left)
        real[i] = float(2 * sum(int(w[k]) for k in left) - int(W))
        real[A + i] = float(2 * sum(int(z[k]) for k in left) - int(Z))


# weighted_up_to(code, t, w, z, m, W, Z, number, real, A): number[i], real[i], real[A + i] = Σ t, 2 Σ w − W, 2 Σ z − Z over the rows k < m
# with code[k] <= code[i], for all i up to a multiple of eight; drawn_up_to: the same where w is t
weighted_up_to = _plain_sums_up_to if config.DISABLE_JIT else _sums_up_to(True)
drawn_up_to = _plain_sums_up_to if config.DISABLE_JIT else _sums_up_to(False)


@intrinsic
def _corners_above(typingctx: Any, hist: Any, running: Any, count: Any, n: Any, s: Any, best: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Lanes(builder)
        hist, running, count = args[:3]
        N, S, best = (code.spread(x) for x in args[3:])
        above = code.variable(v.same(ir.VectorType(ir.IntType(1), LANE), 0))

        def test(n: Any, s: Any) -> None:
            left, right = builder.fsub(N, n), builder.fsub(S, s)
            ours = builder.fadd(builder.fmul(builder.fmul(s, s), left), builder.fmul(builder.fmul(right, right), n))
            theirs = builder.fmul(best, builder.fmul(n, left))
            builder.store(builder.or_(builder.load(above), builder.fcmp_ordered(">", ours, theirs)), above)

        def body(i: Any) -> None:
            n, s = code.halves(code.load(running, i))
            rows, p = code.halves(code.load(hist, i))
            test(n, s)
            test(builder.fsub(n, builder.fsub(rows, p)), s)
            test(builder.fsub(n, p), builder.fsub(s, p))

        code.over(count, body)
        return v.bits_of(builder, builder.load(above))

    real = types.float64
    return types.int64(hist, running, types.int64, real, real, real), generate


def _plain_corners_above(hist: Any, running: Any, count: int, n: float, s: float, best: float) -> int:
    above = 0
    for i in range(count):
        rows, own = int(hist[i]) >> HALF, int(hist[i]) & LOW
        left, positives = int(running[i]) >> HALF, int(running[i]) & LOW
        for a, b in ((left, positives), (left - rows + own, positives), (left - own, positives - own)):
            c, d = n - a, s - b
            above |= int(b * b * c + d * d * a > best * (a * c)) << (i % LANE)
    return above


# corners_above(hist, running, count, n, s, best): bit i % 8 is set where a corner of cell i scores more than `best`; count: a multiple of eight
corners_above = _plain_corners_above if config.DISABLE_JIT else _corners_above


@intrinsic
def _taken(typingctx: Any, flags: Any, first: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        none = v.same(ir.VectorType(BYTE, GROUP), 0)
        raised = builder.icmp_unsigned("!=", v.load(builder, args[0], args[1], GROUP), none)
        v.store(builder, none, args[0], args[1])
        return v.bits_of(builder, raised)

    return types.uint64(flags, types.int64), generate


def _plain_taken(flags: Any, first: int) -> Any:
    word = sum(1 << i for i in range(GROUP) if flags[first + i])
    for i in range(GROUP):
        flags[first + i] = 0
    return np.uint64(word)


# taken(flags, first): the flags of 64 cells as bits, of one byte each; they are lowered
taken = _plain_taken if config.DISABLE_JIT else _taken
