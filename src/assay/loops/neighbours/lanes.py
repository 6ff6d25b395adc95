"""Eight boxes or eight rows at a time, with vector types spelt out. All arrays are flat and bare; without the compiler they are arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LANE = 8
WORD = ir.IntType(64)


def _vector(builder: Any, array: Any, at: Any) -> Any:
    kind = ir.VectorType(array.type.pointee, LANE)
    address = builder.bitcast(builder.gep(array, [at]), kind.as_pointer())
    return builder.load(address, align=4 if array.type.pointee == ir.FloatType() else 8)


def _store(builder: Any, v: Any, array: Any, at: Any) -> None:
    address = builder.bitcast(builder.gep(array, [at]), v.type.as_pointer())
    builder.store(v, address, align=4 if array.type.pointee == ir.FloatType() else 8)


def _spread(builder: Any, x: Any) -> Any:
    nothing = ir.Constant(ir.VectorType(x.type, LANE), ir.Undefined)
    one = builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANE), [0] * LANE))


def _greater(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _mask(builder: Any, good: Any) -> Any:
    return builder.zext(builder.bitcast(good, ir.IntType(LANE)), WORD)


@intrinsic
def _near_boxes(typingctx: Any, boxes: Any, at: Any, low: Any, high: Any, d: Any, limit: Any, out: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        boxes, at, low, high, d, limit, out = args
        floats = ir.VectorType(ir.FloatType(), LANE)
        zero = ir.Constant(floats, [0.0] * LANE)
        total = cgutils.alloca_once_value(builder, zero)
        lane, two = ir.Constant(WORD, LANE), ir.Constant(WORD, 2 * LANE)
        with cgutils.for_range(builder, d) as loop:
            place = builder.add(at, builder.mul(loop.index, two))
            least, most = _vector(builder, boxes, place), _vector(builder, boxes, builder.add(place, lane))
            q_low = _spread(builder, builder.load(builder.gep(low, [loop.index])))
            q_high = _spread(builder, builder.load(builder.gep(high, [loop.index])))
            t = _greater(builder, builder.fsub(least, q_high), builder.fsub(q_low, most))
            t = _greater(builder, t, zero)
            builder.store(builder.fadd(builder.load(total), builder.fmul(t, t)), total)
        found = builder.load(total)
        _store(builder, found, out, ir.Constant(WORD, 0))
        return _mask(builder, builder.fcmp_ordered("<=", found, _spread(builder, limit)))

    whole = types.int64
    return types.int64(boxes, whole, low, high, whole, types.float32, out), generate


def _near_boxes_plain(boxes: Any, at: int, low: Any, high: Any, d: int, limit: Any, out: Any) -> int:
    mask = 0
    for k in range(LANE):
        total = np.float32(0)
        for j in range(d):
            least, most = boxes[at + 2 * LANE * j + k], boxes[at + 2 * LANE * j + LANE + k]
            t = max(least - high[j], low[j] - most, np.float32(0))
            total = np.float32(total + t * t)
        out[k] = total
        mask |= int(total <= limit) << k
    return mask


# near_boxes(boxes, at, low, high, d, limit, out): out[k] = Σ_j max(least_jk − high_j, low_j − most_jk, 0)² in float32 for the eight boxes at
# boxes[at:], least and most of each column in turn; bit k of the answer: out[k] ≤ limit
near_boxes = _near_boxes_plain if config.DISABLE_JIT else _near_boxes


@intrinsic
def _near_rows(typingctx: Any, rows: Any, at: Any, q: Any, d: Any, limit: Any, out: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, at, q, d, limit, out = args
        doubles = ir.VectorType(ir.DoubleType(), LANE)
        total = cgutils.alloca_once_value(builder, ir.Constant(doubles, [0.0] * LANE))
        with cgutils.for_range(builder, d) as loop:
            x = _vector(builder, rows, builder.add(at, builder.mul(loop.index, ir.Constant(WORD, LANE))))
            t = builder.fsub(x, _spread(builder, builder.load(builder.gep(q, [loop.index]))))
            builder.store(builder.fadd(builder.load(total), builder.fmul(t, t)), total)
        found = builder.load(total)
        _store(builder, found, out, ir.Constant(WORD, 0))
        return _mask(builder, builder.fcmp_ordered("<=", found, _spread(builder, limit)))

    whole = types.int64
    return types.int64(rows, whole, q, whole, types.float64, out), generate


def _near_rows_plain(rows: Any, at: int, q: Any, d: int, limit: float, out: Any) -> int:
    mask = 0
    for k in range(LANE):
        total = 0.0
        for j in range(d):
            t = rows[at + LANE * j + k] - q[j]
            total += t * t
        out[k] = total
        mask |= int(total <= limit) << k
    return mask


# near_rows(rows, at, q, d, limit, out): out[k] = Σ_j (rows[at + 8 j + k] − q_j)², added in the order of the columns; bit k of the answer:
# out[k] ≤ limit
near_rows = _near_rows_plain if config.DISABLE_JIT else _near_rows
