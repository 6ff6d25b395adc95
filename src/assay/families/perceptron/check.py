"""Checks of perceptron claims: the run is gone through again in plain NumPy, and radius, margin and mistakes are taken anew.

A score is summed in the order that `assay.families.perceptron.loops` states (eight lanes, added in halves; sparse rows in order), so that the
signs of scores, on which everything depends, are those of the fit even where rounding decides them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, CsrBlock, Floats, codes_of

EPS = float(np.finfo(np.float64).eps)
KEPT = 10_000_000  # numbers of rows that are kept from pass to pass
LANES = 8
WIDEST = 1024  # rows whose scores are taken at a time


class CountedBlock(NamedTuple):
    """The rows of a block that count: X (n, d), codes, weights with their class's factor, and steps."""

    X: Any
    codes: Array
    weights: Floats
    steps: Floats


class StatedRun(NamedTuple):
    """What the witness says of a run."""

    classes: list[Any]
    factor: Floats
    start: Floats
    order: str
    eta: float
    one: float
    seed: int
    passes: int
    mistakes: int

    @property
    def zero(self) -> bool:
        return self.order.startswith("first-mistake")


def _weights_of(claim: Claim, rows: CheckedRows, name: str = "w") -> Floats:
    """Weights (m, d + 1) of the witness, of the shape they must have."""
    w = np.asarray(claim.witness[name], dtype=np.float64)
    K = len(claim.witness["classes"])
    if w.shape != (1 if K == 2 else K, rows.n_columns + 1) or K < 2 or not np.isfinite(w).all():
        raise ValueError(f"{name} {w.shape} does not fit {K} classes and {rows.n_columns} columns")
    return w


def _plan(claim: Claim, rows: CheckedRows) -> StatedRun:
    t = claim.witness
    factor = np.asarray(t["factor"], dtype=np.float64)
    plan = StatedRun(
        list(t["classes"]),
        factor,
        _weights_of(claim, rows, "start"),
        str(t["order"]),
        float(t["eta"]),
        float(bool(t["intercept"])),
        int(t["seed"]),
        int(t["passes"]),
        int(t["mistakes"]),
    )
    if not (plan.eta > 0 and factor.shape == (len(plan.classes),) and np.all(factor >= 0) and plan.passes >= 1):
        raise ValueError("steps, factors of the classes or passes that cannot be")
    return plan


def _parts(classes: list[Any], factor: Floats, eta: float, rows: CheckedRows) -> Iterator[CountedBlock]:
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("The target is needed to check a perceptron: give verify(X, y).")
        codes = codes_of(block.y, classes)
        weights = np.ones(len(codes)) if block.w is None else block.w
        steps = eta * weights * factor[codes]
        keep = steps > 0
        X = _in_full(block.X)
        if not keep.all():
            X, codes, weights, steps = X[keep], codes[keep], weights[keep], steps[keep]
        yield CountedBlock(X, codes, weights * factor[codes], steps)


def _in_full(X: Any) -> Any:
    """The rows in 64 bits, in which the fit adds up whatever it is given."""
    if isinstance(X, CsrBlock):
        return X.with_data(X.data.astype(np.float64, copy=False))
    return X.astype(np.float64, copy=False)


class CountedBlocks:
    """The parts of all blocks, as often as they are asked for."""

    def __init__(self, plan: StatedRun, rows: CheckedRows) -> None:
        self.plan, self.rows = plan, rows
        small = rows.n_rows is not None and rows.n_rows * rows.n_columns <= KEPT
        self.kept = list(self._read()) if small else None

    def _read(self) -> Iterator[CountedBlock]:
        return _parts(self.plan.classes, self.plan.factor, self.plan.eta, self.rows)

    def __iter__(self) -> Iterator[CountedBlock]:
        return self._read() if self.kept is None else iter(self.kept)


def _scores(X: Any, w: Floats) -> Floats:
    """b_k + w_k·x of each row and each row of the weights (b, w): (n, m)."""
    return np.column_stack([_score(X, float(v[0]), v[1:]) for v in w])


def _score(X: Any, b: float, w: Floats) -> Floats:
    if isinstance(X, CsrBlock):
        terms = np.split(X.data.astype(np.float64) * w[X.indices], X.indptr[1:-1])
        return np.array([np.add.accumulate(np.append(b, t))[-1] for t in terms])
    d = X.shape[1]
    whole = d // LANES * LANES
    s, lanes = np.full(len(X), b), np.zeros((len(X), LANES))
    for j in range(whole, d):
        s = s + X[:, j] * w[j]
    for j in range(0, whole, LANES):
        lanes = lanes + X[:, j : j + LANES] * w[j : j + LANES]
    for half in (4, 2, 1):
        lanes = lanes[:, :half] + lanes[:, half:]
    total: Floats = s + lanes[:, 0]
    return total


def _judge(S: Floats, codes: Array, zero: bool) -> tuple[Array, Array, Floats]:
    """Of scores S (n, m): which rows are mistakes, the best other class, and how far the right class is ahead of it."""
    if S.shape[1] == 1:
        margin = np.where(codes == 1, S[:, 0], -S[:, 0])
        wrong = ((S[:, 0] >= 0) != (codes == 1)) | (zero & (S[:, 0] == 0))
        return wrong, 1 - codes, margin
    at = np.arange(len(S))
    others = S.copy()
    others[at, codes] = -np.inf
    rival = others.argmax(axis=1)
    margin = S[at, codes] - others[at, rival]
    return (margin < 0) | ((margin == 0) & (zero | (rival < codes))), rival, margin


def _extended(X: Any, i: int, one: float) -> Floats:
    """x̃ = (1, x) of row i, or (0, x) where no intercept is fitted."""
    row = X[i : i + 1].toarray()[0] if isinstance(X, CsrBlock) else X[i]
    return np.append(one, row.astype(np.float64))


class PerceptronReplay:
    """The run again, correction by correction."""

    def __init__(self, plan: StatedRun, *, voting: bool) -> None:
        self.plan, self.w = plan, plan.start.copy()
        self.drift = np.zeros_like(self.w)
        self.visits = self.mistakes = 0
        self.sum = self.squares = 0.0
        self.voters, self.votes = [self.w.copy()], [0]
        self.voting = voting

    def run(self, parts: CountedBlocks) -> None:
        order = self.plan.order
        if order == "first-mistake":
            while self._search(parts):
                pass
        elif order == "batch":
            for _ in range(self.plan.passes):
                self._batch(parts)
        elif order in ("cyclic", "cyclic, shuffled", "random", "first-mistake in order"):
            for epoch in range(1, self.plan.passes + 1):
                for number, part in enumerate(parts):
                    self._visit(part, self._order(epoch, number, len(part.codes)))
        else:
            raise ValueError(f"there is no order {order!r}")

    def _order(self, epoch: int, number: int, n: int) -> Array:
        if not n or self.plan.order not in ("random", "cyclic, shuffled"):
            return np.arange(n)
        rng = np.random.default_rng([self.plan.seed, epoch, number])
        return rng.integers(0, n, n) if self.plan.order == "random" else rng.permutation(n)

    def _next(self, part: CountedBlock, order: Array, t: int) -> tuple[int, int]:
        """(the first visit from t on at a mistake, else the number of visits; the class that wins there)."""
        width = 8
        while t < len(order):
            at = order[t : t + width]
            wrong, rival, _ = _judge(_scores(part.X[at], self.w), part.codes[at], self.plan.zero)
            ahead = int(wrong.argmax()) if wrong.any() else len(at)
            self._survive(ahead)
            t += ahead
            if ahead < len(at):
                return t, int(rival[ahead])
            width = min(2 * width, WIDEST)
        return t, -1

    def _visit(self, part: CountedBlock, order: Array) -> None:
        t, rival = self._next(part, order, 0)
        while t < len(order):
            self._correct(part, int(order[t]), rival)
            if self.mistakes > self.plan.mistakes:
                raise ValueError(f"there are more mistakes than the stated {self.plan.mistakes}")
            t, rival = self._next(part, order, t + 1)

    def _search(self, parts: CountedBlocks) -> bool:
        """Look for the first mistake and correct it; False where there is none, or no correction is left."""
        for part in parts:
            order = np.arange(len(part.codes))
            t, rival = self._next(part, order, 0)
            if t < len(order):
                left = self.mistakes < self.plan.mistakes
                if left:
                    self._correct(part, t, rival)
                return left
        return False

    def _batch(self, parts: CountedBlocks) -> None:
        """w += the corrections of all mistakes of w; blocks are added pairwise, as a fold does."""
        each = [self._corrections(part) for part in parts]
        if each:
            total = _pairwise(each)
            self.w = self.w + total[0]
            self.sum, self.squares = self.sum + total[1], self.squares + total[1] ** 2
            self.mistakes += total[2]

    def _corrections(self, part: CountedBlock) -> tuple[Floats, float, int]:
        G, step, count, n = np.zeros_like(self.w), 0.0, 0, len(part.codes)
        for a in range(0, n, WIDEST):
            at = np.arange(a, min(n, a + WIDEST))
            wrong, rival, _ = _judge(_scores(part.X[a : a + WIDEST], self.w), part.codes[at], self.plan.zero)
            for i, other in zip(at[wrong], rival[wrong]):
                for k, c in self._moves(part, int(i), int(other)):
                    G[k] += c * _extended(part.X, int(i), self.plan.one)
            step += float(part.steps[at[wrong]].sum())
            self.visits += len(at)
            count += int(wrong.sum())
        return G, step, count

    def _survive(self, visits: int) -> None:
        self.visits += visits
        self.votes[-1] += visits

    def _moves(self, part: CountedBlock, i: int, rival: int) -> list[tuple[int, float]]:
        """By how much of x̃ each row of the weights moves."""
        step, code = float(part.steps[i]), int(part.codes[i])
        return [(0, step if code == 1 else -step)] if len(self.w) == 1 else [(code, step), (rival, -step)]

    def _correct(self, part: CountedBlock, i: int, rival: int) -> None:
        x, step = _extended(part.X, i, self.plan.one), float(part.steps[i])
        for k, c in self._moves(part, i, rival):
            self.w[k] += c * x
            self.drift[k] += (c * float(self.visits)) * x
        self.sum, self.squares = self.sum + step, self.squares + step * step
        self.mistakes += 1
        if self.voting:
            self.voters.append(self.w.copy())
            self.votes.append(0)
        self._survive(1)


def _add(a: tuple[Floats, float, int], b: tuple[Floats, float, int]) -> tuple[Floats, float, int]:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _pairwise(each: list[tuple[Floats, float, int]]) -> tuple[Floats, float, int]:
    """The sum, the greatest power of two of the first ones apart from the rest, and each of the two sums likewise."""
    if len(each) == 1:
        return each[0]
    half = 1 << ((len(each) - 1).bit_length() - 1)
    return _add(_pairwise(each[:half]), _pairwise(each[half:]))


def _replayed(claim: Claim, rows: CheckedRows, *, voting: bool = False) -> PerceptronReplay:
    plan = _plan(claim, rows)
    again = PerceptronReplay(plan, voting=voting)
    again.run(CountedBlocks(plan, rows))
    return again


def _off(there: Floats, due: Floats) -> float:
    """The largest difference, relative to the largest number that is due."""
    if there.shape != due.shape:
        return math.inf
    return float(np.abs(there - due).max(initial=0.0) / max(float(np.abs(due).max(initial=0.0)), 1e-300))


@check("perceptron_replay")
def check_replay(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Go through the run again: the same visits, mistakes, weights, and average or voters."""
    t, stated = claim.witness, _weights_of(claim, rows)
    again = _replayed(claim, rows, voting="voters" in t)
    off = _off(again.w, stated)
    if "mean" in t:
        off = max(off, _off(again.w - again.drift / max(1, again.visits), _weights_of(claim, rows, "mean")))
    if "voters" in t:
        votes = np.asarray(again.votes, dtype=np.float64)
        off = max(off, _off(np.array(again.voters), np.asarray(t["voters"], dtype=np.float64)))
        off = max(off, _off(votes, np.asarray(t["votes"], dtype=np.float64)))
    counts = (again.visits, again.mistakes) == (t["visits"], t["mistakes"]) and claim.value == again.mistakes
    reason = f"{again.visits} visits with {again.mistakes} mistakes again, weights off by {off:.3g}"
    return Verdict(claim.name, bool(counts and off <= 1e-9), reason, float(again.mistakes), claim.kind)


@check("perceptron_errors")
def check_errors(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Count the rows on the wrong side again."""
    w = _weights_of(claim, rows, "mean" if "mean" in claim.witness else "w")
    n, wrong, weight, wrong_weight, *_ = _looked(claim, rows, w, 0.0)
    share = wrong_weight / weight if weight > 0 else math.nan
    same = (n, wrong) == (claim.witness["rows"], claim.witness["wrong"]) and claim.value is not None
    holds = same and math.isclose(share, float(claim.value or 0.0), rel_tol=1e-9, abs_tol=1e-15)
    reason = f"{wrong} of {n} rows are on the wrong side, a share of {share:.6g} by weight"
    return Verdict(claim.name, bool(holds), reason, share, claim.kind)


def _looked(claim: Claim, rows: CheckedRows, w: Floats, one: float) -> tuple[int, int, float, float, float, float]:
    """CheckedRows, mistakes, their weights, max ‖x̃‖² and the least margin of weights w."""
    n, wrong, weight, wrong_weight, square, least = 0, 0, 0.0, 0.0, 0.0, math.inf
    factor = np.asarray(claim.witness["factor"], dtype=np.float64)
    for part in _parts(list(claim.witness["classes"]), factor, 1.0, rows):
        for a in range(0, len(part.codes), WIDEST):
            X, at = part.X[a : a + WIDEST], slice(a, a + WIDEST)
            bad, _, margin = _judge(_scores(X, w), part.codes[at], False)
            n, wrong = n + len(margin), wrong + int(bad.sum())
            weight, wrong_weight = (
                weight + float(part.weights[at].sum()),
                wrong_weight + float(part.weights[at][bad].sum()),
            )
            data = X.toarray() if isinstance(X, CsrBlock) else X
            square = max(square, float((data**2).sum(axis=1).max(initial=0.0)) + one)
            least = min(least, float(margin.min(initial=math.inf)))
    return n, wrong, weight, wrong_weight, square, least


@check("perceptron_bound")
def check_bound(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Take R and γ from the rows again, count the mistakes again where that was promised, and compare with the bound."""
    t, w, plan = claim.witness, _weights_of(claim, rows), _plan(claim, rows)
    _, _, _, _, square, least = _looked(claim, rows, w, plan.one)
    norm, R, gamma = float(np.linalg.norm(w)), math.sqrt(square), float(t["gamma"])
    rounding = 2 * (w.shape[1] + 8) * EPS * R
    true = least / norm - rounding if norm > 0 else math.nan
    if not (0 < gamma <= true and math.isclose(R, float(t["radius"]), rel_tol=1e-9)):
        reason = f"R = {R:.6g} and a margin of {true:.6g} are not those stated ({t['radius']:.6g}, {gamma:.6g})"
        return Verdict(claim.name, False, reason, kind=claim.kind)
    value, step = float(claim.value or 0.0), math.nan
    if t["replayed"]:
        again = _replayed(claim, rows)
        value = again.sum**2 / again.squares
        if math.isclose(value, again.mistakes, rel_tol=1e-12):  # then all steps that were made are equal
            step = again.sum / again.mistakes
        counts = (again.visits, again.mistakes) == (t["visits"], t["mistakes"])
        if not counts or _off(again.w, w) > 1e-9:
            return Verdict(claim.name, False, "going through the run again gives other weights", kind=claim.kind)
    elif claim.kind == "proof":
        return Verdict(claim.name, False, "a proof is claimed without counting again", kind=claim.kind)
    else:
        step = _step_of_all(plan, rows)
    bound = _bound(plan, step, w / norm, R, gamma, len(w) > 1)
    holds = value <= bound and bound <= float(claim.bound or 0.0) * (1 + 1e-6)
    holds = holds and math.isclose(value, float(claim.value or 0.0), rel_tol=1e-9)
    reason = f"{value:.6g} mistakes <= {bound:.6g} with R = {R:.6g}, gamma = {gamma:.6g}"
    return Verdict(claim.name, bool(holds), reason, value, claim.kind)


def _step_of_all(plan: StatedRun, rows: CheckedRows) -> float:
    """The step that a mistake makes, whichever row it is of; NaN where rows differ."""
    steps = np.concatenate([part.steps for part in _parts(plan.classes, plan.factor, plan.eta, rows)])
    return float(steps[0]) if np.allclose(steps, steps[0], rtol=1e-12, atol=0.0) else math.nan


def _bound(plan: StatedRun, eps: float, unit: Floats, R: float, gamma: float, many: bool) -> float:
    """R²/γ² (twice that for more than two classes); from other weights than 0, with steps ε, the root of the quadratic."""
    square = (2 if many else 1) * R * R
    if not plan.start.any():
        return square / gamma**2
    a = float((plan.start * unit).sum())
    if not eps > 0 or plan.order == "batch":
        raise ValueError("no bound is known for steps that differ and weights that do not start at zero")
    A, B, C = (gamma * eps) ** 2, square * eps**2 - 2 * gamma * eps * a, a * a - float((plan.start**2).sum())
    return (B + math.sqrt(B * B - 4 * A * min(C, 0.0))) / (2 * A)
