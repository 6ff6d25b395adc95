"""Values of a kernel function for panels of rows and groups of others, in registers from the first product to the last use.

Rows lie in panels of PANEL (float32) or half as many (float64), column by column, others in groups of ASKED. While the columns go by, the
products of a panel and a group stay in registers; there the function is taken of them, and they are stored, or summed with coefficients
and forgotten. A library's product of few columns spends as long on copies of its operands, and what it writes must be read again.
Each value depends on its two rows alone, so blocks of any shape give the same bits.

A function is `Formula(what, scale, shift, degree)`: see `assay.compiled.simd.kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inlined, jit
from assay.compiled.simd.kernels import ASKED, FLAT, add, add_both, fill, move, partner
from assay.compiled.simd.memory import data_pointer, keep_alive


class KernelFormula(NamedTuple):
    """What is made of products t of columns: `what` with its numbers; `degree` is whole."""

    what: int
    scale: Any
    shift: Any
    degree: int


class PanelRows(NamedTuple):
    """Rows in panels (panels, d, lanes), or in groups (groups, d, ASKED), and half of their squares."""

    panels: Any
    halves: Any


@inlined
def _panel_pointers(rows):  # type: ignore[no-untyped-def]
    return PanelRows(data_pointer(rows.panels), data_pointer(rows.halves))


@jit
def fill_block(rows, others, formula, first, stop, out):  # type: ignore[no-untyped-def]
    """out (≥ groups · ASKED, (stop − first) · lanes): values of panels first … stop − 1 of the rows and the groups of others."""
    d, lanes, step = rows.panels.shape[1], rows.panels.shape[2], out.shape[1]
    a, b, to = _panel_pointers(rows), _panel_pointers(others), data_pointer(out)
    for p in range(first, stop):
        for g in range(others.panels.shape[0]):
            i = g * ASKED
            fill(a, p * lanes, b, i, d, formula, to, i * step + (p - first) * lanes, step)


@jit
def add_values(rows, others, formula, first, stop, coef, f):  # type: ignore[no-untyped-def]
    """f[row] += Σ_i coef_i K(row, i) for the rows of panels first … stop − 1."""
    d, lanes = rows.panels.shape[1], rows.panels.shape[2]
    a, b, c, into = _panel_pointers(rows), _panel_pointers(others), data_pointer(coef), data_pointer(f)
    for p in range(first, stop):
        for g in range(others.panels.shape[0]):
            add(a, p * lanes, b, g * ASKED, d, formula, c, into)


@jit
def add_values_and_sizes(rows, others, formula, first, stop, coef, f, g):  # type: ignore[no-untyped-def]
    """The same, and g[row] += Σ_i |coef_i K(row, i)|: what bounds the error of f."""
    d, lanes = rows.panels.shape[1], rows.panels.shape[2]
    a, b, c, into, sizes = (
        _panel_pointers(rows),
        _panel_pointers(others),
        data_pointer(coef),
        data_pointer(f),
        data_pointer(g),
    )
    for p in range(first, stop):
        for group in range(others.panels.shape[0]):
            add_both(a, p * lanes, b, group * ASKED, d, formula, c, into, sizes)


@jit
def lay_out(X, pick, centre, scale, panels, halves):  # type: ignore[no-untyped-def]
    """Rows pick of X, less a centre and times scale: into panels or groups (k, d, width), whatever their width; halves: ½ of their squares."""
    d, width = X.shape[1], panels.shape[2]
    for r in range(len(pick)):
        p, k = r // width, r % width
        total = 0.0
        for j in range(d):
            panels[p, j, k] = (X[pick[r], j] - centre[j]) * scale
            x = float(panels[p, j, k])
            total += x * x
        halves[r] = 0.5 * total


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
