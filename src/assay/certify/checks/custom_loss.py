"""Checks of fits whose loss is a user's own function, which must be at hand, and of zero perceptron losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.checks.linear import (
    LOOSEST,
    SLACK,
    Case,
    back,
    blocks,
    cases,
    free_intercept,
    penalty_of,
    shape_of,
    times,
)
from assay.certify.claim import Claim, Verdict
from assay.engines import Rows, SparseMatrix
from assay.numerics import Array, Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.surrogates import PERCEPTRON

EPS = float(np.finfo(np.float64).eps)


def _target(case: Case, codes: Array) -> Floats:
    return np.asarray(codes if case.positive is None else np.where(codes == case.positive, 1.0, -1.0), dtype=np.float64)


def check_custom_loss(claim: Claim, rows: Rows, predict: Any) -> Verdict:
    """Sum loss and slope again, compare slope and value on every row, and bound what the slope leaves to gain."""
    w = claim.witness
    loss, tolerance, box = w["loss"], float(w["tolerance"]), float(w["box"])
    if not isinstance(loss, CustomSurrogate):
        return Verdict(claim.name, False, "the functions of the loss are not at hand", kind=claim.kind)
    if not 0 <= tolerance <= LOOSEST or claim.bound != tolerance or claim.kind != "estimate" or box < 10:
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} says nothing", kind=claim.kind)
    fitted = bool(w["fit_intercept"])
    shape = shape_of(claim, rows, free_intercept(claim))
    penalty = penalty_of(claim, rows.n_columns, float(shape.weight.sum()))
    worst = total = 0.0
    for case in cases(claim, rows.n_columns):
        value, g = _sums(claim, rows, case, loss, shape.centre)
        if not fitted:
            g[-1] = 0.0
        at = case.w.copy()
        at[-1] += shape.centre @ case.w[:-1]
        rho, free = penalty.shrink(g), penalty.free
        reach = box * float(np.abs(g) @ (np.append(1.0 / shape.scale, 1.0) * free))
        bound = rho * (value - float(at @ (g * ~free)) - reach) - penalty.conjugate(rho * g)
        F = value + penalty.value(case.w)
        worst, total = float(np.maximum(worst, (F - bound) / F if F > 0 else 0.0)), total + F
    reason = f"objective {total:.10g}, its slope leaves a share of {worst:.3g}; {tolerance:g} is allowed"
    return Verdict(claim.name, bool(worst <= SLACK * tolerance + 1e-12), reason, worst, claim.kind)


def _sums(claim: Claim, rows: Rows, case: Case, loss: CustomSurrogate, centre: Floats) -> tuple[float, Floats]:
    """Σcℓ and Σ c u (x − p, 1); raises where slope and value of a row disagree."""
    value, g = 0.0, np.zeros_like(case.w)
    for X, codes, c in blocks(claim, rows):
        t, z = _target(case, codes), times(X, case.w[:-1]) + case.w[-1]
        loss.check_slope(z, t)
        u = np.asarray(loss.slope(z, t, 0.0))
        value += float(c @ loss.value(z, t, 0.0))
        g[-1] += float(c @ u)
        g[:-1] += back(X, c * u)
    g[:-1] -= g[-1] * centre
    return value, g


def check_zero_perceptron_loss(claim: Claim, rows: Rows, predict: Any) -> Verdict:
    """Every row must be on its side (sgn 0 = 1) but for what rounding can hide."""
    mistakes, worst = 0.0, 0.0
    for case in cases(claim, rows.n_columns):
        for X, codes, c in blocks(claim, rows):
            t, z = _target(case, codes), times(X, case.w[:-1]) + case.w[-1]
            size = X.with_data(np.abs(X.data)) if isinstance(X, SparseMatrix) else np.abs(X)
            room = (rows.n_columns + 4) * EPS * (times(size, np.abs(case.w[:-1])) + abs(case.w[-1]))
            short = np.asarray(PERCEPTRON.value(z, t, 0.0))
            flat = (z == 0) & (t < 0) & (room == 0)  # weights of zero put every row of t = −1 on the wrong side
            mistakes += float(c @ ((short > room) | flat))
            worst += float(c @ short)
    holds = bool(mistakes == 0 and claim.value == 0 and claim.bound == 0)
    return Verdict(claim.name, holds, f"rows of weight {mistakes:g} lie on their wrong side", worst, claim.kind)
