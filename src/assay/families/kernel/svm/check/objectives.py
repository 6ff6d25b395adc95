"""Checks of what kernel SVMs claim: gap, KKT conditions, margin, leave-one-out error; and what their probabilities cost, found again from the decision
values of all rows.

    two classes    σ(a₊ f) where f > 0, else σ(a₋ f)
    more           softmax(T g), the label's raised;     g_k = f_k, or of pairs g_k = −log(1 + Σ_j exp(−a f_kj))
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats, counted_rows, once
from assay.families.kernel.check import is_positive, kernel_sums
from assay.families.kernel.svm.check.sums import (
    FEASIBLE,
    SCHEMES,
    MachineSums,
    about,
    problems_of,
    scales,
    sums_of,
    support_codes,
    support_of,
    tube_sums,
)

LOOSEST = 1e-1  # tolerance of a gap that still says something
SAME = 1e-6  # relative: what stated values may be off by, and a tenth of the tolerance: solvers count in float32
SLACK = 1.01  # the bound is summed in another order than the solver's
STATED = 0.05  # of the tolerance: by what the stated gap may be too small,
ALLOWED = 0.5  # and by what too large, with what the fit allowed for rounding
ROUNDING = 1e-10
LEAST = 1e-300  # a square of w, where rounding left none
SAME_PROBABILITY = 1e-5  # of the loss: what rounding may change
LEAST_SHARE = 1e-300  # a share, as far as its logarithm goes


def same(claim: Claim) -> float:
    """The share of P by which stated values may be off."""
    return SAME + min(LOOSEST, abs(float(claim.witness["tolerance"]))) / 10


def gap_verdict(claim: Claim, sums: MachineSums) -> Verdict:
    """Whether every problem's gap is within the tolerance, and the stated objectives are those found."""
    w, P, D, off = claim.witness, sums.primal(), sums.dual(), 2.0 * sums.rounding()
    for name, stated, found in (("primal", w["objective"], P), ("dual", w["dual_objective"], D)):
        stated = np.asarray(stated, dtype=np.float64)
        if stated.shape != found.shape or not (np.abs(stated - found) <= same(claim) * np.abs(P) + off).all():
            return Verdict(claim.name, False, f"the {name} objectives are not those stated", kind=claim.kind)
    worst = float(sums.gap().max())
    reason = f"of {len(P)} problems the worst is at most a share of {worst:.3g} above the least"
    return _within(claim, worst, reason, exactly=not sums.is_coarse)


def slackness_verdict(claim: Claim, sums: MachineSums) -> Verdict:
    """Whether the conditions of Karush, Kuhn and Tucker are met as well as stated."""
    sums.dual()  # refuses what does not balance
    worst = float(sums.slackness().max())
    reason = f"a share of {worst:.3g} is missed; the greatest violation of a pair of rows is {sums.violation():.3g}"
    return _within(claim, worst, reason, exactly=not sums.hard and not sums.is_coarse)


def _within(claim: Claim, worst: float, reason: str, exactly: bool) -> Verdict:
    tolerance = float(claim.witness["tolerance"])
    if not 0 < tolerance <= LOOSEST or claim.bound != tolerance:
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} proves nothing", worst, claim.kind)
    stated = -np.inf if claim.value is None else float(claim.value)
    told = worst - stated <= STATED * tolerance + ROUNDING
    if exactly:  # the fit may have allowed for roundings that fewer digits have
        told = told and stated - worst <= ALLOWED * tolerance + ROUNDING
    holds = told and claim.holds and worst <= SLACK * tolerance + ROUNDING
    return Verdict(claim.name, bool(holds), f"{reason}; {tolerance:g} is allowed", worst, claim.kind)


@check("kernel_svm_gap")
def check_gap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Feasible multipliers, and P − D of every problem, against the tolerance."""
    if claim.kind == "proof" and is_positive(claim.witness) is False:
        return Verdict(claim.name, False, "this kernel is no product of any feature space", kind=claim.kind)
    return gap_verdict(claim, once(sums_of, claim, rows))


@check("kernel_svm_kkt")
def check_kkt(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """What is missed of complementary slackness, row by row."""
    return slackness_verdict(claim, once(sums_of, claim, rows))


@check("kernel_svm_margin")
def check_margin(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """1/‖w‖ of the widest ‖w‖; of a hard margin the least distance of a row."""
    if is_positive(claim.witness) is False:
        return Verdict(claim.name, False, "this kernel is no product of any feature space", kind=claim.kind)
    sums = once(sums_of, claim, rows)
    sums.dual()
    length, tolerance = np.sqrt(np.maximum(sums.square(), LEAST)), float(claim.witness["tolerance"])
    reached = np.minimum(sums.least, 1.0) if sums.hard else np.ones(len(length))
    p = int(np.argmin(reached / length))
    found = float(reached[p] / length[p])
    objective, off = float(sums.primal()[p]), float(sums.rounding()[p])
    doubt = same(claim) * (1.0 if sums.hard else max(1.0, objective * found * found)) + off * found * found
    if not off <= tolerance * objective:
        return Verdict(claim.name, False, "rounding leaves nothing of the margin", kind=claim.kind)
    near = claim.value is not None and abs(claim.value - found) <= doubt * found
    if (
        claim.value and not sums.hard and not doubt < 1.0
    ):  # next to nothing of the objective is w: its square is compared
        near = abs(1.0 / claim.value**2 - float(sums.square()[p])) <= 2.0 * (same(claim) * objective + off)
        found = claim.value if near else found
    told = near and 0 < tolerance <= LOOSEST
    reason = f"every row is at least {found:.9g} from the hyperplane" if sums.hard else f"the margin is {found:.9g}"
    return Verdict(claim.name, bool(told and claim.holds), reason, found, claim.kind)


@check("kernel_svm_leave_one_out")
def check_leave_one_out(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Count the rows that may go wrong when they are left out, once the gap was found to be within the tolerance."""
    w = claim.witness
    sums, tolerance = once(sums_of, claim, rows), float(w["tolerance"])
    gap = float(sums.gap().max())
    if w["scheme"] != "two" or is_positive(w) is False or not 0 < tolerance <= LOOSEST or claim.kind != "estimate":
        return Verdict(claim.name, False, "such a bound is known for two classes and kernels only", kind=claim.kind)
    alpha = np.abs(np.asarray(w["dual_coef"], dtype=np.float64)[0])
    table = counted_rows(rows, w.get("classes"))
    U = (
        np.asarray(w["upper"], dtype=np.float64)[support_codes(w)]
        * table.w[np.searchsorted(table.number, w["support"])]
    )
    free = (alpha > 0) & (alpha < (1.0 - FEASIBLE) * U)
    counted = alpha > 0
    if not sums.hard and w["kernel"] in ("rbf", "laplacian") and free.any():
        counted &= ~free | (2.0 * alpha >= 1.0)
    share = float(counted.sum()) / sums.rows
    told = claim.value is not None and math.isclose(claim.value, share, rel_tol=1e-9)
    reason = f"{int(counted.sum())} of {sums.rows} rows may go wrong when left out; the gap is {gap:.3g}"
    return Verdict(claim.name, bool(told and claim.holds and gap <= 1.01 * tolerance + SAME), reason, share, claim.kind)


@check("kernel_svr_gap")
def check_tube_gap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Feasible multipliers, and P − D against the tolerance."""
    if claim.kind == "proof" and is_positive(claim.witness) is False:
        return Verdict(claim.name, False, "this kernel is no product of any feature space", kind=claim.kind)
    return gap_verdict(claim, once(tube_sums, claim, rows))


@check("kernel_svr_kkt")
def check_tube_kkt(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """What is missed of complementary slackness, row by row."""
    return slackness_verdict(claim, once(tube_sums, claim, rows))


@check("kernel_nu")
def check_nu(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Σ α = ν Σ U of every problem, and the gap is within the tolerance; of a tube Σ α may be less, and what is missing adds ε each to the gap."""
    w, nu = claim.witness, float(claim.witness["nu"])
    tolerance = float(w["tolerance"])
    if not (0 < nu <= 1 and 0 < tolerance <= LOOSEST and claim.value == nu):
        return Verdict(claim.name, False, f"nu = {nu:g} is not possible, or not the one stated", kind=claim.kind)
    table, short = counted_rows(rows, w.get("classes")), 0.0
    if "scheme" in w:
        sums = once(sums_of, claim, rows)
        by_class = np.asarray(w["upper"]) * np.bincount(table.y.astype(np.int64), table.w, len(w["classes"]))
        due = np.zeros(len(sums.loss))
        for c, amount in enumerate(by_class):
            due[problems_of(w["scheme"], len(by_class), c, np.zeros((len(by_class), 0)), np.zeros(0))[0]] += amount
        due *= nu * scales(w, len(due))
        off = np.abs(sums.alpha.sum(axis=1) - due) / due
    else:
        sums = once(tube_sums, claim, rows)
        due = nu * np.asarray(w["upper"], dtype=np.float64) * table.w.sum()
        missing = due - sums.alpha.sum(axis=1)
        off = np.maximum(-missing, 0.0) / due
        short = float(w["epsilon"]) * np.maximum(missing, 0.0) / np.maximum(sums.primal(), LEAST)
    worst, gap = float(np.max(off)), float((sums.gap() + short).max())
    holds = claim.holds and worst <= FEASIBLE and gap <= SLACK * tolerance + ROUNDING
    reason = f"the sums are off by a share of {worst:.3g} at most; the gap is {gap:.3g}"
    return Verdict(claim.name, bool(holds), reason, nu, claim.kind)


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
    losses = -np.maximum(log_p[np.arange(len(label)), table.y.astype(np.int64)], math.log(LEAST_SHARE))
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
