"""Least squares and ridge against the exact solution of their normal equations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.exact import about_mean, dot, exact, solve, square_root

Problem = tuple[str, str]
MOST_ROWS = 60
TINY = Fraction(2) ** -1000
SAME = 1e-6  # relative: what stated numbers may be off by


def least_squares(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The slope at the coefficients, exactly, against the bound; rank and variance against the exact ones; each target by itself."""
    if case.table.y.ndim == 1:
        yield from _one_target(
            case, model, claims, case.table.y, model.coef_, model.intercept_, getattr(model, "alpha", 0.0)
        )
        return
    alphas = np.broadcast_to(np.asarray(getattr(model, "alpha", 0.0), dtype=float), case.table.y.shape[1])
    for t, y in enumerate(case.table.y.T):
        mine = {claim.check: claim for claim in model.certificate_ if int(claim.witness["target"][0]) == t}
        intercept = np.broadcast_to(model.intercept_, len(alphas))[t]
        yield from _one_target(case, model, mine, y, model.coef_[t], intercept, alphas[t])


def _one_target(
    case: Case, model: Any, claims: dict[str, Any], target_: Any, coef: Any, intercept: Any, penalty: Any
) -> Iterator[Problem]:
    stated = claims["normal_equations"]
    w = np.ones(len(case.table.y)) if case.table.w is None else case.table.w
    live = w > 0
    c, y = exact(w[live]), exact(target_[live].astype(float))
    columns = exact(case.table.dense[live].T)
    fitted, positive = bool(model.fit_intercept), bool(getattr(model, "positive", False))
    alpha = Fraction(float(penalty))
    beta, b = exact(coef), Fraction(float(intercept))
    residual = [t - b - dot(beta, x) for t, x in zip(y, zip(*columns))]
    centred, _ = about_mean(columns, c) if fitted else (columns, [])
    (target,), _ = about_mean([y], c) if fitted else ([y], [])
    if positive and any(value < 0 for value in beta):
        yield "normal_equations: a weight is negative", str(coef)
    if stated.holds and any(target):  # of a target that does not vary, rounding is all there is
        yield from _slope(stated, centred, target, residual, c, beta, alpha, positive)
        rank = claims.get("least_squares_rank")  # short of the full rank, a minimum is one up to the stated cut
        if rank is not None and rank.kind == "proof":
            yield from _excess(stated, centred, target, residual, c, beta, alpha, positive)
    yield from _rank(claims, centred, c, alpha)
    size = max(abs(t) + sum((abs(u * v) for u, v in zip(beta, x)), abs(b)) for t, x in zip(y, zip(*columns)))
    yield from _variance(claims, residual, c, size)


def _length(column: Any, c: Any) -> Fraction:
    return dot(c, [value * value for value in column])


def _slope(
    stated: Any, columns: Any, target: Any, residual: Any, c: Any, beta: Any, alpha: Fraction, positive: bool
) -> Iterator[Problem]:
    """|x_j·r − alpha·w_j| ≤ bound · sqrt(|x_j|² + alpha) |y| for every column; a weight of zero that must not be negative may have any slope down."""
    weighted = [w * r for w, r in zip(c, residual)]
    bound, size = Fraction(stated.bound) * Fraction(1001, 1000), _length(target, c)
    for j, column in enumerate(columns):
        off = dot(weighted, column) - alpha * beta[j]
        off = max(off, Fraction(0)) if positive and not beta[j] else off
        if off * off > bound * bound * (_length(column, c) + alpha) * size:
            most = square_root((_length(column, c) + alpha) * size)
            share = abs(off) / Fraction(most) if 0 < most < math.inf else math.inf
            yield (
                "normal_equations claims a slope that is larger",
                f"column {j}: {float(share):.3g} > {stated.bound:.3g}",
            )


def _excess(
    stated: Any, columns: Any, target: Any, residual: Any, c: Any, beta: Any, alpha: Fraction, positive: bool
) -> Iterator[Problem]:
    """How much larger the sum of squares is than the least one, as a share of |y|²: that of a slope of the bound, conditioned as stated."""
    A = [
        [dot([w * p for w, p in zip(c, a)], b) + (alpha if i == j else 0) for j, b in enumerate(columns)]
        for i, a in enumerate(columns)
    ]
    g = [dot([w * t for w, t in zip(c, target)], a) for a in columns]
    total = _length(target, c)
    least = total - (_most_of_parts(A, g) if positive else dot(g, solve(A, g)[0]))
    reached = _length(residual, c) + alpha * dot(beta, beta)
    if total and reached - least > Fraction(1, 1000) * total and stated.bound < 1e-6:
        share = float((reached - least) / total)
        yield "normal_equations claims a minimum far from the least squares", f"{share:.3g} of |y|^2 above the least"


def _most_of_parts(A: Any, g: Any) -> Fraction:
    """The most that weights ≥ 0 take off the squares: of all sets of columns, that of a solution without a negative weight."""
    most = Fraction(0)
    for bits in range(1, 2 ** len(g)):
        some = [j for j in range(len(g)) if bits >> j & 1]
        u, _ = solve([[A[i][j] for j in some] for i in some], [g[j] for j in some])
        if all(value >= 0 for value in u):
            most = max(most, dot([g[j] for j in some], u))
    return most


def _rank(claims: dict[str, Any], columns: Any, c: Any, alpha: Fraction) -> Iterator[Problem]:
    rank = claims.get("least_squares_rank")
    if rank is None or alpha:
        return
    A = [[dot([w * p for w, p in zip(c, a)], b) for b in columns] for a in columns]
    _, found = solve(A, [Fraction(0)] * len(columns))
    if rank.holds and int(rank.witness["rank"]) > found:
        yield "least_squares_rank claims more than the exact rank", f"{rank.statement}; it is {found}"


def _variance(claims: dict[str, Any], residual: Any, c: Any, size: Fraction) -> Iterator[Problem]:
    """The mean square, but for the rounding of residuals whose terms have this size at most."""
    claim = claims.get("residual_variance")
    if claim is None or claim.value is None or not claim.holds:
        return
    found = _length(residual, c) / sum(c, Fraction(0))
    left = 0.0 if claim.bound is None else math.sqrt(claim.bound) - math.sqrt(claim.value)  # what the claim leaves open
    root = math.sqrt(claim.value) if math.isfinite(claim.value) else math.inf
    between = max(root - left, 0.0) ** 2 * (1 - SAME) <= found <= (root + left) ** 2 * (1 + SAME)
    if not math.isfinite(claim.value):
        yield "residual_variance is not finite", str(claim.value)
    elif (
        not between
        and abs(Fraction(claim.value) - found) > Fraction(SAME) * found + (size * Fraction(2) ** -40) ** 2 + TINY
    ):
        yield "residual_variance is not the mean square", f"{claim.value:.6g} and {float(found):.6g}"
