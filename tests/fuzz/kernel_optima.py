"""SVMs against a small solver of their dual, in numbers of 80 bits.

Whatever point it stops at, its primal value is one that the least cannot exceed and its dual value one that the least cannot be
below: a stated dual value above the one, or a stated objective below the other, is false, and so is a gap of a fit that lies above both.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from fuzz.case import Case
from fuzz.exact import dot, exact

Problem = tuple[str, str]
LONG = np.longdouble
STEPS = 1500
FEW = 25  # rows whose polynomials are found without rounding
SAME = 1e-5  # relative: what stated values may be off by, besides a tenth of the tolerance


class Bracket(NamedTuple):
    """The least objective lies between; `alpha` and b reach the upper end."""

    low: LONG
    high: LONG


def kernel_matrix(name: str, X: np.ndarray, gamma: float, degree: float, coef0: float) -> np.ndarray:
    """K(x_i, x_j) by the formula, in numbers of 80 bits, up to u_i + u_j for some u.

    Multipliers balance, so that such a part adds nothing to βᵀKβ and the same number to all values, which the intercept takes up.
    """
    if name == "precomputed":
        return X.astype(LONG)
    Z = X.astype(LONG)
    if name in ("rbf", "laplacian"):
        apart = np.abs(Z[:, None, :] - Z[None, :, :])
        return np.exp(-LONG(gamma) * (apart if name == "laplacian" else apart**2).sum(axis=2))
    if name == "poly":
        return _powers(X, gamma, int(degree), coef0)
    Z = Z - Z[0]
    return Z @ Z.T


def _powers(X: np.ndarray, gamma: float, degree: int, coef0: float) -> np.ndarray:
    """(gamma x·z + coef0)^degree less its means over rows and columns, without rounding until the end."""
    rows, g, c = exact(X), Fraction(gamma), Fraction(coef0)
    K = [[(g * dot(a, b) + c) ** degree for b in rows] for a in rows]
    means = [sum(row, Fraction(0)) / len(K) for row in K]
    whole = sum(means, Fraction(0)) / len(K)
    return np.array([[_long(K[i][j] - means[i] - means[j] + whole) for j in range(len(K))] for i in range(len(K))])


def _long(value: Fraction) -> LONG:
    """A fraction in 80 bits."""
    shift = value.numerator.bit_length() - value.denominator.bit_length() - 64
    whole = int(value / Fraction(2) ** shift)
    return np.ldexp(LONG(whole >> 32) * LONG(2**32) + LONG(whole & 0xFFFFFFFF), shift)


def bracket(K: np.ndarray, t: np.ndarray, U: np.ndarray, p: np.ndarray) -> Bracket:
    """Both values at the point that `multipliers` comes to."""
    return Bracket(*_values(K, t, U, p, multipliers(K, t, U, p)))


def multipliers(K: np.ndarray, t: np.ndarray, U: np.ndarray, p: np.ndarray) -> np.ndarray:
    """min ½ βᵀKβ + pᵀα, β = tα, Σ tα = 0, 0 ≤ α ≤ U, by the pair that promises most, some steps."""
    alpha, f = np.zeros(len(t), LONG), np.zeros(len(t), LONG)
    diagonal = np.diag(K)
    for _ in range(STEPS):
        v = -t * p - f
        rises = np.where(t > 0, alpha < U, alpha > 0)
        falls = np.where(t > 0, alpha > 0, alpha < U)
        if not rises.any() or not falls.any():
            break
        i = int(np.argmax(np.where(rises, v, -np.inf)))
        gain = np.where(falls, v[i] - v, -1)
        bend = np.maximum(diagonal[i] + diagonal - 2 * K[i], LONG(1e-18) * (diagonal[i] + diagonal) + LONG("1e-4000"))
        j = int(np.argmax(np.where(gain > 0, gain * gain / bend, -1)))
        if gain[j] <= LONG(1e-14) * (1 + abs(v[i])):
            break
        room_i = U[i] - alpha[i] if t[i] > 0 else alpha[i]
        room_j = alpha[j] if t[j] > 0 else U[j] - alpha[j]
        step = min(gain[j] / bend[j], room_i, room_j)
        alpha[i] += t[i] * step
        alpha[j] -= t[j] * step
        f += step * (K[i] - K[j])
    return np.clip(alpha, 0, U)


def _values(K: np.ndarray, t: np.ndarray, U: np.ndarray, p: np.ndarray, alpha: np.ndarray) -> tuple[LONG, LONG]:
    f = K @ (t * alpha)
    square = (t * alpha) @ f
    at = -p * t - f  # the intercepts at which a row's loss begins
    losses = [(U * np.maximum(0, -p - t * (f + b))).sum() for b in at]
    return -p @ alpha - square / 2, square / 2 + min(losses)


def hard_bracket(K: np.ndarray, t: np.ndarray) -> Bracket:
    """The same without bounds on α and with ½‖w‖² after w and b were scaled until every row has t (f + b) ≥ 1 (∞: no scale does)."""
    alpha = multipliers(K, t, np.full(len(t), LONG(np.inf)), -np.ones(len(t), LONG))
    f = K @ (t * alpha)
    square = (t * alpha) @ f
    least = (f[t > 0].min() - f[t < 0].max()) / 2
    return Bracket(alpha.sum() - square / 2, square / 2 / least**2 if least > 0 else LONG(np.inf))


def problems_of(model: Any, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and sides of each problem of a classifier, in the model's order."""
    K = len(model.classes_)
    if K == 2:
        return [(np.arange(len(y)), np.where(y == 1, 1.0, -1.0))]
    if model.multi_class == "ovr":
        return [(np.arange(len(y)), np.where(y == k, 1.0, -1.0)) for k in range(K)]
    pairs = [(i, j) for i in range(K) for j in range(i + 1, K)]
    return [
        (rows, np.where(y[rows] == i, 1.0, -1.0)) for i, j in pairs for rows in [np.flatnonzero((y == i) | (y == j))]
    ]


def _is_asked(case: Case, model: Any) -> bool:
    """Whether the kernel is positive semidefinite, and its values are found soon."""
    kernel = model.kernel
    if kernel == "poly":
        whole = float(model.degree).is_integer() and model.degree <= 5
        return whole and model.coef0 >= 0 and len(case.table.y) <= FEW
    return kernel in ("linear", "affine", "rbf", "laplacian", "precomputed")


def svc(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Every problem's stated values against its bracket; of two classes also the objective that the answers have."""
    claim = claims["kernel_svm_gap"]
    if not claim.holds or not _is_asked(case, model):
        return
    hard = bool(np.isinf(model.upper_).any())
    w = np.ones(len(case.table.y)) if case.table.w is None else case.table.w
    live = np.flatnonzero(w > 0)
    codes = np.searchsorted(model.classes_, case.table.y)[live]
    K = _matrix(case, model, live)
    U = (np.asarray(model.upper_)[codes] * w[live]).astype(LONG)
    prices = getattr(model, "C_", None)  # of machines of nu: C is 1, and a price was found for each problem
    for number, (rows, t) in enumerate(problems_of(model, codes)):
        part, sides = K[np.ix_(rows, rows)], t.astype(LONG)
        most = U if prices is None else U * LONG(prices[number])
        found = hard_bracket(part, sides) if hard else bracket(part, sides, most[rows], -np.ones(len(rows), LONG))
        stated = float(model.dual_objective_[number]), float(model.objective_[number])
        yield from _compared("kernel_svm_gap", stated, found, float(model.tol))
        if len(model.classes_) == 2 and not hard:
            f = model.decision_function(case.table.rows)[live].astype(LONG)
            loss = (most * np.maximum(0, 1 - t * f)).sum()
            yield from _reached("kernel_svm_gap", loss, found, float(model.tol))


def svr(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The tube: two variables a row, β = α⁺ − α⁻."""
    claim = claims["kernel_svr_gap"]
    if not claim.holds or not _is_asked(case, model):
        return
    w = np.ones(len(case.table.y)) if case.table.w is None else case.table.w
    live = np.flatnonzero(w > 0)
    K, y = _matrix(case, model, live), case.table.y[live].astype(LONG)
    U = (float(np.asarray(model.upper_).flat[0]) * w[live]).astype(LONG)
    t = np.concatenate([np.ones(len(y)), -np.ones(len(y))]).astype(LONG)
    epsilon = LONG(getattr(model, "epsilon_", model.epsilon))  # of machines of nu: the tube that was found
    p = np.concatenate([epsilon - y, epsilon + y])
    found = bracket(np.tile(K, (2, 2)), t, np.tile(U, 2), p)
    stated = float(np.asarray(model.dual_objective_).flat[0]), float(np.asarray(model.objective_).flat[0])
    yield from _compared("kernel_svr_gap", stated, found, float(model.tol))
    off = np.abs(y - model.predict(case.table.rows)[live].astype(LONG))
    yield from _reached("kernel_svr_gap", (U * np.maximum(0, off - epsilon)).sum(), found, float(model.tol))


def _matrix(case: Case, model: Any, live: np.ndarray) -> np.ndarray:
    X = case.table.dense[live]
    X = X[:, live] if model.kernel == "precomputed" else X
    fitted = model._kernel()
    return kernel_matrix(model.kernel, X, fitted.gamma, fitted.degree, fitted.coef0)


def _compared(check: str, stated: tuple[float, float], found: Bracket, tol: float) -> Iterator[Problem]:
    dual, primal = stated
    if not np.isfinite(found.low):
        return
    slack = (SAME + min(tol, 0.1) / 10) * (abs(found.high) if np.isfinite(found.high) else abs(found.low))
    if dual > found.high + slack:
        yield (
            f"{check}: a dual value above the optimum",
            f"stated {dual:.9g}, a primal point has {float(found.high):.9g}",
        )
    if primal < found.low - slack:
        yield (
            f"{check}: an objective below the optimum",
            f"stated {primal:.9g}, a dual point has {float(found.low):.9g}",
        )
    if primal > found.high * (1 + 1.1 * tol) / max(1 - tol, 1e-9) + slack:
        yield (
            f"{check}: a proven objective above the optimum",
            f"stated {primal:.9g}, a point has {float(found.high):.9g}",
        )


def _reached(check: str, loss: LONG, found: Bracket, tol: float) -> Iterator[Problem]:
    """The loss of the answers alone cannot exceed an objective that is at most tol above the least."""
    if (
        np.isfinite([*found]).all()
        and loss > found.high * (1 + 1.2 * tol + SAME) / max(1 - tol, 1e-9) + LONG(1e-9) * found.high
    ):
        yield f"{check}: the answers lose more than the whole objective", f"{float(loss):.9g} > {float(found.high):.9g}"


def hard_margin(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """A linear model without a penalty: ½‖w‖² of each class against the rest, and every row outside of the margin."""
    claim = claims["hard_margin"]
    if not claim.holds or not model.fit_intercept:
        return
    w = np.ones(len(case.table.y)) if case.table.w is None else case.table.w
    X, y = case.table.dense[w > 0].astype(LONG), np.searchsorted(model.classes_, case.table.y[w > 0])
    K = kernel_matrix("linear", X, 1.0, 1.0, 0.0)
    coef, b = np.atleast_2d(model.coef_).astype(LONG), np.atleast_1d(model.intercept_).astype(LONG)
    for k in range(len(coef)):
        t = np.where(y == (1 if len(coef) == 1 else k), LONG(1), LONG(-1))
        reached = min((t * (X @ coef[k] + b[k])).min(), LONG(1))
        objective = coef[k] @ coef[k] / 2 / reached**2 if reached > 0 else LONG(np.inf)
        found = hard_bracket(K, t)
        if not objective <= found.high * (1 + 2 * float(claim.bound) + SAME):
            yield (
                "hard_margin: another hyperplane has a wider margin",
                f"{float(objective):.9g} > {float(found.high):.9g}",
            )
