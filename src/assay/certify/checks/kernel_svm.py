"""Checks of kernel SVMs: every row's value is added up from the support rows, and all else from those.

    f(x) = Σ_i β_i K(x_i, x),   ξ = max(0, 1 − t (f + b)),   0 ≤ α_i = t_i β_i ≤ U_i = upper[class] · weight

One problem for two classes (t = 1: the second), one a pair i < j (t = 1: class i), or one a class against the rest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.certify.checks.kernel_duality import (
    FEASIBLE,
    LOOSEST,
    SAME,
    Sums,
    add_side,
    add_slopes,
    gap_verdict,
    same,
    slackness_verdict,
)
from assay.certify.checks.kernel_values import NEGATIVE, is_positive, kernel_sums, negative_share
from assay.certify.checks.neighbour_votes import Table, table_of
from assay.certify.claim import Claim, Verdict
from assay.certify.once import once
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats

SCHEMES = ("two", "ovo", "ovr")


class Support(NamedTuple):
    """What predicts: the support rows' numbers (m,), class codes (m,), places in the table (m,), and Z: the rows themselves or their columns."""

    number: Array
    code: Array
    at: Array
    Z: Array


def support_of(witness: dict[str, Any], table: Table, code: Array | None = None) -> Support:
    """The support rows, which must be rows of the table, each once, and (`code`) of their class."""
    number = np.asarray(witness["support"])
    if number.dtype.kind != "i" or number.ndim != 1 or len(np.unique(number)) != len(number):
        raise ValueError("the numbers of the support rows are not possible")
    at = np.searchsorted(table.number, number)
    if np.any(at >= len(table.number)) or np.any(table.number[np.minimum(at, len(table.number) - 1)] != number):
        raise ValueError("a support row is not there, or has no weight")
    given = witness["kernel"] == "precomputed"
    Z = number if given else np.asarray(witness["support_vectors"], dtype=np.float64)
    if not given and not np.array_equal(Z, table.X[at]):
        raise ValueError("the support rows are not the rows of those numbers")
    if given and table.X.shape[1] != table.n:
        raise ValueError("the rows are not the square kernel matrix of the fit")
    code = np.zeros(len(number), dtype=np.int64) if code is None else code
    return Support(number, code, at, Z)


def refuse_indefinite(witness: dict[str, Any], table: Table) -> None:
    """Raise where a kernel that was given has a clearly negative eigenvalue: no gap bounds anything then."""
    if is_positive(witness) is None:
        share = negative_share(witness, table.X, table.number)
        if not share >= -NEGATIVE:
            raise ValueError(f"the kernel is not positive semidefinite: an eigenvalue is {share:.3g} of the trace")


def _problems_of(scheme: str, K: int, c: int, coef: Floats, code: Array) -> tuple[Array, Floats, Floats]:
    """The problems in which class c takes part: their numbers (p,), its sign t in them (p,), and their coefficients (p, m)."""
    if scheme == "two":
        return np.zeros(1, dtype=np.int64), np.array([1.0 if c == 1 else -1.0]), coef
    if scheme == "ovr":
        return np.arange(K), np.where(np.arange(K) == c, 1.0, -1.0), coef
    others = np.delete(np.arange(K), c)
    i, j = np.minimum(others, c), np.maximum(others, c)
    beta = np.zeros((K - 1, len(code)))
    for p in range(K - 1):
        first, second = code == i[p], code == j[p]
        beta[p, first], beta[p, second] = coef[j[p] - 1, first], coef[i[p], second]
    return i * (2 * K - i - 1) // 2 + j - i - 1, np.where(others > c, 1.0, -1.0), beta


def sums_of(witness: dict[str, Any], rows: CheckedRows) -> Sums:
    """All sums, one class of rows after another."""
    table, scheme = table_of(rows, witness), witness["scheme"]
    K, coef = len(witness["classes"]), np.asarray(witness["dual_coef"], dtype=np.float64)
    counts = np.asarray(witness["n_support"])
    upper, b = (np.asarray(witness[key], dtype=np.float64) for key in ("upper", "intercept"))
    problems = {"two": 1, "ovo": K * (K - 1) // 2, "ovr": K}[scheme]
    if (scheme == "two") != (K == 2) or counts.shape != (K,) or upper.shape != (K,) or b.shape != (problems,):
        raise ValueError("the parts of the witness do not fit the classes")
    support = support_of(witness, table, np.repeat(np.arange(K), counts))
    m = len(support.number)
    if coef.shape != ({"two": 1, "ovo": K - 1, "ovr": K}[scheme], m) or len(support.code) != m:
        raise ValueError("the coefficients do not fit the support rows")
    if np.any(support.code != table.y[support.at]):
        raise ValueError("a support row is of another class")
    hard = bool(np.isinf(upper).all())
    if (
        not np.isfinite(coef).all()
        or not np.isfinite(b).all()
        or not (hard or np.isfinite(upper).all())
        or (upper < 0).any()
    ):
        raise ValueError("the numbers of the witness are not possible")
    refuse_indefinite(witness, table)
    found = Sums.none(problems, hard, len(table.X))
    for c in range(K):
        numbers, t, beta = _problems_of(scheme, K, c, coef, support.code)
        _add_class(found, witness, table, support, c, b, upper[c], numbers, t, beta)
    return found


def _add_class(
    sums: Sums,
    witness: dict[str, Any],
    table: Table,
    support: Support,
    c: int,
    b: Floats,
    upper: float,
    numbers: Array,
    t: Floats,
    beta: Floats,
) -> None:
    mine = np.flatnonzero(table.y == c)
    U = np.full(len(mine), np.inf) if np.isinf(upper) else upper * table.w[mine]
    parts = kernel_sums(
        witness, table.X[mine], support.Z, np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    )
    own = np.flatnonzero(support.code == c)
    place = np.searchsorted(mine, support.at[own])
    for k, p in enumerate(numbers.tolist()):
        f = parts[:, [k, k + len(numbers)]]
        alpha = np.zeros(len(mine))
        alpha[place] = t[k] * beta[k, own]
        if np.any(alpha < 0) or np.any(alpha > (1.0 + FEASIBLE) * U):
            raise ValueError("a multiplier lies outside its bounds")
        z = f.sum(axis=1)
        value = t[k] * (z + b[p])
        if sums.hard:
            sums.missed[p] += float(alpha @ value)
        else:
            short = np.maximum(0.0, 1.0 - value)
            sums.loss[p] += float(U @ short)
            sums.missed[p] += float(alpha @ np.maximum(0.0, value - 1.0) + (U - alpha) @ short)
        sums.least[p] = min(sums.least[p], float(value.min(initial=np.inf)))
        low, high = alpha > 0, alpha < (1.0 - FEASIBLE) * U
        rises, falls = (high, low) if t[k] > 0 else (low, high)
        add_slopes(sums, p, t[k] - z, rises, falls)
        add_side(sums, p, int(t[k] < 0), beta[k, own], f[place], float(alpha.sum()))


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
    length, tolerance = np.sqrt(np.maximum(sums.square(), 0.0)), float(claim.witness["tolerance"])
    reached = np.minimum(sums.least, 1.0) if sums.hard else np.ones(len(length))
    p = int(np.argmin(reached / length))
    found = float(reached[p] / length[p])
    doubt = same(claim) * (1.0 if sums.hard else max(1.0, float(sums.primal()[p]) * found * found))
    told = claim.value is not None and 0 < tolerance <= LOOSEST and abs(claim.value - found) <= doubt * found
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
    table = table_of(rows, w)
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


def support_codes(witness: dict[str, Any]) -> Array:
    """The class code of each support row."""
    counts = np.asarray(witness["n_support"])
    return np.repeat(np.arange(len(counts)), counts)
