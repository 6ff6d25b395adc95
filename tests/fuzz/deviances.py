"""Poisson, gamma and Tweedie regression against minima found by L-BFGS on rescaled columns, summed in 80 bits."""

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
TINY = LONG(1e-300)


def half_deviance(z: np.ndarray, y: np.ndarray, p: float) -> np.ndarray:
    """½ d_p(y, e^z) = ∫ (m − y) m^(−p) dm from y to e^z, of every row."""
    if p == 1:
        return np.exp(z) - y * z + np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0) - y
    if p == 2:
        ahead = z - np.log(y)
        return ahead + np.expm1(-ahead)
    own = np.where(y > 0, y, 1) ** (2 - p) * (y > 0)
    return np.exp((2 - p) * z) / (2 - p) + y * np.exp((1 - p) * z) / (p - 1) - own / ((2 - p) * (p - 1))


def sizes(z: np.ndarray, y: np.ndarray, p: float) -> np.ndarray:
    """How large the terms are of which half a deviance is the difference."""
    if p == 1:
        return np.exp(z) + abs(y * z) + abs(y * np.log(np.where(y > 0, y, 1))) + y
    if p == 2:
        return abs(z) + abs(np.log(y)) + 1
    own = np.where(y > 0, y, 1) ** (2 - p) * (y > 0)
    return np.exp((2 - p) * z) / (2 - p) + y * np.exp((1 - p) * z) / (p - 1) + own / ((2 - p) * (p - 1))


def deviance(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The stated objective is that of the weights, and of penalised weights no others are lower by more than the claim allows for."""
    claim = claims["deviance_gap"]
    if not claim.holds:
        return
    X, y, c = live_rows(case)
    p, l2 = float(claim.witness["power"]), LONG(float(claim.witness["strengths"][1]))
    y, c = y.astype(LONG), c.astype(LONG)
    l2 = l2 * c.sum() if claim.witness["per_weight"] else l2
    fitted, centre = bool(model.fit_intercept), X.mean(axis=0) if model.fit_intercept else np.zeros(X.shape[1])
    A = X.astype(LONG) - centre.astype(LONG)

    def value(w: np.ndarray, b: Any) -> LONG:
        z = A @ w + b
        return (c * half_deviance(z, y, p)).sum() + l2 / 2 * (w**2).sum()

    coef = np.asarray(model.coef_, dtype=LONG)
    b = LONG(float(model.intercept_)) + centre.astype(LONG) @ coef
    own, stated = value(coef, b), float(np.sum(claim.witness["objective"]))
    lost = LONG(2.0**-48) * (c * sizes(A @ coef + b, y, p)).sum()
    if not abs(own - stated) <= LONG(SAME) * abs(own) + lost + TINY:
        yield "deviance_gap: the stated objective is not that of the weights", f"{stated:.9g} and {float(own):.9g}"
    better = min(_least(A, y, c, p, l2, fitted, value), own) if l2 > 0 or not X.any() else own
    if better < own * (1 - LONG(1.01) * float(claim.bound) - LONG(1e-9)) - TINY:
        yield (
            "deviance_gap: there are better weights",
            f"{float(own):.9g}, another point has {float(better):.9g}, tol {claim.bound:g}",
        )


def _least(A: Any, y: Any, c: Any, p: float, l2: LONG, fitted: bool, value: Any) -> LONG:
    total = c.sum()
    length = np.sqrt((c[:, None] * A**2).sum(axis=0) / total)
    length = np.where(length > 0, length, 1)
    B, share, t = (A / length).astype(float), (c / total).astype(float), y.astype(float)
    pull = (l2 / total / length**2).astype(float)
    unit = float((share @ t) ** (2 - p)) or 1.0  # what the deviance is counted in

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        v, b = u[:-1], u[-1] * fitted
        z = np.clip(B @ v + b, -700, 700)
        slope = share * (np.exp((2 - p) * z) - t * np.exp((1 - p) * z))
        f = share @ half_deviance(z, t, p) + pull @ v**2 / 2
        return float(f) / unit, np.append(slope @ B + pull * v, slope.sum() * fitted) / unit

    start = np.append(np.zeros(B.shape[1]), np.log(max(float(share @ t), 1e-300)) * fitted)
    options = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 20}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    reached = value(found[:-1].astype(LONG) / length, LONG(found[-1]) * fitted)
    return reached if np.isfinite(reached) else LONG(np.inf)
