"""Sums of gradients and Hessians that lie side by side, eight columns of a row at a time; and the scores of splits, eight at a time.

Of 20 columns an addition took 0.7 ns with the codes read one by one, each with the place of its column: loads are the limit. Here a code costs a shift.
Whole numbers below 2⁵¹ become doubles by their bits: AVX2 has no instruction for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import DOUBLES, LANE, WORD, WORDS, word

BINS = 256  # of a column
TOGETHER = 8  # columns
BIAS_BITS, BIAS = 0x4338000000000000, 6755399441055744.0  # 2⁵² + 2⁵¹ as a double
NOTHING = float("-inf")
PAIR = ir.VectorType(WORD, 2).as_pointer()


def _add(builder: Any, sums: Any, to: Any, added: Any) -> None:
    place = builder.bitcast(builder.gep(sums, [to]), PAIR)
    builder.store(builder.add(builder.load(place, align=8), added), place, align=8)


@intrinsic
def _add_pair(typingctx: Any, sums: Any, to: Any, words: Any, of: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        added = builder.load(builder.bitcast(builder.gep(args[2], [args[3]]), PAIR), align=8)
        _add(builder, args[0], args[1], added)
        return context.get_dummy_value()

    return types.void(sums, types.int64, words, types.int64), generate


@intrinsic
def _add_eight(typingctx: Any, sums: Any, to: Any, codes: Any, at: Any, words: Any, of: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums, to, codes, at, words, of = args
        added = builder.load(builder.bitcast(builder.gep(words, [of]), PAIR), align=8)
        eight = builder.load(builder.bitcast(builder.gep(codes, [at]), WORD.as_pointer()), align=1)
        for k in range(TOGETHER):
            code = builder.and_(builder.lshr(eight, word(8 * k)), word(255))
            place = builder.add(builder.shl(code, word(1)), builder.add(to, word(2 * BINS * k)))
            _add(builder, sums, place, added)
        return context.get_dummy_value()

    i = types.int64
    return types.void(sums, i, codes, i, words, i), generate


def _plain_add_pair(sums: Any, to: int, words: Any, of: int) -> None:
    sums[to] += words[of]
    sums[to + 1] += words[of + 1]


def _plain_add_eight(sums: Any, to: int, codes: Any, at: int, words: Any, of: int) -> None:
    for k in range(TOGETHER):
        _plain_add_pair(sums, to + 2 * (BINS * k + int(codes[at + k])), words, of)


# add_pair(sums, to, words, of): sums[to : to + 2] += words[of : of + 2]; addresses of 64-bit whole numbers
add_pair = _plain_add_pair if config.DISABLE_JIT else _add_pair
# add_eight(sums, to, codes, at, words, of): the same for eight columns, with the bins 256 k + codes[at + k] from sums[to] on
add_eight = _plain_add_eight if config.DISABLE_JIT else _add_eight


@intrinsic
def _newton_scores(
    typingctx: Any, g: Any, w: Any, worth: Any, count: Any, G: Any, H: Any, C: Any, l1: Any, l2: Any, least: Any, light: Any, shift: Any
) -> Any:  # fmt: skip
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        g, w, worth, count = args[:4]
        G, H, C, l1, l2, least, light = (v.spread(builder, x) for x in args[4:11])
        shift = v.spread(builder, args[11])
        mask = builder.sub(builder.shl(v.same(WORDS, 1), shift), v.same(WORDS, 1))
        zero, best = v.same(DOUBLES, 0.0), v.variable(builder, v.same(DOUBLES, NOTHING))

        def double(x: Any) -> Any:
            biased = builder.bitcast(builder.add(x, v.same(WORDS, BIAS_BITS)), DOUBLES)
            return builder.fsub(biased, v.same(DOUBLES, BIAS))

        def larger(a: Any, b: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", a, b), a, b)

        def shrunk(x: Any) -> Any:
            low = builder.fadd(x, l1)
            low = builder.select(builder.fcmp_ordered("<", low, zero), low, zero)
            return builder.fadd(larger(builder.fsub(x, l1), zero), low)

        with cgutils.for_range_slice(builder, word(0), count, word(LANE), WORD) as (i, _):
            a, words = double(v.load(builder, g, i)), v.load(builder, w, i)
            h, c = double(builder.and_(words, mask)), double(builder.lshr(words, shift))
            rest, left = builder.fsub(H, h), builder.fsub(C, c)
            good = builder.fcmp_ordered(">=", c, least)
            for side, bound in ((left, least), (h, light), (rest, light)):
                good = builder.and_(good, builder.fcmp_ordered(">=", side, bound))
            b, a = shrunk(builder.fsub(G, a)), shrunk(a)
            p, q = builder.fadd(h, l2), builder.fadd(rest, l2)
            top = builder.fadd(builder.fmul(builder.fmul(a, a), q), builder.fmul(builder.fmul(b, b), p))
            score = builder.select(good, builder.fdiv(top, builder.fmul(p, q)), v.same(DOUBLES, NOTHING))
            v.store(builder, score, worth, i)
            builder.store(v.greater(builder, score, builder.load(best)), best)
        return v.fold(builder, builder.load(best), lambda x, y: v.greater(builder, x, y))

    real, i = types.float64, types.int64
    return real(g, w, worth, i, real, real, real, real, real, real, real, i), generate


@np.errstate(all="ignore")
def _plain_newton_scores(
    g: Any, w: Any, worth: Any, count: int, G: float, H: float, C: float, l1: float, l2: float, least: float, light: float, shift: int
) -> float:  # fmt: skip
    best = NOTHING
    for i in range(-(-count // LANE) * LANE):
        a, h, c = float(g[i]), np.float64(int(w[i]) & ((1 << shift) - 1)), np.float64(int(w[i]) >> shift)
        b = G - a
        a, b = max(a - l1, 0.0) + min(a + l1, 0.0), max(b - l1, 0.0) + min(b + l1, 0.0)
        p, q = h + l2, H - h + l2
        good = c >= least and C - c >= least and h >= light and H - h >= light
        worth[i] = (a * a * q + b * b * p) / (p * q) if good else NOTHING
        best = max(best, worth[i])
    return best


# newton_scores(g, w, worth, count, G, H, C, l1, l2, least, light, shift): worth[i] = S(a)² / (h + l2) + S(G − a)² / (H − h + l2) with a = g[i], h the low
# bits of w[i] and c the high ones; −∞ where c, C − c are below `least` or h, H − h below `light`. Returns the greatest. Arrays have room up to a
# multiple of eight, which must hold what is inadmissible.
newton_scores = _plain_newton_scores if config.DISABLE_JIT else _newton_scores
