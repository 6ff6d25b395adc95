"""Weighted first and second moments of every column, class by class, in one pass over a block."""

from __future__ import annotations

import numpy as np
from numba import njit

from assay.loops.fingerprint import mix_last, mix_pair, row_key
from assay.loops.prefetch import prefetch_rows


@njit(nogil=True, cache=True)
def first_of_each_class(X, codes, w, pivot):  # type: ignore[no-untyped-def]
    """pivot_k ← the first row of class k that has weight (missing and infinite values count as 0)."""
    K = pivot.shape[0]
    seen = np.zeros(K, np.bool_)
    left = K
    for i in range(X.shape[0]):
        k = codes[i]
        if not seen[k] and (w.shape[0] == 0 or w[i] > 0):
            seen[k] = True
            left -= 1
            for j in range(X.shape[1]):
                pivot[k, j] = X[i, j] if np.isfinite(X[i, j]) else 0.0
            if left == 0:
                break


@njit(nogil=True, cache=True)
def _add_row(x, p, a, b):  # type: ignore[no-untyped-def]
    for j in range(x.shape[0]):
        t = x[j] - p[j]
        a[j] += t
        b[j] += t * t


@njit(nogil=True, cache=True)
def _add_weighted_row(x, wi, p, a, b):  # type: ignore[no-untyped-def]
    for j in range(x.shape[0]):
        t = x[j] - p[j]
        a[j] += wi * t
        b[j] += wi * (t * t)


@njit(nogil=True, cache=True)
def add_moments(X, U, shift, codes, w, pivot, n, s1, s2, h):  # type: ignore[no-untyped-def]
    """n_k += Σ w, s1_kj += Σ w (x − p), s2_kj += Σ w (x − p)² with p = pivot_kj; and the hash of the columns.

    X (m, d), U its bits, codes (m,), w (m,) or (0,) for weights of one; pivot, s1, s2 (K, d), n (K,), h (d,).
    """
    m, d = X.shape
    s = np.uint64(shift)
    flat = U.reshape(-1)
    stride = 64 // U.itemsize
    weighted = w.shape[0] > 0
    for i in range(0, m - 1, 2):
        prefetch_rows(flat, (i + 16) * d, 2 * d, stride)
        mix_pair(U[i], U[i + 1], s, row_key(i), h)
        k0 = codes[i]
        k1 = codes[i + 1]
        if weighted:
            n[k0] += w[i]
            n[k1] += w[i + 1]
            _add_weighted_row(X[i], w[i], pivot[k0], s1[k0], s2[k0])
            _add_weighted_row(X[i + 1], w[i + 1], pivot[k1], s1[k1], s2[k1])
        else:
            n[k0] += 1.0
            n[k1] += 1.0
            _add_row(X[i], pivot[k0], s1[k0], s2[k0])
            _add_row(X[i + 1], pivot[k1], s1[k1], s2[k1])
    if m % 2:
        k = codes[m - 1]
        wi = w[m - 1] if weighted else 1.0
        n[k] += wi
        mix_last(U[m - 1], s, row_key(m - 1), h)
        _add_weighted_row(X[m - 1], wi, pivot[k], s1[k], s2[k])


@njit(nogil=True, cache=True)
def add_moments_where_present(X, codes, w, pivot, n, s1, s2):  # type: ignore[no-untyped-def]
    """As `add_moments`, leaving out missing values: n (K, d) counts what is there."""
    weighted = w.shape[0] > 0
    for i in range(X.shape[0]):
        k = codes[i]
        wi = w[i] if weighted else 1.0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            if not np.isnan(x):
                t = x - pivot[k, j]
                n[k, j] += wi
                s1[k, j] += wi * t
                s2[k, j] += wi * (t * t)
