"""Products of queries and rows in float32 that never leave the registers: what is written is a bit a pair, whether it may be near.

Rows lie in panels of 32, column by column, queries in groups of ASKED; while the columns go by, the products of a panel and a group stay in
registers. A library's product of 64 columns spends a fifth of its time on copies of its operands, and what it writes must be
read again. The vector types are spelt out because LLVM does not find this by itself.
"""

from __future__ import annotations

from assay.compiled import jit
from assay.compiled.simd.memory import data_pointer
from assay.compiled.simd.neighbours import ASKED, PANEL, may_be_near


@jit
def rule_out(a, b, alpha, beta, first, stop, out):  # type: ignore[no-untyped-def]
    """out (queries, stop − first) uint32: bit k of [i, p] is 0 where row k of panel first + p of a (panels, d, PANEL) is too far from query i
    of b (groups, d, ASKED)."""
    d, step = a.shape[1], stop - first
    rows, queries, to = (data_pointer(a), data_pointer(alpha)), (data_pointer(b), data_pointer(beta)), data_pointer(out)
    for g in range(b.shape[0]):
        for p in range(step):
            i = g * ASKED
            may_be_near(rows, (first + p) * PANEL, queries, i, d, to, i * step + p, step)
