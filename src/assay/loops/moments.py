"""Weighted first and second moments of every column, class by class, in one pass over a block."""

from __future__ import annotations

import numpy as np
from numba import njit

from assay.loops.fingerprint import mix_rows


@njit(nogil=True, cache=True)
def add_moments(X, U, shift, codes, w, pivot, n, s1, s2, h):  # type: ignore[no-untyped-def]
    """n_k += Σ w, s1_kj += Σ w (x − p), s2_kj += Σ w (x − p)² with p = pivot_kj; and the hash of the columns.

    X (m, d), U its bits, codes (m,), w (m,) or (0,) for weights of one; pivot, s1, s2 (K, d), n (K,), h (d,).
    """
    m = X.shape[0]
    weighted = w.shape[0] > 0
    for start in range(0, m, 64):
        stop = min(m, start + 64)
        mix_rows(U[start:stop], shift, start, h)
        for i in range(start, stop):
            k = codes[i]
            x = X[i]
            p = pivot[k]
            a = s1[k]
            b = s2[k]
            if weighted:
                wi = w[i]
                n[k] += wi
                for j in range(x.shape[0]):
                    t = x[j] - p[j]
                    a[j] += wi * t
                    b[j] += wi * (t * t)
            else:
                n[k] += 1.0
                for j in range(x.shape[0]):
                    t = x[j] - p[j]
                    a[j] += t
                    b[j] += t * t


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
