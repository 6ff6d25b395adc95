"""Products of a tall tile with a matrix of few columns, by corners that stay in registers.

    add_scores   Z += T·W      T (M, P), W (P, Q), Z (M, Q)
    add_outer    G += TᵀR      R (M, Q), G (P, Q)

Both are sums of (a few numbers of T) ⊗ (a few vectors of a row of the other factor); they differ in how they step through T.
Q and P are multiples of eight. Each sum is taken in the order of its terms, whatever the width of the registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LANE = 8
WIDE = bool(binding.get_host_cpu_features().get("avx512f", False))
I = 8 if WIDE else 4  # noqa: E741  numbers of T a corner
WORD = ir.IntType(64)
VECTOR = ir.VectorType(ir.DoubleType(), LANE)
FAST = ("contract",)


def _corner(V: int) -> Any:
    """add_V(T, at, along, across, n, B, j, C, i): C[i + a, j : j + 8V] += Σ_{s < n} T.flat[at + s·along + a·across] B[s, j : j + 8V]."""

    @intrinsic
    def add(typingctx: Any, T: Any, at: Any, along: Any, across: Any, n: Any, B: Any, j: Any, C: Any, i: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            t, b, c = (
                cgutils.create_struct_proxy(signature.args[a])(context, builder, value=args[a]) for a in (0, 5, 7)
            )
            _, at, along, across, n, _, j, _, i = args
            stride = cgutils.unpack_tuple(builder, b.shape, 2)[1]
            nothing = ir.Constant(VECTOR, ir.Undefined)
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANE), [0] * LANE)

            def place(row: Any, v: int) -> Any:
                return builder.bitcast(builder.gep(row, [ir.Constant(WORD, LANE * v)]), VECTOR.as_pointer())

            first = builder.gep(t.data, [at]), builder.gep(b.data, [j])
            corner = builder.gep(c.data, [builder.add(builder.mul(i, stride), j)])
            before = builder.block
            loop, after = builder.append_basic_block("terms"), builder.append_basic_block("done")
            builder.branch(loop)
            builder.position_at_end(loop)
            s, left, right = builder.phi(WORD), builder.phi(first[0].type), builder.phi(first[1].type)
            sums = [[builder.phi(VECTOR) for _ in range(V)] for _ in range(I)]
            row = [builder.load(place(right, v), align=8) for v in range(V)]
            new: list[list[Any]] = []
            for a in range(I):
                x = builder.load(builder.gep(left, [builder.mul(across, ir.Constant(WORD, a))]))
                one = builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0))
                x = builder.shuffle_vector(one, nothing, zeros)
                new.append(
                    [builder.fadd(sums[a][v], builder.fmul(x, row[v], flags=FAST), flags=FAST) for v in range(V)]
                )
            following = builder.add(s, ir.Constant(WORD, 1))
            s.add_incoming(ir.Constant(WORD, 0), before)
            s.add_incoming(following, loop)
            left.add_incoming(first[0], before)
            right.add_incoming(first[1], before)
            left.add_incoming(builder.gep(left, [along]), loop)
            right.add_incoming(builder.gep(right, [stride]), loop)
            for a in range(I):
                for v in range(V):
                    sums[a][v].add_incoming(ir.Constant(VECTOR, [0.0] * LANE), before)
                    sums[a][v].add_incoming(new[a][v], loop)
            builder.cbranch(builder.icmp_signed("<", following, n), loop, after)
            builder.position_at_end(after)
            for a in range(I):
                line = builder.gep(corner, [builder.mul(stride, ir.Constant(WORD, a))])
                for v in range(V):
                    there = place(line, v)
                    builder.store(builder.fadd(builder.load(there, align=8), new[a][v]), there, align=8)
            return context.get_dummy_value()

        word = types.intp
        return types.void(T, word, word, word, word, B, word, C, word), generate

    return add


_add_1, _add_2, _add_3 = (_corner(V) for V in (1, 2, 3))

if config.DISABLE_JIT:  # the corners exist only compiled

    def add_scores(T, m, W, Z):  # type: ignore[no-untyped-def]
        """As below."""
        Z[:m] += T[:m] @ W

    def add_outer(T, m, R, G):  # type: ignore[no-untyped-def]
        """As below."""
        G += T[:m].T @ R[:m]

else:

    @njit(nogil=True, cache=True)
    def _add(T, at, along, across, n, B, C, i):  # type: ignore[no-untyped-def]
        """One row of corners: C[i : i + I] += …, all columns."""
        Q = B.shape[1]
        j = 0
        while WIDE and Q - j >= 3 * LANE and Q - j != 4 * LANE:
            _add_3(T, at, along, across, n, B, j, C, i)
            j += 3 * LANE
        while WIDE and Q - j >= 2 * LANE:
            _add_2(T, at, along, across, n, B, j, C, i)
            j += 2 * LANE
        while j < Q:
            _add_1(T, at, along, across, n, B, j, C, i)
            j += LANE

    @njit(nogil=True, cache=True)
    def add_scores(T, m, W, Z):  # type: ignore[no-untyped-def]
        """Z[:m] += T[:m]·W. T (M, P) with M a multiple of eight: a few rows of Z beyond m are overwritten."""
        P = T.shape[1]
        for k in range(0, m, I):
            _add(T, k * P, 1, P, P, W, Z, k)

    @njit(nogil=True, cache=True)
    def add_outer(T, m, R, G):  # type: ignore[no-untyped-def]
        """G += T[:m]ᵀR[:m], m ≥ 1."""
        P = T.shape[1]
        for i in range(0, P, I):
            _add(T, i, P, 1, m, R, G, i)
