"""Words mixed so that nothing is left of their order: a hash of columns, and random numbers.

A hash of each column of a block that depends on positions, at the speed of memory:

    h_j = Σ_i  lo(v)·hi(v) + u     v = u XOR (i + 1)·G,    u = the bits of x_ij,    mod 2⁶⁴

lo and hi are the 32-bit halves of v, G is the odd number nearest 2⁶⁴/φ. It tells data sets apart; it is no defence
against someone who wants two of them to collide.

Random numbers of a node are a stream that depends on the node's key alone, whoever grows it and when.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import jit
from assay.compiled.simd.memory import prefetch_rows
from assay.compiled.simd.rows import mix_lanes

STEP = np.uint64(0x9E3779B97F4A7C15)
LEFT = np.uint64(0xA0761D6478BD642F)
RIGHT = np.uint64(0xE7037ED1A0B428DB)
A = np.uint64(0xBF58476D1CE4E5B9)
B = np.uint64(0x94D049BB133111EB)


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


@jit(inline="always")
def mixed(z):  # type: ignore[no-untyped-def]
    """splitmix64's scrambling of a word."""
    z = (z ^ (z >> np.uint64(30))) * A
    z = (z ^ (z >> np.uint64(27))) * B
    return z ^ (z >> np.uint64(31))


@jit(inline="always")
def below(word, n):  # type: ignore[no-untyped-def]
    """A number 0 … n − 1 (n < 2³²) of a random word."""
    return np.int64(((word >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@jit(inline="always")
def unit(word):  # type: ignore[no-untyped-def]
    """A number 0 ≤ u < 1 of a random word."""
    return np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53


@jit(inline="always")
def child_key(key, left):  # type: ignore[no-untyped-def]
    """The key of a child."""
    return mixed(key + (LEFT if left else RIGHT))
