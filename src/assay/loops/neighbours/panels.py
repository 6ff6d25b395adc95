"""Products of queries and rows in float32 that never leave the registers: what is written is a bit a pair, whether it may be near.

Rows lie in panels of 32, column by column, queries in groups of ASKED; while the columns go by, the products of a panel and a group stay in
registers. A library's product of 64 columns spends a fifth of its time on copies of its operands, and what it writes must be
read again. The vector types are spelt out because LLVM does not find this by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.tree.bare import bare

PANEL = 32
ASKED = 12 if binding.get_host_cpu_features().get("avx512f", False) else 3  # queries: 24 or 12 registers of products
WORD, FLOAT = ir.IntType(64), ir.FloatType()
VECTOR = ir.VectorType(FLOAT, PANEL)
FUSED = ("contract",)


def _spread(builder: Any, x: Any) -> Any:
    nothing = ir.Constant(VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), PANEL), [0] * PANEL))


def _load(builder: Any, array: Any, at: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(array, [at]), VECTOR.as_pointer()), align=4)


@intrinsic
def _hopeful(
    typingctx: Any,
    a: Any,
    at: Any,
    b: Any,
    asked: Any,
    d: Any,
    alpha: Any,
    row: Any,
    beta: Any,
    i: Any,
    out: Any,
    to: Any,
    step: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, at, b, asked, d, alpha, row, beta, i, out, to, step = args
        nothing = ir.Constant(VECTOR, [0.0] * PANEL)
        sums = [cgutils.alloca_once_value(builder, nothing) for _ in range(ASKED)]
        for total in sums:
            builder.store(nothing, total)
        with cgutils.for_range(builder, d) as loop:
            x = _load(builder, a, builder.add(at, builder.mul(loop.index, ir.Constant(WORD, PANEL))))
            first = builder.gep(b, [builder.add(asked, builder.mul(loop.index, ir.Constant(WORD, ASKED)))])
            for q, total in enumerate(sums):
                y = _spread(builder, builder.load(builder.gep(first, [ir.Constant(WORD, q)])))
                product = builder.fmul(x, y, flags=FUSED)
                builder.store(builder.fadd(builder.load(total), product, flags=FUSED), total)
        half = _load(builder, alpha, row)
        for q, total in enumerate(sums):
            number = ir.Constant(WORD, q)
            least = _spread(builder, builder.load(builder.gep(beta, [builder.add(i, number)])))
            good = builder.fcmp_unordered(">=", builder.fsub(builder.load(total), half), least)
            place = builder.gep(out, [builder.add(to, builder.mul(number, step))])
            builder.store(builder.bitcast(good, ir.IntType(PANEL)), place)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(a, whole, b, whole, whole, alpha, whole, beta, whole, out, whole, whole), generate


def _hopeful_plain(
    a: Any, at: int, b: Any, asked: int, d: int, alpha: Any, row: int, beta: Any, i: int, out: Any, to: int, step: int
) -> None:
    for q in range(ASKED):
        mask = 0
        for k in range(PANEL):
            total = np.float32(0)
            for j in range(d):
                total += a[at + PANEL * j + k] * b[asked + ASKED * j + q]
            mask |= int(not total - alpha[row + k] < beta[i + q]) << k
        out[to + q * step] = mask


# hopeful(a, at, b, asked, d, alpha, row, beta, i, out, to, step): for the panel a[at:] and the group b[asked:], bit k of out[to + q step]: not
# a_k·b_q − alpha[row + k] < beta[i + q]
hopeful = _hopeful_plain if config.DISABLE_JIT else _hopeful


@njit(nogil=True, cache=True)
def rule_out(a, b, alpha, beta, first, stop, out):  # type: ignore[no-untyped-def]
    """out (queries, stop − first) uint32: bit k of [i, p] is 0 where row k of panel first + p of a (panels, d, PANEL) is too far from query i
    of b (groups, d, ASKED)."""
    d, step = a.shape[1], stop - first
    rows, queries, halves, cuts, to = bare(a), bare(b), bare(alpha), bare(beta), bare(out)
    for g in range(b.shape[0]):
        for p in range(step):
            at = first + p
            i = g * ASKED
            hopeful(rows, at * PANEL * d, queries, i * d, d, halves, at * PANEL, cuts, i, to, i * step + p, step)
