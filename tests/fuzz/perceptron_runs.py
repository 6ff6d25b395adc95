"""Perceptrons visit by visit again, in whole numbers of Python: every float is one times a power of two, so that sums are without rounding.

Where a score is so near to zero that rounding decides its sign, the fit's own arithmetic decides here too: floats, added column by column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.closed_forms import class_factor, live_rows
from fuzz.exact import dot, exact, square_root

Problem = tuple[str, str]
LONG = np.longdouble
NEAR = 10**9  # a score of less than one of so many parts of its terms has the sign that rounding gives it
SAME = Fraction(1, 10**9)
LANES = 8  # columns from which on scores are added in another order


def shift_of(numbers: Iterable[Fraction]) -> int:
    """The least power of two that makes all of them whole."""
    return max((value.denominator.bit_length() - 1 for value in numbers), default=0)


def whole(value: Fraction, shift: int) -> int:
    return value.numerator << (shift - value.denominator.bit_length() + 1)


def winner(scores: list[Any], code: int, zero: bool) -> int | None:
    """The class that wins wrongly, or None; of two classes there is one score, which is at least 0 for the second. `zero`: 0 is wrong."""
    if len(scores) == 1:
        return 1 - code if (scores[0] >= 0) != (code == 1) or (zero and scores[0] == 0) else None
    rival = max((k for k in range(len(scores)) if k != code), key=lambda k: (scores[k], -k))
    ahead = scores[code] - scores[rival]
    return rival if ahead < 0 or (ahead == 0 and (zero or rival < code)) else None


@dataclass(eq=False)
class Run:
    """Rows x, codes and steps of the rows that count; weights without rounding, in units of 2^-(of_x + of_steps), and as floats."""

    x: list[list[float]]
    codes: list[int]
    steps: list[float]
    start: list[list[float]]
    intercept: bool
    zero: bool
    visits: int = 0
    since: int = 0
    mistakes: int = 0
    sums: list[Fraction] = field(default_factory=list)  # the step of each correction

    def __post_init__(self) -> None:
        rows, steps, start = exact(self.x), exact(self.steps), exact(self.start)
        self.of_x = shift_of([*(v for row in rows for v in row), *(v for row in start for v in row)])
        self.of_steps = shift_of(steps)
        self.one = 1 << self.of_x
        self.X = [[self.one, *(whole(v, self.of_x) for v in row)] for row in rows]
        self.E = [whole(v, self.of_steps) for v in steps]
        self.w = [[whole(v, self.of_x) << self.of_steps for v in row] for row in start]
        self.floats = [list(row) for row in self.start]
        self.most = [[abs(v) for v in row] for row in self.w]
        self.total = [[0] * len(row) for row in self.w]
        self.voters, self.votes = [[list(row) for row in self.w]], [0]

    def judged(self, i: int) -> int | None:
        """The class that wins wrongly at row i, or None."""
        x = self.X[i]
        scores = [sum(a * b for a, b in zip(w, x)) for w in self.w]
        size = max(sum(a * abs(b) for a, b in zip(most, x)) for most in self.most)
        apart = (
            [abs(s) for s in scores]
            if len(scores) == 1
            else [abs(a - b) for n, a in enumerate(scores) for b in scores[:n]]
        )
        return winner(self._rounded(i) if min(apart) * NEAR <= size else scores, self.codes[i], self.zero)

    def _rounded(self, i: int) -> list[float]:
        scores = []
        for b, *w in self.floats:
            for value, weight in zip(self.x[i], w):
                b += value * weight
            scores.append(b)
        return scores

    def survive(self, visits: int) -> None:
        self.visits, self.since = self.visits + visits, self.since + visits
        self.votes[-1] += visits

    def correct(self, corrections: list[tuple[int, int]]) -> None:
        """Add rows for their classes, and take them from those that won there, all at once."""
        self._add_up()
        gained = [[0.0] * len(row) for row in self.floats]
        for i, rival in corrections:
            code, x = self.codes[i], [float(self.intercept), *self.x[i]]
            moves = [(0, 1 if code == 1 else -1)] if len(self.w) == 1 else [(code, 1), (rival, -1)]
            for k, sign in moves:
                for j, value in enumerate(self.X[i] if self.intercept else [0, *self.X[i][1:]]):
                    self.w[k][j] += sign * self.E[i] * value
                    self.most[k][j] = max(self.most[k][j], abs(self.w[k][j]))
                    gained[k][j] += sign * self.steps[i] * x[j]
        self.floats = [[a + b for a, b in zip(*rows)] for rows in zip(self.floats, gained)]
        self.mistakes += len(corrections)
        self.sums.append(sum((Fraction(self.steps[i]) for i, _ in corrections), Fraction(0)))

    def elect(self) -> None:
        """The present weights are one more voter, which has the visit of the mistake."""
        self.voters.append([list(row) for row in self.w])
        self.votes.append(0)
        self.survive(1)

    def _add_up(self) -> None:
        self.total = [[a + self.since * b for a, b in zip(*rows)] for rows in zip(self.total, self.w)]
        self.since = 0

    def average(self) -> list[list[Fraction]]:
        """The mean of the weights after all visits."""
        self._add_up()
        return [[value / max(1, self.visits) for value in row] for row in self.fractions(self.total)]

    def fractions(self, weights: list[list[int]]) -> list[list[Fraction]]:
        unit = Fraction(1, 1 << (self.of_x + self.of_steps))
        return [[value * unit for value in row] for row in weights]


def visited(run: Run, order: str, passes: int, stated: int, seed: int) -> Run:
    """All visits of so many passes; no more corrections than are stated."""
    for epoch in range(1, passes + 1) if order != "first-mistake" else ():
        if order == "batch":
            wrong = [(i, rival) for i in range(len(run.x)) for rival in [run.judged(i)] if rival is not None]
            run.correct(wrong)
            run.visits += len(run.x)
        for i in _order(order, len(run.x), [seed, epoch, 0]) if order != "batch" else ():
            _visit(run, i)
    while order == "first-mistake" and run.mistakes <= stated:
        ahead = next((i for i in range(len(run.x)) if run.judged(i) is not None), len(run.x))
        run.survive(ahead)
        if ahead == len(run.x) or run.mistakes == stated:
            break
        _visit(run, ahead)
    return run


def _order(order: str, n: int, seeds: list[int]) -> list[int]:
    rng = np.random.default_rng(seeds)
    return {"random": lambda: rng.integers(0, n, n), "cyclic, shuffled": lambda: rng.permutation(n)}.get(
        order, lambda: np.arange(n)
    )().tolist()


def _visit(run: Run, i: int) -> None:
    rival = run.judged(i)
    if rival is None:
        run.survive(1)
    else:
        run.correct([(i, rival)])
        run.elect()


# --- what the certificate says of it ---------------------------------------------------------------------------------


def other_factors(case: Case, model: Any, stated: Any) -> bool:
    """Whether classes count by others than `class_weight` says; their last digits decide where scores are nearly equal, so the stated ones run."""
    return not np.allclose(stated, class_factor(case, model) or [1.0] * len(model.classes_), rtol=1e-12, atol=0.0)


def _run(case: Case, model: Any) -> Run:
    X, y, w = live_rows(case, model.class_factor_, model.classes_)
    steps = [float(model.eta0 * weight) for weight in w]
    d, m = X.shape[1], 1 if len(model.classes_) == 2 else len(model.classes_)
    given = np.zeros((m, d + 1)) if model.init is None else model.init
    if isinstance(given, str):  # "random"
        given = np.random.Generator(np.random.PCG64(model.random_state or 0)).normal(0.0, 0.01, (m, d + 1))
    given = np.asarray(given, dtype=float).reshape(-1, d + 1)
    given = given * [float(model.fit_intercept), *[1.0] * d]
    codes = np.searchsorted(model.classes_, y).tolist()
    return Run(X.tolist(), codes, steps, given.tolist(), bool(model.fit_intercept), model.order == "first-mistake")


def replay(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The visits again: their number, the mistakes, the weights, and their average or all voters; then the bound on the mistakes."""
    claim = claims["perceptron_replay"]
    if not claim.holds or case.table.X.shape[1] >= LANES:
        return
    if other_factors(case, model, claim.witness["factor"]):
        yield "perceptron_replay: other factors of the classes", f"{claim.witness['factor']}"
    order = f"{model.order}, shuffled" if model.shuffle else model.order
    run = visited(_run(case, model), order, int(model.n_iter_), int(claim.value), int(model.random_state or 0))
    stated = int(claim.witness["visits"]), int(claim.value)
    if stated != (run.visits, run.mistakes):
        yield "perceptron_replay: other visits or mistakes", f"{stated} stated, {run.visits, run.mistakes} again"
        return
    size = max(max(row) for row in run.fractions(run.most))
    last = claim.witness["w"]
    given = np.column_stack([model.intercept_, model.coef_])
    averaged = model.variant == "averaged"
    yield from _weights("weights", last, run.fractions(run.w), size)
    yield from _weights("answering weights", given, run.average() if averaged else run.fractions(run.w), size)
    if model.variant == "voted":
        yield from _voters(model, run, size)
    if "perceptron_bound" in claims and claims["perceptron_bound"].holds:
        yield from _bound(claims["perceptron_bound"], run, last)


def _weights(what: str, stated: Any, found: list[list[Fraction]], size: Fraction) -> Iterator[Problem]:
    off = max(abs(a - b) for rows in zip(exact(np.atleast_2d(stated)), found) for a, b in zip(*rows))
    if off > SAME * size:
        yield f"perceptron_replay: other {what}", f"off by {float(off):.3g}: {np.asarray(stated).tolist()}"


def _voters(model: Any, run: Run, size: Fraction) -> Iterator[Problem]:
    if len(model.voters_) != len(run.voters) or np.asarray(model.votes_).tolist() != run.votes:
        yield "perceptron_replay: other votes", f"{np.asarray(model.votes_).tolist()} stated, {run.votes} again"
        return
    for stated, voter in zip(model.voters_, run.voters):
        yield from _weights("voters", stated, run.fractions(voter), size)


def _margin(weights: list[list[Fraction]], x: list[Fraction], code: int) -> Fraction:
    """By how much the right class is ahead at (1, x)."""
    scores = [dot(w, [Fraction(1), *x]) for w in weights]
    if len(scores) == 1:
        return scores[0] if code == 1 else -scores[0]
    return scores[code] - max(s for k, s in enumerate(scores) if k != code)


def _bound(claim: Any, run: Run, last: Any) -> Iterator[Problem]:
    """R, γ and the effective number of mistakes without rounding, and Novikoff's inequality with what is stated."""
    weights, rows, one = exact(np.atleast_2d(last)), exact(run.x), Fraction(int(run.intercept))
    square = max(dot(x, x) for x in rows) + one
    norm = sum((dot(w, w) for w in weights), Fraction(0))
    least = min(_margin(weights, x, code) for x, code in zip(rows, run.codes))
    radius, gamma = (Fraction(float(claim.witness[name])) for name in ("radius", "gamma"))
    if abs(radius**2 - square) > 4 * SAME * square:
        yield "perceptron_bound: another radius", f"{float(radius)!r}, found {square_root(square)!r}"
    if not (least > 0 and gamma > 0 and gamma**2 * norm <= least**2 * (1 + SAME)):
        yield "perceptron_bound: a smaller margin", f"{float(gamma)!r}, found {float(least) / square_root(norm)!r}"
        return
    effective = sum(run.sums, Fraction(0)) ** 2 / sum((step**2 for step in run.sums), Fraction(0))
    if abs(Fraction(claim.value) - effective) > SAME * effective:
        yield "perceptron_bound: other mistakes", f"{claim.value!r}, found {float(effective)!r}"
    if Fraction(claim.value) > Fraction(claim.bound) or not _suffices(claim, run, weights, square, gamma):
        yield "perceptron_bound: fewer than the bound allows", f"{claim.value!r} <= {claim.bound!r}"


def _suffices(claim: Any, run: Run, weights: list[list[Fraction]], square: Fraction, gamma: Fraction) -> bool:
    """Whether from the stated bound on (γεM + a)² ≥ ‖w⁰‖² + R²ε²M; of weights that start at 0 this is M ≥ R²/γ² (2R²/γ² of more classes)."""
    square, most = square * (1 if len(weights) == 1 else 2), Fraction(claim.bound) * (1 + Fraction(1, 10**6))
    start = exact(run.start)
    if not any(v for row in start for v in row):
        return most * gamma**2 >= square
    length = Fraction(square_root(sum((dot(w, w) for w in weights), Fraction(0))))
    a, step = sum((dot(u, v) for u, v in zip(start, weights)), Fraction(0)) / length, run.sums[0]
    left = gamma * step * most + a
    return left >= 0 and left**2 >= (sum((dot(u, u) for u in start), Fraction(0)) + square * step**2 * most) * (
        1 - SAME
    )


def errors(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Rows on the wrong side of the stated weights, without rounding; a row that is nearly on the plane may count or not."""
    claim = claims["perceptron_errors"]
    X, y, w = live_rows(case, class_factor(case, model), model.classes_)
    weights = exact(np.atleast_2d(claim.witness["mean"] if "mean" in claim.witness else claim.witness["w"]))
    shares, low, high, few, many = exact(w), Fraction(0), Fraction(0), 0, 0
    for x, code, share in zip(exact(X), np.searchsorted(model.classes_, y).tolist(), shares):
        ahead, size = _margin(weights, x, code), sum(dot(map(abs, v), [Fraction(1), *map(abs, x)]) for v in weights)
        sure, unsure = ahead < 0 and -ahead * NEAR > size, abs(ahead) * NEAR <= size
        low, few = low + share * sure, few + sure
        high, many = high + share * (sure or unsure), many + (sure or unsure)
    total, stated = sum(shares, Fraction(0)), (int(claim.witness["rows"]), int(claim.witness["wrong"]))
    if stated[0] != len(X) or not few <= stated[1] <= many:
        yield "perceptron_errors: other rows are wrong", f"{stated} stated, {few} to {many} of {len(X)} counted"
    elif claim.holds and not low / total - SAME <= Fraction(claim.value) <= high / total + SAME:
        yield "perceptron_errors: another share", f"{claim.value!r}, found {float(low / total)!r}"
