"""Which columns of a node of two classes may hold a better split than the one found, told from the counts of their buckets alone.

Gini's score of a split is a convex function of what lies to the left, (n, s): rows and positives. A split within a bucket leaves to the left what
the buckets before hold, and some rows of the bucket: its (n, s) lies between four corners, where none of the bucket's rows, all of them,
only its positives, or only its negatives are on the left. So no split scores more than the best of the corners of all buckets. Scores are compared
without a division:

    s² / n + (S − s)² / (N − n) > best    where    s² (N − n) + (S − s)² n > best · n (N − n)

Most columns of a wide table turn out to hold nothing better and need not be sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from assay.loops.tree.eight import LANE, WORDS, Lanes
from assay.loops.tree.inner import inlined

LEAST = 96  # rows of a node below which sorting a column takes no longer
EVERY = 15  # columns, as bits
MARGIN = 2.0**-40  # of a score: more than rounding, and than what makes one split better than another
HALF, LOW = 32, 0xFFFFFFFF


@intrinsic
def _corners_above(typingctx: Any, hist: Any, running: Any, count: Any, n: Any, s: Any, best: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Lanes(builder)
        hist, running, count = args[:3]
        N, S, best = (code.spread(x) for x in args[3:])
        half, low = ir.Constant(WORDS, [HALF] * LANE), ir.Constant(WORDS, [LOW] * LANE)
        bits = ir.VectorType(ir.IntType(1), LANE)
        above = code.variable(ir.Constant(bits, [0] * LANE))

        def test(n: Any, s: Any) -> None:
            left, right = builder.fsub(N, n), builder.fsub(S, s)
            ours = builder.fadd(builder.fmul(builder.fmul(s, s), left), builder.fmul(builder.fmul(right, right), n))
            theirs = builder.fmul(best, builder.fmul(n, left))
            builder.store(builder.or_(builder.load(above), builder.fcmp_ordered(">", ours, theirs)), above)

        def body(i: Any) -> None:
            run, own = code.load(running, i), code.load(hist, i)
            n, s = code.doubles(builder.lshr(run, half)), code.doubles(builder.and_(run, low))
            rows, p = code.doubles(builder.lshr(own, half)), code.doubles(builder.and_(own, low))
            test(n, s)
            test(builder.fsub(n, builder.fsub(rows, p)), s)
            test(builder.fsub(n, p), builder.fsub(s, p))

        code.over(count, body)
        return builder.zext(builder.bitcast(builder.load(above), ir.IntType(LANE)), ir.IntType(64))

    real = types.float64
    return types.int64(hist, running, types.int64, real, real, real), generate


def _corners_above_plain(hist: Any, running: Any, count: int, n: float, s: float, best: float) -> int:
    above = 0
    for i in range(count):
        rows, own = int(hist[i]) >> HALF, int(hist[i]) & LOW
        left, positives = int(running[i]) >> HALF, int(running[i]) & LOW
        for a, b in ((left, positives), (left - rows + own, positives), (left - own, positives - own)):
            c, d = n - a, s - b
            above |= int(b * b * c + d * d * a > best * (a * c)) << (i % LANE)
    return above


# corners_above(hist, running, count, n, s, best): bit i % 8 is set where a corner of cell i scores more than `best`; count: a multiple of eight
corners_above = _corners_above_plain if config.DISABLE_JIT else _corners_above


@inlined
def run_up(hist, used, c0, c1, c2, c3, running):  # type: ignore[no-untyped-def]
    """running: c and what the first `used` buckets of four columns up to each hold."""
    for b in range(used):
        c0 += hist[4 * b]
        c1 += hist[4 * b + 1]
        c2 += hist[4 * b + 2]
        c3 += hist[4 * b + 3]
        running[4 * b] = c0
        running[4 * b + 1] = c1
        running[4 * b + 2] = c2
        running[4 * b + 3] = c3


@inlined
def hopes(hist, running, used, n, s, best):  # type: ignore[no-untyped-def]
    """Bit j is set where column j, counted in every fourth cell from j on, may hold a split that scores as much as `best`, which is
    finite."""
    count = (4 * used + 7) & -8
    above = corners_above(hist, running, count, np.float64(n), np.float64(s), best - MARGIN * abs(best))
    return (above | (above >> 4)) & EVERY
