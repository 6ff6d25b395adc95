"""Checks of claims about likelihoods without a penalty: small slope, separating weights, covariance of the estimates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import CheckedRows, CsrBlock, Floats, back, sizes, times
from assay.families.linear.check.gaps import LOOSEST, cases, free_intercept, same_objective, sums_of
from assay.families.linear.check.terms import RowMoments, blocks, loss_terms, shape_of

EPS = float(np.finfo(np.float64).eps)


def _dense(X: Any) -> Floats:
    return X.toarray().astype(np.float64) if isinstance(X, CsrBlock) else np.asarray(X)


def _gram(claim: Claim, rows: CheckedRows, shape: RowMoments, curvature: Any, further: Any = 0.0) -> Floats:
    """Σ c q (x − p, 1)(x − p, 1)ᵀ with q = curvature(X, codes), X counted from the origin and p the centre, or so much further."""
    d, lean = rows.n_columns, shape.centre - shape.origin + further
    G = np.zeros((d + 1, d + 1))
    for X, codes, c in blocks(claim, rows, shape.origin):
        A = np.column_stack([_dense(X) - lean, np.ones(len(codes))])
        G += (A * (c * curvature(X, codes))[:, None]).T @ A
    return G


@check("small_slope")
def check_small_slope(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Compute ½ gᵀ(κ G)⁺g / F again, with κ the curvature of the loss at score zero."""
    w = claim.witness
    tolerance = float(w["tolerance"])
    fitted = bool(w["fit_intercept"])
    shape = shape_of(claim, rows, fitted)
    K = 1 if w["classes"] is None else len(w["classes"])
    kappa = 1.0 / K if w["loss"] == "softmax" else {"log": 0.25, "squared hinge": 2.0}.get(w["loss"], 1.0)
    G = kappa * _gram(claim, rows, shape, lambda X, codes: np.ones(len(codes)))
    if not fitted:
        G[-1, :] = G[:, -1] = 0.0
    unit = np.append(1.0 / shape.scale, 1.0) / np.sqrt(float(shape.weight.sum()))
    inverse, value, totals = np.linalg.pinv(G * unit * unit[:, None], 1e-12), 0.0, []
    for case in cases(claim, rows.n_columns):
        s = sums_of(claim, rows, case, shape)
        g = np.atleast_2d(s.gradient) * unit
        if not fitted:
            g[:, -1] = 0.0
        gain = 0.5 * float(np.einsum("kj,jl,kl->", g, inverse, g))
        totals.append(s.loss)
        value = float(np.maximum(value, gain / s.loss if s.loss > 0 else 0.0))  # NaN stays, and is refused
    if not same_objective(claim, totals, rows) or np.asarray(w["strengths"], dtype=np.float64).any():
        return Verdict(claim.name, False, f"the objective is {totals}, without a penalty", value, claim.kind)
    if not 0 <= tolerance <= LOOSEST or claim.bound != tolerance or claim.kind != "estimate":
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} says nothing", value, claim.kind)
    reason = f"the slope promises a share of {value:.3g}, {tolerance:g} is allowed"
    return Verdict(claim.name, bool(value <= 1.5 * tolerance + 1e-12), reason, value, claim.kind)


@check("separating_weights")
def check_separating_weights(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Every row of positive weight must lie on its side by more than rounding can hide."""
    w = claim.witness
    (case,) = cases(claim, rows.n_columns)
    shape = shape_of(claim, rows, free_intercept(claim))
    W = shape.weights(np.atleast_2d(case.w))
    worst = least = np.inf
    for X, codes, c in blocks(claim, rows, shape.origin):
        z = times(X, W[:, :-1].T) + W[:, -1]
        size = times(sizes(X), np.abs(W[:, :-1]).T) + np.abs(W[:, -1])
        if z.shape[1] == 1:
            margins = np.where(codes == 1, 1.0, -1.0) * z[:, 0]
            doubt = size[:, 0]
        else:
            rest = np.where(np.arange(z.shape[1]) == codes[:, None], -np.inf, z)
            margins = z[np.arange(len(z)), codes] - rest.max(axis=1)
            doubt = 2 * size.max(axis=1)
        live = c > 0
        sure = margins - (rows.n_columns + 4) * EPS * doubt
        worst = float(np.minimum(worst, np.min(sure[live], initial=np.inf)))  # NaN stays, and is refused
        least = float(np.minimum(least, np.min(margins[live], initial=np.inf)))
    same = claim.value is not None and abs(least - claim.value) <= 1e-6 * max(1.0, abs(least))
    holds = bool(worst > 0 and same and not np.asarray(w["strengths"], dtype=np.float64).any())
    return Verdict(claim.name, holds, f"the least margin of a row is {least:.6g}", least, claim.kind)


@check("inverse_hessian")
def check_inverse_hessian(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The stated covariance must be the inverse of the Hessian, summed again (on the directions that rows have).

    With (S, h, k) = (H_ww − hhᵀ/k, H_wb, H_bb) about the rows' mean p, the covariance V of w is S⁻¹, and b = b_p − p·w has
    cov(w, b) = −V(h/k + p), var(b) = 1/k + (h/k + p)ᵀV(h/k + p): so no digits are lost where p is far from zero. S is summed about
    p + h/k, the mean of the rows by their curvature, which a few rows may have nearly all of.
    """
    w = claim.witness
    loss = loss_terms(w["loss"])
    (case,) = cases(claim, rows.n_columns)
    d = rows.n_columns
    C = np.asarray(w["covariance"], dtype=np.float64)
    if C.shape != (d + 1, d + 1) or loss.curvature is None or not np.isfinite(C).all():
        return Verdict(claim.name, False, f"a covariance of shape {C.shape} does not fit", kind=claim.kind)
    shape = shape_of(claim, rows, bool(w["fit_intercept"]))
    bend, at = loss.curvature, shape.weights(case.w)

    def curvature(X: Any, codes: Any) -> Floats:
        z = times(X, at[:-1]) + at[-1]
        return bend(z, np.where(codes == case.positive, 1.0, -1.0), case.width)

    H = _gram(claim, rows, shape, curvature)
    still = np.diag(H)[:d] <= float(shape.weight.sum()) * (16 * EPS * np.abs(shape.centre)) ** 2
    moves = np.append(~still, True)  # the others differ from their mean by its rounding alone
    H = H * moves * moves[:, None]
    S, V = H[:d, :d], C[:d, :d]
    along, alone = np.zeros(d), 0.0
    if w["fit_intercept"]:
        mean = H[:d, d] / H[d, d]
        H = _gram(claim, rows, shape, curvature, mean) * moves * moves[:, None]
        S = H[:d, :d] - np.outer(H[:d, d], H[:d, d]) / H[d, d]
        along, alone = mean + H[:d, d] / H[d, d] + shape.centre, 1.0 / H[d, d]
    off = max(_apart(S, V), _intercept_apart(C, -V @ along, float(alone + along @ V @ along)))
    reason = f"covariance and Hessian are inverse to each other to {off:.2g}"
    return Verdict(claim.name, bool(off <= 1e-6), reason, off, claim.kind)


def _apart(S: Floats, V: Floats) -> float:
    """How far V is from an inverse of S, in the scale of S's columns: SVS = S, VSV = V and V = Vᵀ."""
    unit = np.sqrt(np.maximum(np.diag(S), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    A, B = S / unit / unit[:, None], V * unit * unit[:, None]
    size = max(1.0, float(np.abs(B).max(initial=0.0)))
    parts = (A @ B @ A - A, (B @ A @ B - B) / size, (B - B.T) / size)
    return float(sum(np.abs(part).max(initial=0.0) for part in parts))


def _intercept_apart(C: Floats, cross: Floats, square: float) -> float:
    """How far the last row and column of C are from these, against the standard errors."""
    se = np.sqrt(np.maximum(np.diag(C)[:-1] * square, 0.0))
    scale = np.where(se > 0, se, 1.0)
    off = max(
        np.abs(C[:-1, -1] - cross).max(initial=0.0, where=se == 0),
        np.abs((C[:-1, -1] - cross) / scale).max(initial=0.0),
    )
    skew = np.abs((C[:-1, -1] - C[-1, :-1]) / scale).max(initial=0.0)
    return float(off + skew + abs(C[-1, -1] - square) / (square if square > 0 else 1.0))


# Checks of hard margins: every constraint is tried on every row, and the dual value is summed from the multipliers.
#
# ½‖w‖² ≥ min ≥ Σα − ½‖Σ α t x‖²    for α ≥ 0 with Σ α t = 0 (where an intercept is fitted)

TOUCHING = 1e-6  # by how much rounding may let t(w·x + b) fall below 1
LOOSEST_MARGIN = 1e-1


def _witness(claim: Claim, rows: CheckedRows) -> tuple[Floats, Floats, list[int]]:
    """coef (m, d), intercept (m,) and the class with t = 1 of each problem."""
    w = claim.witness
    coef, b = np.asarray(w["coef"], dtype=np.float64), np.asarray(w["intercept"], dtype=np.float64)
    K = len(w["classes"])
    positives = [1] if K == 2 else list(range(K))
    if coef.shape != (len(positives), rows.n_columns) or b.shape != (len(positives),):
        raise ValueError(f"coefficients {coef.shape} and intercepts {b.shape} do not fit the rows")
    if not (np.isfinite(coef).all() and np.isfinite(b).all()) or (not w["fit_intercept"] and b.any()):
        raise ValueError("the coefficients are not possible")
    return coef, b, positives


def _centre(claim: Claim, rows: CheckedRows) -> tuple[Floats, float]:
    """The mean of the rows that count, and the length of the longest x − mean."""
    total, n, longest = np.zeros(rows.n_columns), 0, 0.0
    for X, _, counts in _blocks(claim, rows):
        total += back(X, counts.astype(np.float64))
        n += int(counts.sum())
    if n == 0:
        raise ValueError("there are no rows of positive weight")
    centre = total / n
    for X, _, counts in _blocks(claim, rows):
        squares = times(_squared(X), np.ones(rows.n_columns)) - 2 * times(X, centre) + centre @ centre
        if not isinstance(X, CsrBlock):
            squares = ((X - centre) ** 2).sum(axis=1)
        longest = max(longest, float(np.sqrt(np.max(squares[counts], initial=0.0))))
    return centre, longest


def _squared(X: Any) -> Any:
    return X.with_data(X.data.astype(np.float64) ** 2) if isinstance(X, CsrBlock) else X**2


def _blocks(claim: Claim, rows: CheckedRows) -> Iterator[tuple[Any, Any, Any]]:
    """(X, labels, which rows count) of each block."""
    for block in rows.blocks():
        if block.y is None or not np.isin(block.y, claim.witness["classes"]).all():
            raise ValueError("the rows hold classes that the witness does not know")
        X = block.X if isinstance(block.X, CsrBlock) else block.X.astype(np.float64, copy=False)
        yield X, block.y, np.ones(len(block.y), dtype=bool) if block.w is None else block.w > 0


def _problem(claim: Claim, rows: CheckedRows, k: int, coef: Floats, b: float, positive: Any) -> tuple[float, float]:
    """The least t(w·x + b) of a row, and the dual value.

    About the mean p, no minimum has an intercept beyond 1 + max‖x − p‖·‖w‖: that is what Σ α t ≠ 0 costs.
    """
    w = claim.witness
    mine = np.asarray(w["dual_problem"]) == k
    at, alpha = np.asarray(w["dual_rows"])[mine], np.asarray(w["dual_values"], dtype=np.float64)[mine]
    if np.any(np.diff(at) <= 0) or not np.isfinite(alpha).all() or np.any(alpha < 0):
        raise ValueError("the multipliers are not possible")
    centre, longest = _centre(claim, rows) if w["fit_intercept"] else (np.zeros(rows.n_columns), 0.0)
    least, pull, balance, used, start = np.inf, np.zeros(rows.n_columns), 0.0, 0, 0
    sides: set[float] = set()
    for X, y, counts in _blocks(claim, rows):
        t = np.where(y == positive, 1.0, -1.0)
        least = float(np.minimum(least, np.min((t * (times(X, coef) + b))[counts], initial=np.inf)))
        here = (at >= start) & (at < start + len(t))
        a = np.zeros(len(t))
        a[at[here] - start] = alpha[here]
        if np.any(a[~counts]):
            raise ValueError("a multiplier belongs to a row without weight")
        used += int(here.sum())
        sides |= set(np.unique(t[counts]))
        pull += back(X, a * t) if isinstance(X, CsrBlock) else (a * t) @ (X - centre)
        balance += float(a @ t)
        start += len(t)
    if used != len(at) or len(sides) < 2:
        raise ValueError("a multiplier belongs to a row that is not there, or all rows are on one side")
    if not w["fit_intercept"]:
        return least, float(alpha.sum()) - 0.5 * float(pull @ pull)
    pull = pull - balance * centre if rows.sparse else pull
    cost = abs(balance) * (1.0 + longest * float(np.linalg.norm(coef)))
    return least, float(alpha.sum()) - 0.5 * float(pull @ pull) - cost


@check("hard_margin")
def check_hard_margin(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Try the constraints and compare ½‖w‖² with the dual value."""
    coef, b, positives = _witness(claim, rows)
    tolerance = float(claim.witness["tolerance"])
    worst, tightest = 0.0, np.inf
    for k, positive in enumerate(positives):
        label = claim.witness["classes"][positive]
        least, dual = _problem(claim, rows, k, coef[k], float(b[k]), label)
        primal = 0.5 * float(coef[k] @ coef[k])
        tightest = min(tightest, least)
        if not least >= 1 - TOUCHING:
            return Verdict(claim.name, False, f"a row has t(w.x + b) = {least:.9g}", worst, claim.kind)
        worst = float(np.maximum(worst, (primal - dual) / primal if primal > 0 else 0.0))
    if not 0 <= tolerance <= LOOSEST_MARGIN or claim.bound != tolerance:
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} proves nothing", worst, claim.kind)
    reason = f"the least t(w.x + b) is {tightest:.9g}, the gap {worst:.3g}; {tolerance:g} is allowed"
    return Verdict(claim.name, bool(worst <= tolerance * 1.001 + 1e-12), reason, worst, claim.kind)


@check("leave_one_out_bound")
def check_leave_one_out_bound(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Count the support rows, once the hard margin itself was checked."""
    tolerance = float(claim.witness["tolerance"])
    hard = check_hard_margin(Claim(**{**vars(claim), "bound": tolerance}), rows, predict)
    n = sum(_counted(block) for block in rows.blocks())
    share = len(claim.witness["dual_rows"]) / n
    same = claim.value is not None and abs(claim.value - share) <= 1e-9
    return Verdict(
        claim.name, bool(hard.holds and same), f"{share:.6g} of the rows are support rows", share, claim.kind
    )


def _counted(block: Any) -> int:
    return len(block.y) if block.w is None else int((block.w > 0).sum())
