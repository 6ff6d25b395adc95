"""The check of a kernel SVM's probabilities: what they cost is found again from the decision values of all rows.

two classes    σ(a₊ f) where f > 0, else σ(a₋ f)
more           softmax(T g), the label's raised;     g_k = f_k, or of pairs g_k = −log(1 + Σ_j exp(−a f_kj))
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats, counted_rows
from assay.families.kernel.check import kernel_sums
from assay.families.kernel.svm.check.sums import SCHEMES, about, problems_of, support_codes, support_of

SAME_PROBABILITY = 1e-5  # of the loss: what rounding may change
LEAST = 1e-300  # a share, as far as its logarithm goes


@check("kernel_probabilities")
def check_probabilities(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Slopes above zero, no share above the label's, and the stated mean of −log p(y | x) over the rows."""
    w = claim.witness
    table, numbers = counted_rows(rows, w.get("classes")), np.asarray(w["calibration"], dtype=np.float64)
    scheme, K = w["scheme"], len(w["classes"])
    wanted = {"two": 2, "ovo": 2, "ovr": 1}[scheme] if scheme in SCHEMES else -1
    if numbers.shape != (wanted,) or not np.all(numbers > 0) or not np.all(np.isfinite(numbers)):
        return Verdict(claim.name, False, "slopes and temperature must be above zero", kind=claim.kind)
    support = support_of(w, table, support_codes(w))
    coef, b = (np.asarray(w[key], dtype=np.float64) for key in ("dual_coef", "intercept"))
    code, moved = support.code, np.zeros(len(b))
    for c in range(K):
        problems, _, beta = problems_of(scheme, K, c, coef, code)
        X, Z, centre, moved[problems], _ = about(w, table.X, support.Z, beta, np.float64)
    parts = [kernel_sums(w, X, Z[code == c], coef[:, code == c], centre) for c in range(K)]
    b = b + moved
    if scheme == "ovo":
        f = _between(parts, b)
        log_p, label = _of_pairs(f, numbers, bool(w["break_ties"]))
    else:
        log_p, label = _of_sums(sum(parts[1:], parts[0]) + b, numbers)
    own = log_p[np.arange(len(label)), label]
    if np.any(log_p.max(axis=1) > own + 1e-12):
        return Verdict(claim.name, False, "a share is above that of the label", kind=claim.kind)
    losses = -np.maximum(log_p[np.arange(len(label)), table.y.astype(np.int64)], math.log(LEAST))
    found = float(np.average(losses, weights=table.w))
    told = claim.value is not None and math.isclose(
        claim.value, found, rel_tol=SAME_PROBABILITY, abs_tol=SAME_PROBABILITY
    )
    return Verdict(claim.name, bool(told and claim.holds), f"the mean log loss is {found:.9g}", found, claim.kind)


def _between(parts: list[Floats], b: Floats) -> Floats:
    """f (n, K, K) with f[:, i, j] = −f[:, j, i] > 0 a vote for i."""
    K = len(parts)
    f, p = np.zeros((len(parts[0]), K, K)), 0
    for i in range(K):
        for j in range(i + 1, K):
            f[:, i, j] = parts[i][:, j - 1] + parts[j][:, i] + b[p]
            f[:, j, i] = -f[:, i, j]
            p += 1
    return f


def _of_pairs(f: Floats, numbers: Floats, break_ties: bool) -> tuple[Floats, Array]:
    K = f.shape[1]
    upper = np.triu(np.ones((K, K), dtype=bool), 1)
    won = ((f > 0) & upper) | ((f >= 0) & upper.T)  # of nothing the second of a pair has the vote
    votes, c = won.sum(axis=2).astype(np.float64), f.sum(axis=2)
    label = (votes + c / (3.0 * (np.abs(c) + 1.0)) if break_ties else votes).argmax(axis=1)
    far = -numbers[1] * f
    top = np.maximum(far.max(axis=2), 0.0)  # the diagonal is the one of 1 + Σ
    g = -(np.log(np.exp(far - top[:, :, None]).sum(axis=2)) + top)
    return _softmax(numbers[0] * g, label), label


def _of_sums(f: Floats, numbers: Floats) -> tuple[Floats, Array]:
    if f.shape[1] > 1:
        label = f.argmax(axis=1)
        return _softmax(numbers[0] * f, label), label
    z = f[:, 0] * np.where(f[:, 0] > 0, numbers[1], numbers[0])
    return np.column_stack([-np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)]), (f[:, 0] > 0).astype(np.int64)


def _softmax(g: Floats, label: Array) -> Floats:
    """log shares, with the label's raised to the greatest."""
    top = g.max(axis=1)
    g = g.copy()
    g[np.arange(len(g)), label] = top
    log_p: Floats = g - top[:, None] - np.log(np.exp(g - top[:, None]).sum(axis=1))[:, None]
    return log_p
