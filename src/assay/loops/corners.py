"""Products of a tall tile with a matrix of few columns, by corners that stay in registers.

    add_scores   Z += T·W      T (M, P), W (P, Q), Z (M, Q)
    add_outer    G += TᵀR      R (M, Q), G (P, Q)

Both are sums of (a few numbers of T) ⊗ (a few vectors of a row of the other factor); they differ in how they step through T.
Q and P are multiples of eight. Each sum is taken in the order of its terms, whatever the width of the registers.
"""

from __future__ import annotations

from numba import config

from assay.compiled import jit
from assay.compiled.host import AVX512
from assay.compiled.simd.products import CORNER, add_corner_1, add_corner_2, add_corner_3
from assay.compiled.simd.vectors import LANE

if config.DISABLE_JIT:  # the corners exist only compiled

    def add_scores(T, m, W, Z):  # type: ignore[no-untyped-def]
        """As below."""
        Z[:m] += T[:m] @ W

    def add_outer(T, m, R, G):  # type: ignore[no-untyped-def]
        """As below."""
        G += T[:m].T @ R[:m]

else:

    @jit
    def _add(T, at, along, across, n, B, C, i):  # type: ignore[no-untyped-def]
        """One row of corners: C[i : i + CORNER] += …, all columns."""
        Q = B.shape[1]
        j = 0
        while AVX512 and Q - j >= 3 * LANE and Q - j != 4 * LANE:
            add_corner_3(T, at, along, across, n, B, j, C, i)
            j += 3 * LANE
        while AVX512 and Q - j >= 2 * LANE:
            add_corner_2(T, at, along, across, n, B, j, C, i)
            j += 2 * LANE
        while j < Q:
            add_corner_1(T, at, along, across, n, B, j, C, i)
            j += LANE

    @jit
    def add_scores(T, m, W, Z):  # type: ignore[no-untyped-def]
        """Z[:m] += T[:m]·W. T (M, P) with M a multiple of eight: a few rows of Z beyond m are overwritten."""
        P = T.shape[1]
        for k in range(0, m, CORNER):
            _add(T, k * P, 1, P, P, W, Z, k)

    @jit
    def add_outer(T, m, R, G):  # type: ignore[no-untyped-def]
        """G += T[:m]ᵀR[:m], m ≥ 1."""
        P = T.shape[1]
        for i in range(0, P, CORNER):
            _add(T, i, P, 1, m, R, G, i)
