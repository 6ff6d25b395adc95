"""Eight numbers at a time: how generated code reads, writes and compares them. All arrays are flat and bare."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

LANE = 8
WORD = ir.IntType(64)


def lanes_at(builder: Any, array: Any, at: Any) -> Any:
    kind = ir.VectorType(array.type.pointee, LANE)
    address = builder.bitcast(builder.gep(array, [at]), kind.as_pointer())
    return builder.load(address, align=4 if array.type.pointee == ir.FloatType() else 8)


def store_lanes(builder: Any, v: Any, array: Any, at: Any) -> None:
    address = builder.bitcast(builder.gep(array, [at]), v.type.as_pointer())
    builder.store(v, address, align=4 if array.type.pointee == ir.FloatType() else 8)


def spread(builder: Any, x: Any) -> Any:
    nothing = ir.Constant(ir.VectorType(x.type, LANE), ir.Undefined)
    one = builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANE), [0] * LANE))


def mask_lanes(builder: Any, good: Any) -> Any:
    return builder.zext(builder.bitcast(good, ir.IntType(LANE)), WORD)
