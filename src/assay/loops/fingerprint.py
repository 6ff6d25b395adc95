"""A position-dependent hash of each column of a block, at the speed of memory.

    h_j = Σ_i  lo(v)·hi(v) + u     v = u XOR (i + 1)·G,    u = the bits of x_ij,    mod 2⁶⁴

lo and hi are the 32-bit halves of v, G is the odd number nearest 2⁶⁴/φ. It tells data sets apart; it is no defence
against someone who wants two of them to collide.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def mix_rows(U, shift, first, h):  # type: ignore[no-untyped-def]
    """Add rows of bits U (m, d) to h (d,); `first` is the number of U's first row in its block.

    `shift` is 0 for 64-bit values and 32 for 32-bit ones, which are doubled to fill 64 bits.
    """
    G = np.uint64(0x9E3779B97F4A7C15)
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    s = np.uint64(shift)
    m = U.shape[0]
    for i in range(0, m - 1, 2):
        u0 = U[i]
        u1 = U[i + 1]
        k0 = np.uint64(first + i + 1) * G
        k1 = k0 + G
        for j in range(h.shape[0]):
            x0 = np.uint64(u0[j])
            x1 = np.uint64(u1[j])
            v0 = (x0 | (x0 << s)) ^ k0
            v1 = (x1 | (x1 << s)) ^ k1
            h[j] += ((v0 & low) * (v0 >> half) + (v1 & low) * (v1 >> half)) + (x0 + x1)
    if m % 2:
        u0 = U[m - 1]
        k0 = np.uint64(first + m) * G
        for j in range(h.shape[0]):
            x0 = np.uint64(u0[j])
            v0 = (x0 | (x0 << s)) ^ k0
            h[j] += (v0 & low) * (v0 >> half) + x0
