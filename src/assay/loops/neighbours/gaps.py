"""How far eight boxes, or eight rows, are from a query, at once; in the norm and for the number of columns that are compiled in.

Numba compiles a loop for the types of its arguments, and the length of a tuple is a part of its type. So `norm` is a tuple of as many zeros as
its name says below, and `dims` one of d zeros where a loop over d columns is to be unrolled, else empty. Boxes are float32, rows float64; lanes that
hold nothing are NaN, and compare as not near. Without the compiler the same is done lane by lane.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.neighbours.lanes import LANE, WORD, lanes_at, mask_lanes, spread, store_lanes

GREATEST, SUM, SQUARES, POWERS = (), (0,), (0, 0), (0, 0, 0)  # POWERS: squares are compared first, see kdtree_scale
LANES32 = ir.VectorType(ir.IntType(32), LANE)


def _call(builder: Any, name: str, result: Any, *args: Any) -> Any:
    kind = ir.FunctionType(result, [a.type for a in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def _most(builder: Any, a: Any, b: Any) -> Any:
    """The greater of the two, b where one of them is NaN."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _joined(builder: Any, norm: int, total: Any, t: Any) -> Any:
    if norm >= len(SQUARES):
        return builder.fadd(total, builder.fmul(t, t))
    t = _call(builder, "llvm.fabs.v8f" + ("32" if t.type.element == ir.FloatType() else "64"), t.type, t)
    return builder.fadd(total, t) if norm == len(SUM) else _most(builder, total, t)


def _over_columns(builder: Any, dims: Any, d: Any, zero: Any, step: Any) -> Any:
    """What step(j, total) makes of zero for j = 0 … d − 1."""
    if dims.count:
        total = zero
        for j in range(dims.count):
            total = step(ir.Constant(WORD, j), total)
        return total
    place = cgutils.alloca_once_value(builder, zero)
    with cgutils.for_range(builder, d) as loop:
        builder.store(step(loop.index, builder.load(place)), place)
    return builder.load(place)


def _box_gaps(builder: Any, dims: Any, norm: Any, args: Any, far: bool) -> Any:
    boxes, at, low, high, d = args
    zero = ir.Constant(ir.VectorType(ir.FloatType(), LANE), [0.0] * LANE)

    def step(j: Any, total: Any) -> Any:
        place = builder.add(at, builder.mul(j, ir.Constant(WORD, 2 * LANE)))
        least = lanes_at(builder, boxes, place)
        most = lanes_at(builder, boxes, builder.add(place, ir.Constant(WORD, LANE)))
        below = spread(builder, builder.load(builder.gep(low, [j])))
        above = spread(builder, builder.load(builder.gep(high, [j])))
        if far:
            t = _most(builder, builder.fsub(above, least), builder.fsub(most, below))
        else:
            t = _most(builder, zero, _most(builder, builder.fsub(least, above), builder.fsub(below, most)))
        return _joined(builder, norm.count, total, t)

    return _over_columns(builder, dims, d, zero, step)


def _box_intrinsic(far: bool) -> Any:
    def typed(
        typingctx: Any, dims: Any, norm: Any, boxes: Any, at: Any, low: Any, high: Any, d: Any, limit: Any, out: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = _box_gaps(builder, dims, norm, args[2:7], far)
            store_lanes(builder, found, args[8], ir.Constant(WORD, 0))
            return mask_lanes(builder, builder.fcmp_ordered("<=", found, spread(builder, args[7])))

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
        bits = builder.and_(bits, ir.Constant(LANES32, [0xFFFFFFF8] * LANE))
        bits = builder.or_(bits, ir.Constant(LANES32, list(range(LANE))))
        least = _call(builder, "llvm.vector.reduce.umin.v8i32", ir.IntType(32), bits)
        return builder.zext(builder.and_(least, ir.Constant(ir.IntType(32), LANE - 1)), WORD)

    return types.int64(dims, norm, boxes, types.int64, low, high, types.int64), generate


@intrinsic
def _near_rows(typingctx: Any, dims: Any, norm: Any, rows: Any, at: Any, q: Any, d: Any, limit: Any, out: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, _, rows, at, q, d, limit, out = args

        def step(j: Any, total: Any) -> Any:
            x = lanes_at(builder, rows, builder.add(at, builder.mul(j, ir.Constant(WORD, LANE))))
            t = builder.fsub(x, spread(builder, builder.load(builder.gep(q, [j]))))
            return _joined(builder, norm.count, total, t)

        zero = ir.Constant(ir.VectorType(ir.DoubleType(), LANE), [0.0] * LANE)
        found = _over_columns(builder, dims, d, zero, step)
        store_lanes(builder, found, out, ir.Constant(WORD, 0))
        return mask_lanes(builder, builder.fcmp_ordered("<=", found, spread(builder, limit)))

    return types.int64(dims, norm, rows, types.int64, q, types.int64, types.float64, out), generate


def _joined_plain(norm: Any, total: Any, t: Any) -> Any:
    if len(norm) >= len(SQUARES):
        return total + t * t
    return total + abs(t) if norm == SUM else (total if total > abs(t) else abs(t))


def _box_gap(norm: Any, boxes: Any, at: int, low: Any, high: Any, d: int, far: bool, k: int) -> Any:
    total = np.float32(0)
    for j in range(d):
        least, most = boxes[at + 2 * LANE * j + k], boxes[at + 2 * LANE * j + LANE + k]
        a, b = (high[j] - least, most - low[j]) if far else (least - high[j], low[j] - most)
        t = a if a > b else b
        total = _joined_plain(norm, total, t if far or not t < 0 else np.float32(0))
    return total


def _boxes_plain(far: bool) -> Any:
    def boxes_plain(
        dims: Any, norm: Any, boxes: Any, at: int, low: Any, high: Any, d: int, limit: Any, out: Any
    ) -> int:
        for k in range(LANE):
            out[k] = _box_gap(norm, boxes, at, low, high, d, far, k)
        return sum(int(out[k] <= limit) << k for k in range(LANE))

    return boxes_plain


def _nearest_box_plain(dims: Any, norm: Any, boxes: Any, at: int, low: Any, high: Any, d: int) -> int:
    gaps = [_box_gap(norm, boxes, at, low, high, d, False, k) for k in range(LANE)]
    return int(np.nanargmin(gaps))


def _power_plain(x: Any, p: Any) -> float:
    try:
        return math.pow(x, p)
    except OverflowError:
        return math.inf


def _near_rows_plain(dims: Any, norm: Any, rows: Any, at: int, q: Any, d: int, limit: float, out: Any) -> int:
    for k in range(LANE):
        total = 0.0
        for j in range(d):
            total = _joined_plain(norm, total, float(rows[at + LANE * j + k]) - float(q[j]))
        out[k] = total
    return sum(int(out[k] <= limit) << k for k in range(LANE))


# near_boxes(dims, norm, boxes, at, low, high, d, limit, out): out[k], in float32, the distance of the query low … high to the nearest point of box k
# of the eight at boxes[at:], least and most of each column in turn; bit k of the answer: out[k] ≤ limit
near_boxes = _boxes_plain(False) if config.DISABLE_JIT else _near_boxes
# far_boxes: the same for the farthest point
far_boxes = _boxes_plain(True) if config.DISABLE_JIT else _far_boxes
# nearest_box(dims, norm, boxes, at, low, high, d): which of the eight is nearest
nearest_box = _nearest_box_plain if config.DISABLE_JIT else _nearest_box
# near_rows(dims, norm, rows, at, q, d, limit, out): out[k], the reduced distance of row k of the eight at rows[at:], added up in the order of
# the columns; bit k of the answer: out[k] ≤ limit
near_rows = _near_rows_plain if config.DISABLE_JIT else _near_rows
# power(x, p): x^p as the C library takes it
power = _power_plain if config.DISABLE_JIT else njit(nogil=True, cache=True, forceinline=True)(lambda x, p: x**p)
