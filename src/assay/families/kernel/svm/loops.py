"""Sweeps over the variables of a dual problem: slopes, who violates the optimum, what each variable adds to the duality gap, and the problem of a working set.

Variables u_t = s_t α_t between `low` and `high`; v_t is the slope of the dual along u_t. A working set is solved by sequential minimal optimisation, two
variables at a time, chosen by how much the dual gains. A step raises u_i and lowers u_j:

    i: greatest v of those that can rise;  j: of those that can fall and have v_j < v_i the greatest (v_i − v_j)² / (K_ii + K_jj − 2 K_ij)

`rise` (`fall`) holds 0 where a variable can rise (fall) and −∞ (+∞) where not, so that a sum takes the place of a branch. The two sweeps over
the set are spelt out in vectors; each keeps the best of its lanes.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import jit
from assay.compiled.simd.kernels import FLAT, move, partner
from assay.compiled.simd.memory import data_pointer, keep_alive


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


@jit
def solve_working_set(K, u, low, high, slope, share, floor, most):  # type: ignore[no-untyped-def]
    """Raise the dual over the set until its violation is below `share` of what it was at first, or `floor`; at most `most` steps. K (≥ q, q), the
    others (q,), q a multiple of LANES; u and slope are changed. Fillers have low = high = u = 0, whatever K. Returns the steps taken and the violation left."""
    q = len(u)
    rise, fall, diagonal, out = np.empty(q), np.empty(q), np.empty(q), np.empty(2)
    for t in range(q):
        rise[t] = 0.0 if u[t] < high[t] else -np.inf
        fall[t] = 0.0 if u[t] > low[t] else np.inf
        diagonal[t] = K[min(t, len(K) - 1), t]
    rows, slopes, up, down, own, found = (
        data_pointer(K),
        data_pointer(slope),
        data_pointer(rise),
        data_pointer(fall),
        data_pointer(diagonal),
        data_pointer(out),
    )
    i = move(rows, 0, 0, q, 0.0, slopes, up, down, found)
    enough = max(floor, share * (out[0] - out[1]))
    taken = 0
    while taken < most and out[0] - out[1] > enough:
        j = partner(rows, own, i, q, out[0], slopes, down)
        step = (slope[i] - slope[j]) / max(FLAT, diagonal[i] + diagonal[j] - 2.0 * K[i, j])
        room_i, room_j = high[i] - u[i], u[j] - low[j]
        if step >= room_i or step >= room_j:
            step = min(room_i, room_j)
        new_i, new_j = u[i] + step, u[j] - step
        u[i] = high[i] if step == room_i else new_i
        u[j] = low[j] if step == room_j else new_j
        rise[i] = 0.0 if u[i] < high[i] else -np.inf
        rise[j] = 0.0
        fall[i] = 0.0
        fall[j] = 0.0 if u[j] > low[j] else np.inf
        i = move(rows, i, j, q, step, slopes, up, down, found)
        taken += 1
    keep_alive((rise, fall, diagonal, out))
    return taken, out[0] - out[1]
