"""Kernel perceptrons visit by visit again, with values of the kernel by its formula in numbers of 80 bits.

A run is stated to be repeatable only where no outcome hung on rounding, so that more digits must lead to the same visits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.closed_forms import live_rows
from fuzz.perceptron_runs import other_factors, winner
from fuzz.splitmix import forgotten

Problem = tuple[str, str]
LONG = np.longdouble
SAME = LONG(1e-6)
TIED = LONG(1e-17)


def formula(name: str, numbers: tuple[float, float, float], X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """K(x, z) for all rows x and z; numbers: gamma, degree, coef0. Of "precomputed" X are the values themselves."""
    gamma, degree, coef0 = (LONG(number) for number in numbers)
    X, Z = X.astype(LONG), Z.astype(LONG)
    if name == "precomputed":
        return X
    if name in ("rbf", "laplacian"):
        apart = np.abs(X[:, None, :] - Z[None, :, :])
        return np.exp(-gamma * (apart if name == "laplacian" else apart**2).sum(axis=2))
    P = X @ Z.T
    if name in ("linear", "affine"):
        return P + LONG(name == "affine")
    return (gamma * P + coef0) ** degree if name == "poly" else np.tanh(gamma * P + coef0)


class Machine:
    """The rows that count, their codes and weights, all values of the kernel between them, and the numbers that rows have in the table."""

    def __init__(self, case: Case, model: Any) -> None:
        w = np.ones(len(case.table.y)) if case.table.w is None else case.table.w
        w = w * np.asarray(model.class_factor_)[np.searchsorted(model.classes_, case.table.y)]
        self.numbers = np.flatnonzero(w > 0)
        X, y, self.w = live_rows(case, model.class_factor_, model.classes_)
        X = X[:, self.numbers] if model.kernel == "precomputed" else X
        fitted = model._kernel()
        self.K = formula(model.kernel, (fitted.gamma, fitted.degree, fitted.coef0), X, X)
        self.codes = np.searchsorted(model.classes_, y)
        self.m = 1 if len(model.classes_) == 2 else len(model.classes_)

    def coefficients(self, model: Any, array: Any) -> np.ndarray:
        """Coefficients of the support rows as those of all rows that count: (m, n)."""
        wide = np.zeros((self.m, len(self.w)), LONG)
        wide[:, np.searchsorted(self.numbers, model.support_)] = array
        return wide

    def visited(self, model: Any, stated: int) -> tuple[np.ndarray, np.ndarray, int, int]:
        """Coefficients, the mean of those after all visits, visits and mistakes."""
        n = len(self.w)
        self.beta, self.total, self.S = (np.zeros(shape, LONG) for shape in ((self.m, n), (self.m, n), (n, self.m)))
        self.kept, self.visits, self.since, self.mistakes = [], 0, 0, 0
        if model.order == "first-mistake":
            while self.mistakes <= stated:
                wrong = next((i for i in range(n) if self._wins(i, True) is not None), n)
                self._pass(wrong)
                if wrong == n or self.mistakes == stated:
                    break
                self._correct(model, wrong, True)
        for epoch in range(1, int(model.n_iter_) + 1) if model.order != "first-mistake" else ():
            seeds = [int(model.random_state or 0), epoch, 0]
            for i in np.random.default_rng(seeds).permutation(n) if model.shuffle else range(n):
                self._pass(1) if self._wins(i, False) is None else self._correct(model, int(i), False)
        return self.beta, (self.total + self.since * self.beta) / max(1, self.visits), self.visits, self.mistakes

    def _wins(self, i: int, zero: bool) -> int | None:
        """Scores that differ by rounding of 80 bits alone are tied, as they are without rounding; so are values below all floats."""
        S, code = self.S[i].copy(), int(self.codes[i])
        due = LONG(0) if self.m == 1 else S[code]
        S[np.abs(S - due) <= TIED * np.abs(self.beta).sum() * np.abs(self.K[i]).max()] = due
        return winner(S.tolist(), code, zero)

    def _pass(self, visits: int) -> None:
        self.visits, self.since = self.visits + visits, self.since + visits

    def _correct(self, model: Any, i: int, zero: bool) -> None:
        rival = self._wins(i, zero)
        self.total, self.since = self.total + self.since * self.beta, 0
        if model.budget is not None:
            self._make_room(int(model.budget), int(model.random_state or 0), i)
        for k, sign in [(0, 2 * self.codes[i] - 1)] if self.m == 1 else [(self.codes[i], 1), (rival, -1)]:
            self._move(k, i, sign * LONG(self.w[i]))
        self.mistakes += 1
        self._pass(1)

    def _move(self, k: int, i: int, by: LONG) -> None:
        self.beta[k, i] += by
        self.S[:, k] += by * self.K[:, i]

    def _make_room(self, budget: int, seed: int, i: int) -> None:
        if i in self.kept:
            return
        if len(self.kept) < budget:
            self.kept.append(i)
            return
        place = forgotten(seed, self.mistakes, budget)
        gone, self.kept[place] = self.kept[place], i
        self.beta[:, gone] = 0
        self.S = self.K @ self.beta.T


def _ahead(S: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """By how much the right class is ahead in scores (n, m)."""
    if S.shape[1] == 1:
        return np.where(codes == 1, S[:, 0], -S[:, 0])
    own = np.arange(S.shape[1]) == codes[:, None]
    return S[own] - np.where(own, -np.inf, S).max(axis=1)


def kernel_replay(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The same visits, mistakes and coefficients."""
    claim = claims["kernel_perceptron_replay"]
    if not claim.holds:
        return
    machine = Machine(case, model)
    beta, mean, visits, mistakes = machine.visited(model, int(claim.value))
    stated = int(claim.witness["visits"]), int(claim.value)
    if stated != (visits, mistakes):
        yield "kernel_perceptron_replay: other visits or mistakes", f"{stated} stated, {visits, mistakes} again"
        return
    last = model.last_coef_ if model.variant == "averaged" else model.dual_coef_
    pairs = [(last, beta), (model.dual_coef_, mean if model.variant == "averaged" else beta)]
    if any(np.abs(machine.coefficients(model, a) - b).max() > SAME * np.abs(b).max() for a, b in pairs):
        yield "kernel_perceptron_replay: other coefficients", f"{np.asarray(last).tolist()} stated, {beta} again"


def kernel_counts(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Coefficients are whole numbers of steps towards the class of their row, as many as there were mistakes that were not forgotten."""
    claim, machine = claims["kernel_perceptron_counts"], Machine(case, model)
    if other_factors(case, model, model.class_factor_):
        yield "kernel_perceptron_counts: other factors of the classes", f"{model.class_factor_}"
    last = machine.coefficients(model, model.last_coef_ if model.variant == "averaged" else model.dual_coef_)
    own = last[0] * (2 * machine.codes - 1) if machine.m == 1 else last[machine.codes, np.arange(len(machine.w))]
    count = own / machine.w
    few = (np.rint(count) < 0).any() or (np.abs(count - np.rint(count)) > SAME).any()
    total, left = int(np.rint(count).sum()), int(claim.value) - int(model.dropped_)
    if claim.holds and (few or total > left or (not model.dropped_ and total != left)):
        yield "kernel_perceptron_counts: coefficients count other mistakes", f"{claim.value!r} stated, {total} counted"
    if machine.m > 1 and (np.abs(last.sum(axis=0)) > SAME * np.abs(last).max()).any():
        yield "kernel_perceptron_counts: coefficients of a row do not add up to zero", ""


def kernel_scores(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The decision values that are stated and answered, the rows that they get wrong, and the bound on the mistakes."""
    machine = Machine(case, model)
    S = machine.K @ machine.coefficients(model, model.dual_coef_).T
    off = LONG(1e-9) * (np.abs(machine.K) @ np.abs(machine.coefficients(model, model.dual_coef_)).T).max()
    if "kernel_perceptron_values" in claims:
        yield from _values(model, claims["kernel_perceptron_values"], machine, S, off, case)
    yield from _errors(claims["kernel_perceptron_errors"], machine, _ahead(S, machine.codes), off)
    if "kernel_perceptron_bound" in claims:
        yield from _bound(model, claims["kernel_perceptron_bound"], machine)


def _values(model: Any, claim: Any, machine: Machine, S: np.ndarray, off: LONG, case: Case) -> Iterator[Problem]:
    asked = np.searchsorted(machine.numbers, claim.witness["asked"])
    stated = np.asarray(claim.witness["values"])
    if claim.holds and np.abs(S[asked] - stated).max() > off:
        yield (
            "kernel_perceptron_values: other decision values",
            f"{stated.tolist()[:3]}, found {S[asked].astype(float).tolist()[:3]}",
        )
    answers = model.decision_function(case.table.rows)[machine.numbers]
    if not np.abs(answers.reshape(S.shape) - S).max() <= off:
        yield "kernel_perceptron_values: other answers", f"{answers[:3]}, found {S[:3].astype(float)}"


def _errors(claim: Any, machine: Machine, ahead: np.ndarray, off: LONG) -> Iterator[Problem]:
    sure, unsure = ahead < -2 * off, np.abs(ahead) <= 2 * off
    few, many = int(sure.sum()), int((sure | unsure).sum())
    low, high = (machine.w @ rows / machine.w.sum() for rows in (sure, sure | unsure))
    if claim.holds and not (few <= claim.witness["wrong"] <= many and claim.witness["rows"] == len(ahead)):
        yield (
            "kernel_perceptron_errors: other rows are wrong",
            f"{claim.witness['wrong']} stated, {few} to {many} counted",
        )
    if claim.holds and not low - 1e-9 <= claim.value <= high + 1e-9:
        yield "kernel_perceptron_errors: another share", f"{claim.value!r}, found {float(low)!r} to {float(high)!r}"


def _bound(model: Any, claim: Any, machine: Machine) -> Iterator[Problem]:
    """R² = max K(x, x), γ = min (ahead) / ‖w‖ in feature space, and (Σε)²/Σε² by the counts, against R²/γ²."""
    last = machine.coefficients(model, model.last_coef_ if model.variant == "averaged" else model.dual_coef_)
    S = machine.K @ last.T
    square, norm = np.diag(machine.K).max(), np.sqrt((last * S.T).sum())
    own = np.abs(last).max(axis=0)  # of a row: its step times its mistakes, taken from other classes in parts
    radius, gamma = (LONG(float(claim.witness[name])) for name in ("radius", "margin"))
    effective = own.sum() ** 2 / (own * machine.w).sum()
    if abs(radius**2 - square) > SAME * square:
        yield "kernel_perceptron_bound: another radius", f"{float(radius)!r}, found {float(np.sqrt(square))!r}"
    if not 0 < gamma <= _ahead(S, machine.codes).min() / norm * (1 + SAME):
        yield "kernel_perceptron_bound: a smaller margin", f"{float(gamma)!r}"
    if abs(effective - claim.value) > SAME * effective:
        yield "kernel_perceptron_bound: other mistakes", f"{claim.value!r}, found {float(effective)!r}"
    due = (1 if machine.m == 1 else 2) * square / gamma**2
    if claim.holds and (abs(due - claim.bound) > 4 * SAME * due or claim.value > claim.bound):
        yield "kernel_perceptron_bound: another bound", f"{claim.value!r} <= {claim.bound!r}, found {float(due)!r}"
