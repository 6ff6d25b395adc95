"""Sums of products that stay in registers while the rows of a tile go by. Each sum is taken in the order of its terms, whatever the width of
the registers."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import DOUBLES, LANE, WORD, multiply_add, word
from assay.compiled.tiers import WIDE_REGISTERS

CORNER = 8 if WIDE_REGISTERS else 4  # numbers of T a corner
CHUNKS = 4  # vectors of a sum of rows that are taken at once


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
