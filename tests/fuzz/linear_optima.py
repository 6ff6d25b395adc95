"""Linear models by a loss and a penalty against minima found another way: L-BFGS on rescaled columns, a linear program, or pairs.

A point with a lower objective than the claim allows for refutes it, however it was found; objectives are summed in 80 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from fuzz.case import Case
from fuzz.kernel_optima import multipliers
from scipy.optimize import linprog, minimize

Problem = tuple[str, str]
LONG = np.longdouble
SAME = 1e-7
TINY = LONG(1e-300)  # below which objectives are zero to a checker
STRAIGHT = ("hinge", "perceptron", "pinball", "epsilon insensitive")
METS = 512  # roundings of a target, at most
#: losses as stochastic gradient descent calls them
CALLED = {
    "log_loss": "log",
    "squared_hinge": "squared hinge",
    "modified_huber": "modified huber",
    "squared_error": "squared",
    "epsilon_insensitive": "epsilon insensitive",
    "squared_epsilon_insensitive": "squared epsilon insensitive",
}


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
        "perceptron": lambda: (np.maximum(0, -t * z), -t * (t * z < 0)),
        "modified huber": lambda: (
            np.where(t * z < -1, -4 * t * z, short**2),
            np.where(t * z < -1, -4 * t, -2 * t * short),
        ),
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
        own, room = problem.value(coef, b), hidden(problem, coef, b)
        if not abs(own - stated[number]) <= LONG(SAME) * abs(own) + TINY + room:
            yield (
                "duality_gap: the stated objective is not that of the weights",
                f"{stated[number]:.9g} and {float(own):.9g}",
            )
        better = least(problem)
        if better < own * (1 - 1.01 * tol - LONG(1e-9)) - TINY - room:
            yield (
                "duality_gap: there are better weights",
                f"{float(own):.9g}, another point has {float(better):.9g}, tol {tol:g}",
            )


def rounding(problem: Posed, w: np.ndarray, b: np.ndarray) -> LONG:
    """What the rounding of scores hides of any loss of one number."""
    of_scores = np.abs(problem.X).astype(LONG) @ np.abs(w[0]) + abs(b[0])
    off = (np.abs(problem.t) + of_scores) * (w.shape[1] + 5) * LONG(2.0**-53)
    z = problem.X.astype(LONG) @ w[0] + b[0]
    u = np.abs(losses(problem.loss, z[:, None], problem.t, problem.delta)[1][:, 0])
    return (problem.c * ((1 + u) * off + 2 * off**2)).sum()


def hidden(problem: Posed, w: np.ndarray, b: np.ndarray) -> LONG:
    """What the rounding of errors hides of straight losses of numbers, but no more than some roundings of the target, as their statements say."""
    if problem.loss not in STRAIGHT[2:]:
        return LONG(0)
    size, terms = np.abs(problem.t), (w.shape[1] + 4) * LONG(2.0**-53)
    off = size + np.abs(problem.X).astype(LONG) @ np.abs(w[0]) + abs(b[0])
    about = size + abs(problem.c @ problem.t) / problem.c.sum()
    return (problem.c * np.minimum(off, METS * about)).sum() * terms


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


def stochastic_risk(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The stated sums of losses and penalty are those of the weights, and no point is lower than what the stated share leaves."""
    claim = claims["stochastic_risk"]
    w = claim.witness
    weights = np.ones(len(case.table.y)) if case.table.w is None else case.table.w
    n = float((weights * (1.0 if w["classes"] is None else _factors(case, model, claim))).sum())
    l1, l2 = (n * float(v) for v in w["strengths"])
    same = {**w, "loss": CALLED.get(w["loss"], w["loss"]), "delta": w["epsilon"], "per_weight": False}
    whole = replace(claim, witness={**same, "strengths": [l1, l2, 0.0]})
    worst = LONG(0)
    for number, (problem, coef, b) in enumerate(posed(case, model, whole)):
        own, stated = problem.value(coef, b), float(w["objective"][number])
        if not abs(own - stated) <= LONG(SAME) * abs(own) + TINY + rounding(problem, coef, b):
            yield "stochastic_risk: the stated sum is not that of the weights", f"{stated:.9g} and {float(own):.9g}"
        if own > (room := rounding(problem, coef, b)):
            worst = max(worst, 1 - (least(problem) + room) / own)
    if not worst <= LONG(float(claim.value)) * (1 + LONG(1e-9)) + LONG(1e-9):
        yield (
            "stochastic_risk: the weights are farther above the least",
            f"a share of {float(claim.value):.9g} is stated, a point shows {float(worst):.9g}",
        )
    if not claim.value <= 1:
        yield "stochastic_risk: more than all that there is", f"{claim.value:.9g}"


def _factors(case: Case, model: Any, claim: Any) -> np.ndarray:
    return np.asarray(claim.witness["class_factor"])[np.searchsorted(model.classes_, case.table.y)]


def least(problem: Posed) -> LONG:
    """The lowest value that the solvers for the problem's kind come to."""
    with np.errstate(all="ignore"):
        found = [_program(problem)] if problem.loss in STRAIGHT and problem.l2 == problem.bias == 0 else []
        pairs = problem.loss in ("hinge", "epsilon insensitive") and problem.l2 > 0 == problem.l1
        found += [_by_pairs(problem)] if pairs else []
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
    """Of a hinge or a tube and ½ l2|w|²: the multipliers of an SVM with the bound c / l2, and the weights that they are.

    They balance where the intercept is free; else two rows without a bound, at zero, balance them.
    """
    free, l2 = problem.fitted and problem.bias == 0, LONG(problem.l2)
    A, t = problem.X.astype(LONG), problem.t.astype(LONG)
    A = A - A.mean(axis=0) if free else A
    sides, p = (t, -np.ones(len(A), LONG))
    if problem.loss != "hinge":
        A, sides = np.tile(A, (2, 1)), np.repeat([LONG(1), LONG(-1)], len(t))
        p = np.concatenate([problem.delta - t, problem.delta + t])
    U, K = np.tile(problem.c / l2, len(A) // len(t)), A @ A.T
    K = K + l2 / LONG(problem.bias) if problem.bias else K
    if not free:
        K, p = np.pad(K, (0, 2)), np.pad(p, (0, 2))
        sides, U = np.append(sides, [LONG(1), LONG(-1)]), np.append(U, [LONG(np.inf)] * 2)
    beta = (sides * multipliers(K, sides, U, p))[: len(A)]
    w, b = A.T @ beta, beta.sum() * l2 / LONG(problem.bias) if problem.bias else LONG(0)
    if not free:
        return problem.value(w, b)
    at = problem.X.astype(LONG).mean(axis=0)
    z = A[: len(t)] @ w
    turns = np.concatenate([t - z - problem.delta, t - z + problem.delta] if problem.loss != "hinge" else [t - z])
    sums = [(problem.c * losses(problem.loss, (z + b)[:, None], t, problem.delta)[0]).sum() for b in turns]
    return problem.value(w, turns[int(np.argmin(sums))] - at @ w)


def _program(problem: Posed) -> LONG:
    """Of a loss of straight lines and l1|w|₁, or no penalty: a linear program in w⁺, w⁻, b and the losses on both sides."""
    A, mean, length = _scaled(problem)
    n, d = A.shape
    c = (problem.c / problem.c.sum()).astype(float)
    price = (problem.l1 / (length * problem.c.sum())).astype(float)
    t = problem.t.astype(float)
    one, name, width = np.ones((n, 1)) * problem.fitted, problem.loss, problem.delta
    if name in ("hinge", "perceptron"):
        costs, left = c, np.hstack([-t[:, None] * A, t[:, None] * A, -t[:, None] * one, -np.eye(n)])
        right = -np.full(n, float(name == "hinge"))
    else:
        above, below = (1 - width, width) if name == "pinball" else (1.0, 1.0)
        room = 0.0 if name == "pinball" else width
        both = np.hstack([A, -A, one])
        left = np.block([[both, -np.eye(n), np.zeros((n, n))], [-both, np.zeros((n, n)), -np.eye(n)]])
        costs, right = np.concatenate([above * c, below * c]), np.concatenate([t + room, room - t])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * len(costs)
    found = linprog(np.concatenate([price, price, [0.0], costs]), left, right, bounds=bounds, method="highs")
    if found.x is None:
        return LONG(np.inf)
    w = (found.x[:d] - found.x[d : 2 * d]).astype(LONG) / length
    return problem.value(w, (found.x[2 * d] - w @ mean) if problem.fitted else np.zeros(1))


Oracle = Callable[[Case, Any, dict[str, Any]], Iterator[Problem]]
