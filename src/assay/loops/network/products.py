"""Products of matrices that fit a core's cache, in tiles whose sums stay in registers: C = A B (+ C), with any strides of A.

A tile is TALL (or SHORT) rows by WIDE (or NARROW) columns. While k goes by, each number of A is spread over a vector of B and added: nothing is
packed or copied, which is what a library does first and what takes it as long as the product where matrices are small. Rows come in multiples of SHORT,
columns in multiples of NARROW; what fills them is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.kernels import vectors as v
from assay.loops.kernels.vectors import WORD, Kind
from assay.loops.tree.inner import inner

LARGE = bool(binding.get_host_cpu_features().get("avx512f", False))
TALL, SHORT = (12, 4) if LARGE else (4, 4)
WIDE, NARROW = (
    (32, 16) if LARGE else (16, 16)
)  # of float32; float64 takes twice the registers, and its tiles are all NARROW


def _kind(array: Any, lanes: int) -> Kind:
    return v.single(lanes) if array.dtype == types.float32 else v.double(lanes)


def _tile(rows: int, lanes: int) -> Any:
    """An intrinsic: tile(A, at, row, k, B, from, row of B, many, C, to, row of C, begin, begun, from, row of begun)."""

    @intrinsic
    def tile(
        typingctx: Any,
        A: Any,
        a: Any,
        ai: Any,
        ak: Any,
        B: Any,
        b: Any,
        bk: Any,
        many: Any,
        C: Any,
        c: Any,
        ci: Any,
        begin: Any,
        begun: Any,
        i: Any,
        ii: Any,
    ) -> Any:
        kind = _kind(A, lanes)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            A, a, ai, ak, B, b, bk, many, C, c, ci, begin, begun, i, ii = args
            sums = [cgutils.alloca_once_value(builder, kind.all(0.0)) for _ in range(rows)]
            places = [builder.add(c, builder.mul(ci, ir.Constant(WORD, q))) for q in range(rows)]
            with builder.if_else(builder.icmp_signed("!=", begin, ir.Constant(WORD, 0))) as (then, otherwise):
                with then:
                    for q, total in enumerate(sums):
                        place = builder.add(i, builder.mul(ii, ir.Constant(WORD, q)))
                        builder.store(v.load(builder, kind, begun, place), total)
                with otherwise:
                    for total in sums:
                        builder.store(kind.all(0.0), total)
            with cgutils.for_range(builder, many) as loop:
                y = v.load(builder, kind, B, builder.add(b, builder.mul(loop.index, bk)))
                first = builder.add(a, builder.mul(loop.index, ak))
                for q, total in enumerate(sums):
                    x = builder.load(builder.gep(A, [builder.add(first, builder.mul(ai, ir.Constant(WORD, q)))]))
                    builder.store(v.multiply_add(builder, v.spread(builder, kind, x), y, builder.load(total)), total)
            for total, place in zip(sums, places):
                v.store(builder, kind, builder.load(total), C, place)
            return context.get_dummy_value()

        whole = types.int64
        return types.void(
            A, whole, whole, whole, A, whole, whole, whole, A, whole, whole, whole, A, whole, whole
        ), generate

    def plain(
        A: Any,
        a: int,
        ai: int,
        ak: int,
        B: Any,
        b: int,
        bk: int,
        many: int,
        C: Any,
        c: int,
        ci: int,
        begin: int,
        begun: Any,
        i: int,
        ii: int,
    ) -> None:
        for q in range(rows):
            total = begun[i + q * ii : i + q * ii + lanes].copy() if begin else np.zeros(lanes, dtype=C.dtype)
            for k in range(many):
                total += A[a + q * ai + k * ak] * B[b + k * bk : b + k * bk + lanes]
            C[c + q * ci : c + q * ci + lanes] = total

    return plain if config.DISABLE_JIT else tile


@intrinsic
def _is_single(typingctx: Any, array: Any) -> Any:
    single = array.dtype == types.float32

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(1), int(single))

    return types.boolean(array), generate


def _plain_is_single(array: Any) -> bool:
    return bool(array.dtype == np.float32)


is_single = _plain_is_single if config.DISABLE_JIT else _is_single
tall_wide, tall_narrow = _tile(TALL, WIDE), _tile(TALL, NARROW)
short_wide, short_narrow = _tile(SHORT, WIDE), _tile(SHORT, NARROW)


@inner
def multiply(A, a, ai, ak, B, b, bk, C, c, ci, m, n, many, begin, begun, from_, ii):  # type: ignore[no-untyped-def]
    """C[c + i ci + j] = Σ_k A[a + i ai + k ak] B[b + k bk + j] for i < m, j < n, and where `begin` is not 0 + begun[from_ + i ii + j]. Bare addresses; m a
    multiple of SHORT, n of NARROW."""
    high = m - m % TALL
    wide = n - n % WIDE if is_single(A) else 0
    for j in range(0, wide, WIDE):
        for i in range(0, high, TALL):
            tall_wide(
                A, a + i * ai, ai, ak, B, b + j, bk, many, C, c + i * ci + j, ci, begin, begun, from_ + i * ii + j, ii
            )
        for i in range(high, m, SHORT):
            short_wide(
                A, a + i * ai, ai, ak, B, b + j, bk, many, C, c + i * ci + j, ci, begin, begun, from_ + i * ii + j, ii
            )
    for j in range(wide, n, NARROW):
        for i in range(0, high, TALL):
            tall_narrow(
                A, a + i * ai, ai, ak, B, b + j, bk, many, C, c + i * ci + j, ci, begin, begun, from_ + i * ii + j, ii
            )
        for i in range(high, m, SHORT):
            short_narrow(
                A, a + i * ai, ai, ak, B, b + j, bk, many, C, c + i * ci + j, ci, begin, begun, from_ + i * ii + j, ii
            )


@intrinsic
def _sum_rows(typingctx: Any, D: Any, at: Any, step: Any, many: Any, G: Any, to: Any) -> Any:
    kind = _kind(D, NARROW)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        D, at, step, many, G, to = args
        total = cgutils.alloca_once_value(builder, kind.all(0.0))
        builder.store(kind.all(0.0), total)
        with cgutils.for_range(builder, many) as loop:
            row = v.load(builder, kind, D, builder.add(at, builder.mul(loop.index, step)))
            builder.store(builder.fadd(builder.load(total), row), total)
        v.store(builder, kind, builder.load(total), G, to)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(D, whole, whole, whole, D, whole), generate


def _plain_sum_rows(D: Any, at: int, step: int, many: int, G: Any, to: int) -> None:
    total = np.zeros(NARROW, dtype=G.dtype)
    for k in range(many):
        total += D[at + k * step : at + k * step + NARROW]
    G[to : to + NARROW] = total


# sum_rows(D, at, step, many, G, to): G[to + j] = Σ_k D[at + k step + j] for j < NARROW
sum_rows = _plain_sum_rows if config.DISABLE_JIT else _sum_rows
