"""Checks of fits whose loss is a user's own function, which must be at hand, and of zero perceptron losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import CheckedRows, Floats, back, sizes, times
from assay.families.linear.check.gaps import EPS, LOOSEST, SLACK, Case, cases, free_intercept, strengths_of, target_of
from assay.families.linear.check.terms import RowMoments, blocks, shape_of

STEP = 1e-5  # of the differences
NEAR, FAINT = 1e-4, 1e-6  # how far a slope may be off: of itself, and of the greatest slope around


@check("custom_loss")
def check_custom_loss(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Sum loss and slope again, compare slope and value on every row, and bound what the slope leaves to gain."""
    w = claim.witness
    loss, tolerance, box = w["loss"], float(w["tolerance"]), float(w["box"])
    if not (callable(getattr(loss, "value", None)) and callable(getattr(loss, "slope", None))):
        return Verdict(claim.name, False, "the functions of the loss are not at hand", kind=claim.kind)
    if not 0 <= tolerance <= LOOSEST or claim.bound != tolerance or claim.kind != "estimate" or box < 10:
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} says nothing", kind=claim.kind)
    fitted = bool(w["fit_intercept"])
    shape = shape_of(claim, rows, free_intercept(claim))
    penalty = strengths_of(claim, float(shape.weight.sum()))
    worst = total = 0.0
    for case in cases(claim, rows.n_columns):
        at = shape.weights(case.w)
        value, g = _sums(claim, rows, case._replace(w=at), loss, shape)
        if not fitted:
            g[-1] = 0.0
        at[-1] += (shape.centre - shape.origin) @ case.w[:-1]
        rho, free = penalty.into_domain(g), penalty.free(rows.n_columns)
        reach = box * float(np.abs(g) @ (np.append(1.0 / shape.scale, 1.0) * free))
        bound = rho * (value - float(at @ (g * ~free)) - reach) - penalty.conjugate(rho * g)
        F = value + penalty.value(case.w)
        worst, total = float(np.maximum(worst, (F - bound) / F if F > 0 else 0.0)), total + F
    reason = f"objective {total:.10g}, its slope leaves a share of {worst:.3g}; {tolerance:g} is allowed"
    return Verdict(claim.name, bool(worst <= SLACK * tolerance + 1e-12), reason, worst, claim.kind)


def _sums(claim: Claim, rows: CheckedRows, case: Case, loss: Any, shape: RowMoments) -> tuple[float, Floats]:
    """Σcℓ and Σ c u (x − p, 1), for weights about the rows' origin; raises where slope and value of a row disagree."""
    value, g = 0.0, np.zeros_like(case.w)
    for X, codes, c in blocks(claim, rows, shape.origin):
        t, z = target_of(case, codes).astype(np.float64), times(X, case.w[:-1]) + case.w[-1]
        each, u = (np.asarray(of(z, t), dtype=np.float64) for of in (loss.value, loss.slope))
        if not np.all(each >= 0):
            raise ValueError("the loss of a row is negative or no number")
        _refuse_slope(loss.value, each, u, z, t)
        value += float(c @ each)
        g[-1] += float(c @ u)
        g[:-1] += back(X, c * u)
    g[:-1] -= g[-1] * (shape.centre - shape.origin)
    return value, g


def _refuse_slope(value: Any, each: Floats, u: Floats, z: Floats, t: Floats) -> None:
    """A slope of a convex function lies between its differences to the left and to the right, but for rounding."""
    h = STEP * np.maximum(1.0, np.abs(z))
    below, above = (np.asarray(value(at, t), dtype=np.float64) for at in (z - h, z + h))
    left, right = (each - below) / h, (above - each) / h
    size = np.maximum(np.maximum(np.abs(below), np.abs(above)), np.abs(each))
    steepest = float(np.max(np.abs(u), where=np.isfinite(u), initial=0.0))
    room = NEAR * np.abs(u) + FAINT * steepest + 16 * EPS * size / h
    good = (u >= np.minimum(left, right) - room) & (u <= np.maximum(left, right) + room)
    if not np.all(good | ~np.isfinite(left) | ~np.isfinite(right)):
        raise ValueError("the slope of the loss does not agree with its value")


@check("zero_perceptron_loss")
def check_zero_perceptron_loss(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Every row must be on its side (sgn 0 = 1) but for what rounding can hide."""
    mistakes, worst, shape = 0.0, 0.0, shape_of(claim, rows, free_intercept(claim))
    for case in cases(claim, rows.n_columns):
        w = shape.weights(case.w)
        for X, codes, c in blocks(claim, rows, shape.origin):
            t, z = target_of(case, codes), times(X, w[:-1]) + w[-1]
            room = (rows.n_columns + 4) * EPS * (times(sizes(X), np.abs(w[:-1])) + abs(w[-1]))
            short = np.maximum(0.0, -t * z)
            flat = (z == 0) & (t < 0) & (room == 0)  # weights of zero put every row of t = −1 on the wrong side
            mistakes += float(c @ ((short > room) | flat))
            worst += float(c @ short)
    holds = bool(mistakes == 0 and claim.value == 0 and claim.bound == 0)
    return Verdict(claim.name, holds, f"rows of weight {mistakes:g} lie on their wrong side", worst, claim.kind)
