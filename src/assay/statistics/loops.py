"""Moments and products of columns, in one pass over a block.

*Moments*: weighted first and second ones of every column, class by class.

*Products*: all of them, Σ w t tᵀ with t = (x − p, y − q, 1), of a block with few columns. OpenBLAS packs its operands anew for each call, which for fifty
columns costs as much as the products. Here a tile of rows is shifted and scaled into a buffer that stays in the first-level cache, and the products are
taken from there in registers: `add_square` keeps an CORNER×8V corner of the result in accumulators while it runs down the rows of the tile. The vector
types are spelt out because LLVM does not find this by itself; each sum is taken in the order of the rows, whatever the width of the registers.
"""

from __future__ import annotations

import numpy as np
from numba import config

from assay.compiled.decorator import jit
from assay.compiled.mixing import mix_pair, mix_rest, mix_rows, row_key
from assay.compiled.simd.memory import prefetch_rows
from assay.compiled.simd.rows import CORNER, add_corner_1, add_corner_2, add_corner_3, add_lanes, shift_lanes
from assay.compiled.simd.vectors import LANE
from assay.compiled.tiers import WIDE_REGISTERS

TILE = 32  # rows a tile: it and the next one stay in the first-level cache


if config.DISABLE_JIT:  # the corners exist only compiled

    def add_square(T, m, C, flat, at):  # type: ignore[no-untyped-def]
        """As below."""
        C += np.triu(T[:m].T @ T[:m])

else:

    @jit
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


@jit
def heaviest_of_each_class(X, codes, w, pivot):  # type: ignore[no-untyped-def]
    """pivot_k <- the first of the heaviest rows of class k (missing and infinite values count as 0)."""
    K = pivot.shape[0]
    weighted = w.shape[0] > 0
    heaviest, at = np.zeros(K), np.full(K, -1)
    left = K
    for i in range(X.shape[0]):
        k = codes[i]
        wi = w[i] if weighted else 1.0
        if wi > heaviest[k]:
            if at[k] < 0:
                left -= 1
            heaviest[k] = wi
            at[k] = i
            if left == 0 and not weighted:
                break
    for k in range(K):
        if at[k] >= 0:
            for j in range(X.shape[1]):
                x = X[at[k], j]
                pivot[k, j] = x if np.isfinite(x) else 0.0


@jit(inline="always")
def _add_row(X, i, wi, k, first, pivot, s1, s2):  # type: ignore[no-untyped-def]
    for j in range(first, X.shape[1]):
        t = X[i, j] - pivot[k, j]
        s1[k, j] += wi * t
        s2[k, j] += wi * (t * t)


@jit(inline="always")
def _add_pair(X, i0, i1, k, pivot, s1, s2):  # type: ignore[no-untyped-def]
    done = add_lanes(X, i0, i1, k, pivot, s1, s2)
    _add_row(X, i0, 1.0, k, done, pivot, s1, s2)
    _add_row(X, i1, 1.0, k, done, pivot, s1, s2)


@jit
def add_moments(X, U, shift, codes, pivot, n, s1, s2, h):  # type: ignore[no-untyped-def]
    """n_k += m_k, s1_kj += Σ (x − p), s2_kj += Σ (x − p)² with p = pivot_kj; and the hash of the columns.

    X (m, d), U its bits, codes (m,); pivot, s1, s2 (K, d), n (K,), h (d,). A row waits in `held` for the next of its
    class: two at a time halve the traffic to the sums, which is what limits this loop.
    """
    m, d = X.shape
    s = np.uint64(shift)
    flat = U.reshape(-1)
    stride = 64 // U.itemsize
    held = np.full(n.shape[0], -1)
    for i in range(m):
        if i % 2 == 0:
            prefetch_rows(flat, (i + 16) * d, 2 * d, stride)
            if i + 1 < m:
                mix_pair(U, i, s, row_key(i), h)
            else:
                mix_rest(U, i, s, row_key(i), 0, h)
        k = codes[i]
        n[k] += 1.0
        if held[k] < 0:
            held[k] = i
        else:
            _add_pair(X, held[k], i, k, pivot, s1, s2)
            held[k] = -1
    for k in range(n.shape[0]):
        if held[k] >= 0:
            _add_row(X, held[k], 1.0, k, 0, pivot, s1, s2)


@jit
def add_weighted_moments(X, U, shift, codes, w, pivot, n, s1, s2, h):  # type: ignore[no-untyped-def]
    """As `add_moments`, each row times its weight w (m,)."""
    mix_rows(U, shift, 0, h)
    for i in range(X.shape[0]):
        if w[i] > 0:
            k = codes[i]
            n[k] += w[i]
            _add_row(X, i, w[i], k, 0, pivot, s1, s2)


@jit
def add_moments_where_present(X, codes, w, pivot, n, s1, s2):  # type: ignore[no-untyped-def]
    """As `add_moments`, leaving out missing values: n (K, d) counts what is there."""
    weighted = w.shape[0] > 0
    for i in range(X.shape[0]):
        k = codes[i]
        wi = w[i] if weighted else 1.0
        if wi == 0.0:
            continue
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            if not np.isnan(x):
                t = x - pivot[k, j]
                n[k, j] += wi
                s1[k, j] += wi * t
                s2[k, j] += wi * (t * t)
