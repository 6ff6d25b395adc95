"""One pass over sparse rows for a few chosen columns: losses at all weights, gradient and Hessian in the chosen ones.

    z = (x − p)·w + b

The entries of a row that are chosen are few, so the products are taken over pairs of them; what the centre p takes away
is the same for all rows and is subtracted at the end.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.loops.losses import tile_losses

ROWS = 32  # treated together


@jit
def _gather(data, indices, indptr, start, m, place, w, base, at, x, ends, z):  # type: ignore[no-untyped-def]
    """The chosen entries of the rows start, …: their places `at`, values x; row k ends at ends_k and has score z_k."""
    held = 0
    for k in range(m):
        score = base
        for e in range(indptr[start + k], indptr[start + k + 1]):
            j = indices[e]
            score += data[e] * w[j]
            if place[j] >= 0:
                at[held] = place[j]
                x[held] = data[e]
                held += 1
        ends[k] = held
        z[k] = score


@jit
def _add_rows(m, at, x, ends, r, q, g, H, s):  # type: ignore[no-untyped-def]
    """g += Σ r x, H += Σ q x xᵀ (upper triangle), s += Σ q x; the last places of g and s take Σ r and Σ q."""
    last = g.shape[0] - 1
    wants = H.shape[0] > 0
    first = 0
    for k in range(m):
        g[last] += r[k]
        s[last] += q[k]
        for e in range(first, ends[k]):
            g[at[e]] += r[k] * x[e]
            if wants and q[k] > 0.0:
                weighted = q[k] * x[e]
                s[at[e]] += weighted
                for f in range(e, ends[k]):
                    H[at[e], at[f]] += weighted * x[f]
        first = ends[k]


@jit
def _recentre(p, g, H, s):  # type: ignore[no-untyped-def]
    """The same sums for x − p instead of x, and the intercept's row and column of H."""
    d = p.shape[0]
    for j in range(d):
        g[j] -= p[j] * g[d]
    if H.shape[0] == 0:
        return
    for i in range(d):
        for j in range(i, d):
            H[i, j] -= p[i] * s[j] + p[j] * s[i] - s[d] * p[i] * p[j]
            H[j, i] = H[i, j]
    for j in range(d):
        H[j, d] = s[j] - p[j] * s[d]
        H[d, j] = H[j, d]
    H[d, d] = s[d]


@jit
def sweep_columns(code, h, data, indices, indptr, t, c, w, p, chosen, g, H, sums):  # type: ignore[no-untyped-def]
    """Fill g (k + 1,), H (k + 1, k + 1; (0, 0): not wanted) and add to sums (4,); all zeroed before.

    w (d + 1,), p (d,), t (m,), c (m,) or (0,); chosen (k,) are column numbers, rising.
    """
    n, d = t.shape[0], p.shape[0]
    place = np.full(d, -1, np.int32)
    for a in range(chosen.shape[0]):
        place[chosen[a]] = a
    base = w[d]
    for j in range(d):
        base -= p[j] * w[j]
    most = 0
    for start in range(0, n, ROWS):
        most = max(most, indptr[min(n, start + ROWS)] - indptr[start])
    at, x = np.empty(most, np.int64), np.empty(most)
    ends, s = np.empty(ROWS, np.int64), np.zeros(g.shape[0])
    z, r, q, room = np.empty(ROWS), np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    for start in range(0, n, ROWS):
        m = min(ROWS, n - start)
        _gather(data, indices, indptr, start, m, place, w, base, at, x, ends, z)
        tile_losses(code, h, z, t, c, start, m, r, q, room, sums)
        _add_rows(m, at, x, ends, r, q, g, H, s)
    _recentre(p[chosen], g, H, s)
