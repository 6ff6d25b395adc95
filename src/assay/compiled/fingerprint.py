"""A position-dependent hash of each column of a block, at the speed of memory.

    h_j = Σ_i  lo(v)·hi(v) + u     v = u XOR (i + 1)·G,    u = the bits of x_ij,    mod 2⁶⁴

lo and hi are the 32-bit halves of v, G is the odd number nearest 2⁶⁴/φ. It tells data sets apart; it is no defence
against someone who wants two of them to collide.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import jit
from assay.compiled.prefetch import prefetch_rows
from assay.compiled.simd.rows import mix_lanes


@jit(inline="always")
def row_key(i):  # type: ignore[no-untyped-def]
    """(i + 1)·G mod 2⁶⁴."""
    return np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)


@jit(inline="always")
def mix_rest(U, i, shift, key, first, h):  # type: ignore[no-untyped-def]
    """Add row i of the bits U to h, from column `first` on. 32-bit values (shift 32) are doubled to fill 64 bits."""
    for j in range(first, h.shape[0]):
        x = np.uint64(U[i, j])
        v = (x | (x << shift)) ^ key
        h[j] += (v & np.uint64(0xFFFFFFFF)) * (v >> np.uint64(32)) + x


@jit(inline="always")
def mix_pair(U, i, shift, key, h):  # type: ignore[no-untyped-def]
    """Add rows i and i + 1 of the bits U to h; `key` is that of row i in its block."""
    next_key = key + np.uint64(0x9E3779B97F4A7C15)
    done = mix_lanes(U, i, key, next_key, h)
    mix_rest(U, i, shift, key, done, h)
    mix_rest(U, i + 1, shift, next_key, done, h)


@jit
def mix_rows(U, shift, first, h):  # type: ignore[no-untyped-def]
    """Add rows of bits U (m, d) to h (d,); `first` is the number of U's first row in its block.

    `shift` is 0 for 64-bit values and 32 for 32-bit ones.
    """
    s = np.uint64(shift)
    m, d = U.shape
    flat = U.reshape(-1)
    stride = 64 // U.itemsize
    for i in range(0, m - 1, 2):
        prefetch_rows(flat, (i + 16) * d, 2 * d, stride)
        mix_pair(U, i, s, row_key(first + i), h)
    if m % 2:
        mix_rest(U, m - 1, s, row_key(first + m - 1), 0, h)
