"""How far rows, or boxes of rows, are from a query: 32 rows at once column by column, products in float32, eight boxes or rows of a tree.

`near_…`: rows lie in groups of 32, tile[column, lane], and are compared in float64: four registers of eight, so that none waits for its own last
sum.

`may_be_near`: rows lie in panels of 32, column by column, queries in groups of ASKED; while the columns go by, the products of a panel and a group
stay in registers, and what is written is a bit a pair. A library's product of 64 columns spends a fifth of its time on copies of its operands,
and what it writes must be read again.

`near_boxes` and the others are made for a norm and a number of columns: Numba compiles a loop for the types of its arguments, and the length of a
tuple is a part of its type. So `norm` is a tuple of as many zeros as its name says below, and `dims` one of d zeros where a loop over d columns
is to be unrolled, else empty. Boxes are float32, rows float64; lanes that hold nothing are NaN, and compare as not near. Without the compiler the
same is done lane by lane.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import DOUBLES, INT32, LANE, SINGLE, WORD, word
from assay.compiled.tiers import WIDE_REGISTERS

PANEL = 32  # rows at a time
ASKED = 12 if WIDE_REGISTERS else 3  # queries: 24 or 12 registers of products
HAMMING, MANHATTAN, EUCLIDEAN, CHEBYSHEV, POWER = range(5)
GREATEST, SUM, SQUARES, POWERS = (), (0,), (0, 0), (0, 0, 0)  # POWERS: squares are compared first, see kdtree_scale
LANES32 = ir.VectorType(INT32, LANE)


def _with_column(builder: Any, kind: int, r: Any, x: Any, q: Any) -> Any:
    """r with one column more."""
    zero = v.same(r.type, 0.0)
    if kind == HAMMING:
        one = v.same(r.type, 1.0)
        return builder.fadd(r, builder.select(builder.fcmp_unordered("!=", x, q), one, zero))
    t = builder.fsub(x, q)
    if kind == EUCLIDEAN:
        return builder.fadd(r, builder.fmul(t, t))
    size = builder.select(builder.fcmp_ordered("<", t, zero), builder.fsub(q, x), t)
    if kind == MANHATTAN:
        return builder.fadd(r, size)
    return v.greater(builder, size, r)


def _near(kind: int) -> Any:
    @intrinsic
    def near(typingctx: Any, tile: Any, at: Any, q: Any, first: Any, d: Any, limit: Any, r: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            tile, at, q, first, d, limit, r = args
            total = v.variable(builder, v.load(builder, r, word(0), PANEL))
            with cgutils.for_range(builder, d) as loop:
                j = builder.add(first, loop.index)
                x = v.load(builder, tile, builder.add(at, builder.mul(j, word(PANEL))), PANEL)
                value = v.spread(builder, builder.load(builder.gep(q, [j])), PANEL)
                builder.store(_with_column(builder, kind, builder.load(total), x, value), total)
            found = builder.load(total)
            v.store(builder, found, r, word(0))
            return v.bits_of(builder, builder.fcmp_ordered("<=", found, v.spread(builder, limit, PANEL)))

        whole = types.int64
        return types.uint64(tile, whole, q, whole, whole, types.float64, r), generate

    def plain(tile: Any, at: int, q: Any, first: int, d: int, limit: float, r: Any) -> Any:
        mask = 0
        for k in range(PANEL):
            for j in range(first, first + d):
                x = tile[at + PANEL * j + k]
                if kind == HAMMING:
                    r[k] += x != q[j]
                elif kind == EUCLIDEAN:
                    r[k] += (x - q[j]) * (x - q[j])
                elif kind == MANHATTAN:
                    r[k] += abs(x - q[j])
                else:
                    r[k] = max(r[k], abs(x - q[j]))
            mask |= int(r[k] <= limit) << k
        return np.uint64(mask)

    return plain if config.DISABLE_JIT else near


# near_…(tile, at, q, first, d, limit, r): r[k] with the columns first … first + d − 1 of the 32 rows at tile[at:] added; bit k: r[k] ≤ limit
near_hamming, near_manhattan, near_euclidean, near_chebyshev = (
    _near(kind) for kind in (HAMMING, MANHATTAN, EUCLIDEAN, CHEBYSHEV)
)


@intrinsic
def _may_be_near(
    typingctx: Any, rows: Any, row: Any, queries: Any, i: Any, d: Any, out: Any, to: Any, step: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, row, queries, i, d, out, to, step = args
        (a, alpha), (b, beta) = ([builder.extract_value(laid, field) for field in range(2)] for laid in (rows, queries))
        at, asked = builder.mul(row, d), builder.mul(i, d)
        sums = [v.variable(builder, v.same(ir.VectorType(SINGLE, PANEL), 0.0)) for _ in range(ASKED)]
        with cgutils.for_range(builder, d) as loop:
            x = v.load(builder, a, builder.add(at, builder.mul(loop.index, word(PANEL))), PANEL)
            first = builder.gep(b, [builder.add(asked, builder.mul(loop.index, word(ASKED)))])
            for q, total in enumerate(sums):
                y = v.spread(builder, builder.load(builder.gep(first, [word(q)])), PANEL)
                builder.store(v.multiply_add(builder, x, y, builder.load(total)), total)
        half = v.load(builder, alpha, row, PANEL)
        for q, total in enumerate(sums):
            number = word(q)
            least = v.spread(builder, builder.load(builder.gep(beta, [builder.add(i, number)])), PANEL)
            good = builder.fcmp_unordered(">=", builder.fsub(builder.load(total), half), least)
            place = builder.gep(out, [builder.add(to, builder.mul(number, step))])
            builder.store(builder.bitcast(good, ir.IntType(PANEL)), place)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(rows, whole, queries, whole, whole, out, whole, whole), generate


def _plain_may_be_near(rows: Any, row: int, queries: Any, i: int, d: int, out: Any, to: int, step: int) -> None:
    (a, alpha), (b, beta) = rows, queries
    for q in range(ASKED):
        mask = 0
        for k in range(PANEL):
            total = np.float32(0)
            for j in range(d):
                total += a[row * d + PANEL * j + k] * b[i * d + ASKED * j + q]
            mask |= int(not total - alpha[row + k] < beta[i + q]) << k
        out[to + q * step] = mask


# may_be_near(rows, row, queries, i, d, out, to, step): for the panel that begins at row `row` of rows = (panels, alpha) and the group that begins at query
# i of queries = (groups, beta), bit k of out[to + q step]: not a_k·b_q − alpha[row + k] < beta[i + q]
may_be_near = _plain_may_be_near if config.DISABLE_JIT else _may_be_near


def _with_gap(builder: Any, norm: int, total: Any, t: Any) -> Any:
    if norm >= len(SQUARES):
        return builder.fadd(total, builder.fmul(t, t))
    t = v.call(builder, "llvm.fabs.v8f" + ("32" if t.type.element == SINGLE else "64"), t.type, t)
    return builder.fadd(total, t) if norm == len(SUM) else v.greater(builder, total, t)


def _over_columns(builder: Any, dims: Any, d: Any, zero: Any, step: Any) -> Any:
    """What step(j, total) makes of zero for j = 0 … d − 1."""
    if dims.count:
        total = zero
        for j in range(dims.count):
            total = step(word(j), total)
        return total
    place = v.variable(builder, zero)
    with cgutils.for_range(builder, d) as loop:
        builder.store(step(loop.index, builder.load(place)), place)
    return builder.load(place)


def _box_gaps(builder: Any, dims: Any, norm: Any, args: Any, far: bool) -> Any:
    boxes, at, low, high, d = args
    zero = v.same(ir.VectorType(SINGLE, LANE), 0.0)

    def step(j: Any, total: Any) -> Any:
        place = builder.add(at, builder.mul(j, word(2 * LANE)))
        least = v.load(builder, boxes, place)
        most = v.load(builder, boxes, builder.add(place, word(LANE)))
        below = v.spread(builder, builder.load(builder.gep(low, [j])))
        above = v.spread(builder, builder.load(builder.gep(high, [j])))
        if far:
            t = v.greater(builder, builder.fsub(above, least), builder.fsub(most, below))
        else:
            t = v.greater(builder, zero, v.greater(builder, builder.fsub(least, above), builder.fsub(below, most)))
        return _with_gap(builder, norm.count, total, t)

    return _over_columns(builder, dims, d, zero, step)


def _box_intrinsic(far: bool) -> Any:
    def typed(
        typingctx: Any, dims: Any, norm: Any, boxes: Any, at: Any, low: Any, high: Any, d: Any, limit: Any, out: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = _box_gaps(builder, dims, norm, args[2:7], far)
            v.store(builder, found, args[8], word(0))
            return v.bits_of(builder, builder.fcmp_ordered("<=", found, v.spread(builder, args[7])))

        return types.int64(dims, norm, boxes, types.int64, low, high, types.int64, types.float32, out), generate

    return typed


@intrinsic
def _near_boxes(
    typingctx: Any, dims: Any, norm: Any, boxes: Any, at: Any, low: Any, high: Any, d: Any, limit: Any, out: Any
) -> Any:
    return _box_intrinsic(False)(typingctx, dims, norm, boxes, at, low, high, d, limit, out)


@intrinsic
def _far_boxes(
    typingctx: Any, dims: Any, norm: Any, boxes: Any, at: Any, low: Any, high: Any, d: Any, limit: Any, out: Any
) -> Any:
    return _box_intrinsic(True)(typingctx, dims, norm, boxes, at, low, high, d, limit, out)


@intrinsic
def _nearest_box(typingctx: Any, dims: Any, norm: Any, boxes: Any, at: Any, low: Any, high: Any, d: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(_box_gaps(builder, dims, norm, args[2:], False), LANES32)
        bits = builder.and_(bits, v.same(LANES32, 0xFFFFFFF8))
        bits = builder.or_(bits, ir.Constant(LANES32, list(range(LANE))))
        least = v.call(builder, "llvm.vector.reduce.umin.v8i32", INT32, bits)
        return builder.zext(builder.and_(least, ir.Constant(INT32, LANE - 1)), WORD)

    return types.int64(dims, norm, boxes, types.int64, low, high, types.int64), generate


@intrinsic
def _near_rows(typingctx: Any, dims: Any, norm: Any, rows: Any, at: Any, q: Any, d: Any, limit: Any, out: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, _, rows, at, q, d, limit, out = args

        def step(j: Any, total: Any) -> Any:
            x = v.load(builder, rows, builder.add(at, builder.mul(j, word(LANE))))
            t = builder.fsub(x, v.spread(builder, builder.load(builder.gep(q, [j]))))
            return _with_gap(builder, norm.count, total, t)

        zero = v.same(DOUBLES, 0.0)
        found = _over_columns(builder, dims, d, zero, step)
        v.store(builder, found, out, word(0))
        return v.bits_of(builder, builder.fcmp_ordered("<=", found, v.spread(builder, limit)))

    return types.int64(dims, norm, rows, types.int64, q, types.int64, types.float64, out), generate


def _plain_with_gap(norm: Any, total: Any, t: Any) -> Any:
    if len(norm) >= len(SQUARES):
        return total + t * t
    return total + abs(t) if norm == SUM else (total if total > abs(t) else abs(t))


def _box_gap(norm: Any, boxes: Any, at: int, low: Any, high: Any, d: int, far: bool, k: int) -> Any:
    total = np.float32(0)
    for j in range(d):
        least, most = boxes[at + 2 * LANE * j + k], boxes[at + 2 * LANE * j + LANE + k]
        a, b = (high[j] - least, most - low[j]) if far else (least - high[j], low[j] - most)
        t = a if a > b else b
        total = _plain_with_gap(norm, total, t if far or not t < 0 else np.float32(0))
    return total


def _plain_boxes(far: bool) -> Any:
    def plain_boxes(
        dims: Any, norm: Any, boxes: Any, at: int, low: Any, high: Any, d: int, limit: Any, out: Any
    ) -> int:
        for k in range(LANE):
            out[k] = _box_gap(norm, boxes, at, low, high, d, far, k)
        return sum(int(out[k] <= limit) << k for k in range(LANE))

    return plain_boxes


def _plain_nearest_box(dims: Any, norm: Any, boxes: Any, at: int, low: Any, high: Any, d: int) -> int:
    gaps = [_box_gap(norm, boxes, at, low, high, d, False, k) for k in range(LANE)]
    return int(np.nanargmin(gaps))


def _plain_near_rows(dims: Any, norm: Any, rows: Any, at: int, q: Any, d: int, limit: float, out: Any) -> int:
    for k in range(LANE):
        total = 0.0
        for j in range(d):
            total = _plain_with_gap(norm, total, float(rows[at + LANE * j + k]) - float(q[j]))
        out[k] = total
    return sum(int(out[k] <= limit) << k for k in range(LANE))


# near_boxes(dims, norm, boxes, at, low, high, d, limit, out): out[k], in float32, the distance of the query low … high to the nearest point of box k
# of the eight at boxes[at:], least and most of each column in turn; bit k of the answer: out[k] ≤ limit
near_boxes = _plain_boxes(False) if config.DISABLE_JIT else _near_boxes
# far_boxes: the same for the farthest point
far_boxes = _plain_boxes(True) if config.DISABLE_JIT else _far_boxes
# nearest_box(dims, norm, boxes, at, low, high, d): which of the eight is nearest
nearest_box = _plain_nearest_box if config.DISABLE_JIT else _nearest_box
# near_rows(dims, norm, rows, at, q, d, limit, out): out[k], the reduced distance of row k of the eight at rows[at:], added up in the order of
# the columns; bit k of the answer: out[k] ≤ limit
near_rows = _plain_near_rows if config.DISABLE_JIT else _near_rows
