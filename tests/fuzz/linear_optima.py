"""Linear models by a loss and a penalty against minima found another way: L-BFGS on rescaled columns, or a linear program.

A point with a lower objective than the claim allows for refutes it, however it was found; objectives are summed in 80 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from fuzz.case import Case
from fuzz.kernel_optima import bracket
from scipy.optimize import linprog, minimize

Problem = tuple[str, str]
LONG = np.longdouble
SAME = 1e-7
STRAIGHT = ("epsilon insensitive", "pinball")
TINY = LONG(1e-300)  # below which objectives are zero to a checker


class Posed(NamedTuple):
    """Σ c ℓ(Xw + b) + l1|w|₁ + ½ l2|w|² + ½ bias b² of one problem; t: sides, numbers, or codes of K classes (softmax)."""

    X: np.ndarray
    t: np.ndarray
    c: np.ndarray
    loss: str
    delta: float
    l1: float
    l2: float
    bias: float
    fitted: bool
    K: int = 1

    def value(self, w: np.ndarray, b: np.ndarray) -> LONG:
        """The objective of weights (K, d) and intercepts (K,), in 80 bits."""
        w, b = np.atleast_2d(w).astype(LONG), np.atleast_1d(b).astype(LONG)
        p = self.X[0]  # scores are counted from a row: far from zero 80 bits are not enough
        z = (self.X.astype(LONG) - p) @ w.T + np.array([_at(p, *each) for each in zip(w, b)])
        penalty = self.l1 * np.abs(w).sum() + self.l2 / LONG(2) * (w**2).sum() + self.bias / LONG(2) * (b**2).sum()
        return (self.c * losses(self.loss, z, self.t, self.delta)[0]).sum() + penalty


def _at(x: np.ndarray, w: np.ndarray, b: LONG) -> LONG:
    """x·w + b, rounded once."""
    exact = sum((Fraction(float(u)) * _whole(v) for u, v in zip(x, w)), _whole(b))
    high = float(exact)
    return LONG(high) + LONG(float(exact - Fraction(high)))


def _whole(number: LONG) -> Fraction:
    """A number of 80 bits as a fraction."""
    high = float(number)
    return Fraction(high) + Fraction(float(number - LONG(high)))


def losses(name: str, z: np.ndarray, t: np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Losses (n,) and their slopes (n, K) at scores z (n, K)."""
    if name == "softmax":
        top = z - z.max(axis=1, keepdims=True)
        total = np.log(np.exp(top).sum(axis=1))
        slope = np.exp(top - total[:, None])
        slope[np.arange(len(t)), t.astype(int)] -= 1
        return total - top[np.arange(len(t)), t.astype(int)], slope
    z = z[:, 0]
    short, off = np.maximum(0, 1 - t * z), z - t
    far, tube = np.abs(off) > delta, np.maximum(0, np.abs(off) - delta)
    value, slope = {
        "log": lambda: (np.logaddexp(0, -t * z), -t * np.exp(-np.logaddexp(0, t * z))),
        "hinge": lambda: (short, -t * (short > 0)),
        "squared hinge": lambda: (short**2, -2 * t * short),
        "squared": lambda: (off**2 / 2, off),
        "epsilon insensitive": lambda: (tube, np.sign(off) * far),
        "squared epsilon insensitive": lambda: (tube**2, 2 * np.sign(off) * tube),
        "pinball": lambda: (np.where(off > 0, (1 - delta) * off, -delta * off), np.where(off > 0, 1 - delta, -delta)),
        "huber": lambda: (np.where(far, delta * (np.abs(off) - delta / 2), off**2 / 2), np.clip(off, -delta, delta)),
    }[name]()
    return value, slope[:, None]


def posed(case: Case, model: Any, claim: Any) -> Iterator[tuple[Posed, np.ndarray, np.ndarray]]:
    """The problems of a claim with the weights that the model has for each."""
    witness, table = claim.witness, case.table
    weights = np.ones(len(table.y)) if table.w is None else table.w
    live = weights > 0
    X, y, c = table.dense[live], table.y[live], weights[live].astype(LONG)
    l1, l2, bias = (float(v) for v in witness["strengths"])
    if witness["classes"] is not None:
        y = np.searchsorted(model.classes_, y)
        c = c * np.asarray(witness["class_factor"])[y]
    if witness["per_weight"]:
        l1, l2 = (float(v * c.sum()) for v in (l1, l2))
    coef, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    rest = (c, witness["loss"], float(witness["delta"]), l1, l2, bias, bool(witness["fit_intercept"]))
    if witness["loss"] == "softmax":
        yield Posed(X, y, *rest, K=len(model.classes_)), coef, b
    elif witness["classes"] is None:
        yield Posed(X, y.astype(float), *rest), coef, b
    else:
        for k in range(len(coef)):
            yield Posed(X, np.where(y == (1 if len(coef) == 1 else k), 1.0, -1.0), *rest), coef[k : k + 1], b[k : k + 1]


def duality_gap(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """No point may be lower than what the gap leaves, and the stated objective must be that of the model's weights."""
    claim = claims["duality_gap"]
    if not claim.holds:
        return
    stated, tol = np.asarray(claim.witness["objective"], dtype=float), float(claim.bound)
    for number, (problem, coef, b) in enumerate(posed(case, model, claim)):
        own = problem.value(coef, b)
        if problem.loss in STRAIGHT and own <= (problem.c * abs(problem.t) * LONG(2.0**-40)).sum():
            continue  # of targets that are met to rounding nothing else is claimed
        if not abs(own - stated[number]) <= LONG(SAME) * abs(own) + TINY:
            yield (
                "duality_gap: the stated objective is not that of the weights",
                f"{stated[number]:.9g} and {float(own):.9g}",
            )
        better = least(problem)
        if better < own * (1 - 1.01 * tol - LONG(1e-9)) - TINY:
            yield (
                "duality_gap: there are better weights",
                f"{float(own):.9g}, another point has {float(better):.9g}, tol {tol:g}",
            )


def boxed_gap(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The stated objective must be that of the model's weights; what else a box of weights holds is not searched."""
    claim = claims["boxed_duality_gap"]
    stated = np.asarray(claim.witness["objective"], dtype=float)
    for number, (problem, coef, b) in enumerate(posed(case, model, claim)):
        own, met = problem.value(coef, b), LONG(0)
        if problem.loss in ("squared", "huber"):  # what rounding leaves of targets that are met
            met = (problem.c * (problem.t * LONG(2.0**-40)) ** 2).sum()
        if claim.holds and not abs(own - stated[number]) <= LONG(SAME) * abs(own) + TINY + met:
            yield (
                "boxed_duality_gap: the stated objective is not that of the weights",
                f"{stated[number]:.9g} and {float(own):.9g}",
            )


def least(problem: Posed) -> LONG:
    """The lowest value that the solver for the problem's kind comes to."""
    with np.errstate(all="ignore"):
        found = [_program(problem)] if problem.loss == "hinge" and problem.l2 == 0 else []
        found += (
            [_by_pairs(problem)]
            if problem.loss == "hinge" and problem.l2 > 0 == problem.l1 and problem.bias == 0 and problem.fitted
            else []
        )
        found += [_by_gradients(problem)]
    return min((value for value in found if np.isfinite(value)), default=LONG(np.inf))


def _scaled(problem: Posed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns about their means (where the intercept is free) of a length near one, the means, and the lengths."""
    X, free = problem.X.astype(LONG), problem.fitted and problem.bias == 0
    mean = (problem.c @ X) / problem.c.sum() if free else np.zeros(X.shape[1], LONG)
    A = X - mean
    length = np.sqrt((problem.c[:, None] * A**2).sum(axis=0) / problem.c.sum() + problem.l2 / problem.c.sum())
    length = np.where(length > 0, length, 1)
    return (A / length).astype(float), mean, length


def _by_gradients(problem: Posed) -> LONG:
    """L-BFGS in weights of the rescaled columns; |w|₁ as the sum of two parts that are not negative."""
    A, mean, length = _scaled(problem)
    K, d, total = problem.K, A.shape[1], float(problem.c.sum())
    c, parts = (problem.c / problem.c.sum()).astype(float), 2 if problem.l1 else 1
    l1 = (problem.l1 / (length * problem.c.sum())).astype(float)
    l2 = (problem.l2 / (length**2 * problem.c.sum())).astype(float)

    def unpacked(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        W = u[: parts * K * d].reshape(parts, K, d)
        return (W[0] - W[1] if parts == 2 else W[0]), u[parts * K * d :] * problem.fitted

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        v, b = unpacked(u)
        value, slope = losses(problem.loss, A @ v.T + b, problem.t, problem.delta)
        g = (c[:, None] * slope).T @ A + l2 * v
        gb = ((c[:, None] * slope).sum(axis=0) + problem.bias / total * b) * problem.fitted
        both = [g + l1, -g + l1] if parts == 2 else [g]
        cost = l1 @ np.abs(v).sum(axis=0) + (l2 / 2 * v**2).sum() + problem.bias / total / 2 * (b**2).sum()
        return float(c @ value + cost), np.concatenate([*(part.ravel() for part in both), gb])

    size = parts * K * d
    bounds = [(0, None) if parts == 2 else (None, None)] * size + [(None, None)] * K
    options = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 20}
    found = minimize(objective, np.zeros(size + K), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    v, b = unpacked(found.x)
    w = v.astype(LONG) / length
    return problem.value(w, b - w @ mean)


def _by_pairs(problem: Posed) -> LONG:
    """Of a hinge and ½ l2|w|²: l2 times the SVM's objective with the bound c / l2."""
    A = problem.X.astype(LONG)
    A = A - A.mean(axis=0)
    found = bracket(A @ A.T, problem.t.astype(LONG), problem.c / LONG(problem.l2), -np.ones(len(A), LONG))
    return found.high * LONG(problem.l2)


def _program(problem: Posed) -> LONG:
    """Of a hinge and l1|w|₁, or no penalty: a linear program in w⁺, w⁻, b and the losses."""
    A, mean, length = _scaled(problem)
    n, d = A.shape
    c = (problem.c / problem.c.sum()).astype(float)
    price = (problem.l1 / (length * problem.c.sum())).astype(float)
    ts = problem.t[:, None]
    left = np.hstack([-ts * A, ts * A, -ts * float(problem.fitted), -np.eye(n)])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    found = linprog(np.concatenate([price, price, [0.0], c]), left, -np.ones(n), bounds=bounds, method="highs")
    if found.x is None:
        return LONG(np.inf)
    w = (found.x[:d] - found.x[d : 2 * d]).astype(LONG) / length
    return problem.value(w, (found.x[2 * d] - w @ mean) if problem.fitted else np.zeros(1))


Oracle = Callable[[Case, Any, dict[str, Any]], Iterator[Problem]]
