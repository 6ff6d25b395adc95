"""Huber regression against minima in (w, b, σ) found by L-BFGS on rescaled columns, summed in 80 bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.closed_forms import live_rows
from scipy.optimize import minimize

Problem = tuple[str, str]
LONG = np.longdouble
SAME = 1e-7
FLOOR = 1.01e-7  # of the target's deviation, a row: what the statement leaves to the least scale
BOX = 1e3


def each(r: Any, scale: Any, epsilon: float) -> Any:
    """σ + σH(r/σ) of every row."""
    far = np.abs(r) > epsilon * scale
    return scale + np.where(far, 2 * epsilon * np.abs(r) - epsilon**2 * scale, r**2 / scale)


def huber(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The stated objective is that of weights and scale, and no others are lower by more than the claim allows for."""
    claim = claims["huber_gap"]
    X, y, c = (part.astype(LONG) for part in live_rows(case))
    epsilon, l2, n = float(claim.witness["delta"]), LONG(float(claim.witness["strengths"][1])), c.sum()
    fitted = bool(model.fit_intercept)
    centre, aim = (c @ X / n, c @ y / n) if fitted else (np.zeros(X.shape[1], LONG), LONG(0))
    A, t = X - centre, y - aim

    def value(w: Any, b: Any, scale: Any) -> LONG:
        return (c * each(t - A @ w - b, scale, epsilon)).sum() + l2 / 2 * (w**2).sum()

    coef = np.asarray(model.coef_, dtype=LONG)
    b = LONG(float(model.intercept_)) - aim + centre @ coef
    own, stated = value(coef, b, LONG(float(model.scale_))), float(np.sum(claim.witness["objective"]))
    spread = np.sqrt((c * (y - c @ y / n) ** 2).sum() / n)
    spread = spread if np.ptp(y) > 0 else LONG(1)  # of one number the least scale is counted in ones
    room = n * LONG(FLOOR) * spread
    if claim.holds and not abs(own - stated) <= LONG(SAME) * abs(own) + room:
        yield "huber_gap: the stated objective is not that of the weights", f"{stated:.9g} and {float(own):.9g}"
    length = np.sqrt((c[:, None] * A**2).sum(axis=0) / n)
    length = np.where(length > 0, length, 1)
    B, share, unit = (A / length).astype(float), (c / n).astype(float), (t / spread).astype(float)
    pull = (l2 * spread / n / length**2).astype(float)

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        r, s = unit - B @ u[:-2] - u[-2] * fitted, u[-1]
        slope, near = share * 2 * np.clip(r / s, -epsilon, epsilon), np.abs(r) <= epsilon * s
        of_scale = share @ np.where(near, 1 - (r / s) ** 2, 1 - epsilon**2)
        g = np.concatenate([pull * u[:-2] - B.T @ slope, [-slope.sum() * fitted, of_scale]])
        return float(share @ each(r, s, epsilon) + pull @ u[:-2] ** 2 / 2), g

    for start in (np.append(np.zeros(len(coef) + 1), 1.0), _units(coef, b, model.scale_, length, spread)):
        bounds = [(None, None)] * (len(start) - 1) + [(1e-9, None)]
        options = {"maxiter": 2000, "maxfun": 10000, "ftol": 1e-16, "gtol": 1e-13, "maxcor": 30}
        found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        w = found[:-2].astype(LONG) * spread / length
        there = value(w, LONG(found[-2] * fitted) * spread, LONG(found[-1]) * spread)
        inside = l2 > 0 or bool(np.all(np.abs(w - coef) <= BOX * spread / length))
        if claim.holds and inside and there < own * (1 - LONG(1.01) * float(claim.bound) - LONG(1e-9)) - room:
            yield (
                "huber_gap: there are better weights",
                f"{float(own):.9g}, another point has {float(there):.9g}, tol {claim.bound:g}",
            )
            return


def _units(coef: Any, b: Any, scale: float, length: Any, spread: Any) -> np.ndarray:
    return np.concatenate([coef * length / spread, [b / spread, max(LONG(scale) / spread, LONG(1e-9))]]).astype(float)
