"""One pass over a block for softmax regression: the losses and their gradient at the weights W.

    z_k = (x − p)·w_k + b_k        ℓ = log Σ_k e^{z_k} − z_y        r_k = c·(e^{z_k} / Σ e^z − [k = y])        G = Σ (x − p, 1) rᵀ

W and G are (P, Q): a class a column, padded to a multiple of eight by columns whose intercept is so low that they never
count. The scores of a tile are formed, turned into r in place, and used at once: Z never leaves the cache.

Products of a tall tile with a matrix of few columns are taken by corners that stay in registers:

    add_scores   Z += T·W      T (M, P), W (P, Q), Z (M, Q)
    add_outer    G += TᵀR      R (M, Q), G (P, Q)

Both are sums of (a few numbers of T) ⊗ (a few vectors of a row of the other factor); they differ in how they step through T.
Q and P are multiples of eight. Each sum is taken in the order of its terms, whatever the width of the registers.
"""

from __future__ import annotations

import numpy as np
from numba import config

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.rows import CORNER, add_corner_1, add_corner_2, add_corner_3
from assay.compiled.simd.scalars import exp_of_negative, multiply_add
from assay.compiled.simd.vectors import LANE
from assay.compiled.tiers import WIDE_REGISTERS
from assay.solvers.loops.sweep import fill_tile
from assay.statistics.loops import add_square

ABSENT = -1e300  # the intercept of a class that pads
NOTHING = 1e-200  # a share below this is zero: products with it would be denormal, which is slow
TILE = 1 << 12  # numbers of a tile: with W and G it stays in the first two caches


if config.DISABLE_JIT:  # the corners exist only compiled

    def add_scores(T, m, W, Z):  # type: ignore[no-untyped-def]
        """As below."""
        Z[:m] += T[:m] @ W

    def add_outer(T, m, R, G):  # type: ignore[no-untyped-def]
        """As below."""
        G += T[:m].T @ R[:m]

else:

    @inner
    def _add(T, at, along, across, n, B, C, i):  # type: ignore[no-untyped-def]
        """One row of corners: C[i : i + CORNER] += …, all columns."""
        Q = B.shape[1]
        j = 0
        while WIDE_REGISTERS and Q - j >= 3 * LANE and Q - j != 4 * LANE:
            add_corner_3(T, at, along, across, n, B, j, C, i)
            j += 3 * LANE
        while WIDE_REGISTERS and Q - j >= 2 * LANE:
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


def softmax_tile(P: int) -> int:
    """Rows a tile of P numbers each: a multiple of eight.

    >>> softmax_tile(104), softmax_tile(5000)
    (32, 8)
    """
    return max(LANE, min(32, TILE // P // LANE * LANE))


@inner
def row_shares(Z, k, K, own, weight, room):  # type: ignore[no-untyped-def]
    """Turn the scores of row k of Z (M, Q) into weight·(e^{z_j} / Σ e^z − [j = own]), room (Q,).

    Return s = Σ_j e^{z_j − top} over the K classes, and top − z_own: the row's loss is log s more than that.
    """
    Q = Z.shape[1]
    top = Z[k, 0]
    for j in range(1, K):
        top = max(top, Z[k, j])
    below = top - Z[k, own]
    for j in range(Q):
        room[j] = exp_of_negative(Z[k, j] - top)
    s = 0.0
    for j in range(K):
        s += room[j]
    share = weight / s
    for j in range(Q):
        Z[k, j] = room[j] * share if room[j] > NOTHING else 0.0
    Z[k, own] -= weight
    return s, below


@inner
def _shares(Z, m, K, y, c, start, room):  # type: ignore[no-untyped-def]
    """Turn the scores Z[:m] (M, Q) into r; return Σcℓ."""
    weighted = c.shape[0] > 0
    total = 0.0
    product = 1.0
    for k in range(m):
        weight = c[start + k] if weighted else 1.0
        s, below = row_shares(Z, k, K, y[start + k], weight, room)
        total = multiply_add(weight, below, total)
        if weighted:
            total = multiply_add(weight, np.log(s), total)
        else:
            product *= s
            if product > 1e200:
                total += np.log(product)
                product = 1.0
    return total + np.log(product)


@jit
def softmax_sweep(X, data, indices, indptr, y, c, K, W, p, T, Z, G):  # type: ignore[no-untyped-def]
    """Add the block to G (P, Q); return Σcℓ.

    X (m, d) or (0, d) with sparse rows; y (m,) codes 0 … K − 1; c (m,) or (0,) for ones; T (M, P) and Z (M, Q) are room, zeroed.
    """
    n, M = y.shape[0], T.shape[0]
    room = np.empty(Z.shape[1])
    total = 0.0
    for start in range(0, n, M):
        m = min(M, n - start)
        fill_tile(X, data, indices, indptr, start, start + m, p, T)
        Z[:] = 0.0
        add_scores(T, m, W, Z)
        total += _shares(Z, m, K, y, c, start, room)
        add_outer(T, m, Z, G)
    return total


@jit
def class_products(X, data, indices, indptr, c, K, W, p, T, Z, S, H):  # type: ignore[no-untyped-def]
    """H_k += Σ c p_k(1 − p_k) (x − p, 1)(x − p, 1)ᵀ, H (K, P, P), upper triangles; p_k the share of class k at W.

    Arguments as above; S (M, P) is more room.
    """
    n = X.shape[0] if X.shape[0] > 0 else indptr.shape[0] - 1
    M, P = T.shape
    room, first = np.empty(Z.shape[1]), np.zeros(M, np.int64)
    flat = X.reshape(-1)
    for start in range(0, n, M):
        m = min(M, n - start)
        fill_tile(X, data, indices, indptr, start, start + m, p, T)
        Z[:] = 0.0
        add_scores(T, m, W, Z)
        _shares(Z, m, K, first, room[:0], 0, room)
        Z[:, 0] += 1.0
        for k in range(K):
            for i in range(m):
                weight = c[start + i] if c.shape[0] > 0 else 1.0
                root = np.sqrt(weight * Z[i, k] * (1.0 - Z[i, k]))
                for j in range(P):
                    S[i, j] = root * T[i, j]
            add_square(S, m, H[k], flat, flat.shape[0])
