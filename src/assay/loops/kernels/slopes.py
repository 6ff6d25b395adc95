"""Sweeps over the variables of a dual problem: slopes, who violates the optimum, and what each variable adds to the duality gap."""

from __future__ import annotations

import numpy as np

from assay.compiled import jit


@jit
def take_slopes(base, f, rows, u, low, high, v):  # type: ignore[no-untyped-def]
    """v = base − f[rows]; returns the greatest v of those that can rise, and the least of those that can fall."""
    top, bottom = -np.inf, np.inf
    for t in range(len(v)):
        x = base[t] - f[rows[t]]
        v[t] = x
        if x > top and u[t] < high[t]:
            top = x
        if x < bottom and u[t] > low[t]:
            bottom = x
    return top, bottom


@jit
def gap_of(v, u, low, high, b):  # type: ignore[no-untyped-def]
    """Σ_t U_t max(0, s_t (v_t − b)) − u_t (v_t − b): every term is ≥ 0, and 0 where a variable is where it should be. Finite bounds."""
    total = 0.0
    for t in range(len(v)):
        x = v[t] - b
        total += max(high[t] * x, low[t] * x) - u[t] * x
    return total


@jit
def mark_violators(v, u, low, high, top, bottom, fresh, rise, fall):  # type: ignore[no-untyped-def]
    """rise[:a], fall[:b]: the fresh variables that can rise with v > bottom, and that can fall with v < top. Returns a, b."""
    a = b = 0
    for t in range(len(v)):
        if fresh[t]:
            if v[t] > bottom and u[t] < high[t]:
                rise[a] = t
                a += 1
            if v[t] < top and u[t] > low[t]:
                fall[b] = t
                b += 1
    return a, b


@jit
def mark_settled(v, u, low, high, top, bottom, settled):  # type: ignore[no-untyped-def]
    """settled[t]: a variable at its bound that would have to cross all others to move again. Returns how many are."""
    count = 0
    for t in range(len(v)):
        out = (u[t] >= high[t] and v[t] > top) or (u[t] <= low[t] and v[t] < bottom)
        settled[t] = out
        count += out
    return count


@jit
def add_kept_rows(K, slots, coef, first, stop, f):  # type: ignore[no-untyped-def]
    """f[j] += Σ_i coef_i K[slots_i, j] for columns first … stop − 1."""
    into = f[first:stop]
    for i in range(len(slots)):
        row, c = K[slots[i], first:stop], coef[i]
        for j in range(len(into)):
            into[j] += c * row[j]
