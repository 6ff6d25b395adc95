"""Check of models by stochastic gradient descent: what their weights cost, and a lower bound of what any weights cost, summed again.

ℓ(z') ≥ ρ·(ℓ(z) + u(z' − z)) for every convex ℓ ≥ 0 with slope u at z and every ρ from 0 to 1
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import CheckedRows, Floats, back, sizes, times
from assay.families.linear.check.terms import Strengths, blocks

SAME = 1e-7
TRIED = 200  # values of ρ
EPS = float(np.finfo(np.float64).eps)


def losses(name: str, h: float, z: Floats, t: Floats) -> tuple[Floats, Floats]:
    """ℓ and a slope of it, by the definitions."""
    m, r = t * z, z - t
    short = np.maximum(1.0 - m, 0.0)
    beyond = np.maximum(np.abs(r) - h, 0.0)
    if name == "modified_huber":
        return np.where(m < -1.0, -4.0 * m, short**2), np.where(m < -1.0, -4.0 * t, -2.0 * t * short)
    if name == "huber":
        return np.where(np.abs(r) <= h, r**2 / 2, h * (np.abs(r) - h / 2)), np.clip(r, -h, h)
    found: dict[str, tuple[Floats, Floats]] = {
        "hinge": (short, -t * (m <= 1.0)),
        "perceptron": (np.maximum(-m, 0.0), -t * (m <= 0.0)),
        "log_loss": (np.logaddexp(0.0, -m), -t * np.exp(-np.logaddexp(0.0, m))),
        "squared_hinge": (short**2, -2.0 * t * short),
        "squared_error": (r**2 / 2, r),
        "epsilon_insensitive": (beyond, np.sign(r) * (beyond > 0)),
        "squared_epsilon_insensitive": (beyond**2, 2.0 * np.sign(r) * beyond),
    }
    return found[name]


@check("stochastic_risk")
def check_stochastic_risk(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The stated objectives are those of the weights, and no more than the stated share above the least."""
    w = claim.witness
    coef, b = np.asarray(w["coef"], dtype=np.float64), np.asarray(w["intercept"], dtype=np.float64)
    stated = np.asarray(w["objective"], dtype=np.float64)
    K = 0 if w["classes"] is None else len(w["classes"])
    m = 1 if K in (0, 2) else K
    if coef.shape != (m, rows.n_columns) or not b.shape == stated.shape == (m,):
        raise ValueError("coefficients and objectives do not fit together")
    if not (np.isfinite(coef).all() and np.isfinite(b).all()) or (not w["fit_intercept"] and b.any()):
        raise ValueError("the coefficients are not possible")
    worst, same = 0.0, True
    for k in range(m):
        value, gap, hidden = _one(claim, rows, k if K > 2 else 1 if K == 2 else None, coef[k], float(b[k]))
        worst, same = (
            float(np.maximum(worst, gap)),
            same and bool(np.isfinite(value + hidden) and abs(value - stated[k]) <= SAME * value + hidden + 1e-300),
        )
    holds = bool(
        same
        and claim.bound is not None
        and worst <= float(claim.bound)
        and abs(worst - float(claim.value or 0.0)) <= SAME
    )
    return Verdict(
        claim.name,
        holds,
        f"the weights cost {'what is stated' if same else 'another sum'}, at most a share of {worst:.6g} above the least",
        worst,
        claim.kind,
    )


def _one(claim: Claim, rows: CheckedRows, positive: int | None, w: Floats, b: float) -> tuple[float, float, float]:
    """The objective of a problem, its gap, and what the rounding of scores hides of it."""
    name, h = str(claim.witness["loss"]), float(claim.witness["epsilon"])
    total = flat = hidden = n = 0.0
    parts, slopes, pulls = np.zeros(2), np.zeros(2), np.zeros((2, len(w)))
    for X, codes, c in blocks(claim, rows):
        t = np.asarray(codes, dtype=np.float64) if positive is None else np.where(codes == positive, 1.0, -1.0)
        z = times(X, w) + b
        loss, u = losses(name, h, z, t)
        n, total, flat = n + float(c.sum()), total + float(c @ loss), flat + float(c @ (loss * (u == 0)))
        off = (len(w) + 4) * EPS / 2 * (times(sizes(X), np.abs(w)) + abs(b) + np.abs(t))
        hidden += float(c @ (off + np.abs(u) * off + 2.0 * off**2))
        for side, there in enumerate((u < 0, u > 0)):
            cu = np.where(there, c * u, 0.0)
            parts[side] += float(np.where(there, c, 0.0) @ loss) - float(cu @ z)
            slopes[side] += float(cu.sum())
            pulls[side] += back(X, cu)
    l1, l2 = (n * float(v) for v in np.asarray(claim.witness["strengths"], dtype=np.float64))
    if not min(l1, l2) >= 0:
        raise ValueError("a penalty is not possible")
    penalty, free = Strengths(l1, l2, 0.0), bool(claim.witness["fit_intercept"])
    value = total + penalty.value(np.append(w, b))
    weights, even = np.abs(slopes), np.ones(2)
    if free:  # slopes of the greater side are shrunk, so that an intercept can gain nothing
        even = np.minimum(1.0, np.divide(weights[::-1], weights, out=np.ones(2), where=weights > 0))
    g, part, bound = np.append(even @ pulls, 0.0), flat + float(even @ parts), 0.0
    if l1 + l2 > 0:
        shares = penalty.into_domain(g) * np.arange(1, TRIED + 1) / TRIED
        bound = max(0.0, *(float(share * part - penalty.conjugate(share * g)) for share in shares))
    return value, min(1.0, (value - bound + hidden) / value) if value > 0 else 0.0, hidden
