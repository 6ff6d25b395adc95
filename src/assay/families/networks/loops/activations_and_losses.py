"""What a unit makes of its sum z, for whole arrays; the loss of a row's outputs and whether the answer is wrong; and the slopes of both.

identity z      relu max(0, z)      logistic 1/(1 + e^−z)      tanh      gelu ½z(1 + tanh(√(2/π)(z + 0.044715 z³)))

SOFTMAX   −log p_y,  p = softmax z                    SQUARED   ½ Σ_j (z_j − t_j)²;  SIGNS: likewise with t = ±1, +1 for the row's own class
LOG       log(1 + e^(−t z)),  one output, t = ±1       HINGE     max(0, 1 − t z), one output;  max(0, 1 + max_{j≠y} z_j − z_y) of more
"""

from __future__ import annotations

import math

import numpy as np

from assay.compiled.decorator import inner
from assay.compiled.simd.networks import (
    NARROW,
    gelu_of,
    gelu_slope_of,
    greatest,
    keep_above,
    logistic_of,
    relu_of,
    slopes,
    tanh_of,
)

SOFTMAX, LOG, SQUARED, HINGE, SIGNS = range(5)
IDENTITY, RELU, LOGISTIC, TANH, GELU = range(5)
NAMES = ("identity", "relu", "logistic", "tanh", "gelu")


@inner
def row_loss(what, z, at, many, code, target, to, share, d):  # type: ignore[no-untyped-def]
    """Loss of the outputs z[at …]; d[at …] becomes `share` times its slope. Returns (loss, 1.0 where the answer is wrong)."""
    if what == SQUARED:
        loss = 0.0
        for j in range(many):
            off = float(z[at + j]) - float(target[to + j])
            loss += 0.5 * off * off
            d[at + j] = share * off
        return loss, 0.0
    if many == 1:
        x = float(z[at])
        t = 1.0 if code == 1 else -1.0
        wrong = 1.0 if (x > 0) != (code == 1) else 0.0
        if what == HINGE:
            short = 1.0 - t * x
            d[at] = -share * t if short > 0 else 0.0
            return (0.0 if short <= 0 else short), wrong
        if what == SIGNS:
            d[at] = share * (x - t)
            return 0.5 * (x - t) * (x - t), wrong
        e = math.exp(-abs(x))
        p = (e if t * x > 0 else 1.0) / (1.0 + e)  # of the other class
        d[at] = -share * t * p
        return max(0.0, -t * x) + math.log1p(e), wrong
    if what == SOFTMAX:
        total, below, wrong = softmax_loss(z, at, many, code, share, d)
        return math.log(total) + below, wrong
    top, best, rival, second = -np.inf, 0, -1, -np.inf
    for j in range(many):
        x = float(z[at + j])
        if x > top:
            top, best = x, j
        if j != code and x > second:
            second, rival = x, j
    wrong = 1.0 if best != code else 0.0
    if what == SIGNS:
        loss = 0.0
        for j in range(many):
            off = float(z[at + j]) - (1.0 if j == code else -1.0)
            loss += 0.5 * off * off
            d[at + j] = share * off
        return loss, wrong
    short = 1.0 + second - float(z[at + code])
    for j in range(many):
        d[at + j] = 0.0
    if short > 0:
        d[at + rival] = share
        d[at + code] = -share
    return (0.0 if short <= 0 else short), wrong


@inner
def softmax_loss(z, at, many, code, share, d):  # type: ignore[no-untyped-def]
    """(total, below, 1.0 where the answer is wrong): the loss is log(total) + below; d[at …] becomes `share` times its slope."""
    highest = greatest(z, at, many)
    total = slopes(z, at, many, highest, share, d)
    d[at + code] -= share
    own = z[at + code]
    return float(total), float(highest) - float(own), (0.0 if wins(z, at, code, own, highest) else 1.0)


@inner
def wins(z, at, code, own, highest):  # type: ignore[no-untyped-def]
    """Whether the output `own` of class `code` is the first of the greatest."""
    first = own == highest
    for j in range(code):
        first &= z[at + j] != highest
    return first


@inner
def needs_no_sums(what):  # type: ignore[no-untyped-def]
    """Whether φ may be taken in place, since its outputs alone say what its slopes are."""
    return what != GELU


@inner
def activate(what, Z, A, at, many):  # type: ignore[no-untyped-def]
    """A[at + i] = φ(Z[at + i]) for i < many, a multiple of NARROW; addresses, of one array where φ needs no sums."""
    if what == RELU:
        for i in range(at, at + many, NARROW):
            relu_of(Z, A, i)
    elif what == LOGISTIC:
        for i in range(at, at + many, NARROW):
            logistic_of(Z, A, i)
    elif what == TANH:
        for i in range(at, at + many, NARROW):
            tanh_of(Z, A, i)
    elif what == GELU:
        for i in range(at, at + many, NARROW):
            gelu_of(Z, A, i)


@inner
def times_slope(what, Z, A, D, S, at, many):  # type: ignore[no-untyped-def]
    """D[i] *= φ′(Z[i]), by A = φ(Z) where that says it; S: room as large as Z."""
    if what == RELU:
        for i in range(at, at + many, NARROW):
            keep_above(A, D, i)
    elif what == LOGISTIC:
        for i in range(at, at + many):
            D[i] *= A[i] - A[i] * A[i]
    elif what == TANH:
        for i in range(at, at + many):
            D[i] -= D[i] * A[i] * A[i]
    elif what == GELU:
        for i in range(at, at + many, NARROW):
            gelu_slope_of(Z, S, i)
        for i in range(at, at + many):
            D[i] *= S[i]
