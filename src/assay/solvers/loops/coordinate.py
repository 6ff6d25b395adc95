"""Coordinate descent on a quadratic with l1 and l2 penalties, one weight at a time by its own exact minimum.

    m(v) = g·(v − w) + ½(v − w)ᵀH(v − w) + Σ_j l1_j|v_j| + ½ l2_j v_j²        q = g + H(v − w)
    v_j ← S(a_j v_j − q_j − l2_j v_j, l1_j) / a_j,    a_j = H_jj + l2_j,    S(x, l) = sgn(x)·max(|x| − l, 0)

Each step divides by its own a_j, so units of columns do not matter.
"""

from __future__ import annotations

from assay.compiled.decorator import inner, jit

BETWEEN = 10  # passes over the weights that are not zero, between two over all


@inner
def _step(H, l1, l2, v, q, j):  # type: ignore[no-untyped-def]
    """Minimise over v_j; how far m falls, as a_j·(change)²/2, which is at most the true fall."""
    a = H[j, j] + l2[j]
    old = v[j]
    if not a > 0.0:  # no curvature: the model is a line with a kink at zero
        new = 0.0 if abs(q[j]) < l1[j] else old
        fall = (l1[j] - abs(q[j])) * abs(old) if new != old else 0.0
    else:
        x = a * old - q[j] - l2[j] * old
        new = max(abs(x) - l1[j], 0.0) / a
        if x < 0.0:
            new = -new
        fall = 0.5 * a * (new - old) * (new - old)
    change = new - old
    if change != 0.0:
        v[j] = new
        for k in range(q.shape[0]):
            q[k] += change * H[j, k]
    return fall


@jit
def descend(H, l1, l2, v, q, passes, enough):  # type: ignore[no-untyped-def]
    """Passes over v (P,) until one over all weights lowers m by at most `enough` of all falls so far; (all falls, the last).

    H (P, P) symmetric, in C order; q (P,) is kept at g + H(v − w). At most `passes` over all weights are made.
    """
    P = v.shape[0]
    total = last = 0.0
    for _ in range(passes):
        last = 0.0
        for j in range(P):
            last += _step(H, l1, l2, v, q, j)
        total += last
        if last <= enough * total:
            break
        for _ in range(BETWEEN):
            fall = 0.0
            for j in range(P):
                if v[j] != 0.0 or l1[j] == 0.0:
                    fall += _step(H, l1, l2, v, q, j)
            total += fall
            if fall <= 0.1 * last:
                break
    return total, last
