"""Stochastic gradient descent, row after row: dense rows (n, d), or sparse ones as (data, indices, indptr).

    w ← (1 − η·alpha·(1 − share))·w − η·c·ℓ'(z)·x,      z = w·x + b

The weights are kept as scale·v, so that the shrinking costs one product a row. Of an L1 part each weight of a row's columns is moved towards zero by what all
weights were due so far and it has not had yet (Tsuruoka, Tsujii and Ananiadou 2009). Of passive-aggressive learning the step is what mends the row's loss, at most C.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.rows import row_add, row_ask, row_score, row_square

HINGE, PERCEPTRON, LOG, MODIFIED_HUBER, SQUARED_HINGE, SQUARED, HUBER, TUBE, SQUARED_TUBE = range(9)
CONSTANT, OPTIMAL, INVSCALING, ADAPTIVE, PA1, PA2 = range(6)
SCALE, INTERCEPT, MEAN_INTERCEPT, DUE, VISITS, LOSS, ETA = range(7)  # the places of `s`
AHEAD = 16  # rows that memory is asked for in advance
STEEPEST = 1e12  # what a slope is clipped to
SMALLEST = 1e-9  # scale of the weights


@inner
def _loss_and_slope(code, h, z, t):  # type: ignore[no-untyped-def]
    """ℓ(z) and ℓ'(z) where the truth is t."""
    m = t * z
    if code == HINGE:
        return (1.0 - m, -t) if m <= 1.0 else (0.0, 0.0)
    if code == PERCEPTRON:
        return (-m, -t) if m <= 0.0 else (0.0, 0.0)
    if code == LOG:
        if m >= 0.0:
            e = np.exp(-m)
            return np.log1p(e), -t * e / (1.0 + e)
        e = np.exp(m)
        return np.log1p(e) - m, -t / (1.0 + e)
    if code == MODIFIED_HUBER:
        if m >= 1.0:
            return 0.0, 0.0
        return ((1.0 - m) * (1.0 - m), -2.0 * t * (1.0 - m)) if m >= -1.0 else (-4.0 * m, -4.0 * t)
    if code == SQUARED_HINGE:
        return ((1.0 - m) * (1.0 - m), -2.0 * t * (1.0 - m)) if m < 1.0 else (0.0, 0.0)
    r = z - t
    if code == SQUARED:
        return 0.5 * r * r, r
    if code == HUBER:
        if abs(r) <= h:
            return 0.5 * r * r, r
        return h * abs(r) - 0.5 * h * h, h if r > 0.0 else -h
    far = abs(r) - h
    if far <= 0.0:
        return 0.0, 0.0
    sign = 1.0 if r > 0.0 else -1.0
    return (far, sign) if code == TUBE else (far * far, 2.0 * sign * far)


@inner
def _towards_zero(v, q, j, scale, due):  # type: ignore[no-untyped-def]
    """Move weight j by the part of `due` that it has not had."""
    before = v[0, j]
    if before > 0.0:
        v[0, j] = max(0.0, before - (due + q[j]) / scale)
    elif before < 0.0:
        v[0, j] = min(0.0, before + (due - q[j]) / scale)
    q[j] += scale * (v[0, j] - before)


@jit
def visit(A, indices, indptr, t, c, order, kinds, numbers, v, q, mean, s):  # type: ignore[no-untyped-def]
    """Visit the rows of `order`. kinds: loss, schedule, first visit that is averaged (0: none); numbers: h, alpha, L1 share, eta0, power_t, first visit of 'optimal', pace
    of the intercept (0: none). v (1, d), q (d,) or (0,), mean (d,) or (0,), s as above."""
    code, schedule, average = kinds[0], kinds[1], kinds[2]
    h, alpha, share, eta0, power, first, pace = (
        numbers[0],
        numbers[1],
        numbers[2],
        numbers[3],
        numbers[4],
        numbers[5],
        numbers[6],
    )
    none = np.zeros(1)
    scale, b, due, visits, total, eta = s[SCALE], s[INTERCEPT], s[DUE], s[VISITS], 0.0, s[ETA]
    d = v.shape[1]
    for k in range(order.shape[0]):
        i = order[k]
        row_ask(A, order[min(k + AHEAD, order.shape[0] - 1)])
        z = scale * row_score(A, i, v, none, 0) + b
        loss, slope = _loss_and_slope(code, h, z, t[i])
        total += loss
        weight = c[i] if c.shape[0] > 0 else 1.0
        if schedule == OPTIMAL:
            eta = 1.0 / (alpha * (first + visits - 1.0))
        elif schedule == INVSCALING:
            eta = eta0 / visits**power
        if schedule in (PA1, PA2):
            square = row_square(A, i)
            if schedule == PA1:
                step = min(eta0, loss / square) if square > 0.0 else 0.0
            else:
                step = loss / (square + 0.5 / eta0)
            step *= -np.sign(slope) * weight
        else:
            step = -eta * min(max(slope, -STEEPEST), STEEPEST) * weight
            if alpha > 0.0 and share < 1.0:
                scale *= max(0.0, 1.0 - (1.0 - share) * eta * alpha)
                if scale < SMALLEST:
                    for j in range(d):
                        v[0, j] *= scale
                    scale = 1.0
        if step != 0.0:
            row_add(A, i, step / scale, v, 0)
        b += step * pace
        if 0 < average <= visits:
            part = 1.0 / (visits - average + 1.0)
            for j in range(d):
                mean[j] += (scale * v[0, j] - mean[j]) * part
            s[MEAN_INTERCEPT] += (b - s[MEAN_INTERCEPT]) * part
        if q.shape[0] > 0:
            due += share * eta * alpha
            if indptr.shape[0] > 0:
                for e in range(indptr[i], indptr[i + 1]):
                    _towards_zero(v, q, indices[e], scale, due)
            else:
                for j in range(d):
                    _towards_zero(v, q, j, scale, due)
        visits += 1.0
    s[SCALE], s[INTERCEPT], s[DUE], s[VISITS], s[ETA] = scale, b, due, visits, eta
    s[LOSS] += total
