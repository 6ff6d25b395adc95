"""Rows of dense arrays eight columns at a time, and rows of sparse ones.

Left to itself, Numba counts references to every slice of a row it makes (4–20 ns a row, as much as the work), and LLVM
gives up on loops with many arrays. These functions take whole arrays and row numbers. `…_lanes` treat the first 8·⌊d/8⌋ columns, and return
where they stopped; the caller does the rest, and without the compiler all of it. Measured for 50 columns: hash of a row 12 → 7 ns.

`row_score`, `row_square`, `row_add`: one row against weights, of dense rows (m, d) and of CSR, as (data, indices, indptr):

    score = (b + Σ_{j ≥ e} x_j w_j, in order) + Σ of eight lanes,    e = 8·⌊d/8⌋,  lane l: Σ x_j w_j over j < e, j ≡ l mod 8,
    where the lanes are added in halves: (l, l + 4), then (l, l + 2), then (l, l + 1)

Products are rounded before they are added (no fused multiply-add) and the order is fixed, so that every machine gets the
same bits, and so does a checker in plain NumPy. A sparse row is summed in order, from b on. All sums are in float64.
Everything is generated in place: calls that pass arrays would count references (measured for 50 columns: 63 → 9 ns a row). The kind of rows is
chosen where a loop is compiled: loops are written once for both.

Sums of products (`add_corner`, `add_chunk`) stay in registers while the rows of a tile go by. Each sum is taken in the order of its terms, whatever
the width of the registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.simd import vectors as v
from assay.compiled.simd.memory import LINE, load_ahead
from assay.compiled.simd.vectors import DOUBLE, DOUBLES, INT32, LANE, SINGLE, WORD, WORDS, multiply_add, word
from assay.compiled.tiers import WIDE_REGISTERS
from assay.numerics import Array

CORNER = 8 if WIDE_REGISTERS else 4  # numbers of T a corner
CHUNKS = 4  # vectors of a sum of rows that are taken at once


class _Code:
    """Addresses, loads and stores for one function under construction."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.signature, self.args = context, builder, signature, args

    def array(self, number: int) -> Any:
        return v.data_of(self.context, self.builder, self.signature, self.args, number)

    def row(self, array: int, index: int) -> Any:
        """The address of a row of the two-dimensional argument `array`; its number is the argument `index`."""
        a = self.array(array)
        width = cgutils.unpack_tuple(self.builder, a.shape, 2)[1]
        return self.builder.gep(a.data, [self.builder.mul(self.args[index], width)])

    def load(self, row: Any, j: Any) -> Any:
        """Eight values of a row as 64-bit words or doubles, whatever they are stored as."""
        x = v.load(self.builder, row, j)
        if row.type.pointee == SINGLE:
            return self.builder.fpext(x, DOUBLES)
        return self.builder.zext(x, WORDS) if row.type.pointee == INT32 else x

    def add_to(self, row: Any, j: Any, x: Any, add: Callable[..., Any]) -> None:
        v.store(self.builder, add(v.load(self.builder, row, j), x), row, j)

    def over_columns(self, n: Any, body: Callable[[Any], None]) -> Any:
        """body(j) for j = 0, 8, … while eight columns are left; returns where it stopped."""
        stop = self.builder.and_(n, word(-LANE))
        with cgutils.for_range_slice(self.builder, word(0), stop, word(LANE), WORD) as (j, _):
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
        half, low = v.same(WORDS, 32), v.same(WORDS, 0xFFFFFFFF)
        keys = v.spread(builder, args[2]), v.spread(builder, args[3])
        narrow = first.type.pointee == INT32

        def body(j: Any) -> None:
            terms = []
            for row, k in zip((first, second), keys):
                x = code.load(row, j)
                mixed = builder.xor(builder.or_(x, builder.shl(x, half)) if narrow else x, k)
                terms.append(builder.add(builder.mul(builder.and_(mixed, low), builder.lshr(mixed, half)), x))
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
        scale = v.spread(builder, args[3])

        def body(j: Any) -> None:
            shifted = builder.fsub(code.load(x, j), code.load(pivot.data, j))
            v.store(builder, builder.fmul(shifted, scale), t, j)

        return code.over_columns(n, body)

    return types.intp(X, types.intp, p, types.float64, T, types.intp), generate


def _none(*arguments: Any) -> int:
    return 0


# mix_lanes(U, i, key, next_key, h): rows i and i + 1 of the bits U (m, d) into h (d,), as in `compiled.fingerprint`
mix_lanes = _none if config.DISABLE_JIT else _mix_lanes
# add_lanes(X, i0, i1, k, P, A, B): A_k += t0 + t1, B_k += t0² + t1² with t = x − P_k of rows i0 and i1 of X (m, d)
add_lanes = _none if config.DISABLE_JIT else _add_lanes
# shift_lanes(X, i, p, r, T, k): T_k = (X_i − p)·r for row i of X (m, d) and row k of T (·, ≥ d), p (d,)
shift_lanes = _none if config.DISABLE_JIT else _shift_lanes


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
        return self.builder.fpext(x, DOUBLE) if x.type == SINGLE else x

    def entries(self, body: Callable[[Any, Any], None]) -> None:
        """body(x, column) for every kept entry of a sparse row."""
        kinds = self.signature.args[0].types
        parts = [self.builder.extract_value(self.args[0], e) for e in range(3)]
        data, indices, indptr = (
            cgutils.create_struct_proxy(kind)(self.context, self.builder, value=part).data
            for kind, part in zip(kinds, parts)
        )
        first = self.builder.load(self.builder.gep(indptr, [self.args[1]]))
        stop = self.builder.load(self.builder.gep(indptr, [self.builder.add(self.args[1], word(1))]))
        with cgutils.for_range_slice(self.builder, first, stop, word(1), WORD) as (e, _):
            column = self.builder.sext(self.builder.load(self.builder.gep(indices, [e])), WORD)
            body(self.number(data, e), column)

    def sum_into(self, total: Any, x: Any, y: Any) -> None:
        self.builder.store(self.builder.fadd(self.builder.load(total), self.builder.fmul(x, y)), total)

    def dense_sum(self, total: Any, x: Any, w: Any) -> Any:
        """total + Σ x_j w_j of two dense rows, in the order that the module states."""
        lanes = v.variable(self.builder, v.same(DOUBLES, 0.0))
        d = self.width()
        rest = self.over_columns(d, lambda j: self.sum_into(lanes, self.load(x, j), self.load(w, j)))
        with cgutils.for_range_slice(self.builder, rest, d, word(1), WORD) as (j, _):
            self.sum_into(total, self.number(x, j), self.number(w, j))
        return self.builder.fadd(
            self.builder.load(total), v.fold(self.builder, self.builder.load(lanes), self.builder.fadd)
        )


@intrinsic
def _row_score(typingctx: Any, A: Any, i: Any, W: Any, b: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _RowCode(context, builder, signature, args)
        total = v.variable(builder, builder.load(builder.gep(code.array(3).data, [args[4]])))
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
        total = v.variable(builder, ir.Constant(DOUBLE, 0.0))
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
            x, d, cs = code.row(0, 1), code.width(), v.spread(builder, c)
            rest = code.over_columns(d, lambda j: code.add_to(w, j, builder.fmul(cs, code.load(x, j)), builder.fadd))
            with cgutils.for_range_slice(builder, rest, d, word(1), WORD) as (j, _):
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
                x, line = code.row(0, 1), word(LINE * 8 // signature.args[0].dtype.bitwidth)
                with cgutils.for_range_slice(builder, word(0), code.width(), line, WORD) as (j, _):
                    load_ahead(builder, builder.gep(x, [j]))
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


def _corner(V: int) -> Any:
    """add_V(T, at, along, across, n, B, j, C, i): C[i + a, j : j + 8V] += Σ_{s < n} T.flat[at + s·along + a·across] B[s, j : j + 8V], a < CORNER."""

    @intrinsic
    def add(typingctx: Any, T: Any, at: Any, along: Any, across: Any, n: Any, B: Any, j: Any, C: Any, i: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            t, b, c = (v.data_of(context, builder, signature, args, number) for number in (0, 5, 7))
            _, at, along, across, n, _, j, _, i = args
            stride = cgutils.unpack_tuple(builder, b.shape, 2)[1]
            first = builder.gep(t.data, [at]), builder.gep(b.data, [j])
            corner = builder.gep(c.data, [builder.add(builder.mul(i, stride), j)])
            before = builder.block
            loop, after = builder.append_basic_block("terms"), builder.append_basic_block("done")
            builder.branch(loop)
            builder.position_at_end(loop)
            s, left, right = builder.phi(WORD), builder.phi(first[0].type), builder.phi(first[1].type)
            sums = [[builder.phi(DOUBLES) for _ in range(V)] for _ in range(CORNER)]
            row = [v.load(builder, right, word(LANE * k)) for k in range(V)]
            new: list[list[Any]] = []
            for a in range(CORNER):
                x = v.spread(builder, builder.load(builder.gep(left, [builder.mul(across, word(a))])))
                new.append([multiply_add(builder, x, row[k], sums[a][k]) for k in range(V)])
            following = builder.add(s, word(1))
            s.add_incoming(word(0), before)
            s.add_incoming(following, loop)
            left.add_incoming(first[0], before)
            right.add_incoming(first[1], before)
            left.add_incoming(builder.gep(left, [along]), loop)
            right.add_incoming(builder.gep(right, [stride]), loop)
            for a in range(CORNER):
                for k in range(V):
                    sums[a][k].add_incoming(v.same(DOUBLES, 0.0), before)
                    sums[a][k].add_incoming(new[a][k], loop)
            builder.cbranch(builder.icmp_signed("<", following, n), loop, after)
            builder.position_at_end(after)
            for a in range(CORNER):
                line = builder.gep(corner, [builder.mul(stride, word(a))])
                for k in range(V):
                    at = word(LANE * k)
                    v.store(builder, builder.fadd(v.load(builder, line, at), new[a][k]), line, at)
            return context.get_dummy_value()

        whole = types.intp
        return types.void(T, whole, whole, whole, whole, B, whole, C, whole), generate

    return add


add_corner_1, add_corner_2, add_corner_3 = (_corner(V) for V in (1, 2, 3))


@intrinsic
def dot_row(typingctx: Any, T: Any, k: Any, w: Any) -> Any:
    """dot_row(T, k, w): T_k·w for T (·, P), w (P,), P a multiple of eight."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        t, weights = (v.data_of(context, builder, signature, args, number) for number in (0, 2))
        n = cgutils.unpack_tuple(builder, weights.shape, 1)[0]
        row = builder.gep(t.data, [builder.mul(args[1], n)])
        before = builder.block
        loop, after = builder.append_basic_block("columns"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        j, sums = builder.phi(WORD), builder.phi(DOUBLES)
        new = multiply_add(builder, v.load(builder, row, j), v.load(builder, weights.data, j), sums)
        following = builder.add(j, word(LANE))
        j.add_incoming(word(0), before)
        j.add_incoming(following, loop)
        sums.add_incoming(v.same(DOUBLES, 0.0), before)
        sums.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", following, n), loop, after)
        builder.position_at_end(after)
        return v.fold(builder, new, builder.fadd)

    return types.float64(T, types.intp, w), generate


def _chunk(V: int) -> Any:
    """add_V(T, m, r, g, j): g[j : j + 8V] += Σ_{k < m} r_k T[k, j : j + 8V]."""

    @intrinsic
    def add(typingctx: Any, T: Any, m: Any, r: Any, g: Any, j: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            t, factors, out = (v.data_of(context, builder, signature, args, number) for number in (0, 2, 3))
            stride = cgutils.unpack_tuple(builder, t.shape, 2)[1]
            places = [builder.add(args[4], word(LANE * n)) for n in range(V)]
            before = builder.block
            loop, after = builder.append_basic_block("rows"), builder.append_basic_block("done")
            builder.branch(loop)
            builder.position_at_end(loop)
            k = builder.phi(WORD)
            sums = [builder.phi(DOUBLES) for _ in range(V)]
            row = builder.gep(t.data, [builder.mul(k, stride)])
            factor = v.spread(builder, builder.load(builder.gep(factors.data, [k])))
            new = [multiply_add(builder, factor, v.load(builder, row, at), total) for at, total in zip(places, sums)]
            following = builder.add(k, word(1))
            k.add_incoming(word(0), before)
            k.add_incoming(following, loop)
            for total, found in zip(sums, new):
                total.add_incoming(v.same(DOUBLES, 0.0), before)
                total.add_incoming(found, loop)
            builder.cbranch(builder.icmp_signed("<", following, args[1]), loop, after)
            builder.position_at_end(after)
            for at, found in zip(places, new):
                v.store(builder, builder.fadd(v.load(builder, out.data, at), found), out.data, at)
            return context.get_dummy_value()

        return types.void(T, types.intp, r, g, types.intp), generate

    return add


add_chunk, add_chunks = _chunk(1), _chunk(CHUNKS)
