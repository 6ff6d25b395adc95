"""Log densities of sparse rows: the value at x = 0, corrected for the entries that are kept."""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.loops.prefetch import prefetch_rows
from assay.loops.sparse_counts import two_sum

AHEAD = 16  # entries whose row of the table is asked for in advance


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
