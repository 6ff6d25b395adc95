"""Products of matrices that fit a core's cache, in tiles whose sums stay in registers: C = A B (+ C), with any strides of A.

A tile is TALL (or SHORT) rows by WIDE (or NARROW) columns. While k goes by, each number of A is spread over a vector of B and added: nothing is
packed or copied, which is what a library does first and what takes it as long as the product where matrices are small. Rows come in multiples of SHORT,
columns in multiples of NARROW; what fills them is zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from assay.compiled.decorator import inner
from assay.compiled.simd.networks import NARROW, SHORT, TALL, WIDE, short_narrow, short_wide, tall_narrow, tall_wide
from assay.compiled.simd.scalars import is_single


class Strided(NamedTuple):
    """A matrix in an array: entry (i, j) at data[at + i row + j column]."""

    data: Any
    at: Any
    row: Any
    column: Any


@inner
def multiply(A, B, C, m, n, many, begin, begun):  # type: ignore[no-untyped-def]
    """C = A B for A (m, many), B (many, n), and where `begin` is not 0 + begun (m, n). All but A have columns side by side; m is a multiple of SHORT, n of
    NARROW."""
    high = m - m % TALL
    wide = n - n % WIDE if is_single(A.data) else 0
    for j in range(0, wide, WIDE):
        for i in range(0, high, TALL):
            tall_wide(A, B, C, i, j, many, begin, begun)
        for i in range(high, m, SHORT):
            short_wide(A, B, C, i, j, many, begin, begun)
    for j in range(wide, n, NARROW):
        for i in range(0, high, TALL):
            tall_narrow(A, B, C, i, j, many, begin, begun)
        for i in range(high, m, SHORT):
            short_narrow(A, B, C, i, j, many, begin, begun)
