"""The linear system of kernel ridge regression again, from the rows: (K + α C⁻¹) a = y, C the weights.

    r = y − K a − α a / c,      D = C^½,      ‖D⁻¹(a − exact)‖ ≤ ‖D r‖ / α        K positive semidefinite

Values of the kernel are those of `families.kernel.check`, with a bound on what rounding does to their sums; few rows are added up in
extended precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats, once
from assay.families.kernel.check import NEGATIVE, bounded_sums, is_positive, negative_share

MOST_PAIRS = 1 << 26  # numbers of pairs of rows that are taken in extended precision
LOOSEST = 1e-1
SLACK = 1e-9  # relative: the stated share is rounded otherwise
STATED = 1e-4  # by what it may be greater than what is found, which fewer roundings are allowed for,
TIMES = 1e3  # and by what factor


class SystemLeft(NamedTuple):
    """Of each target (T,): ‖D r‖ with all that rounding may hide; ‖D⁻¹ a‖; ‖D y‖."""

    left: Floats
    length: Floats
    due: Floats


def _rows(rows: CheckedRows) -> tuple[Floats, Floats, Floats, Array, int]:
    """X, targets (n, T), weights and numbers of the rows of positive weight, and how many rows there are."""
    blocks = list(rows.blocks())
    if any(block.y is None for block in blocks):
        raise ValueError("the rows have no target")
    X = np.concatenate([np.asarray(block.X, dtype=np.float64) for block in blocks])
    y = np.concatenate([np.asarray(block.y, dtype=np.float64).reshape(len(block.X), -1) for block in blocks])
    w = np.concatenate([np.ones(len(block.X)) if block.w is None else block.w for block in blocks])
    there = w > 0
    return X[there], y[there], w[there], np.flatnonzero(there), len(X)


def _system(witness: dict[str, Any], rows: CheckedRows) -> SystemLeft:
    X, y, w, number, n = _rows(rows)
    coef, vectors, alpha = (np.asarray(witness[key], dtype=np.float64) for key in ("dual_coef", "vectors", "alpha"))
    T, given = y.shape[1], witness["kernel"] == "precomputed"
    if coef.shape != (n, T) or len(vectors) != n or alpha.shape != (T,) or not np.all(alpha >= 0):
        raise ValueError("the parts of the witness do not fit the rows")
    if not np.isfinite(coef).all() or np.any(np.delete(coef, number, axis=0) != 0):
        raise ValueError("a row without weight has a coefficient, or one is not finite")
    if (given and X.shape[1] != n) or (not given and not np.array_equal(vectors[number], X)):
        raise ValueError("the rows that answer are not those of the fit")
    if is_positive(witness) is None and not negative_share(witness, X, number) >= -NEGATIVE:
        raise ValueError("the kernel is not positive semidefinite")
    if witness["cosine"]:
        length = np.sqrt((X * X).sum(axis=1))
        X = X / np.where(length > 0, length, 1.0)[:, None]
    a = coef[number]
    few = witness["kernel"] not in ("own", "precomputed") and len(X) ** 2 * (X.shape[1] + 8) <= MOST_PAIRS
    dtype = np.longdouble if few else np.float64
    values, off = bounded_sums(witness, X, number if given else X, np.ascontiguousarray(a.T), dtype)
    penalty = (alpha * a).astype(dtype) / w[:, None]
    eps = float(np.finfo(dtype).eps)
    r = np.abs(y - values - penalty).astype(np.float64)
    r = r + off + 2.0 * eps * (np.abs(penalty).astype(np.float64) + np.abs(y))
    root = np.sqrt(w)[:, None]
    norms = (np.linalg.norm(part, axis=0) for part in (root * r, a / root, root * y))
    return SystemLeft(*norms)


@check("kernel_ridge")
def check_system(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The bound on how far the coefficients are off, against the one stated."""
    if is_positive(claim.witness) is False:
        return Verdict(claim.name, False, "this kernel is no product of any feature space", kind=claim.kind)
    s = once(_system, claim, rows)
    alpha = np.asarray(claim.witness["alpha"], dtype=np.float64)
    scale, nothing = alpha * s.length, (s.length == 0) & (s.due == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(nothing, 0.0, np.where(scale > 0, s.left / scale, np.inf))
    found, stated = float(share.max()), np.inf if claim.value is None else float(claim.value)
    told = found <= stated * (1 + SLACK) and stated <= STATED + TIMES * found
    holds = claim.holds and told and stated <= LOOSEST and claim.bound == LOOSEST
    reason = f"the coefficients are off by a share of {found:.3g} at most; {stated:.3g} is stated"
    return Verdict(claim.name, bool(holds), reason, found, claim.kind)


@check("kernel_ridge_left")
def check_left(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """What is left of the system, against what is stated."""
    s = once(_system, claim, rows)
    found = float(np.divide(s.left, s.due, out=s.left.copy(), where=s.due > 0).max())
    stated = -1.0 if claim.value is None else float(claim.value)
    holds = claim.kind == "warning" and found <= 2.0 * stated + SLACK and stated <= STATED + TIMES * found
    return Verdict(claim.name, bool(holds), f"a share of {found:.3g} of y is left", found, claim.kind)
