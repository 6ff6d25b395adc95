"""A position-dependent hash of each column of a block, at the speed of memory.

    h_j = Σ_i  lo(v)·hi(v) + u     v = u XOR (i + 1)·G,    u = the bits of x_ij,    mod 2⁶⁴

lo and hi are the 32-bit halves of v, G is the odd number nearest 2⁶⁴/φ. It tells data sets apart; it is no defence
against someone who wants two of them to collide.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from assay.loops.prefetch import prefetch_rows


@njit(nogil=True, cache=True)
def mix_pair(u0, u1, shift, key, h):  # type: ignore[no-untyped-def]
    """Add two neighbouring rows of bits to h; `key` is that of the first. 32-bit values (shift 32) are doubled."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    next_key = key + np.uint64(0x9E3779B97F4A7C15)
    for j in range(h.shape[0]):
        x0 = np.uint64(u0[j])
        x1 = np.uint64(u1[j])
        v0 = (x0 | (x0 << shift)) ^ key
        v1 = (x1 | (x1 << shift)) ^ next_key
        h[j] += ((v0 & low) * (v0 >> half) + (v1 & low) * (v1 >> half)) + (x0 + x1)


@njit(nogil=True, cache=True)
def mix_last(u, shift, key, h):  # type: ignore[no-untyped-def]
    """Add a single row of bits to h."""
    for j in range(h.shape[0]):
        x = np.uint64(u[j])
        v = (x | (x << shift)) ^ key
        h[j] += (v & np.uint64(0xFFFFFFFF)) * (v >> np.uint64(32)) + x


@njit(nogil=True, cache=True)
def row_key(i):  # type: ignore[no-untyped-def]
    """(i + 1)·G mod 2⁶⁴."""
    return np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)


@njit(nogil=True, cache=True)
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
        mix_pair(U[i], U[i + 1], s, row_key(first + i), h)
    if m % 2:
        mix_last(U[m - 1], s, row_key(first + m - 1), h)
