"""Checks of kernel regression with a tube: P = ½‖w‖² + Σ U max(0, |y − f − b| − ε), from every row's value.

D = −½ βᵀKβ + Σ y β − ε Σ|β|        |β_i| ≤ U_i = upper · weight,  Σ β = 0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.checks.kernel_duality import (
    FEASIBLE,
    Sums,
    add_side,
    add_slopes,
    gap_verdict,
    slackness_verdict,
)
from assay.certify.checks.kernel_svm import refuse_indefinite, support_of
from assay.certify.checks.kernel_values import is_positive, kernel_sums
from assay.certify.checks.neighbour_votes import table_of
from assay.certify.claim import Claim, Verdict
from assay.certify.once import once
from assay.certify.registry import check
from assay.certify.rows import CheckedRows


def sums_of(witness: dict[str, Any], rows: CheckedRows) -> Sums:
    """All sums of the one problem."""
    table = table_of(rows, witness)
    support = support_of(witness, table)
    beta, b = (np.asarray(witness[key], dtype=np.float64) for key in ("dual_coef", "intercept"))
    upper, epsilon = np.asarray(witness["upper"], dtype=np.float64), float(witness["epsilon"])
    if beta.shape != (1, len(support.number)) or b.shape != (1,) or upper.shape != (1,):
        raise ValueError("the coefficients do not fit the support rows")
    if not np.isfinite(beta).all() or not np.isfinite(b).all() or not upper[0] > 0 or not 0 <= epsilon < np.inf:
        raise ValueError("the numbers of the witness are not possible")
    if np.isinf(upper[0]):
        raise ValueError("a tube that no row may leave has no such bound")
    refuse_indefinite(witness, table)
    sums = Sums.none(1, False, len(table.X))
    U = upper[0] * table.w
    parts = kernel_sums(witness, table.X, support.Z, np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)]))
    f, y = parts.sum(axis=1), table.y
    full = np.zeros(len(y))
    full[support.at] = beta[0]
    if np.any(np.abs(full) > (1.0 + FEASIBLE) * U):
        raise ValueError("a multiplier lies outside its bounds")
    for sign in (1.0, -1.0):
        alpha, beyond = np.maximum(sign * full, 0.0), sign * (y - f - b[0]) - epsilon
        sums.loss[0] += float(U @ np.maximum(0.0, beyond))
        sums.missed[0] += float(alpha @ np.maximum(0.0, -beyond) + (U - alpha) @ np.maximum(0.0, beyond))
    below, above = full < (1.0 - FEASIBLE) * U, full > -(1.0 - FEASIBLE) * U
    add_slopes(sums, 0, y - f - epsilon, below & (full >= 0), full > 0)
    add_slopes(sums, 0, y - f + epsilon, full < 0, above & (full <= 0))
    for side, mine in enumerate((beta[0] > 0, beta[0] < 0)):
        part = beta[0, mine]
        linear = float(part @ y[support.at[mine]]) - epsilon * float(np.abs(part).sum())
        add_side(sums, 0, side, part, parts[support.at[mine]], linear)
    return sums


@check("kernel_svr_gap")
def check_gap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Feasible multipliers, and P − D against the tolerance."""
    if claim.kind == "proof" and is_positive(claim.witness) is False:
        return Verdict(claim.name, False, "this kernel is no product of any feature space", kind=claim.kind)
    return gap_verdict(claim, once(sums_of, claim, rows))


@check("kernel_svr_kkt")
def check_kkt(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """What is missed of complementary slackness, row by row."""
    return slackness_verdict(claim, once(sums_of, claim, rows))
