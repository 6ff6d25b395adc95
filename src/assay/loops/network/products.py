"""Products of matrices that fit a core's cache, in tiles whose sums stay in registers: C = A B (+ C), with any strides of A.

A tile is TALL (or SHORT) rows by WIDE (or NARROW) columns. While k goes by, each number of A is spread over a vector of B and added: nothing is
packed or copied, which is what a library does first and what takes it as long as the product where matrices are small. Rows come in multiples of SHORT,
columns in multiples of NARROW; what fills them is zero.
"""

from __future__ import annotations

from assay.compiled import inner
from assay.compiled.simd.networks import NARROW, SHORT, TALL, WIDE, short_narrow, short_wide, tall_narrow, tall_wide
from assay.compiled.simd.scalars import is_single


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
