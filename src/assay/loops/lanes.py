"""Eight columns at a time, with vector types spelt out.

Left to itself, Numba counts references to every slice of a row it makes (4–20 ns a row, as much as the work), and LLVM
gives up on loops with many arrays. These functions take whole arrays and row numbers, treat the first 8·⌊d/8⌋ columns, and return
where they stopped; the caller does the rest. Without the compiler they treat none. Measured for 50 columns: hash of a row
12 → 7 ns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LANE = 8
WORD = ir.IntType(64)
WORDS = ir.VectorType(WORD, LANE)
DOUBLES = ir.VectorType(ir.DoubleType(), LANE)


class _Code:
    """Addresses, loads and stores for one function under construction."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.signature, self.args = context, builder, signature, args

    def array(self, number: int) -> Any:
        proxy = cgutils.create_struct_proxy(self.signature.args[number])
        return proxy(self.context, self.builder, value=self.args[number])

    def row(self, array: int, index: int) -> Any:
        """The address of a row of the two-dimensional argument `array`; its number is the argument `index`."""
        a = self.array(array)
        width = cgutils.unpack_tuple(self.builder, a.shape, 2)[1]
        return self.builder.gep(a.data, [self.builder.mul(self.args[index], width)])

    def place(self, row: Any, j: Any) -> Any:
        at = self.builder.gep(row, [j])
        return self.builder.bitcast(at, ir.VectorType(row.type.pointee, LANE).as_pointer())

    def load(self, row: Any, j: Any) -> Any:
        """Eight values of a row as 64-bit words or doubles, whatever they are stored as."""
        size = 4 if row.type.pointee in (ir.IntType(32), ir.FloatType()) else 8
        v = self.builder.load(self.place(row, j), align=size)
        if row.type.pointee == ir.FloatType():
            return self.builder.fpext(v, DOUBLES)
        return self.builder.zext(v, WORDS) if row.type.pointee == ir.IntType(32) else v

    def add_to(self, row: Any, j: Any, v: Any, add: Callable[..., Any]) -> None:
        at = self.place(row, j)
        self.builder.store(add(self.builder.load(at, align=8), v), at, align=8)

    def spread(self, x: Any) -> Any:
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANE), [0] * LANE)
        nothing = ir.Constant(ir.VectorType(x.type, LANE), ir.Undefined)
        one = self.builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(one, nothing, zeros)

    def over_columns(self, n: Any, body: Callable[[Any], None]) -> Any:
        """body(j) for j = 0, 8, … while eight columns are left; returns where it stopped."""
        stop = self.builder.and_(n, ir.Constant(WORD, -LANE))
        lane = ir.Constant(WORD, LANE)
        with cgutils.for_range_slice(self.builder, ir.Constant(WORD, 0), stop, lane, WORD) as (j, _):
            body(j)
        return stop


@intrinsic
def _mix_lanes(typingctx: Any, U: Any, i: Any, key: Any, next_key: Any, h: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        sums = code.array(4)
        n = cgutils.unpack_tuple(builder, sums.shape, 1)[0]
        first = code.row(0, 1)
        second = builder.gep(first, [n])
        half = ir.Constant(WORDS, [32] * LANE)
        low = ir.Constant(WORDS, [0xFFFFFFFF] * LANE)
        keys = code.spread(args[2]), code.spread(args[3])
        narrow = first.type.pointee == ir.IntType(32)

        def body(j: Any) -> None:
            terms = []
            for row, k in zip((first, second), keys):
                x = code.load(row, j)
                v = builder.xor(builder.or_(x, builder.shl(x, half)) if narrow else x, k)
                terms.append(builder.add(builder.mul(builder.and_(v, low), builder.lshr(v, half)), x))
            code.add_to(sums.data, j, builder.add(*terms), builder.add)

        return code.over_columns(n, body)

    return types.intp(U, types.intp, types.uint64, types.uint64, h), generate


@intrinsic
def _add_lanes(typingctx: Any, X: Any, i0: Any, i1: Any, k: Any, P: Any, A: Any, B: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        n = cgutils.unpack_tuple(builder, code.array(4).shape, 2)[1]
        x0, x1 = code.row(0, 1), code.row(0, 2)
        p, a, b = code.row(4, 3), code.row(5, 3), code.row(6, 3)

        def body(j: Any) -> None:
            pivot = code.load(p, j)
            t0, t1 = builder.fsub(code.load(x0, j), pivot), builder.fsub(code.load(x1, j), pivot)
            code.add_to(a, j, builder.fadd(t0, t1), builder.fadd)
            code.add_to(b, j, builder.fadd(builder.fmul(t0, t0), builder.fmul(t1, t1)), builder.fadd)

        return code.over_columns(n, body)

    return types.intp(X, types.intp, types.intp, types.intp, P, A, B), generate


@intrinsic
def _shift_lanes(typingctx: Any, X: Any, i: Any, p: Any, r: Any, T: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        pivot = code.array(2)
        n = cgutils.unpack_tuple(builder, pivot.shape, 1)[0]
        x, t = code.row(0, 1), code.row(4, 5)
        scale = code.spread(args[3])

        def body(j: Any) -> None:
            shifted = builder.fsub(code.load(x, j), code.load(pivot.data, j))
            builder.store(builder.fmul(shifted, scale), code.place(t, j), align=8)

        return code.over_columns(n, body)

    return types.intp(X, types.intp, p, types.float64, T, types.intp), generate


def _none(*arguments: Any) -> int:
    return 0


# mix_lanes(U, i, key, next_key, h): rows i and i + 1 of the bits U (m, d) into h (d,), as in `fingerprint`
mix_lanes = _none if config.DISABLE_JIT else _mix_lanes
# add_lanes(X, i0, i1, k, P, A, B): A_k += t0 + t1, B_k += t0² + t1² with t = x − P_k of rows i0 and i1 of X (m, d)
add_lanes = _none if config.DISABLE_JIT else _add_lanes
# shift_lanes(X, i, p, r, T, k): T_k = (X_i − p)·r for row i of X (m, d) and row k of T (·, ≥ d), p (d,)
shift_lanes = _none if config.DISABLE_JIT else _shift_lanes
