"""One pass of dual coordinate descent over sparse rows (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008).

    max_α Σα_i − ½ Σ_j l2_j w_j² − ½ Σ s_i α_i²,    w_j = Σ_i α_i t_i x_ij / l2_j,    0 ≤ α_i ≤ u_i

One α at a time goes to the best place it has while the others rest; w follows. A row whose α sits at an end, and whose slope
pushes it there harder than any other row is pushed, is passed over until the next full pass.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.loops.prefetch import prefetch_rows
from assay.loops.sparse_sweep import sparse_dot


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
