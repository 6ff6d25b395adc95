"""Rows of a mini-batch brought together, NARROW numbers at a time."""

from __future__ import annotations

from assay.compiled import inner
from assay.compiled.simd.networks import NARROW, copy_lanes


@inner
def bring(x, d, rows, first, many, m, A, at, wide):  # type: ignore[no-untyped-def]
    """Rows rows[first …] of x, of d numbers (a multiple of NARROW), to A[at …], with rows of zeros up to m. Addresses."""
    for i in range(many):
        row, to = rows[first + i] * d, at + i * wide
        for j in range(0, d, NARROW):
            copy_lanes(x, row + j, A, to + j)
    for i in range(many, m):
        to = at + i * wide
        for j in range(d):
            A[to + j] = 0.0
