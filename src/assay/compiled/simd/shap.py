"""SHAP values of eight rows at a time (`families.trees.loops.shap`): a lane is a row, and a set of rows is eight bits.

Where a row stands on an edge of a tree is one of three things: it satisfies all that the way asks of the edge's column (`hot`), it fails
that here first (`cold`), or it failed above. All arrays are addresses; offsets count numbers. An edge's row of the table `E` holds, for Q
points, the factors of hot and of cold rows and then what they add: 4·Q numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import BYTE, DOUBLES, LANE, WORD, word

BITS = ir.VectorType(ir.IntType(1), LANE)
ALL = (1 << LANE) - 1


def _lanes(builder: Any, rows: Any) -> Any:
    """A set of rows as a mask."""
    return builder.bitcast(builder.trunc(rows, BYTE), BITS)


def _pick(builder: Any, E: Any, at: Any, hot: Any, cold: Any, rest: Any) -> Any:
    """E[at] for hot rows, E[at + Q] for cold ones (both given as (mask, offset)), else `rest`."""
    (is_hot, to_hot), (is_cold, to_cold) = hot, cold
    first = v.spread(builder, builder.load(builder.gep(E, [builder.add(at, to_hot)])))
    second = v.spread(builder, builder.load(builder.gep(E, [builder.add(at, to_cold)])))
    return builder.select(is_hot, first, builder.select(is_cold, second, rest))


@intrinsic
def _rows_up_to(typingctx: Any, X: Any, at: Any, cut: Any, missing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x = v.load(builder, args[0], args[1])
        below = builder.fcmp_ordered("<=", x, v.spread(builder, args[2]))
        lacking = builder.and_(v.bits_of(builder, builder.fcmp_unordered("uno", x, x)), args[3])
        return builder.or_(v.bits_of(builder, below), lacking)

    return types.int64(X, types.int64, types.float64, types.int64), generate


@np.errstate(invalid="ignore")
def _plain_rows_up_to(X: Any, at: int, cut: float, missing: int) -> int:
    found = 0
    for r in range(LANE):
        x = X[at + r]
        found |= int(x <= cut or (x != x and missing != 0)) << r
    return found


# rows_up_to(X, at, cut, missing): the rows with X[at + row] ≤ cut; those of `missing` also where that is NaN
rows_up_to = _plain_rows_up_to if config.DISABLE_JIT else _rows_up_to


@intrinsic
def _go_down(
    typingctx: Any, P: Any, above: Any, below: Any, E: Any, e: Any, rest: Any, hot: Any, cold: Any, Q: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        P, above, below, E, e, rest, hot, cold, Q = args
        sides = (_lanes(builder, hot), word(0)), (_lanes(builder, cold), Q)
        others = v.spread(builder, rest)
        with cgutils.for_range(builder, Q, intp=WORD) as loop:
            factor = _pick(builder, E, builder.add(e, loop.index), *sides, others)
            at = builder.mul(loop.index, word(LANE))
            p = v.load(builder, P, builder.add(above, at))
            v.store(builder, builder.fmul(p, factor), P, builder.add(below, at))
        return context.get_dummy_value()

    whole, real = types.int64, types.float64
    return types.void(P, whole, whole, E, whole, real, whole, whole, whole), generate


def _plain_go_down(P: Any, above: int, below: int, E: Any, e: int, rest: float, hot: int, cold: int, Q: int) -> None:
    for q in range(Q):
        for r in range(LANE):
            factor = E[e + q] if hot >> r & 1 else E[e + Q + q] if cold >> r & 1 else rest
            P[below + q * LANE + r] = P[above + q * LANE + r] * factor


# go_down(P, above, below, E, e, rest, hot, cold, Q): P[below …] = P[above …] · the factor of each row on the edge at E[e]; of rows that
# failed above it is `rest`
go_down = _plain_go_down if config.DISABLE_JIT else _go_down


@intrinsic
def _close_edge(
    typingctx: Any,
    G: Any,
    own: Any,
    above: Any,
    first: Any,
    E: Any,
    e: Any,
    hot: Any,
    cold: Any,
    Q: Any,
    phi: Any,
    to: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        G, own, above, first, E, e, hot, cold, Q, phi, to = args
        twice = builder.add(Q, Q)
        sides = (_lanes(builder, hot), twice), (_lanes(builder, cold), builder.add(twice, Q))
        zero = v.same(DOUBLES, 0.0)
        alone = builder.icmp_signed("!=", first, word(0))
        total = v.variable(builder, zero)
        with cgutils.for_range(builder, Q, intp=WORD) as loop:
            at = builder.mul(loop.index, word(LANE))
            g = v.load(builder, G, builder.add(own, at))
            adds = _pick(builder, E, builder.add(e, loop.index), *sides, zero)
            builder.store(v.multiply_add(builder, g, adds, builder.load(total)), total)
            place = builder.add(above, at)
            v.store(builder, builder.select(alone, g, builder.fadd(v.load(builder, G, place), g)), G, place)
        v.store(builder, builder.fadd(v.load(builder, phi, to), builder.load(total)), phi, to)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(G, whole, whole, whole, E, whole, whole, whole, whole, phi, whole), generate


def _plain_close_edge(
    G: Any, own: int, above: int, first: int, E: Any, e: int, hot: int, cold: int, Q: int, phi: Any, to: int
) -> None:
    for r in range(LANE):
        total = 0.0
        for q in range(Q):
            g = G[own + q * LANE + r]
            total += g * (E[e + 2 * Q + q] if hot >> r & 1 else E[e + 3 * Q + q] if cold >> r & 1 else 0.0)
            G[above + q * LANE + r] = g if first else G[above + q * LANE + r] + g
        phi[to + r] += total


# close_edge(G, own, above, first, E, e, hot, cold, Q, phi, to): phi[to …] += Σ_q G[own + q] · what the edge at E[e] adds; G[own …] is added to
# G[above …], or put there where it is the first
close_edge = _plain_close_edge if config.DISABLE_JIT else _close_edge


@intrinsic
def _scale_to(typingctx: Any, P: Any, p: Any, value: Any, G: Any, g: Any, Q: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        P, p, value, G, g, Q = args
        factor = v.spread(builder, value)
        with cgutils.for_range(builder, Q, intp=WORD) as loop:
            at = builder.mul(loop.index, word(LANE))
            scaled = builder.fmul(v.load(builder, P, builder.add(p, at)), factor)
            v.store(builder, scaled, G, builder.add(g, at))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(P, whole, types.float64, G, whole, whole), generate


def _plain_scale_to(P: Any, p: int, value: float, G: Any, g: int, Q: int) -> None:
    G[g : g + Q * LANE] = P[p : p + Q * LANE] * value


# scale_to(P, p, value, G, g, Q): G[g …] = value · P[p …]
scale_to = _plain_scale_to if config.DISABLE_JIT else _scale_to
