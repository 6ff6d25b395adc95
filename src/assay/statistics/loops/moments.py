"""Weighted first and second moments of every column, class by class, in one pass over a block."""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import jit
from assay.compiled.fingerprint import mix_pair, mix_rest, mix_rows, row_key
from assay.compiled.prefetch import prefetch_rows
from assay.compiled.simd.rows import add_lanes


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
