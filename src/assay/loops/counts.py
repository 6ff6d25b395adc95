"""Counting, class by class, in one pass over a block; missing values and rows of weight zero are passed over."""

from __future__ import annotations

import math

import numpy as np

from assay.compiled import jit


@jit
def add_present(X, codes, w, n, s, low, high, rest):  # type: ignore[no-untyped-def]
    """n_kj += Σ w, s_kj += Σ w x over the values present; low, high, rest (d,): min x, max x, Σ (x − ⌊x⌋).

    X (m, d), codes (m,), w (m,) or (0,) for weights of one; n, s (K, d). An infinite x makes rest NaN.
    """
    weighted = w.shape[0] > 0
    for i in range(X.shape[0]):
        wi = w[i] if weighted else 1.0
        if wi == 0.0:
            continue
        k = codes[i]
        x = X[i]
        a = n[k]
        b = s[k]
        for j in range(x.shape[0]):
            v = np.float64(x[j])
            there = v == v
            a[j] += wi if there else 0.0
            b[j] += wi * v if there else 0.0
            low[j] = v if v < low[j] else low[j]
            high[j] = v if v > high[j] else high[j]
            rest[j] += v - math.floor(v) if there else 0.0


@jit
def count_categories(X, codes, w, offsets, counts):  # type: ignore[no-untyped-def]
    """counts[k, offsets[j] + x] += w for every value present; X (m, c) holds whole numbers, counts (K, T)."""
    weighted = w.shape[0] > 0
    for i in range(X.shape[0]):
        wi = w[i] if weighted else 1.0
        if wi == 0.0:
            continue
        row = counts[codes[i]]
        for j in range(X.shape[1]):
            v = X[i, j]
            if v == v:
                row[offsets[j] + np.int64(v)] += wi


@jit
def add_log_factorials(X, w, known, total):  # type: ignore[no-untyped-def]
    """total_j += Σ w log x! over the values present; known (L,): log 0!, log 1!, …; X holds whole numbers ≥ 0."""
    weighted = w.shape[0] > 0
    for i in range(X.shape[0]):
        wi = w[i] if weighted else 1.0
        if wi == 0.0:
            continue
        for j in range(X.shape[1]):
            v = np.float64(X[i, j])
            if v < known.shape[0]:
                total[j] += wi * known[np.int64(v)]
            elif v == v:
                total[j] += wi * math.lgamma(v + 1.0)
