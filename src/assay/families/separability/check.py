"""Checks of claims about separating hyperplanes and hulls that meet, from the rows and the witness alone.

s = +1 for rows of the class `positive`, −1 for all others; a row of weight 0 does not count. That s(w·x + b) > 0 is proved
by the error bound of a sum of products, row by row, and in rational arithmetic for the few rows that are nearer than that;
that hulls meet, by solving for their weights again: with a bound on the error, or in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, CsrBlock, Floats

EPS = float(np.finfo(np.float64).eps)
LEAST = float(np.finfo(np.float64).smallest_subnormal)
CLOSE = 1e-9  # what a stated margin, radius or distance may be off by
ROUGHEST = 1e-2  # where rounding may hide more of a margin than this, nothing is proved
LOOSEST = 1e-2  # a gap beyond this proves nothing
NEAREST = 1e-11  # hulls this near, against their rows, count as meeting where no proof is claimed
LARGEST = 102  # equations up to which whole numbers take a few seconds
FEW = 4096  # rows a tile; also the most that are left to rational arithmetic


def _tiles(rows: CheckedRows, positive: Any) -> Iterator[tuple[int, Floats, Array]]:
    """(number of the first row, X, s) a tile, X dense."""
    for block in rows.blocks():
        s = np.where(np.asarray(block.y) == positive, 1, -1)
        s = s if block.w is None else np.where(block.w > 0, s, 0)
        for a in range(0, len(s), FEW if rows.sparse else max(FEW, len(s))):
            X = block.X[a : a + FEW].toarray() if isinstance(block.X, CsrBlock) else block.X
            yield block.start + a, X.astype(np.float64, copy=False), s[a : a + len(X)]


class MeasuredMargins(NamedTuple):
    """The least s(w·x + b), the most of |w·x + b|, whether all are surely positive, max ‖x‖, whether both sides occur, and the most
    that rounding may have done to one of them."""

    least: float
    most: float
    positive: bool
    radius: float
    both: bool
    off: float

    def slack(self) -> float:
        """The share by which what is stated of the least may differ from what is found."""
        return CLOSE + 2.0 * self.off / self.least if self.least > 0 else CLOSE


def _measure(rows: CheckedRows, positive: Any, w: Floats, b: float) -> MeasuredMargins:
    least, most, radius, sure, sides, doubtful, off = np.inf, 0.0, 0.0, True, set(), 0, 0.0
    if w.shape != (rows.n_columns,):
        raise ValueError(f"{w.shape[0]} coefficients do not fit {rows.n_columns} columns")
    for _, X, s in _tiles(rows, positive):
        X, s = X[s != 0], s[s != 0]
        if len(s) == 0:
            continue
        values = s * (X @ w + b)
        terms = np.count_nonzero(X, axis=1) if rows.sparse else len(w)
        bound = (terms + 3) * (EPS * (np.abs(X) @ np.abs(w) + abs(b)) + LEAST)
        doubt = np.flatnonzero(~(values > bound))
        doubtful += len(doubt)
        off = max(off, float(bound[values > bound].max(initial=0.0)))
        if sure and doubtful <= FEW:
            exactly = [s[i] * _value_at(X[i], w, b) for i in doubt]
            sure, values[doubt] = all(value > 0 for value in exactly), [float(value) for value in exactly]
        sure = sure and doubtful <= FEW
        least, most = min(least, float(values.min())), max(most, float(np.abs(values).max()))
        size = float(np.abs(X).max()) or 1.0
        radius = max(radius, size * float(np.sqrt(((X / size) ** 2).sum(axis=1).max())))
        sides |= set(np.unique(s).tolist())
    return MeasuredMargins(least, most, sure, radius, sides == {1, -1}, off)


def _plane(claim: Claim) -> tuple[Floats, float, float]:
    """w, b, and the length of what the margin is measured by: w, or (b, w) in the augmented space."""
    w = np.asarray(claim.witness["coef"], dtype=np.float64)
    b = float(np.asarray(claim.witness["intercept"]).reshape(()))
    size = float(np.abs(w).max(initial=0.0)) or 1.0
    length = size * float(np.linalg.norm(w / size))
    return w, b, float(np.hypot(length, b)) if claim.witness["space"] == "augmented" else length


@check("separability_hyperplane")
def check_hyperplane(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Every row lies on its side, by the stated margin at least."""
    w, b, length = _plane(claim)
    measured = _measure(rows, claim.witness["positive"], w, b)
    margin = measured.least / length
    stated = float(claim.value or 0.0)
    if not measured.both:
        reason = "the rows are not of two sides"
    elif not (measured.positive and margin > 0):
        reason = f"a row lies on the wrong side: the least s(w·x + b)/‖w‖ is {margin:.6g}"
    elif not (stated > 0 and abs(margin - stated) <= measured.slack() * stated):
        reason = f"the margin is {margin:.10g}, stated {stated:.10g}"
    else:
        return Verdict(claim.name, True, f"all rows lie on their side, by {margin:.6g} at least", margin, claim.kind)
    return Verdict(claim.name, False, reason, margin, claim.kind)


class NamedRows(NamedTuple):
    """The rows that a witness names: X (a, d), s (a,), and the weights."""

    X: Floats
    s: Array
    weights: Floats


def _named(claim: Claim, rows: CheckedRows) -> NamedRows:
    numbers = np.asarray(claim.witness["rows"], dtype=np.int64)
    weights = np.asarray(claim.witness["weights"], dtype=np.float64)
    if numbers.shape != weights.shape or len(np.unique(numbers)) != len(numbers) or not len(numbers):
        raise ValueError("rows and weights do not belong together")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("a weight is negative or not finite")
    found: dict[int, tuple[Floats, int]] = {}
    for start, X, s in _tiles(rows, claim.witness["positive"]):
        for i in numbers[(numbers >= start) & (numbers < start + len(X))].tolist():
            found[i] = (X[i - start], int(s[i - start]))
    if len(found) < len(numbers) or any(s == 0 for _, s in found.values()):
        raise ValueError("a row of the witness is not there, or has no weight")
    picked = [found[i] for i in numbers.tolist()]
    return NamedRows(np.array([x for x, _ in picked]), np.array([s for _, s in picked]), weights)


def _distance(named: NamedRows, space: str) -> float:
    """Half the distance of the hulls' points with these weights, made convex; not halved where all are one hull."""
    X, s, alpha = named
    if space == "affine":
        total = {side: alpha[s == side].sum() for side in (1, -1)}
        alpha = alpha / np.where(s == 1, total[1], total[-1])
        X = X - X[0]  # the sides balance: any origin will do, and a near one rounds less
    else:
        alpha = alpha / alpha.sum()
    size = float(np.abs(X).max()) or 1.0
    v = (alpha * s) @ (X / size)
    length = float(np.linalg.norm(v)) * size
    if space == "augmented":
        return float(np.hypot(length, (alpha * s).sum()))
    return length / 2 if space == "affine" else length


@check("separability_margin")
def check_margin(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """No hyperplane has a margin beyond that of the witness by more than the stated gap: the hulls are no further apart."""
    space = claim.witness["space"]
    if space not in ("affine", "augmented", "linear"):
        raise ValueError(f"there is no space {space!r}")
    w, b, length = _plane(claim)
    if space == "linear" and b != 0:
        raise ValueError("a hyperplane through the origin has no intercept")
    measured = _measure(rows, claim.witness["positive"], w, b)
    upper = _distance(_named(claim, rows), space)
    gap = 1.0 - measured.least / length / upper
    allowed = float(claim.bound if claim.bound is not None else -1.0)
    rounding = 64 * EPS * measured.radius / upper
    holds = (
        measured.positive
        and measured.both
        and 0 <= allowed <= LOOSEST
        and rounding <= ROUGHEST
        and gap <= allowed + rounding
    )
    reason = f"the margin is {measured.least / length:.10g}, and the hulls allow no more than {upper:.10g}"
    return Verdict(claim.name, bool(holds), reason, gap, claim.kind)


def _value_at(x: Floats, w: Floats, b: float) -> Fraction:
    """w·x + b without rounding: floats are fractions."""
    return sum((Fraction(u) * Fraction(v) for u, v in zip(x.tolist(), w.tolist())), Fraction(b))


def _meeting_weights(X: Floats, s: Array, through_origin: bool) -> Floats | None:
    """The one α ≥ 0 with Σ α s x = 0 and Σα₊ = Σα₋ = 1 (through the origin: Σα = 1), where exactly one is proved; else None."""
    heads = [np.ones(len(s))] if through_origin else [(s == 1) * 1.0, (s == -1) * 1.0]
    balance = [column for column in (X * s[:, None]).T if column.any()]
    if not through_origin:  # with Σ α s = 0 a column that does not vary holds anyway
        balance = [column for column in balance if np.ptp(column * s) > 0]
    M = np.array([*heads, *balance])
    e = np.append(np.ones(len(heads)), np.zeros(len(balance)))
    alpha = _bounded_solution(M, e)
    if alpha is None and len(s) <= LARGEST:
        alpha = _whole_solution(M, e)
    return alpha if alpha is not None and np.all(alpha >= 0) else None


def _bounded_solution(M: Floats, e: Floats) -> Floats | None:
    """α with Mα = e to rounding, where M is square and its solution surely positive.

    With R ≈ M⁻¹ and ‖I − RM‖ ≤ ½ M is regular and |α − M⁻¹e| ≤ 2‖R(e − Mα)‖ (Neumann's series; Rump 1999), where everything
    is charged with its own rounding. Equations are scaled by powers of two, which rounds nothing.
    """
    n = len(M)
    power = -np.frexp(np.abs(M).max(axis=1))[1]
    A, c = np.ldexp(M, power[:, None]), np.ldexp(e, power)
    if M.shape != (n, n) or not np.array_equal(np.ldexp(A, -power[:, None]), M) or np.linalg.cond(A) > 1 / EPS:
        return None
    R = np.linalg.inv(A)
    alpha: Floats = R @ c
    rounding = (n + 4) * EPS
    apart = np.abs(np.eye(n) - R @ A) + rounding * (np.abs(R) @ np.abs(A) + np.eye(n))
    left = np.abs(c - A @ alpha) + rounding * (np.abs(A) @ np.abs(alpha) + np.abs(c))
    if not apart.sum(axis=1).max() * (1 + rounding) <= 0.5:
        return None
    off = 2 * (np.abs(R) @ left).max() * (1 + rounding)
    return alpha if np.all(alpha > off) else None


def _whole_solution(M: Floats, e: Floats) -> Floats | None:
    """The solution of Mα = e, where there is exactly one, rounded: elimination in whole numbers (Bareiss 1968).

    Every equation is multiplied by what makes it whole; each division by the pivot before leaves no remainder.
    """
    rows = []
    for equation in np.column_stack([M, e]).tolist():
        fractions = [Fraction(v) for v in equation]
        below = lcm(*(f.denominator for f in fractions))
        rows.append([int(f * below) for f in fractions])
    unknowns, before = M.shape[1], 1
    for k in range(unknowns):
        found = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if found is None:
            return None
        rows[k], rows[found] = rows[found], rows[k]
        top, p = rows[k], rows[k][k]
        for i in range(k + 1, len(rows)):
            q = rows[i][k]
            rows[i] = [(p * a - q * b) // before for a, b in zip(rows[i], top)]
        before = p
    if any(row[-1] for row in rows[unknowns:]):
        return None
    alpha = [Fraction(0)] * unknowns
    for k in reversed(range(unknowns)):
        known = sum((rows[k][j] * alpha[j] for j in range(k + 1, unknowns)), Fraction(0))
        alpha[k] = (rows[k][-1] - known) / rows[k][k]
    if min(alpha) < 0:
        return None
    return np.array([float(a) for a in alpha])


@check("separability_hulls")
def check_hulls(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """At most d + 2 rows have convex weights with which the two sides have a point in common."""
    named = _named(claim, rows)
    through_origin = claim.witness["space"] == "linear"
    a = len(named.s)
    if a > rows.n_columns + 2 - through_origin:
        return Verdict(claim.name, False, f"{a} rows are more than are needed", a, claim.kind)
    if not through_origin and set(named.s.tolist()) != {1, -1}:
        return Verdict(claim.name, False, "the rows are all of one side", a, claim.kind)
    alpha = _meeting_weights(named.X, named.s, through_origin)
    if claim.kind == "proof":
        holds = alpha is not None and bool(
            np.allclose(alpha / alpha.sum(), named.weights / named.weights.sum(), atol=1e-6)
        )
        reason = "the weights solve Σα₊x₊ = Σα₋x₋ exactly" if holds else "these rows and weights do not meet exactly"
        return Verdict(claim.name, holds, reason, a, claim.kind)
    used = np.abs(named.X).max(axis=0) > 0
    scaled = named.X[:, used] / np.abs(named.X[:, used]).max(axis=0)
    off = _distance(NamedRows(scaled, named.s, named.weights), "linear" if through_origin else "affine")
    return Verdict(claim.name, off <= NEAREST, f"the hulls are {off:.3g} apart in scaled columns", off, claim.kind)


@check("separability_bound")
def check_bound(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """R̃²/γ̃² with x̃ = (1, x) and the witness's hyperplane; of one through the origin (space "linear") R²/γ²."""
    w, b, length = _plane(claim)
    measured = _measure(rows, claim.witness["positive"], w, b)
    linear = claim.witness["space"] == "linear"
    radius = measured.radius if linear else np.hypot(1.0, measured.radius)
    bound = float(np.square(radius / measured.least * length))
    stated = float(claim.value or 0.0)
    holds = (
        measured.positive
        and measured.both
        and (b == 0.0 if linear else claim.witness["space"] == "augmented")
        and measured.slack() <= ROUGHEST
        and abs(bound - stated) <= 2.0 * measured.slack() * stated
    )
    formula = "max‖x‖²/γ²" if linear else "(1 + max‖x‖²)/γ̃²"
    return Verdict(claim.name, bool(holds), f"{formula} = {bound:.8g}, stated {stated:.8g}", bound, claim.kind)


@check("separability_weak")
def check_weak(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """No row lies on the wrong side but for rounding, and some lie clearly on the right one."""
    w, b, length = _plane(claim)
    measured = _measure(rows, claim.witness["positive"], w, b)
    holds = measured.both and length > 0 and measured.least >= -CLOSE * measured.most and 0 < measured.most < np.inf
    reason = f"s(w·x + b) is {measured.least:.3g} at least; the largest is {measured.most:.3g}"
    return Verdict(claim.name, bool(holds), reason, measured.least, claim.kind)
