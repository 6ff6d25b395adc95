"""All products of columns, Σ w t tᵀ with t = (x − p, y − q, 1), of a block with few columns, in one pass.

OpenBLAS packs its operands anew for each call, which for fifty columns costs as much as the products. Here a tile of rows
is shifted and scaled into a buffer that stays in the first-level cache, and the products are taken from there in
registers: `add_square` keeps an I×8V corner of the result in accumulators while it runs down the rows of the tile. The
vector types are spelt out because LLVM does not find this by itself; each sum is taken in the order of the rows,
whatever the width of the registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.fingerprint import mix_rows
from assay.loops.lanes import shift_lanes
from assay.loops.prefetch import prefetch_rows

LANE = 8  # numbers a vector; columns are padded to a multiple of it
TILE = 32  # rows a tile: it and the next one stay in the first-level cache
WIDE = bool(binding.get_host_cpu_features().get("avx512f", False))
I = 8 if WIDE else 4  # noqa: E741  the rows of a corner


def _corner(V: int) -> Any:
    """add_V(T, m, i, j, C): C[i : i + I, j : j + 8V] += Σ_{k < m} T[k, i : i + I] ⊗ T[k, j : j + 8V]."""

    @intrinsic
    def add(typingctx: Any, T: Any, m: Any, i: Any, j: Any, C: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            double, word = ir.DoubleType(), ir.IntType(64)
            vector = ir.VectorType(double, LANE)
            t = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
            c = cgutils.create_struct_proxy(signature.args[4])(context, builder, value=args[4])
            rows, first, column = (builder.zext(a, word) if a.type.width < 64 else a for a in args[1:4])
            stride = cgutils.unpack_tuple(builder, t.shape, 2)[1]
            fast = ("contract",)

            def load(at: Any) -> Any:
                return builder.load(builder.bitcast(at, vector.as_pointer()), align=8)

            zero = ir.Constant(vector, [0.0] * LANE)
            before = builder.block
            loop, after = builder.append_basic_block("rows"), builder.append_basic_block("done")
            builder.branch(loop)
            builder.position_at_end(loop)
            k = builder.phi(word)
            k.add_incoming(ir.Constant(word, 0), before)
            sums = [[builder.phi(vector) for _ in range(V)] for _ in range(I)]
            row = builder.gep(t.data, [builder.mul(k, stride)])
            right = [load(builder.gep(row, [builder.add(column, ir.Constant(word, LANE * v))])) for v in range(V)]
            left = builder.gep(row, [first])
            new: list[list[Any]] = []
            for a in range(I):
                scalar = builder.load(builder.gep(left, [ir.Constant(word, a)]))
                one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
                mask = ir.Constant(ir.VectorType(ir.IntType(32), LANE), [0] * LANE)
                spread = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)
                new.append(
                    [builder.fadd(sums[a][v], builder.fmul(spread, right[v], flags=fast), flags=fast) for v in range(V)]
                )
            following = builder.add(k, ir.Constant(word, 1))
            k.add_incoming(following, loop)
            for a in range(I):
                for v in range(V):
                    sums[a][v].add_incoming(zero, before)
                    sums[a][v].add_incoming(new[a][v], loop)
            builder.cbranch(builder.icmp_signed("<", following, rows), loop, after)
            builder.position_at_end(after)
            for a in range(I):
                line = builder.gep(
                    c.data, [builder.add(builder.mul(builder.add(first, ir.Constant(word, a)), stride), column)]
                )
                for v in range(V):
                    at = builder.bitcast(builder.gep(line, [ir.Constant(word, LANE * v)]), vector.as_pointer())
                    builder.store(builder.fadd(builder.load(at, align=8), new[a][v]), at, align=8)
            return context.get_dummy_value()

        return types.void(T, types.intp, types.intp, types.intp, C), codegen

    return add


_add_1, _add_2, _add_3 = (_corner(V) for V in (1, 2, 3))


if config.DISABLE_JIT:  # the corners exist only compiled

    def add_square(T, m, C, flat, at):  # type: ignore[no-untyped-def]
        """As below."""
        C += np.triu(T[:m].T @ T[:m])

else:

    @njit(nogil=True, cache=True)
    def add_square(T, m, C, flat, at):  # type: ignore[no-untyped-def]
        """The upper triangle of C (P, P) += T[:m]ᵀT[:m], T (M, P) in C order, P a multiple of 8, m ≥ 1.

        Below the diagonal of C there is no meaning. Between corners the next tile is asked for, which begins at
        flat[at]: memory would be idle while the products are taken (22 ms → 19 ms for 500 000×50 on two threads).
        """
        P = T.shape[1]
        line = 64 // flat.itemsize
        corners = P // I * (P // LANE + 1) // 2
        step = (T.shape[0] * P // corners + line) // line * line
        for i in range(0, P, I):
            j = i // LANE * LANE
            while WIDE and P - j >= 3 * LANE and P - j != 4 * LANE:
                prefetch_rows(flat, at, 3 * step, line)
                at += 3 * step
                _add_3(T, m, i, j, C)
                j += 3 * LANE
            while WIDE and P - j >= 2 * LANE:
                prefetch_rows(flat, at, 2 * step, line)
                at += 2 * step
                _add_2(T, m, i, j, C)
                j += 2 * LANE
            while j < P:
                prefetch_rows(flat, at, step, line)
                at += step
                _add_1(T, m, i, j, C)
                j += LANE


@njit(nogil=True, cache=True)
def add_products(X, U, shift, y, root, p, q, T, C, h):  # type: ignore[no-untyped-def]
    """C += Σ t tᵀ (upper triangle) with t = √w·(x − p, y − q, 1), padded by zeros; and the hash of the columns.

    X (m, d), U its bits, y (m,), root √w (m,) or (0,) for weights of one, T (TILE, P) zeroed, C (P, P), P ≥ d + 2.
    """
    m, d = X.shape
    weighted = root.shape[0] > 0
    flat = U.reshape(-1)
    for start in range(0, m, T.shape[0]):
        stop = min(m, start + T.shape[0])
        mix_rows(U[start:stop], shift, start, h)
        for i in range(start, stop):
            r = root[i] if weighted else 1.0
            k = i - start
            for j in range(shift_lanes(X, i, p, r, T, k), d):
                T[k, j] = (X[i, j] - p[j]) * r
            T[k, d] = (y[i] - q) * r
            T[k, d + 1] = r
        add_square(T, stop - start, C, flat, stop * d)
