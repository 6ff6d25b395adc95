"""Checks of claims about likelihoods without a penalty: small slope, separating weights, covariance of the estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.checks.linear import LOOSEST, blocks, cases, shape_of, sums_of, times
from assay.certify.claim import Claim, Verdict
from assay.engines import Rows, SparseMatrix
from assay.numerics import Floats
from assay.risk.surrogates import surrogate

EPS = float(np.finfo(np.float64).eps)


def _dense(X: Any) -> Floats:
    return X.toarray().astype(np.float64) if isinstance(X, SparseMatrix) else np.asarray(X)


def _gram(claim: Claim, rows: Rows, centre: Floats, curvature: Any) -> Floats:
    """Σ c q (x − p, 1)(x − p, 1)ᵀ with q = curvature(X, codes)."""
    d = rows.n_columns
    G = np.zeros((d + 1, d + 1))
    for X, codes, c in blocks(claim, rows):
        A = np.column_stack([_dense(X) - centre, np.ones(len(codes))])
        G += (A * (c * curvature(X, codes))[:, None]).T @ A
    return G


def check_small_slope(claim: Claim, rows: Rows, predict: Any) -> Verdict:
    """Compute ½ gᵀ(κ G)⁺g / F again, with κ the curvature of the loss at score zero."""
    w = claim.witness
    tolerance = float(w["tolerance"])
    fitted = bool(w["fit_intercept"])
    shape = shape_of(claim, rows, fitted)
    K = 1 if w["classes"] is None else len(w["classes"])
    kappa = 1.0 / K if w["loss"] == "softmax" else {"log": 0.25, "squared hinge": 2.0}.get(w["loss"], 1.0)
    G = kappa * _gram(claim, rows, shape.centre, lambda X, codes: np.ones(len(codes)))
    if not fitted:
        G[-1, :] = G[:, -1] = 0.0
    unit = np.append(1.0 / shape.scale, 1.0) / np.sqrt(float(shape.weight.sum()))
    inverse, value = np.linalg.pinv(G * unit * unit[:, None], 1e-12), 0.0
    for case in cases(claim, rows.n_columns):
        s = sums_of(claim, rows, case, shape.centre)
        g = np.atleast_2d(s.gradient) * unit
        if not fitted:
            g[:, -1] = 0.0
        gain = 0.5 * float(np.einsum("kj,jl,kl->", g, inverse, g))
        value = max(value, gain / s.loss if s.loss > 0 else 0.0)
    if not 0 <= tolerance <= LOOSEST or claim.bound != tolerance or claim.kind != "estimate":
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} says nothing", value, claim.kind)
    reason = f"the slope promises a share of {value:.3g}, {tolerance:g} is allowed"
    return Verdict(claim.name, bool(value <= 1.5 * tolerance + 1e-12), reason, value, claim.kind)


def check_separating_weights(claim: Claim, rows: Rows, predict: Any) -> Verdict:
    """Every row of positive weight must lie on its side by more than rounding can hide."""
    w = claim.witness
    (case,) = cases(claim, rows.n_columns)
    W = np.atleast_2d(case.w)
    worst = least = np.inf
    for X, codes, c in blocks(claim, rows):
        z = times(X, W[:, :-1].T) + W[:, -1]
        size = times(_abs(X), np.abs(W[:, :-1]).T) + np.abs(W[:, -1])
        if z.shape[1] == 1:
            margins = np.where(codes == 1, 1.0, -1.0) * z[:, 0]
            doubt = size[:, 0]
        else:
            rest = np.where(np.arange(z.shape[1]) == codes[:, None], -np.inf, z)
            margins = z[np.arange(len(z)), codes] - rest.max(axis=1)
            doubt = 2 * size.max(axis=1)
        live = c > 0
        worst = min(worst, float(np.min((margins - (rows.n_columns + 4) * EPS * doubt)[live], initial=np.inf)))
        least = min(least, float(np.min(margins[live], initial=np.inf)))
    same = claim.value is not None and abs(least - claim.value) <= 1e-6 * max(1.0, abs(least))
    holds = bool(worst > 0 and same and not np.asarray(w["strengths"], dtype=np.float64).any())
    return Verdict(claim.name, holds, f"the least margin of a row is {least:.6g}", least, claim.kind)


def _abs(X: Any) -> Any:
    return X.with_data(np.abs(X.data)) if isinstance(X, SparseMatrix) else np.abs(X)


def _rounding(C: Floats, centre: Floats) -> Floats:
    """What the rounding of C about zero can make of it about the centre: where b is far from the rows, its digits are few."""
    d = len(centre)
    T = np.eye(d + 1)
    T[d, :d] = np.abs(centre)
    out: Floats = 4 * (d + 4) * EPS * (T @ np.abs(C) @ T.T)
    return out


def check_inverse_hessian(claim: Claim, rows: Rows, predict: Any) -> Verdict:
    """The stated covariance times the Hessian, summed again, must be the identity (on the directions that rows have)."""
    w = claim.witness
    loss = surrogate(w["loss"])
    (case,) = cases(claim, rows.n_columns)
    d = rows.n_columns
    C = np.asarray(w["covariance"], dtype=np.float64)
    if C.shape != (d + 1, d + 1) or loss.curvature is None:
        return Verdict(claim.name, False, f"a covariance of shape {C.shape} does not fit", kind=claim.kind)
    shape = shape_of(claim, rows, bool(w["fit_intercept"]))
    bend = loss.curvature

    def curvature(X: Any, codes: Any) -> Floats:
        z = times(X, case.w[:-1]) + case.w[-1]
        return np.asarray(bend(z, np.where(codes == case.positive, 1.0, -1.0), case.width))

    H = _gram(claim, rows, shape.centre, curvature)
    T = np.eye(d + 1)
    T[d, :d] = shape.centre
    centred = T @ C @ T.T
    if not w["fit_intercept"]:
        H, centred = H[:d, :d], C[:d, :d]
    unit = np.sqrt(np.diag(H))
    unit = np.where(unit > 0, unit, 1.0)
    A, B = H / unit / unit[:, None], centred * unit * unit[:, None]
    doubt = _rounding(C, shape.centre)[: len(H), : len(H)] * unit * unit[:, None]
    wrong = np.maximum(np.abs(A @ B @ A - A) - np.abs(A) @ doubt @ np.abs(A), 0.0)
    loose = np.maximum(np.abs(B @ A @ B - B) - 2 * np.abs(B) @ np.abs(A) @ doubt - doubt, 0.0)
    off = float(wrong.max() + loose.max() / max(1.0, np.abs(B).max()))
    symmetric = bool(np.allclose(B, B.T, rtol=1e-9, atol=1e-9 * np.abs(B).max()))
    reason = f"covariance and Hessian are inverse to each other to {off:.2g}"
    return Verdict(claim.name, bool(off <= 1e-6 and symmetric), reason, off, claim.kind)
