"""Errors on rows left out of ridge regressions, by fitting each of them again without rounding; and the dummies' constants."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.closed_forms import class_factor, live_rows
from fuzz.exact import about_mean, dot, exact, solve

Problem = tuple[str, str]
SAME = Fraction(1, 10_000)
FEW = 12  # rows of which every one is left out


def ridge_left_out(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The stated mean square errors are those of fits without the row."""
    claim = claims["ridge_leave_one_out"]
    X, y, w = live_rows(case, class_factor(case, model), getattr(model, "classes_", None))
    if not claim.holds or len(y) > FEW:
        return
    K = len(getattr(model, "classes_", [0]))
    sides = [y] if K == 1 else [np.where(y == model.classes_[k], 1.0, -1.0) for k in (range(K) if K > 2 else [1])]
    for alpha, stated in zip(claim.witness["alphas"], claim.witness["errors"]):
        errors = [
            _error(X, t.astype(float), w, Fraction(float(alpha)), i, model.fit_intercept)
            for t in sides
            for i in range(len(y))
        ]
        found = sum(errors, Fraction(0)) / len(errors)
        if abs(Fraction(float(stated)) - found) > SAME * found + Fraction(2) ** -1000:
            yield (
                "ridge_leave_one_out: another error of fits without the row",
                f"alpha {float(alpha):g}: {float(stated)!r} is {float(found)!r}",
            )


def _error(X: Any, t: Any, w: Any, alpha: Fraction, i: int, fitted: bool) -> Fraction:
    """w (t_i − the answer of a fit without row i)², exactly."""
    rest = np.arange(len(t)) != i
    columns, c, target = exact(X[rest].T), exact(w[rest]), exact(t[rest])
    x, means, level = exact(X[i]), [Fraction(0)] * len(columns), Fraction(0)
    if fitted:
        columns, means = about_mean(columns, c)
        (target,), (level,) = about_mean([target], c)
    weighted = [[q * v for q, v in zip(c, column)] for column in columns]
    A = [[dot(a, b) + (alpha if i == j else 0) for j, b in enumerate(columns)] for i, a in enumerate(weighted)]
    beta, _ = solve(A, [dot(a, target) for a in weighted])
    off = Fraction(float(t[i])) - level - dot(beta, [u - m for u, m in zip(x, means)])
    return Fraction(float(w[i])) * off * off


def constant(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The answer is the mean, or has the stated share of the weight below it and at or below it."""
    claim = claims["constant_answer"]
    if not claim.holds or claim.witness["strategy"] == "constant":
        return
    _, y, w = live_rows(case)
    answer, q = float(model.predict(case.table.rows)[0]), claim.witness["share"]
    c, values = exact(w), exact(y.astype(float))
    n = sum(c, Fraction(0))
    if q is None:
        off = abs(dot(c, values) / n - Fraction(answer))
        if off > Fraction(1, 10**9) * max(map(abs, values)):
            yield "constant_answer: not the mean", f"{answer!r}, off by {float(off):g}"
        return
    room = Fraction(1, 10**9)
    below, at = (sum((u for u, v in zip(c, values) if inside(v)), Fraction(0)) / n for inside in (lambda v: v < answer, lambda v: v <= answer))  # fmt: skip
    if not below - room <= Fraction(float(q)) <= at + room:
        yield "constant_answer: not the quantile", f"{answer!r}: {float(below):g} below, {float(at):g} at or below"
