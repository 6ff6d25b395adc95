"""One row against weights: score, squared length, adding the row to weights; of dense rows (m, d) and of CSR.

    score = (b + Σ_{j ≥ e} x_j w_j, in order) + Σ of eight lanes,    e = 8·⌊d/8⌋,  lane l: Σ x_j w_j over j < e, j ≡ l mod 8,
    where the lanes are added in halves: (l, l + 4), then (l, l + 2), then (l, l + 1)

Products are rounded before they are added (no fused multiply-add) and the order is fixed, so that every machine gets the
same bits, and so does a checker in plain NumPy. A sparse row is summed in order, from b on. All sums are in float64.
The vector types are spelt out, and everything is generated in place: calls that pass arrays would count references
(measured for 50 columns: 63 → 9 ns a row). The kind of rows is chosen where a loop is compiled: loops are written once for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.lanes import DOUBLES, LANE, WORD, _Code
from assay.loops.prefetch import LINE
from assay.numerics import Array

DOUBLE = ir.DoubleType()
I32 = ir.IntType(32)


class Csr(NamedTuple):
    """Sparse rows: row i has data[a:b] in the columns indices[a:b], a, b = indptr[i], indptr[i + 1]."""

    data: Array
    indices: Array
    indptr: Array


class _RowCode(_Code):
    """Code for row `args[1]` of the rows `args[0]`, dense or CSR."""

    @property
    def dense(self) -> bool:
        return isinstance(self.signature.args[0], types.Array)

    def width(self) -> Any:
        return cgutils.unpack_tuple(self.builder, self.array(0).shape, 2)[1]

    def number(self, row: Any, j: Any) -> Any:
        """The j-th number of a row as a double."""
        x = self.builder.load(self.builder.gep(row, [j]))
        return self.builder.fpext(x, DOUBLE) if x.type == ir.FloatType() else x

    def entries(self, body: Callable[[Any, Any], None]) -> None:
        """body(x, column) for every kept entry of a sparse row."""
        kinds = self.signature.args[0].types
        parts = [self.builder.extract_value(self.args[0], e) for e in range(3)]
        data, indices, indptr = (
            cgutils.create_struct_proxy(kind)(self.context, self.builder, value=part).data
            for kind, part in zip(kinds, parts)
        )
        first = self.builder.load(self.builder.gep(indptr, [self.args[1]]))
        following = self.builder.add(self.args[1], ir.Constant(WORD, 1))
        stop = self.builder.load(self.builder.gep(indptr, [following]))
        with cgutils.for_range_slice(self.builder, first, stop, ir.Constant(WORD, 1), WORD) as (e, _):
            column = self.builder.sext(self.builder.load(self.builder.gep(indices, [e])), WORD)
            body(self.number(data, e), column)

    def sum_into(self, total: Any, x: Any, y: Any) -> None:
        self.builder.store(self.builder.fadd(self.builder.load(total), self.builder.fmul(x, y)), total)

    def dense_sum(self, total: Any, x: Any, w: Any) -> Any:
        """total + Σ x_j w_j of two dense rows, in the order that the module states."""
        lanes = cgutils.alloca_once(self.builder, DOUBLES)
        self.builder.store(ir.Constant(DOUBLES, [0.0] * LANE), lanes)
        d = self.width()
        rest = self.over_columns(d, lambda j: self.sum_into(lanes, self.load(x, j), self.load(w, j)))
        with cgutils.for_range_slice(self.builder, rest, d, ir.Constant(WORD, 1), WORD) as (j, _):
            self.sum_into(total, self.number(x, j), self.number(w, j))
        v = self.builder.load(lanes)
        for half in (4, 2, 1):
            picks = [ir.Constant(ir.VectorType(I32, half), list(range(a, a + half))) for a in (0, half)]
            v = self.builder.fadd(*(self.builder.shuffle_vector(v, v, pick) for pick in picks))
        return self.builder.fadd(self.builder.load(total), self.builder.extract_element(v, ir.Constant(I32, 0)))


@intrinsic
def _row_score(typingctx: Any, A: Any, i: Any, W: Any, b: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _RowCode(context, builder, signature, args)
        total = cgutils.alloca_once(builder, DOUBLE)
        builder.store(builder.load(builder.gep(code.array(3).data, [args[4]])), total)
        w = code.row(2, 4)
        if code.dense:
            return code.dense_sum(total, code.row(0, 1), w)
        code.entries(lambda x, column: code.sum_into(total, x, code.number(w, column)))
        return builder.load(total)

    return types.float64(A, types.intp, W, b, types.intp), generate


@intrinsic
def _row_square(typingctx: Any, A: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _RowCode(context, builder, signature, args)
        total = cgutils.alloca_once(builder, DOUBLE)
        builder.store(ir.Constant(DOUBLE, 0.0), total)
        if code.dense:
            return code.dense_sum(total, code.row(0, 1), code.row(0, 1))
        code.entries(lambda x, column: code.sum_into(total, x, x))
        return builder.load(total)

    return types.float64(A, types.intp), generate


@intrinsic
def _row_add(typingctx: Any, A: Any, i: Any, c: Any, W: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _RowCode(context, builder, signature, args)
        w, c = code.row(3, 4), args[2]

        def add(x: Any, j: Any) -> None:
            at = builder.gep(w, [j])
            builder.store(builder.fadd(builder.load(at), builder.fmul(c, x)), at)

        if code.dense:
            x, d, cs = code.row(0, 1), code.width(), code.spread(c)
            rest = code.over_columns(d, lambda j: code.add_to(w, j, builder.fmul(cs, code.load(x, j)), builder.fadd))
            with cgutils.for_range_slice(builder, rest, d, ir.Constant(WORD, 1), WORD) as (j, _):
                add(code.number(x, j), j)
        else:
            code.entries(add)
        return context.get_dummy_value()

    return types.void(A, types.intp, types.float64, W, types.intp), generate


@intrinsic
def _row_ask(typingctx: Any, A: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _RowCode(context, builder, signature, args)
        if code.dense:
            n = cgutils.unpack_tuple(builder, code.array(0).shape, 2)[0]
            with builder.if_then(builder.icmp_signed("<", args[1], n)):
                x = code.row(0, 1)
                size = signature.args[0].dtype.bitwidth // 8
                pointer = ir.IntType(8).as_pointer()
                kind = ir.FunctionType(ir.VoidType(), [pointer, I32, I32, I32])
                function = builder.module.declare_intrinsic("llvm.prefetch", (pointer,), kind)
                read, keep, data = (ir.Constant(I32, v) for v in (0, 3, 1))
                line = ir.Constant(WORD, LINE // size)
                with cgutils.for_range_slice(builder, ir.Constant(WORD, 0), code.width(), line, WORD) as (j, _):
                    builder.call(function, [builder.bitcast(builder.gep(x, [j]), pointer), read, keep, data])
        return context.get_dummy_value()

    return types.void(A, types.intp), generate


def _plain_sum(total: float, x: Array, w: Array) -> float:
    """As `dense_sum`, the same bits without the compiler."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    whole = len(x) // LANE * LANE
    for j in range(whole, len(x)):
        total += x[j] * w[j]
    lanes = np.zeros(LANE)
    for j in range(0, whole, LANE):
        lanes += x[j : j + LANE] * w[j : j + LANE]
    for half in (4, 2, 1):
        lanes = lanes[:half] + lanes[half:]
    return float(total + lanes[0])


def _entries(A: Any, i: int) -> tuple[Array, Array]:
    a, b = A.indptr[i], A.indptr[i + 1]
    return A.data[a:b].astype(np.float64), A.indices[a:b]


def plain_score(A: Any, i: int, W: Array, b: Array, k: int) -> float:
    """As `row_score`, the same bits without the compiler."""
    if not isinstance(A, tuple):
        return _plain_sum(float(b[k]), A[i], W[k])
    x, columns = _entries(A, i)
    return float(np.add.accumulate(np.append(b[k], x * W[k, columns]))[-1])


def _plain_square(A: Any, i: int) -> float:
    if not isinstance(A, tuple):
        return _plain_sum(0.0, A[i], A[i])
    x = _entries(A, i)[0]
    return float(np.add.accumulate(np.append(0.0, x * x))[-1])


def _plain_add(A: Any, i: int, c: float, W: Array, k: int) -> None:
    x, columns = _entries(A, i) if isinstance(A, tuple) else (A[i].astype(np.float64), slice(None))
    W[k, columns] += c * x


def _plain_ask(A: Any, i: int) -> None:
    """Without the compiler nothing is asked for ahead."""


# row_score(A, i, W, b, k): b_k + w_k·x_i with W (K, d), b (K,)
row_score = plain_score if config.DISABLE_JIT else _row_score
# row_square(A, i): ‖x_i‖²
row_square = _plain_square if config.DISABLE_JIT else _row_square
# row_add(A, i, c, W, k): w_k += c·x_i
row_add = _plain_add if config.DISABLE_JIT else _row_add
# row_ask(A, i): start loading row i, where there is one; sparse rows come one after another anyway
row_ask = _plain_ask if config.DISABLE_JIT else _row_ask
