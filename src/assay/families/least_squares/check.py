"""Checks of least-squares claims: residuals and lengths are summed again from the rows, in two passes.

    g = Xᵀ(y − b − Xw) − alpha·w    about the means of the columns (about zero where no intercept is fitted)

That X has rank r is proved by the witness W (d, r): if XW has orthonormal columns, the r directions are there, and
the singular values of X on them are one over those of W; if nothing of X is left outside them, there are no more. W itself is rounded, which at a
condition number κ turns XW by some εκ√d: so much more its columns may be off, and the condition number with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats

EPS = float(np.finfo(np.float64).eps)
LOOSEST = 1e-2  # a tolerance beyond this proves nothing
UNSEEN = 8.0  # what computed columns are said to be off by, as a multiple of what was seen
ORTHONORMAL = 1e-2  # what WᵀXᵀXW may differ from I by, besides the rounding of W
FULL_RANK = 0.5  # below 1 the columns of XW are independent; here their lengths are known within a factor of 1.75, too
LARGEST_CUT = 1e-4  # nor does leaving out directions that are longer than this


class Centre(NamedTuple):
    """Weight n and means of columns and target (zero where no intercept is fitted); `rest`, `y_rest`: what rounding took off."""

    n: float
    x: Floats
    y: float
    rest: Floats
    y_rest: float

    def apart(self, X: Array) -> Floats:
        """X about the means."""
        out: Floats = (X - self.x) - self.rest
        return out


class ResidualSums(NamedTuple):
    """slope (d,) and total: Xᵀr and Σr; squares Σr²; lengths of the columns and of y, about the means and about zero."""

    slope: Floats
    total: float
    squares: float
    lengths: Floats
    raw_lengths: Floats
    target: float
    raw_target: float


def _blocks(rows: CheckedRows, target: int | None) -> Iterator[tuple[Array, Array, Array]]:
    for block in rows.blocks():
        w = np.ones(len(block.X)) if block.w is None else block.w
        y = np.asarray(block.y, dtype=np.float64)
        if (y.ndim == 1) != (target is None):
            raise ValueError(
                f"the rows have a target of shape {y.shape[1:]}, and the claim is about the target {target}"
            )
        yield (
            block.X.astype(np.promote_types(block.X.dtype, np.float64), copy=False),
            y if target is None else y[:, target],
            w,
        )


def _target(claim: Claim) -> int | None:
    """Which of several targets the claim is about; None: there is one."""
    return int(_one(claim, "target")) if "target" in claim.witness else None


def _centre(rows: CheckedRows, about_mean: bool, which: int | None) -> Centre:
    """Means as a row of weight + mean distance from it, which is exact for a constant column."""
    n, first, target, sx, sy = 0.0, None, 0.0, np.zeros(rows.n_columns), 0.0
    for X, y, w in _blocks(rows, which):
        if first is None and w.any():
            first, target = X[w.argmax()], float(y[w.argmax()])
        if first is None:
            continue
        n += float(w.sum())
        sx += w @ (X - first)
        sy += float(w @ (y - target))
    if first is None or not n > 0:
        raise ValueError("there are no rows of positive weight")
    if not about_mean:
        return Centre(n, np.zeros(rows.n_columns), 0.0, np.zeros(rows.n_columns), 0.0)
    mean, y_mean = first + sx / n, target + sy / n
    rest, y_rest = np.zeros(rows.n_columns), 0.0
    for X, y, w in _blocks(rows, which):
        rest += w @ (X - mean)
        y_rest += float(w @ (y - y_mean))
    return Centre(n, mean, y_mean, rest / n, y_rest / n)


def _one(claim: Claim, name: str) -> float:
    """A number of the witness."""
    return float(np.asarray(claim.witness[name]).reshape(()))


def _witness(claim: Claim, rows: CheckedRows) -> tuple[Floats, float, float, Floats]:
    """coef (d,), intercept, alpha and W (d, r), of the shapes they must have."""
    w = np.asarray(claim.witness["coef"], dtype=np.float64)
    root = np.asarray(claim.witness["inverse_root"], dtype=np.float64)
    if w.shape != (rows.n_columns,) or root.ndim != 2 or len(root) != len(w):
        raise ValueError(f"coefficients {w.shape} and inverse root {root.shape} do not fit {rows.n_columns} columns")
    b, alpha = _one(claim, "intercept"), _one(claim, "alpha")
    fitted, cut = _one(claim, "fit_intercept"), _one(claim, "cut")
    if not (alpha >= 0 and fitted in (0, 1) and (fitted or b == 0) and 0 <= cut <= LARGEST_CUT):
        raise ValueError(f"alpha {alpha:g}, intercept {b:g} (fitted: {fitted:g}) and cut {cut:g} prove nothing")
    return w, b, alpha, root


def _sum(rows: CheckedRows, at: Centre, coef: Floats, intercept: float, which: int | None) -> ResidualSums:
    d = rows.n_columns
    slope, squared, raw = np.zeros(d), np.zeros(d), np.zeros(d)
    total = squares = target = raw_target = 0.0
    for X, y, w in _blocks(rows, which):
        r = y - intercept - X @ coef
        D = at.apart(X)
        slope += (w * r) @ D
        total += float(w @ r)
        squares += float(w @ r**2)
        squared += w @ D**2
        raw += w @ X**2
        target += float(w @ ((y - at.y) - at.y_rest) ** 2)
        raw_target += float(w @ y**2)
    return ResidualSums(slope, total, squares, np.sqrt(squared), np.sqrt(raw), np.sqrt(target), np.sqrt(raw_target))


def _rounding(s: ResidualSums, n: float, coef: Floats, intercept: float) -> float:
    """How long the vector of rounding errors in the residuals can be, generously."""
    return 64 * EPS * float(np.abs(coef) @ s.raw_lengths + np.sqrt(n) * abs(intercept) + s.raw_target)


def _columns_off(rows: CheckedRows, s: ResidualSums, n: float, coef: Floats, alpha: float) -> tuple[float, float]:
    """What each residual may be off by because the columns are, and the shares of their lengths that columns are off by, together."""
    if rows.columns_off is None:
        return 0.0, 0.0
    lengths = np.sqrt(s.lengths**2 + alpha)
    live = lengths > 0
    shares = np.sqrt(n) * rows.columns_off[live] / lengths[live]
    return float(np.abs(coef) @ rows.columns_off), float(np.sqrt(shares @ shares))


@check("normal_equations")
def check_normal_equations(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Compute the gradient again and compare each component with √(‖x_j‖² + alpha)·‖y‖."""
    coef, b, alpha, _ = _witness(claim, rows)
    tolerance = _one(claim, "tolerance")
    about_mean = bool(_one(claim, "fit_intercept"))
    at = _centre(rows, about_mean, _target(claim))
    s = _sum(rows, at, coef, b, _target(claim))
    g, lengths = s.slope - alpha * coef, np.sqrt(s.lengths**2 + alpha)
    if "positive" in claim.witness:  # at w_j = 0 only a gradient above zero would lead to less
        if _one(claim, "positive") != 1 or (coef < 0).any():
            return Verdict(
                claim.name, False, f"a weight is {coef.min():.3g} where all are claimed to be ≥ 0", kind=claim.kind
            )
        g = np.where(coef == 0, np.maximum(g, 0.0), g)
    if about_mean:
        g, lengths = np.append(g, s.total), np.append(lengths, np.sqrt(at.n))
    scale = lengths * (s.target or 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.max(np.where(g == 0, 0.0, np.abs(g) / scale)))
    off, share = _columns_off(rows, s, at.n, coef, alpha)
    hidden = (np.sqrt(at.n) * off + share * (np.sqrt(at.n) * off + np.sqrt(s.squares))) / s.target if s.target else 0.0
    limit = tolerance + _rounding(s, at.n, coef, b) / s.target if s.target else 0.0
    if hidden:  # what rounding did to computed columns depends on how they were: the claim says so, and is held to it
        limit = max(limit, float(claim.bound or 0.0))
        value += 0.0 if rows.extended else hidden / UNSEEN
    if not s.target and coef.any():
        return Verdict(
            claim.name, False, "a target without length is fitted by weights of zero alone", value, claim.kind
        )
    if not (tolerance >= 0 and limit <= LOOSEST):
        return Verdict(claim.name, False, f"a tolerance of {limit:g} proves nothing", value, claim.kind)
    reason = f"the normal equations are off by {value:.3g} of their scale, {limit:.3g} is allowed"
    return Verdict(claim.name, bool(value <= limit), reason, value, claim.kind)


@check("residual_variance")
def check_residual_variance(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Compute the mean square of the residuals again."""
    coef, b, alpha, _ = _witness(claim, rows)
    at = _centre(rows, bool(_one(claim, "fit_intercept")), _target(claim))
    s = _sum(rows, at, coef, b, _target(claim))
    value, stated = s.squares / at.n, _one(claim, "sigma2")
    slack = 1e-8 * np.sqrt(value) + _rounding(s, at.n, coef, b) / np.sqrt(at.n) + 1e-155  # squares of less are nothing
    off, _ = _columns_off(rows, s, at.n, coef, alpha)
    root = np.sqrt(max(stated, 0.0))
    room = 0.0 if claim.bound is None else np.sqrt(max(claim.bound, 0.0)) - root
    apart = abs(root - np.sqrt(value)) + (0.0 if rows.extended else off / UNSEEN)
    holds = bool(stated >= 0 and claim.value == stated and apart <= slack + room)
    reason = f"the mean square of the residuals is {value:.6g}, stated {stated:.6g}"
    reason += f"; rounding of the columns may put their root off by {off:.3g}" if off else ""
    if not room <= LOOSEST * max(np.sqrt(value), s.target / np.sqrt(at.n)) + slack:
        holds, reason = False, f"up to {claim.bound:.3g}, where it is {value:.3g}, is no statement of a variance"
    return Verdict(claim.name, holds, reason, value, claim.kind)


class Directions(NamedTuple):
    """An orthonormal basis (d, r) of the directions, the columns' lengths, κ, and whether they are all and there; the share of their length that
    rounding may have put columns off by."""

    basis: Floats
    lengths: Floats
    condition: float
    there: bool
    all: bool
    off: float


def _directions(claim: Claim, rows: CheckedRows) -> Directions:
    coef, b, alpha, W = _witness(claim, rows)
    at = _centre(rows, bool(_one(claim, "fit_intercept")), _target(claim))
    s = _sum(rows, at, coef, b, _target(claim))
    lengths = np.sqrt(s.lengths**2 + alpha)
    scaled = W * lengths[:, None]
    basis = np.linalg.qr(scaled)[0]
    per_length = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    K, left = alpha * (W.T @ W), 0.0
    for X, _, w in _blocks(rows, _target(claim)):
        D = at.apart(X) * np.sqrt(w)[:, None]
        K += (D @ W).T @ (D @ W)
        D *= per_length
        left += float(((D - (D @ basis) @ basis.T) ** 2).sum())
    singular = np.linalg.svd(scaled, compute_uv=False)
    condition = float(singular[0] / singular[-1]) if len(singular) else 1.0
    turned = ORTHONORMAL + 4 * np.sqrt(len(coef)) * EPS * condition
    there = W.shape[1] == 0 or bool(np.linalg.norm(K - np.eye(len(K)), 2) <= turned <= FULL_RANK)
    live = s.lengths > 0
    grown = np.sqrt(np.sum((s.raw_lengths[live] / s.lengths[live]) ** 2))
    cut = _one(claim, "cut")
    off = _columns_off(rows, s, at.n, coef, alpha)[
        1
    ]  # in the rows, and in the lengths by which W is turned into a basis
    limit = np.sqrt(len(coef)) * (cut + 64 * EPS * (len(coef) + grown)) + 2 * off
    everything = W.shape[1] == len(coef) or bool(np.sqrt(left) <= limit)
    return Directions(basis, lengths, condition, there, everything, off)


@check("least_squares_rank")
def check_least_squares_rank(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Verify that the witness's directions are there, that there are no others, and the condition number."""
    found = _directions(claim, rows)
    d, r = found.basis.shape
    value = max(1.0, found.condition)
    if claim.witness["rank"] != r or not found.there:
        reason = f"the witness does not prove rank {claim.witness['rank']}"
    elif not found.all:
        reason = f"the rows reach beyond the {r} directions of the witness"
    elif claim.value is None or abs(value - claim.value) > 0.02 * value:
        reason = f"the condition number is {value:.4g}, not {claim.value}"
    elif not found.off * value <= LOOSEST:
        reason = (
            f"rounding of the columns, {found.off:.3g} of their length, leaves a condition number of {value:.4g} open"
        )
    else:
        return Verdict(claim.name, True, f"rank {r} of {d}, condition number {value:.4g} again", value, claim.kind)
    return Verdict(claim.name, False, reason, value, claim.kind)


@check("minimum_norm")
def check_minimum_norm(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Verify that the coefficients lie in the span of the (centred) rows."""
    coef = _witness(claim, rows)[0]
    found = _directions(claim, rows)
    norm = float(np.linalg.norm(coef))
    outside, rounding = _outside(coef, found)
    good = outside <= 1e-8 * norm + rounding and abs(norm - float(claim.value or 0.0)) <= 1e-9 * norm
    reason = f"‖w‖ = {norm:.6g}, of which {outside:.3g} lies outside the span of the rows"
    if not (found.there and found.all):
        good, reason = False, "the witness's directions do not span the rows"
    if not rounding <= LOOSEST * norm:
        good, reason = (
            False,
            f"columns of so different lengths prove nothing: rounding may be {rounding:.3g} of {norm:.3g}",
        )
    return Verdict(claim.name, bool(good), reason, norm, claim.kind)


def _outside(coef: Floats, found: Directions) -> tuple[float, float]:
    """How long the part of w outside the span of the rows is, and what rounding may make of it.

    Where the columns that vary are independent they span all there is but the columns that do not.
    """
    live = found.lengths > 0
    if found.basis.shape[1] == np.count_nonzero(live):
        return float(np.linalg.norm(coef[~live])), 0.0
    Q = np.linalg.qr(found.basis * found.lengths[:, None])[0]
    share = 64 * EPS * len(coef) + 2 * found.off
    rounding = share * found.lengths.max() * float(np.linalg.norm(coef[live] / found.lengths[live]))
    return float(np.linalg.norm(coef - Q @ (Q.T @ coef))), rounding
