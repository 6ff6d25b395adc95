"""Soft neighbours: from scores of a few rows with all rows to shares, and to what the shares weigh in the gradient.

    e_ij = w_j exp(g_ij − max_l g_il),   e_ii = 0,   s_i = Σ_j e_ij,   p_i = Σ_{j: y_j = y_i} e_ij / s_i
    m_ij = w_i e_ij ([y_j = y_i] − p_i) / s_i,   Σ_j m_ij = 0

Rows are sorted by class, so that the rows of row i's own class are those from low[i] up to high[i], and no row is asked for its class.
"""

from __future__ import annotations

import numpy as np
from numba import config

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.scalars import exp_of_negative

FAR = -1e300  # the score of a row with itself
NOTHING = 1e-200  # an exponential below is zero: products with it would be denormal, which is slow
SUMS = 32  # additions that need not wait for each other
MAGNITUDE = np.int64((1 << 63) - 1)
LEAST_WORD = np.int64(-(1 << 63))


def _greatest_plain(row, room):  # type: ignore[no-untyped-def]
    return max(row[j] for j in range(row.shape[0]))


@inner
def _greatest_compiled(row, room):  # type: ignore[no-untyped-def]
    """max_j row[j] through the bits, which are ordered like whole numbers once those of negative numbers are turned: eight times as fast.

    room (1,) of whole numbers.
    """
    bits = row.view(np.int64)
    top = LEAST_WORD
    for j in range(bits.shape[0]):
        b = bits[j]
        top = max(top, b ^ ((b >> 63) & MAGNITUDE))
    room[0] = top ^ ((top >> 63) & MAGNITUDE)
    return room.view(np.float64)[0]


_greatest = _greatest_plain if config.DISABLE_JIT else _greatest_compiled


@inner
def _total(row, sums):  # type: ignore[no-untyped-def]
    """Σ_j row[j], by as many sums side by side as `sums` has; then from the first to the last of these."""
    sums[:] = 0.0
    n, at_once = row.shape[0], sums.shape[0]
    whole = n // at_once * at_once
    for j in range(0, whole, at_once):
        for k in range(at_once):
            sums[k] += row[j + k]
    for j in range(whole, n):
        sums[j - whole] += row[j]
    total = 0.0
    for k in range(at_once):
        total += sums[k]
    return total


@inner
def _exponentials(row, w, top):  # type: ignore[no-untyped-def]
    for j in range(row.shape[0]):
        e = exp_of_negative(row[j] - top)
        row[j] = w[j] * (e if e > NOTHING else 0.0)


@inner
def _weigh(row, factor, c):  # type: ignore[no-untyped-def]
    for j in range(row.shape[0]):
        m = factor * row[j]
        row[j] = m
        c[j] += m


@jit
def soft_rows(G, start, w, low, high, c):  # type: ignore[no-untyped-def]
    """Turn g into m, add the columns' sums of m to c (n,), return Σ_i w_i p_i over the rows start … start + b − 1 of G (b, n).

    With c of length 0 only the sum is found, and G is left as e. A row whose neighbours all have the weight 0 has p = 0, m = 0.
    """
    slopes = c.shape[0] > 0
    value = 0.0
    room, sums = np.empty(1, np.int64), np.empty(SUMS)
    for k in range(G.shape[0]):
        i = start + k
        a, b = low[i], high[i]
        row = G[k]
        row[i] = FAR
        _exponentials(row, w, _greatest(row, room))
        row[i] = 0.0
        own = _total(row[a:b], sums)
        others = _total(row[:a], sums) + _total(row[b:], sums)
        s = own + others
        share = w[i] / s if s > 0.0 else 0.0
        value += share * own
        if slopes:
            mine, theirs = share * (others / s) if s > 0.0 else 0.0, -share * (own / s) if s > 0.0 else 0.0
            _weigh(row[:a], theirs, c[:a])
            _weigh(row[a:b], mine, c[a:b])
            _weigh(row[b:], theirs, c[b:])
    return value
