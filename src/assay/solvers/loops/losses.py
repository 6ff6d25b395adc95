"""Losses of one score z where the truth is t (±1, or a number for regression): value, slope and curvature side by side.

    log            log(1 + e^(−tz))
    hinge          max(0, 1 − tz); its slope is that of the smooth hinge of width h: (1 − tz)²/2h on 0 < 1 − tz < h
    squared hinge  max(0, 1 − tz)²
    squared        ½(z − t)²
    huber          ½(z − t)² where |z − t| ≤ h, else h|z − t| − ½h²
    perceptron     max(0, −tz); score 0 counts as a mistake of t = −1 (sgn 0 = 1)

A loss is chosen by an integer code. `tile_losses` treats a tile of rows: for each the weighted slope r = c·ℓ'(z) and
curvature q = c·ℓ''(z); into `sums` it adds Σcℓ, Σc·(smooth ℓ) and Σc|ℓ'|, and lowers the least margin tz.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.exponential import exp_of_negative
from assay.compiled.simd.scalars import multiply_add

LOG, HINGE, SQUARED_HINGE, SQUARED, HUBER, PERCEPTRON = range(6)
LOSS, SMOOTH, SLOPES, LEAST = range(4)  # the places of `sums`


@inner
def _log_tile(z, t, c, start, m, r, q, room):  # type: ignore[no-untyped-def]
    """Slope and curvature of the log loss; room_k = e^(−|t z|)."""
    weighted = c.shape[0] > 0
    for k in range(m):
        e = exp_of_negative(-abs(z[k]))
        share = 1.0 / (1.0 + e)
        wrong = e * share if t[start + k] * z[k] >= 0.0 else share
        room[k] = e
        r[k] = -t[start + k] * wrong
        q[k] = e * share * share
    if weighted:
        for k in range(m):
            r[k] *= c[start + k]
            q[k] *= c[start + k]


@inner
def _log_sum(z, t, c, start, m, room):  # type: ignore[no-untyped-def]
    """Σ c·log(1 + e^(−tz)): of equal weights, one logarithm of the product (1 + e)(1 + e)… = 1 + s ≤ 2^m.

    s is kept rather than the product: where all losses are small, the 1 would hide their digits.
    """
    total = 0.0
    if c.shape[0] > 0:
        for k in range(m):
            total = multiply_add(c[start + k], np.log1p(room[k]) + max(0.0, -t[start + k] * z[k]), total)
        return total
    s = 0.0
    for k in range(m):
        s = multiply_add(s, 1.0 + room[k], room[k])
        total += max(0.0, -t[start + k] * z[k])
    return total + np.log1p(s)


@inner
def _other(code, h, z, t):  # type: ignore[no-untyped-def]
    """(value, smooth value, slope, curvature) of one row."""
    if code == HINGE:
        a = 1.0 - t * z
        if a <= 0.0:
            return 0.0, 0.0, 0.0, 0.0
        if a >= h:
            return a, a - 0.5 * h, -t, 0.0
        return a, 0.5 * a * a / h, -t * a / h, 1.0 / h
    if code == SQUARED_HINGE:
        a = 1.0 - t * z
        if a <= 0.0:
            return 0.0, 0.0, 0.0, 0.0
        return a * a, a * a, -2.0 * t * a, 2.0
    if code == SQUARED:
        a = z - t
        return 0.5 * a * a, 0.5 * a * a, a, 1.0
    if code == HUBER:
        a = z - t
        if abs(a) <= h:
            return 0.5 * a * a, 0.5 * a * a, a, 1.0
        value = h * abs(a) - 0.5 * h * h
        return value, value, h if a > 0.0 else -h, 0.0
    mistake = t * z < 0.0 or (z == 0.0 and t < 0.0)
    return max(0.0, -t * z), max(0.0, -t * z), -t if mistake else 0.0, 0.0


@jit
def tile_losses(code, h, z, t, c, start, m, r, q, room, sums):  # type: ignore[no-untyped-def]
    """Slopes r and curvatures q of the rows start … start + m of t with scores z (m,); c (n,) weights, or (0,) for ones."""
    if code == LOG:
        _log_tile(z, t, c, start, m, r, q, room)
        loss = _log_sum(z, t, c, start, m, room)
        sums[LOSS] += loss
        sums[SMOOTH] += loss
        for k in range(m):
            if c.shape[0] == 0 or c[start + k] > 0.0:
                sums[LEAST] = min(sums[LEAST], t[start + k] * z[k])
        return
    for k in range(m):
        value, smooth, slope, bend = _other(code, h, z[k], t[start + k])
        weight = c[start + k] if c.shape[0] > 0 else 1.0
        r[k] = weight * slope
        q[k] = weight * bend
        sums[LOSS] += weight * value
        sums[SMOOTH] += weight * smooth
        sums[SLOPES] += abs(r[k])
        if weight > 0.0:
            sums[LEAST] = min(sums[LEAST], t[start + k] * z[k])
