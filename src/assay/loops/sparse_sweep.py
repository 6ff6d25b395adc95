"""One pass over sparse rows of many columns: losses and gradient, at a cost in proportion to the entries that are kept.

    z = Σ_e data_e·w[indices_e] + b        g[indices_e] += r·data_e

The rows are not centred: that would fill them. A few rows are scored, then their slopes are handed back while their
entries are still in the second-level cache.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.loops.exponential import exp_of_negative
from assay.loops.losses import tile_losses

ROWS = 64  # rows between scoring and handing back
NOTHING = 1e-200


@jit(fastmath={"contract"})
def sparse_dot(data, indices, first, stop, w):  # type: ignore[no-untyped-def]
    """Σ data_e·w[indices_e] over the entries first … stop: four sums, so that additions need not wait for each other."""
    a = b = c = d = 0.0
    e = first
    while e + 4 <= stop:
        a += data[e] * w[indices[e]]
        b += data[e + 1] * w[indices[e + 1]]
        c += data[e + 2] * w[indices[e + 2]]
        d += data[e + 3] * w[indices[e + 3]]
        e += 4
    while e < stop:
        a += data[e] * w[indices[e]]
        e += 1
    return (a + b) + (c + d)


@jit
def sparse_sweep(code, h, data, indices, indptr, t, c, w, g, sums):  # type: ignore[no-untyped-def]
    """Add the block to g (d + 1,) and sums (4,) at w (d + 1,), intercept last; t (m,), c (m,) or (0,) for ones."""
    n, d = t.shape[0], w.shape[0] - 1
    z, r, q, room = np.empty(ROWS), np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    for start in range(0, n, ROWS):
        m = min(ROWS, n - start)
        for k in range(m):
            i = start + k
            z[k] = sparse_dot(data, indices, indptr[i], indptr[i + 1], w) + w[d]
        tile_losses(code, h, z, t, c, start, m, r, q, room, sums)
        for k in range(m):
            slope = r[k]
            if slope != 0.0:
                g[d] += slope
                for e in range(indptr[start + k], indptr[start + k + 1]):
                    g[indices[e]] += slope * data[e]


@jit(fastmath={"contract"})
def sparse_softmax_sweep(data, indices, indptr, y, c, W, G):  # type: ignore[no-untyped-def]
    """Add the block to G (d + 1, K) at W (d + 1, K), intercepts last; y (m,) codes; return Σcℓ."""
    n, d, K = y.shape[0], W.shape[0] - 1, W.shape[1]
    weighted = c.shape[0] > 0
    z = np.empty(K)
    total = 0.0
    for i in range(n):
        for k in range(K):
            z[k] = W[d, k]
        for e in range(indptr[i], indptr[i + 1]):
            x, j = data[e], indices[e]
            for k in range(K):
                z[k] += x * W[j, k]
        weight = c[i] if weighted else 1.0
        own, top = z[y[i]], z.max()
        for k in range(K):
            z[k] = exp_of_negative(z[k] - top)
        s = z.sum()
        total += weight * (np.log(s) + top - own)
        for k in range(K):
            z[k] = z[k] * weight / s if z[k] > NOTHING else 0.0
        z[y[i]] -= weight
        for k in range(K):
            G[d, k] += z[k]
        for e in range(indptr[i], indptr[i + 1]):
            x, j = data[e], indices[e]
            for k in range(K):
                G[j, k] += x * z[k]
    return total
