"""Rows and axis-aligned rectangles: boxes of classes, signed depth, and what rectangles win and lose."""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import jit

TINY = float(np.finfo(np.float64).tiny)  # the depth of a row on a side, which is inside
LOWEST = float(np.finfo(np.float64).min) / 2  # the depth in no rectangle at all


@jit
def bound_classes(X, codes, w, low, high, count, weight):  # type: ignore[no-untyped-def]
    """low_kj, high_kj, count_k, weight_k of the rows of positive weight of class k; False where a value is not finite.

    X (m, d), codes (m,), w (m,) or empty; low, high (K, d) begin at ±∞, count and weight (K,) at 0.
    """
    weighted = w.shape[0] > 0
    finite = True
    for i in range(X.shape[0]):
        wi = w[i] if weighted else 1.0
        k = codes[i]
        if wi > 0.0:
            count[k] += 1
            weight[k] += wi
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            finite &= np.isfinite(x)
            if wi > 0.0:
                low[k, j] = min(low[k, j], x)
                high[k, j] = max(high[k, j], x)
    return finite


@jit
def signed_depths(X, lower, upper, unit, place, Z):  # type: ignore[no-untyped-def]
    """Z_ip <- max over the rectangles r of place p of min_j min(x − lower, upper − x) / unit; NaN for rows that are not finite.

    X (m, d), lower, upper (R, d), unit (d,), place (R,), Z (m, P). The sign is exact: > 0 inside or on a side, < 0 outside.
    """
    R, d = lower.shape
    left, right, z = np.empty((R, d)), np.empty((R, d)), np.empty(d)
    for r in range(R):
        for j in range(d):
            left[r, j], right[r, j] = lower[r, j] / unit[j], upper[r, j] / unit[j]
    for i in range(X.shape[0]):
        finite = True
        for j in range(d):
            x = np.float64(X[i, j])
            finite &= np.isfinite(x)
            z[j] = x / unit[j]
        Z[i] = LOWEST if finite else np.nan
        for r in range(R if finite else 0):
            depth, inside = np.inf, True
            for j in range(d):
                x = np.float64(X[i, j])
                inside &= lower[r, j] <= x <= upper[r, j]
                depth = min(depth, z[j] - left[r, j], right[r, j] - z[j])
            depth = max(depth, TINY) if inside else max(min(depth, -TINY), LOWEST)
            Z[i, place[r]] = max(Z[i, place[r]], depth)


@jit
def count_covered(X, codes, u, lower, upper, owner, won, lost, won_rows, lost_rows):  # type: ignore[no-untyped-def]
    """Weight and number of the rows that each rectangle is the first of its class to cover: of its class, and of others.

    codes, u (m,), lower, upper (R, d), owner (R,) in order; the sums (R,) are added to. Rows of weight 0 are no rows.
    """
    R, d = lower.shape
    for i in range(X.shape[0]):
        if u[i] == 0:
            continue
        done = -1  # the class whose rectangles have covered the row already
        for r in range(R):
            if owner[r] == done:
                continue
            j = 0
            while j < d and lower[r, j] <= X[i, j] <= upper[r, j]:
                j += 1
            if j < d:
                continue
            done = owner[r]
            if codes[i] == owner[r]:
                won[r] += u[i]
                won_rows[r] += 1
            else:
                lost[r] += u[i]
                lost_rows[r] += 1


@jit
def count_answers(codes, u, answers, cells):  # type: ignore[no-untyped-def]
    """cells_lk += the weight of the rows of class k that are answered with class l."""
    for i in range(codes.shape[0]):
        cells[answers[i], codes[i]] += u[i]
