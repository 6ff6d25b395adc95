"""A few rows at a time in a buffer that stays in the first-level cache: T (m, P), its row k is (x − p, 1, 0, …).

P is the number of columns + 1, padded to a multiple of eight, so that every loop over a row is whole vectors. A tile is
filled from a dense block or from compressed sparse rows; what follows does not know which. All sums are taken
in a fixed order, whatever the width of the machine's registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.lanes import shift_lanes
from assay.loops.prefetch import prefetch_rows

LANE = 8
CHUNKS = 4  # vectors of the gradient that stay in registers while the rows of a tile go by
NUMBERS = 1 << 14  # of a tile: half a first-level cache
MOST_ROWS = 32
WORD = ir.IntType(64)
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANE)
FAST = ("contract",)


def padded(columns: int) -> int:
    """The width of a tile for rows of `columns` numbers and the constant 1.

    >>> padded(50), padded(7)
    (56, 8)
    """
    return -(-(columns + 1) // LANE) * LANE


def tile_height(width: int) -> int:
    """Rows a tile: it fits the first-level cache, or, for very wide rows, at least four are taken together.

    >>> tile_height(56), tile_height(5000)
    (32, 4)
    """
    return max(4, min(MOST_ROWS, NUMBERS // width))


def _place(builder: Any, data: Any, index: Any) -> Any:
    return builder.bitcast(builder.gep(data, [index]), VECTOR.as_pointer())


def _spread(builder: Any, x: Any) -> Any:
    nothing = ir.Constant(VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANE), [0] * LANE))


def _total(builder: Any, v: Any) -> Any:
    """The sum of a vector's numbers by halves: a fixed order."""
    size = LANE
    while size > 1:
        size //= 2
        nothing = ir.Constant(v.type, ir.Undefined)
        halves = [
            builder.shuffle_vector(
                v, nothing, ir.Constant(ir.VectorType(ir.IntType(32), size), list(range(a, a + size)))
            )
            for a in (0, size)
        ]
        v = builder.fadd(*halves)
    return builder.extract_element(v, ir.Constant(ir.IntType(32), 0))


@intrinsic
def _dot(typingctx: Any, T: Any, k: Any, w: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        t = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        v = cgutils.create_struct_proxy(signature.args[2])(context, builder, value=args[2])
        n = cgutils.unpack_tuple(builder, v.shape, 1)[0]
        row = builder.gep(t.data, [builder.mul(args[1], n)])
        zero = ir.Constant(VECTOR, [0.0] * LANE)
        before = builder.block
        loop, after = builder.append_basic_block("columns"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        j, sums = builder.phi(WORD), builder.phi(VECTOR)
        x = builder.load(_place(builder, row, j), align=8)
        new = builder.fadd(
            sums, builder.fmul(x, builder.load(_place(builder, v.data, j), align=8), flags=FAST), flags=FAST
        )
        following = builder.add(j, ir.Constant(WORD, LANE))
        j.add_incoming(ir.Constant(WORD, 0), before)
        j.add_incoming(following, loop)
        sums.add_incoming(zero, before)
        sums.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", following, n), loop, after)
        builder.position_at_end(after)
        return _total(builder, new)

    return types.float64(T, types.intp, w), generate


def _chunk(V: int) -> Any:
    """add_V(T, m, r, g, j): g[j : j + 8V] += Σ_{k < m} r_k T[k, j : j + 8V]."""

    @intrinsic
    def add(typingctx: Any, T: Any, m: Any, r: Any, g: Any, j: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            t = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
            factors = cgutils.create_struct_proxy(signature.args[2])(context, builder, value=args[2])
            out = cgutils.create_struct_proxy(signature.args[3])(context, builder, value=args[3])
            stride = cgutils.unpack_tuple(builder, t.shape, 2)[1]
            places = [builder.add(args[4], ir.Constant(WORD, LANE * v)) for v in range(V)]
            zero = ir.Constant(VECTOR, [0.0] * LANE)
            before = builder.block
            loop, after = builder.append_basic_block("rows"), builder.append_basic_block("done")
            builder.branch(loop)
            builder.position_at_end(loop)
            k = builder.phi(WORD)
            sums = [builder.phi(VECTOR) for _ in range(V)]
            row = builder.gep(t.data, [builder.mul(k, stride)])
            factor = _spread(builder, builder.load(builder.gep(factors.data, [k])))
            new = []
            for v in range(V):
                x = builder.load(_place(builder, row, places[v]), align=8)
                new.append(builder.fadd(sums[v], builder.fmul(factor, x, flags=FAST), flags=FAST))
            following = builder.add(k, ir.Constant(WORD, 1))
            k.add_incoming(ir.Constant(WORD, 0), before)
            k.add_incoming(following, loop)
            for v in range(V):
                sums[v].add_incoming(zero, before)
                sums[v].add_incoming(new[v], loop)
            builder.cbranch(builder.icmp_signed("<", following, args[1]), loop, after)
            builder.position_at_end(after)
            for v in range(V):
                at = _place(builder, out.data, places[v])
                builder.store(builder.fadd(builder.load(at, align=8), new[v]), at, align=8)
            return context.get_dummy_value()

        return types.void(T, types.intp, r, g, types.intp), generate

    return add


_add_one, _add_several = _chunk(1), _chunk(CHUNKS)

if config.DISABLE_JIT:

    def dot_tile(T, m, w, z):  # type: ignore[no-untyped-def]
        """As below."""
        z[:m] = T[:m] @ w

    def add_tile(T, m, r, g):  # type: ignore[no-untyped-def]
        """As below."""
        g += r[:m] @ T[:m]

else:

    @njit(nogil=True, cache=True)
    def dot_tile(T, m, w, z):  # type: ignore[no-untyped-def]
        """z_k = T_k·w for the first m rows of T (M, P), w (P,)."""
        for k in range(m):
            z[k] = _dot(T, k, w)

    @njit(nogil=True, cache=True)
    def add_tile(T, m, r, g):  # type: ignore[no-untyped-def]
        """g += Σ_{k < m} r_k T_k, g (P,), m ≥ 1."""
        P = T.shape[1]
        j = 0
        while P - j >= CHUNKS * LANE:
            _add_several(T, m, r, g, j)
            j += CHUNKS * LANE
        while j < P:
            _add_one(T, m, r, g, j)
            j += LANE


@njit(nogil=True, cache=True)
def fill_tile(X, data, indices, indptr, start, stop, p, T):  # type: ignore[no-untyped-def]
    """T_k = (x − p, 1) for the rows start + k < stop of X (m, d), or of sparse rows where X is (0, d).

    T (M, P): what lies behind column d + 1 is zero already and stays so.
    """
    d = p.shape[0]
    if X.shape[0] == 0:
        for i in range(start, stop):
            k = i - start
            for j in range(d):
                T[k, j] = -p[j]
            for e in range(indptr[i], indptr[i + 1]):
                T[k, indices[e]] += data[e]
            T[k, d] = 1.0
        return
    flat = X.reshape(-1)
    line = 64 // X.itemsize
    for i in range(start, stop):
        prefetch_rows(flat, (i + MOST_ROWS) * d, d, line)
        k = i - start
        for j in range(shift_lanes(X, i, p, 1.0, T, k), d):
            T[k, j] = X[i, j] - p[j]
        T[k, d] = 1.0
