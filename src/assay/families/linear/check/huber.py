"""Check of Huber regression: objective and slopes are summed again, by their definitions.

    φ(r, σ) = σ + r²/σ for |r| ≤ εσ, else σ + 2ε|r| − ε²σ        a = ∂φ/∂r,   e = ∂φ/∂σ

φ is convex and, for ε ≥ 1, at least 2|r| and at least σ; φ(τr, τσ) = τφ(r, σ), so φ(r', σ') ≥ a·r' + e·σ' everywhere, and F is at least the least value of a linear function and the penalty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import CheckedRows, back, times
from assay.families.linear.check.gaps import LOOSEST, SLACK, cases, free_intercept, same_objective, strengths_of
from assay.families.linear.check.terms import blocks, shape_of

FLOOR = 1e-7  # of the target's deviation: a scale that is as good as none


@check("huber_gap")
def check_huber_gap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The relative gap by the slopes at the weights and the scale."""
    w = claim.witness
    scale, epsilon, tolerance, box = (float(w[name]) for name in ("scale", "delta", "tolerance", "box"))
    if not (scale > 0 and epsilon >= 1 and 0 <= tolerance <= LOOSEST and claim.bound == tolerance and box >= 10):
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} proves nothing", kind=claim.kind)
    fitted = free_intercept(claim)
    shape = shape_of(claim, rows, fitted)
    n, aim = float(shape.weight.sum()), shape.target if fitted else 0.0
    penalty, case = strengths_of(claim, n), cases(claim, rows.n_columns)[0]
    at, g = shape.weights(case.w, aim), np.zeros_like(case.w)
    value = pulled = slope = 0.0
    for X, y, c in blocks(claim, rows, shape.origin):
        t = y - aim
        r = t - times(X, at[:-1]) - at[-1]
        near = np.abs(r) <= epsilon * scale
        value += float(c @ np.where(near, scale + r * r / scale, scale + 2 * epsilon * np.abs(r) - epsilon**2 * scale))
        a = np.where(near, 2 * r / scale, 2 * epsilon * np.sign(r))
        slope += float(c @ np.where(near, 1.0 - (r / scale) ** 2, 1.0 - epsilon**2))
        pulled += float(c @ (a * r))
        g[:-1] -= back(X, c * a)
        g[-1] -= float(c @ a)
    shift = shape.centre - shape.origin
    g[:-1] -= g[-1] * shift
    at[-1] += shift @ case.w[:-1]
    if not fitted:
        g[-1] = 0.0
    value += penalty.value(case.w)
    most = value / n  # φ ≥ 2|r| and φ ≥ σ: so the mean of |r'| at a minimum is at most F/2n, and σ' at most F/n
    reach = abs(float(g[-1])) * (most / 2 + abs(float(at[-1]))) + max(0.0, -slope) * most
    if penalty.l2 > 0:
        reach += float(at[:-1] @ g[:-1]) + penalty.conjugate(np.append(g[:-1], 0.0))
    else:
        reach += box * shape.spread * float(np.abs(g[:-1]) @ (1.0 / shape.scale))
    bound = max(0.0, pulled - reach)
    floor = n * FLOOR * shape.spread
    worst = float(max(0.0, value - bound - SLACK * floor) / value)
    if not same_objective(claim, [value], rows, floor):
        return Verdict(claim.name, False, f"the objective is {value:.10g}", worst, claim.kind)
    reason = f"objective {value:.10g}, at most a share of {worst:.3g} above the least; {tolerance:g} is allowed"
    return Verdict(claim.name, bool(worst <= SLACK * tolerance + 1e-12), reason, worst, claim.kind)
