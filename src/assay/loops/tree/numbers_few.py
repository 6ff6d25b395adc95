"""The best split of a node of a few numbers: every row is compared with every other, eight at a time, and nothing is sorted or branched on.

A split after a row leaves to the left whoever has no greater code: sixteen rows need sixteen comparisons of two vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.tree.candidates import SLACK, beats, keep
from assay.loops.tree.eight import LANE, WORD, WORDS, Lanes, greatest_of, squared_of_sums
from assay.loops.tree.inner import inlined
from assay.loops.tree.numbers_worth import times_of
from assay.loops.tree.shapes import HALF, NONE_MISSING

MOST = 24  # rows, fewer than FEW_ROWS
BEYOND = np.int64(1) << np.int64(40)  # above every code


def _comparing(weighted: bool) -> Any:
    """Without weights draws are added up once."""

    @intrinsic
    def sums_up_to(
        typingctx: Any, code: Any, t: Any, w: Any, z: Any, m: Any, W: Any, Z: Any, number: Any, real: Any, A: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lanes = Lanes(builder)
            code, t, w, z, m, W, Z, number, real, A = args
            nothing, twice = ir.Constant(WORDS, [0] * LANE), ir.Constant(WORDS, [1] * LANE)
            W, Z = lanes.spread(W), lanes.spread(Z)
            zero, one = ir.Constant(WORD, 0), ir.Constant(WORD, 1)

            def body(i: Any) -> None:
                own = lanes.load(code, i)
                sources = (t, z, w) if weighted else (t, z)
                sums = [lanes.variable(nothing) for _ in sources]
                for total in sums:
                    builder.store(nothing, total)
                with cgutils.for_range_slice(builder, zero, m, one, WORD) as (k, _):
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

    return sums_up_to


def _plain(code: Any, t: Any, w: Any, z: Any, m: int, W: int, Z: int, number: Any, real: Any, A: int) -> None:
    for i in range((m + 7) & -8):
        left = [k for k in range(m) if code[k] <= code[i]]
        number[i] = sum(int(t[k]) for k in left)
        real[i] = float(2 * sum(int(w[k]) for k in left) - int(W))
        real[A + i] = float(2 * sum(int(z[k]) for k in left) - int(Z))


# weighted_up_to(code, t, w, z, m, W, Z, number, real, A): number[i], real[i], real[A + i] = Σ t, 2 Σ w − W, 2 Σ z − Z over the rows k < m
# with code[k] <= code[i], for all i up to a multiple of eight; drawn_up_to: the same where w is t
weighted_up_to = _plain if config.DISABLE_JIT else _comparing(True)
drawn_up_to = _plain if config.DISABLE_JIT else _comparing(False)


@inlined
def numbers_few(weighted, table, rules, entries, a, m, f, n, W, Z, t, w, z, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split of column f, of which nothing is missing, by squared error; t, w, z: draws, weights and values of
    the m rows. Says whether the column varies."""
    codes, first, code = table.codes, f * table.n, scratch.place
    low, high = BEYOND, -BEYOND
    for i in range(m):
        c = np.int64(codes[first + np.int64(entries[a + i] >> HALF)])
        code[i] = c
        low, high = min(low, c), max(high, c)
    if low == high:
        return False
    stop, A, worth = (m + 7) & -8, scratch.reach, scratch.worth
    for i in range(m, stop):
        code[i] = BEYOND
    if weighted:
        weighted_up_to(code, t, w, z, m, W, Z, scratch.number, scratch.real, A)
    else:
        drawn_up_to(code, t, w, z, m, W, Z, scratch.number, scratch.real, A)
    squared_of_sums(
        scratch.number, scratch.real, A, worth, stop, 0.5 * np.float64(W), 0.5 * np.float64(Z), n, rules.min_leaf
    )
    best = greatest_of(worth, stop)
    if beats(best, found):
        _keep_first(found, f, code, worth, m, best)
    return True


@inlined
def _keep_first(found, f, code, worth, m, best):  # type: ignore[no-untyped-def]
    """Keep the split with the lowest code of those that are worth `best`, up to rounding."""
    enough, cut, at, after = best - SLACK * abs(best), BEYOND, 0, BEYOND
    for i in range(m):
        if worth[i] >= enough and code[i] < cut:
            cut, at = code[i], i
    for i in range(m):
        after = min(after, code[i]) if code[i] > cut else after
    keep(found, worth[at], f, cut, after, NONE_MISSING)


@inlined
def draws_of(entries, a, m, t):  # type: ignore[no-untyped-def]
    """t[:m]: how often each row was drawn; in a room that no other search of numbers uses."""
    for i in range(m):
        t[i] = np.uint64(times_of(entries[a + i]))
