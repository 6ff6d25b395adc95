"""All products of columns, Σ w t tᵀ with t = (x − p, y − q, 1), of a block with few columns, in one pass.

OpenBLAS packs its operands anew for each call, which for fifty columns costs as much as the products. Here a tile of rows
is shifted and scaled into a buffer that stays in the first-level cache, and the products are taken from there in
registers: `add_square` keeps an CORNER×8V corner of the result in accumulators while it runs down the rows of the tile. The
vector types are spelt out because LLVM does not find this by itself; each sum is taken in the order of the rows,
whatever the width of the registers.
"""

from __future__ import annotations

import numpy as np
from numba import config

from assay.compiled.decorator import inner, jit
from assay.compiled.fingerprint import mix_rows
from assay.compiled.prefetch import prefetch_rows
from assay.compiled.simd.products import CORNER, add_corner_1, add_corner_2, add_corner_3
from assay.compiled.simd.rows import shift_lanes
from assay.compiled.simd.vectors import LANE
from assay.compiled.tiers import WIDE_REGISTERS

TILE = 32  # rows a tile: it and the next one stay in the first-level cache


if config.DISABLE_JIT:  # the corners exist only compiled

    def add_square(T, m, C, flat, at):  # type: ignore[no-untyped-def]
        """As below."""
        C += np.triu(T[:m].T @ T[:m])

else:

    @inner
    def add_square(T, m, C, flat, at):  # type: ignore[no-untyped-def]
        """The upper triangle of C (P, P) += T[:m]ᵀT[:m], T (M, P) in C order, P a multiple of 8, m ≥ 1.

        Below the diagonal of C there is no meaning. Between corners the next tile is asked for, which begins at
        flat[at]: memory would be idle while the products are taken (22 ms → 19 ms for 500 000×50 on two threads).
        """
        P = T.shape[1]
        line = 64 // flat.itemsize
        corners = P // CORNER * (P // LANE + 1) // 2
        step = (T.shape[0] * P // corners + line) // line * line
        for i in range(0, P, CORNER):
            j = i // LANE * LANE
            while WIDE_REGISTERS and P - j >= 3 * LANE and P - j != 4 * LANE:
                prefetch_rows(flat, at, 3 * step, line)
                at += 3 * step
                add_corner_3(T, i, P, 1, m, T, j, C, i)
                j += 3 * LANE
            while WIDE_REGISTERS and P - j >= 2 * LANE:
                prefetch_rows(flat, at, 2 * step, line)
                at += 2 * step
                add_corner_2(T, i, P, 1, m, T, j, C, i)
                j += 2 * LANE
            while j < P:
                prefetch_rows(flat, at, step, line)
                at += step
                add_corner_1(T, i, P, 1, m, T, j, C, i)
                j += LANE


@jit
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
