"""Counts, moments and log densities of naive Bayes, class by class, in one pass over a block.

Missing values and rows of weight zero are passed over. A sparse matrix comes as its three arrays: data and indices (nnz,), indptr (m + 1,). What the
absent zeros add to counts and moments follows from the weights (`weigh_entries`), in time and memory that do not grow with m·d; a log density is the value
at x = 0, corrected for the entries that are kept.
"""

from __future__ import annotations

import math

import numpy as np

from assay.compiled.decorator import jit
from assay.compiled.simd.memory import prefetch_rows

AHEAD = 16  # entries whose row of the table is asked for in advance


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


@jit(inline="always")
def two_sum(a, b):  # type: ignore[no-untyped-def]
    """s = a + b as rounded, and what rounding lost: together exactly a + b (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@jit
def weigh_classes(codes, w, high, low, rows):  # type: ignore[no-untyped-def]
    """high_k + low_k += Σ w in twice the digits, rows_k += 1 over the rows of positive weight; all (K,)."""
    weighted = w.shape[0] > 0
    for i in range(codes.shape[0]):
        wi = w[i] if weighted else 1.0
        if wi > 0.0:
            k = codes[i]
            high[k], lost = two_sum(high[k], wi)
            low[k] += lost
            rows[k] += 1


@jit
def weigh_entries(data, indices, indptr, codes, w, missing, high, low, rows):  # type: ignore[no-untyped-def]
    """As `weigh_classes` for the kept entries of each class and column, (K, d): the missing ones, or all others."""
    weighted = w.shape[0] > 0
    for i in range(codes.shape[0]):
        wi = w[i] if weighted else 1.0
        if wi > 0.0:
            k = codes[i]
            for e in range(indptr[i], indptr[i + 1]):
                if np.isnan(data[e]) == missing:
                    j = indices[e]
                    high[k, j], lost = two_sum(high[k, j], wi)
                    low[k, j] += lost
                    rows[k, j] += 1


@jit
def add_entries(data, indices, indptr, codes, w, s):  # type: ignore[no-untyped-def]
    """s_kj += Σ w x over the entries present; returns min x, max x, Σ (x − ⌊x⌋), and whether one is missing (NaN)."""
    weighted = w.shape[0] > 0
    missing = False
    low, high, rest = np.inf, -np.inf, 0.0
    for i in range(codes.shape[0]):
        wi = w[i] if weighted else 1.0
        if wi == 0.0:
            continue
        k = codes[i]
        for e in range(indptr[i], indptr[i + 1]):
            v = np.float64(data[e])
            if v != v:
                missing = True
                continue
            s[k, indices[e]] += wi * v
            low = v if v < low else low
            high = v if v > high else high
            rest += v - np.floor(v)
    return low, high, rest, missing


@jit
def look_at_columns(data, indices, indptr, w, low, high, rest, kept):  # type: ignore[no-untyped-def]
    """low, high, rest (d,) as in `add_entries` for each column; kept_j: its entries, missing ones too."""
    weighted = w.shape[0] > 0
    for i in range(indptr.shape[0] - 1):
        if weighted and w[i] == 0.0:
            continue
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            v = np.float64(data[e])
            kept[j] += 1
            if v == v:
                low[j] = v if v < low[j] else low[j]
                high[j] = v if v > high[j] else high[j]
                rest[j] += v - np.floor(v)


@jit
def heaviest_entries(data, indices, indptr, codes, w, heaviest, pivot):  # type: ignore[no-untyped-def]
    """pivot_kj <- the first of the heaviest finite entries of each class and column; heaviest_kj (zeros): its weight."""
    weighted = w.shape[0] > 0
    for i in range(codes.shape[0]):
        wi = w[i] if weighted else 1.0
        k = codes[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if wi > heaviest[k, j] and np.isfinite(data[e]):
                heaviest[k, j] = wi
                pivot[k, j] = data[e]


@jit
def add_entry_moments(data, indices, indptr, codes, w, pivot, s1, s2):  # type: ignore[no-untyped-def]
    """s1_kj += Σ w (x − p), s2_kj += Σ w (x − p)² over the entries present, p = pivot_kj; all (K, d)."""
    weighted = w.shape[0] > 0
    for i in range(codes.shape[0]):
        wi = w[i] if weighted else 1.0
        if wi == 0.0:
            continue
        k = codes[i]
        for e in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[e])
            if x == x:
                j = indices[e]
                t = x - pivot[k, j]
                s1[k, j] += wi * t
                s2[k, j] += wi * (t * t)


@jit
def merge_with_zeros(whole, there, gone, pivot, s1, s2, n):  # type: ignore[no-untyped-def]
    """n, mean and Σ w (x − mean)² of the entries present together with the absent zeros, in n, pivot and s2; all (K, d).

    The zeros have mean 0 and no spread, so with the weights a of the zeros and b of the entries, whose own moments are m
    and q (Chan, Golub, LeVeque): mean = m·b/(a + b), q + m²·a·b/(a + b). `whole` (K, 1), `there` and `gone` ((K, 0) where
    nothing is missing) are weights (high, low, rows) of the class, the entries present and the missing ones.
    """
    missing = gone[2].shape[1] > 0
    for k in range(n.shape[0]):
        for j in range(n.shape[1]):
            zeros = whole[2][k, 0] - there[2][k, j]
            a, rest = two_sum(whole[0][k, 0], -there[0][k, j])
            rest += whole[1][k, 0] - there[1][k, j]
            if missing:
                zeros -= gone[2][k, j]
                a, lost = two_sum(a, -gone[0][k, j])
                rest += lost - gone[1][k, j]
            a = max(a + rest, 0.0) if zeros > 0 else 0.0
            b = there[0][k, j] + there[1][k, j]
            n[k, j] = a + b
            if there[2][k, j] > 0:
                shift = s1[k, j] / b
                m = pivot[k, j] + shift
                q = s2[k, j] - s1[k, j] * shift
                share = b / (a + b)
                pivot[k, j] = m * share
                s2[k, j] = (0.0 if q < 0.0 else q) + m * m * (a * share)


@jit
def add_entry_log_factorials(data, indices, indptr, w, known, total):  # type: ignore[no-untyped-def]
    """total_j += Σ w log x! over the entries present (log 0! = 0); known (L,): log 0!, log 1!, …; x whole and ≥ 0."""
    weighted = w.shape[0] > 0
    for i in range(indptr.shape[0] - 1):
        wi = w[i] if weighted else 1.0
        if wi == 0.0:
            continue
        for e in range(indptr[i], indptr[i + 1]):
            v = np.float64(data[e])
            if v < known.shape[0]:
                total[indices[e]] += wi * known[np.int64(v)]
            elif v == v:
                total[indices[e]] += wi * math.lgamma(v + 1.0)


@jit
def add_up(values, high, low):  # type: ignore[no-untyped-def]
    """high_k + low_k += Σ_j values_kj in twice the digits; values (K, d)."""
    for k in range(values.shape[0]):
        for j in range(values.shape[1]):
            high[k], lost = two_sum(high[k], values[k, j])
            low[k] += lost


@jit
def normal_scores(data, indices, indptr, theta, curvature, level, zero, high, low, Z):  # type: ignore[no-untyped-def]
    """Z_ik <- Σ_j [curvature_kj (x_ij − θ_kj)² + level_kj], missing entries left out; Z (m, K), tables (K, d).

    zero_kj = curvature_kj θ_kj² is what x = 0 gives, and high + low its sum with the levels. An entry takes back zero_kj,
    the very number that was summed, and adds its own term. Both sums keep twice the digits, so that nothing is lost where
    a narrow density far from zero makes the two large and nearly equal.
    """
    for k in range(theta.shape[0]):
        for i in range(indptr.shape[0] - 1):
            z, rest = high[k], low[k]
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                x = np.float64(data[e])
                z, lost = two_sum(z, -zero[k, j])
                rest += lost
                if x == x:
                    t = x - theta[k, j]
                    z, lost = two_sum(z, curvature[k, j] * (t * t))
                else:
                    z, lost = two_sum(z, -level[k, j])
                rest += lost
            Z[i, k] = z + rest


@jit
def linear_scores(  # type: ignore[no-untyped-def]
    data, indices, indptr, slope, base, total, top, whole, never_more, never_zero, Z
):
    """Z_ik <- total_k + Σ_j slope_jk x_ij, where a missing entry takes back base_jk; tables (d, K), Z (m, K).

    −∞ where a class excludes the row: never_more forbids x_ij > 0, never_zero forbids x_ij = 0 (either has no rows where
    nothing is excluded). NaN where a value cannot be: negative, above `top`, or a fraction if `whole`.
    """
    K = total.shape[0]
    forbids_more, forbids_zero = never_more.shape[0] > 0, never_zero.shape[0] > 0
    must = never_zero.sum(axis=0)  # how many columns must not be zero
    against = np.empty(K)
    flat = slope.reshape(-1)
    for i in range(indptr.shape[0] - 1):
        for k in range(K):
            Z[i, k] = total[k]
            against[k] = must[k] if forbids_zero else 0.0
        possible = True
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            x = np.float64(data[e])
            if e + AHEAD < data.shape[0]:
                prefetch_rows(flat, np.int64(indices[e + AHEAD]) * K, K, 8)
            if x == x:
                possible &= 0.0 <= x <= top and not (whole and x != np.floor(x))
                for k in range(K):
                    Z[i, k] += x * slope[j, k]
            else:
                for k in range(K):
                    Z[i, k] -= base[j, k]
            if forbids_zero:
                for k in range(K):
                    against[k] -= never_zero[j, k]
            if forbids_more and x > 0.0:
                for k in range(K):
                    against[k] += never_more[j, k]
        for k in range(K):
            if not possible:
                Z[i, k] = np.nan
            elif against[k] > 0.0:
                Z[i, k] = -np.inf
