"""Passes over sparse rows of many columns, at a cost in proportion to the entries that are kept. Rows are not centred: that would fill them.

*All columns* (`sparse_sweep`, `sparse_softmax_sweep`): losses and gradient.

    z = Σ_e data_e·w[indices_e] + b        g[indices_e] += r·data_e

A few rows are scored, then their slopes are handed back while their entries are still in the second-level cache.

*A few chosen columns* (`sweep_columns`): losses at all weights, gradient and Hessian in the chosen ones, z = (x − p)·w + b. The entries of a row that are
chosen are few, so the products are taken over pairs of them; what the centre p takes away is the same for all rows and is subtracted at the end.

*Dual coordinate descent* (`dual_pass`; Hsieh, Chang, Lin, Keerthi and Sundararajan 2008):

    max_α Σα_i − ½ Σ_j l2_j w_j² − ½ Σ s_i α_i²,    w_j = Σ_i α_i t_i x_ij / l2_j,    0 ≤ α_i ≤ u_i

One α at a time goes to the best place it has while the others rest; w follows. A row whose α sits at an end, and whose slope pushes it there harder than
any other row is pushed, is passed over until the next full pass.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.memory import prefetch_rows
from assay.compiled.simd.scalars import multiply_add
from assay.solvers.loops.softmax import row_shares
from assay.solvers.loops.sweep import tile_losses

ROWS = 64  # rows between scoring and handing back
ROWS_OF_COLUMNS = 32  # rows treated together for a few columns


@jit
def sparse_dot(data, indices, first, stop, w):  # type: ignore[no-untyped-def]
    """Σ data_e·w[indices_e] over the entries first … stop: four sums, so that additions need not wait for each other."""
    a = b = c = d = 0.0
    e = first
    while e + 4 <= stop:
        a = multiply_add(data[e], w[indices[e]], a)
        b = multiply_add(data[e + 1], w[indices[e + 1]], b)
        c = multiply_add(data[e + 2], w[indices[e + 2]], c)
        d = multiply_add(data[e + 3], w[indices[e + 3]], d)
        e += 4
    while e < stop:
        a = multiply_add(data[e], w[indices[e]], a)
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


@jit
def sparse_softmax_sweep(data, indices, indptr, y, c, W, G):  # type: ignore[no-untyped-def]
    """Add the block to G (d + 1, K) at W (d + 1, K), intercepts last; y (m,) codes; return Σcℓ."""
    n, d, K = y.shape[0], W.shape[0] - 1, W.shape[1]
    weighted = c.shape[0] > 0
    Z, room = np.empty((1, K)), np.empty(K)
    z = Z[0]
    total = 0.0
    for i in range(n):
        for k in range(K):
            z[k] = W[d, k]
        for e in range(indptr[i], indptr[i + 1]):
            x, j = data[e], indices[e]
            for k in range(K):
                z[k] = multiply_add(x, W[j, k], z[k])
        weight = c[i] if weighted else 1.0
        s, below = row_shares(Z, 0, K, y[i], weight, room)
        total = multiply_add(weight, np.log(s) + below, total)
        for k in range(K):
            G[d, k] += z[k]
        for e in range(indptr[i], indptr[i + 1]):
            x, j = data[e], indices[e]
            for k in range(K):
                G[j, k] = multiply_add(x, z[k], G[j, k])
    return total


@inner
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


@inner
def _add_rows(m, at, x, ends, r, q, g, H, s):  # type: ignore[no-untyped-def]
    """g += Σ r x, H += Σ q x xᵀ (upper triangle), s += Σ q x; the last places of g and s take Σ r and Σ q."""
    last = g.shape[0] - 1
    with_hessian = H.shape[0] > 0
    first = 0
    for k in range(m):
        g[last] += r[k]
        s[last] += q[k]
        for e in range(first, ends[k]):
            g[at[e]] += r[k] * x[e]
            if with_hessian and q[k] > 0.0:
                weighted = q[k] * x[e]
                s[at[e]] += weighted
                for f in range(e, ends[k]):
                    H[at[e], at[f]] += weighted * x[f]
        first = ends[k]


@inner
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
    for start in range(0, n, ROWS_OF_COLUMNS):
        most = max(most, indptr[min(n, start + ROWS_OF_COLUMNS)] - indptr[start])
    at, x = np.empty(most, np.int64), np.empty(most)
    ends, s = np.empty(ROWS_OF_COLUMNS, np.int64), np.zeros(g.shape[0])
    z, r, q, room = (
        np.empty(ROWS_OF_COLUMNS),
        np.empty(ROWS_OF_COLUMNS),
        np.empty(ROWS_OF_COLUMNS),
        np.empty(ROWS_OF_COLUMNS),
    )
    for start in range(0, n, ROWS_OF_COLUMNS):
        m = min(ROWS_OF_COLUMNS, n - start)
        _gather(data, indices, indptr, start, m, place, w, base, at, x, ends, z)
        tile_losses(code, h, z, t, c, start, m, r, q, room, sums)
        _add_rows(m, at, x, ends, r, q, g, H, s)
    _recentre(p[chosen], g, H, s)


@jit
def dual_pass(data, indices, indptr, t, upper, soft, square, order, alpha, resting, w, step, step_b, limits, pushes):  # type: ignore[no-untyped-def]
    """Visit the rows of a block in `order` (m,) numbers; change alpha (m,), resting (m,) and w (d + 1,), intercept last.

    upper (m,) are the u, soft (m,) the s, step = 1/l2 and step_b that of the intercept (0: none). `limits` are the greatest and the least
    push of the last pass, beyond which rows rest; those of this one are kept in `pushes`.
    """
    d = w.shape[0] - 1
    for place in range(order.shape[0]):
        if place + 2 < order.shape[0]:
            ahead = order[place + 2]
            if not resting[ahead]:
                length = indptr[ahead + 1] - indptr[ahead]
                prefetch_rows(data, indptr[ahead], length, 8)
                prefetch_rows(indices, indptr[ahead], length, 16)
        i = order[place]
        if resting[i] or upper[i] == 0.0:
            continue
        first, stop = indptr[i], indptr[i + 1]
        old = alpha[i]
        slope = t[i] * (sparse_dot(data, indices, first, stop, w) + w[d]) - 1.0 + soft[i] * old
        push = slope
        if old == 0.0:
            if slope > limits[0]:
                resting[i] = True
                continue
            push = min(slope, 0.0)
        elif old == upper[i]:
            if slope < limits[1]:
                resting[i] = True
                continue
            push = max(slope, 0.0)
        pushes[0] = max(pushes[0], push)
        pushes[1] = min(pushes[1], push)
        if push == 0.0:
            continue
        new = min(max(old - slope / square[i], 0.0), upper[i]) if square[i] > 0.0 else upper[i]
        alpha[i] = new
        change = (new - old) * t[i]
        for e in range(first, stop):
            w[indices[e]] += change * step * data[e]
        w[d] += change * step_b


@jit
def row_squares(data, indptr):  # type: ignore[no-untyped-def]
    """‖x_i‖² of every row."""
    out = np.zeros(indptr.shape[0] - 1)
    for i in range(out.shape[0]):
        for e in range(indptr[i], indptr[i + 1]):
            out[i] += float(data[e]) * float(data[e])
    return out
