"""Checks of Poisson, gamma and Tweedie regression: deviances and slopes are summed again, by their definitions.

    ½ d_p(y, μ) = ∫_y^μ (m − y) m^(−p) dm,        μ = e^z,        slope in z:  (μ − y) μ^(1 − p)

For 1 ≤ p ≤ 2 this is convex in z, so F(w') ≥ Σcℓ + g·(w' − w) + Ω(w') everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats, back, times
from assay.families.linear.check.gaps import LOOSEST, SLACK, cases, free_intercept, same_objective, strengths_of
from assay.families.linear.check.terms import blocks, shape_of

EPS = float(np.finfo(np.float64).eps)
ROUNDINGS = 4


def half_deviance(z: Floats, y: Array, p: float) -> Floats:
    """The integral, of every row."""
    mu, positive = np.exp(z), y > 0
    some = np.where(positive, y, 1.0)
    if p == 1.0:
        return np.where(positive, y * (np.log(some) - z), 0.0) + mu - y
    if p == 2.0:
        return z - np.log(some) + y / mu - 1.0
    at_mu, at_y = (m ** (2 - p) / (2 - p) - y * m ** (1 - p) / (1 - p) for m in (mu, some))
    return np.asarray(at_mu - np.where(positive, at_y, 0.0))


def _sizes(z: Floats, y: Array, p: float) -> Floats:
    """How large the terms of half a deviance are together; each is off by its last digits, and what they cancel to by no less."""
    mu, some = np.exp(z), np.where(y > 0, y, 1.0)
    if p == 1.0:
        return np.asarray(y * (np.abs(np.log(some)) + np.abs(z)) + mu + y)
    if p == 2.0:
        return np.asarray(np.abs(z) + np.abs(np.log(some)) + y / mu + 1.0)
    return np.asarray(sum((m ** (2 - p) / (2 - p) + y * m ** (1 - p) / (p - 1)) * (1 + np.abs(z)) for m in (mu, some)))


@check("deviance_gap")
def check_deviance_gap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The relative gap by the slopes at the weights; weights without a penalty are bounded to the box."""
    w = claim.witness
    p, tolerance, box = float(w["power"]), float(w["tolerance"]), float(w["box"])
    if not 1 <= p <= 2 or not 0 <= tolerance <= LOOSEST or claim.bound != tolerance or box < 10:
        return Verdict(
            claim.name, False, f"a tolerance of {tolerance:g} at power {p:g} proves nothing", kind=claim.kind
        )
    shape = shape_of(claim, rows, free_intercept(claim))
    penalty, case = strengths_of(claim, float(shape.weight.sum())), cases(claim, rows.n_columns)[0]
    at, g = shape.weights(case.w), np.zeros_like(case.w)
    loss = size = terms = 0.0
    for X, y, c in blocks(claim, rows, shape.origin):
        if np.any((y <= 0 if p == 2 else y < 0) & (c > 0)):
            raise ValueError("the rows hold targets that have no such deviance")
        there = c > 0
        z = times(X, at[:-1]) + at[-1]
        loss += float(c[there] @ half_deviance(z[there], y[there], p))
        u = np.where(there, (np.exp(z) - y) * np.exp((1 - p) * z), 0.0)
        terms += float(c[there] @ _sizes(z[there], y[there], p))
        size += float(c[there] @ ((np.exp(z[there]) + y[there]) * np.exp((1 - p) * z[there])))
        g[-1] += float(c @ u)
        g[:-1] += back(X, c * u)
    shift = shape.centre - shape.origin
    g[:-1] -= g[-1] * shift
    at[-1] += shift @ case.w[:-1]
    if not w["fit_intercept"]:
        g[-1] = 0.0
    free = penalty.free(rows.n_columns)
    reach = box * float(np.abs(g) @ (np.append(1.0 / shape.scale, 1.0) * free))
    value = loss + penalty.value(case.w)
    bound = loss - float(at @ (g * ~free)) - reach - penalty.conjugate(np.where(free, 0.0, g))
    worst = float((value - bound) / value) if value > 0 else 0.0
    if not same_objective(claim, [value], rows, ROUNDINGS * EPS * terms):
        return Verdict(claim.name, False, f"the objective is {value:.10g}", worst, claim.kind)
    reason = f"objective {value:.10g}, at most a share of {worst:.3g} above the least; {tolerance:g} is allowed"
    rounding = ROUNDINGS * EPS * box * size / value if value > 0 else 0.0  # of the slopes, times the box
    return Verdict(claim.name, bool(worst <= SLACK * tolerance + 1e-12 + rounding), reason, worst, claim.kind)
