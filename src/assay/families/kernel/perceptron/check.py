"""Checks of kernel perceptron claims: rows with a coefficient are looked up, values of the kernel are taken anew, in plain NumPy.

A run is gone through again: all scores are kept, and each mistake adds a row of the kernel to them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats
from assay.families.kernel.check import kernel_values

EPS = float(np.finfo(np.float64).eps)
AT_A_TIME = 1 << 21  # values of the kernel that are held at a time
COARSE = 4e-11  # of a value: what products of rows instead of differences may put it off by
HIDDEN = 0.1  # of the greatest decision value: where rounding may hide more, values show nothing


class ReplayRows(NamedTuple):
    """The rows of the fit: X (n, d) as they come, codes, weights with their class's factor, and the sizes of the blocks in which they came."""

    X: Array
    codes: Array
    weights: Floats
    sizes: list[int]


def table_of(claim: Claim, rows: CheckedRows) -> ReplayRows:
    X, codes, weights = [], [], []
    classes = list(claim.witness["classes"])
    factor = np.asarray(claim.witness.get("factor", np.ones(len(classes))), dtype=np.float64)
    if factor.shape != (len(classes),) or len(classes) < 2 or not np.all(factor >= 0):
        raise ValueError("factors of the classes that cannot be")
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("the rows have no target")
        code = np.full(len(block.y), -1)
        for k, label in enumerate(classes):
            code[block.y == label] = k
        if np.any(code < 0):
            raise ValueError("the rows hold classes that the witness does not know")
        X.append(np.asarray(block.X))
        codes.append(code)
        weights.append((np.ones(len(code)) if block.w is None else block.w) * factor[code])
    return ReplayRows(np.concatenate(X), np.concatenate(codes), np.concatenate(weights), [len(code) for code in codes])


class StatedMachine(NamedTuple):
    """f_k(x) = Σ_j coef_kj K(x_j, x) as the witness states it, of rows that the table holds."""

    witness: dict[str, Any]
    support: Array
    Z: Floats
    coef: Floats

    @classmethod
    def of(cls, claim: Claim, table: ReplayRows, name: str) -> StatedMachine:
        t = claim.witness
        support, K = np.asarray(t["support"], dtype=np.int64), len(t["classes"])
        coef = np.asarray(t[name], dtype=np.float64)
        if coef.shape != (1 if K == 2 else K, len(support)) or not np.isfinite(coef).all():
            raise ValueError("coefficients that do not fit the rows and classes")
        if np.any(np.diff(support) <= 0) or np.any(support < 0) or np.any(support >= len(table.X)):
            raise ValueError("row numbers that are not in order or not there")
        Z = np.asarray(table.X[support], dtype=np.float64)
        if t["kernel"] != "precomputed" and not np.array_equal(np.asarray(t["vectors"]), Z):
            raise ValueError("the rows with a coefficient are not those of the table")
        return cls(t, support, Z, coef)

    def kernel(self, X: Floats) -> Floats:
        """K(x_i, z_j)."""
        t = self.witness
        named = {**t, "own": t["function"]} if t["kernel"] == "own" else t
        return kernel_values(named, X, self.support if t["kernel"] == "precomputed" else self.Z)

    def scores(self, X: Array) -> Floats:
        """(n, m), some rows at a time."""
        step = max(1, AT_A_TIME // max(1, len(self.support)))
        parts = [
            self.kernel(np.asarray(X[i : i + step], dtype=np.float64)) @ self.coef.T for i in range(0, len(X), step)
        ]
        return np.concatenate([np.empty((0, len(self.coef))), *parts])

    def square(self, X: Array) -> float:
        """max K(x, x)."""
        name, top = self.witness["kernel"], 0.0
        if name in ("rbf", "laplacian"):
            return 1.0
        if name == "precomputed":
            return float(np.diagonal(X).max())
        for i in range(0, len(X), 256):
            some = np.asarray(X[i : i + 256], dtype=np.float64)
            top = max(top, float(np.diagonal(self._replace(Z=some).kernel(some)).max()))
        return top

    def rounding(self, X: Array) -> float:
        """What rounding may change a decision value by: products of d numbers, what the kernel makes of that, and a sum over the rows."""
        name, gamma, degree = (self.witness[key] for key in ("kernel", "gamma", "degree"))
        A, top = np.asarray(X, dtype=np.float64), self.square(X)
        if name == "precomputed":  # need be no kernel, whose values the diagonal would bound
            top = float(np.abs(A[:, self.support]).max(initial=0.0))
        u, off = (A.shape[1] + 8) * EPS, 8 * EPS * top
        if name in ("rbf", "laplacian"):
            A = A - (self.Z.mean(axis=0) if len(self.Z) else 0.0)
            reach = np.abs(A).sum(axis=1).max() if name == "laplacian" else (A**2).sum(axis=1).max()
            off += min(4 * u * gamma * reach, COARSE) + u
        elif name not in ("precomputed", "own"):
            size = (A**2).sum(axis=1).max()
            base = gamma * size + abs(float(self.witness["coef0"]))
            grown = {"poly": 2 * (degree + 1) * base**degree, "sigmoid": base}
            off += u * grown.get(name, size + 1.0)
        return float(np.abs(self.coef).sum() * (off + (len(self.support) + 8) * EPS * top))


def _judge(S: Floats, codes: Array) -> tuple[Array, Floats]:
    """(whether the answer is wrong, how far the right class is ahead)."""
    if S.shape[1] == 1:
        return (S[:, 0] >= 0) != (codes == 1), np.where(codes == 1, S[:, 0], -S[:, 0])
    at = np.arange(len(S))
    others = S.copy()
    others[at, codes] = -np.inf
    return S.argmax(axis=1) != codes, S[at, codes] - others.max(axis=1)


def _counted(claim: Claim, table: ReplayRows) -> tuple[StatedMachine, Floats, Floats]:
    """The last coefficients, the number of mistakes that each row's says, and its step; raise where it says none."""
    machine = StatedMachine.of(claim, table, "last")
    codes, steps = table.codes[machine.support], table.weights[machine.support]
    C, at = machine.coef, np.arange(len(machine.support))
    if np.any(steps <= 0):
        raise ValueError("a row of weight 0 has a coefficient")
    own = C[0] * np.where(codes == 1, 1.0, -1.0) if len(C) == 1 else C[codes, at]
    count = own / steps
    whole = np.rint(count)
    tight = np.abs(count - whole) <= 1e-9 * np.maximum(1.0, whole)
    if not (np.all(tight) and np.all(whole >= 0)):
        raise ValueError("a coefficient is no whole number of mistakes times the weight of its row")
    if len(C) > 1:
        others = C.copy()
        others[codes, at] = 0.0
        if np.any(others > 1e-9 * own.max(initial=0.0)) or np.any(
            np.abs(C.sum(axis=0)) > 1e-9 * np.maximum(own, 1e-300)
        ):
            raise ValueError("coefficients of a row that do not add up to zero, or of the wrong sign")
    return machine, whole, steps


def _that_count(claim: Claim, table: ReplayRows) -> Array:
    """The rows of positive weight; of a given matrix the others are made nothing, as its columns are the rows."""
    there = table.weights > 0
    given = claim.witness["kernel"] == "precomputed"
    return np.where(there[:, None], table.X, 0.0) if given else table.X[there]


@check("kernel_perceptron_counts")
def check_counts(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Look up the rows with a coefficient; each coefficient is a whole number of steps, and they add up to the mistakes."""
    t, table = claim.witness, table_of(claim, rows)
    _, count, _ = _counted(claim, table)
    total, stated, dropped = int(count.sum()), int(t["mistakes"]), int(t["dropped"])
    holds = total == stated if dropped == 0 else total <= stated - dropped
    holds = holds and claim.value == stated
    reason = f"{len(count)} coefficients count {total} mistakes, {stated} are stated"
    return Verdict(claim.name, bool(holds), reason, float(stated), claim.kind)


@check("kernel_perceptron_values")
def check_values(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Add up the decision values of the stated rows, and compare them with those stated and with what the model answers."""
    t, table = claim.witness, table_of(claim, rows)
    machine = StatedMachine.of(claim, table, "coef")
    asked, values = np.asarray(t["asked"], dtype=np.int64), np.asarray(t["values"], dtype=np.float64)
    if (
        not len(asked)
        or np.any(asked < 0)
        or values.shape != (len(asked), len(machine.coef))
        or claim.value != len(asked)
    ):
        raise ValueError("no rows are asked, or other values than theirs are stated")
    S = machine.scores(table.X[asked])
    # of a given matrix what stands beside the rows asked is all that is added up
    rounding = machine.rounding(table.X[asked] if t["kernel"] == "precomputed" else _that_count(claim, table))
    if not rounding <= HIDDEN * float(np.abs(S).max()):
        return Verdict(claim.name, False, "rounding hides the decision values", kind=claim.kind)
    size = rounding + 1e-9 * float(np.abs(S).max())
    off = float(np.abs(S - values).max())
    two = S.shape[1] == 1
    codes = (S[:, 0] >= 0).astype(int) if two else S.argmax(axis=1)
    top = np.sort(S, axis=1)
    sure = np.abs(S[:, 0]) > size if two else top[:, -1] - top[:, -2] > 2 * size
    if predict is not None:
        said = np.asarray(predict(table.X[asked]))
        same = said == np.array(t["classes"], dtype=said.dtype)[codes]
        if not np.all(same | ~sure):
            return Verdict(claim.name, False, "the model answers something else", kind=claim.kind)
    reason = f"decision values of {len(asked)} rows are off by {off:.3g} at most"
    return Verdict(claim.name, bool(off <= size), reason, float(len(asked)), claim.kind)


@check("kernel_perceptron_bound")
def check_bound(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Take R, ‖w‖ and the margin from all rows again, count the mistakes, and compare with the bound."""
    t, table = claim.witness, table_of(claim, rows)
    if t["kernel"] == "sigmoid":
        raise ValueError("the sigmoid kernel has no feature space")
    machine, count, steps = _counted(claim, table)
    there = table.weights > 0
    S = machine.scores(table.X)
    _, ahead = _judge(S[there], table.codes[there])
    X = _that_count(claim, table)
    square, off = machine.square(X), machine.rounding(X)
    norm = math.sqrt(max(0.0, float((machine.coef * S[machine.support].T).sum())))
    least, R, gamma = float(ahead.min()) - off, math.sqrt(square), float(t["margin"])
    norm = math.sqrt(norm**2 + off * float(np.abs(machine.coef).sum()))
    if not (norm > 0 and 0 < gamma <= least / norm and math.isclose(R, float(t["radius"]), rel_tol=1e-6)):
        reason = f"R = {R:.6g} and a margin of {least / max(norm, 1e-300):.6g} are not those stated ({t['radius']:.6g}, {gamma:.6g})"
        return Verdict(claim.name, False, reason, kind=claim.kind)
    sums, squares = float((count * steps).sum()), float((count * steps**2).sum())
    value, bound = sums**2 / squares, (2 if len(t["classes"]) > 2 else 1) * square / gamma**2
    holds = value <= bound * (1 + 1e-9) and math.isclose(bound, float(claim.bound or 0.0), rel_tol=1e-6)
    holds = holds and math.isclose(value, float(claim.value or 0.0), rel_tol=1e-9)
    reason = f"{value:.6g} mistakes <= {bound:.6g} with R = {R:.6g}, gamma = {gamma:.6g}"
    return Verdict(claim.name, bool(holds), reason, value, claim.kind)


@check("kernel_perceptron_errors")
def check_errors(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Count the rows on the wrong side again; where they are too many to look at all, every s-th."""
    t, table = claim.witness, table_of(claim, rows)
    machine, every = StatedMachine.of(claim, table, "coef"), int(t["every"])
    there = np.flatnonzero(table.weights > 0)
    weight, off = float(table.weights.sum()), machine.rounding(table.X)
    same = len(there) == t["rows"] and math.isclose(weight, float(t["weight"]), rel_tol=1e-9) and every >= 1
    some = there[::every]
    wrong, ahead = _judge(machine.scores(table.X[some]), table.codes[some])
    sure = wrong & (ahead < -2 * off)
    unsure = np.abs(ahead) <= 2 * off
    found, most = int(sure.sum()), int((sure | unsure).sum())
    share = float(table.weights[some][wrong].sum() / table.weights[some].sum())
    stated, wrong_stated = float(claim.value or 0.0), int(t["wrong"])
    if every == 1:
        near = float(table.weights[some][unsure].sum()) / weight
        holds = found <= wrong_stated <= most and abs(share - stated) <= near + 1e-9 * max(share, 1e-6)
    else:
        spread = 5 * math.sqrt(max(stated * (1 - stated), 1 / len(some)) / len(some))
        holds = claim.kind != "proof" and abs(share - stated) <= spread
    reason = f"{int(wrong.sum())} of {len(some)} rows are on the wrong side, a share of {share:.6g} by weight"
    return Verdict(claim.name, bool(same and holds), reason, share, claim.kind)


WIDEST = 1024  # rows looked at at a time
WORD = (1 << 64) - 1


class KernelReplay:
    """Coefficients (m, n), scores (n, m) and counts, visit by visit."""

    def __init__(self, claim: Claim, table: ReplayRows, machine: StatedMachine) -> None:
        t = claim.witness
        self.table, self.machine = table, machine
        self.order, self.seed, self.budget = str(t["order"]), int(t["seed"]), int(t["budget"])
        self.passes, self.stated = int(t["passes"]), int(t["mistakes"])
        self.X = np.asarray(table.X, dtype=np.float64)
        m, n = len(machine.coef), len(self.X)
        self.coef, self.drift, self.S = np.zeros((m, n)), np.zeros((m, n)), np.zeros((n, m))
        self.terms = np.zeros((n, m), dtype=np.int64)  # of each score, other than zero
        self.kept: list[int] = []
        self.visits = self.mistakes = 0
        if self.order not in ("cyclic", "cyclic, shuffled", "first-mistake") or self.passes < 1:
            raise ValueError(f"there is no order {self.order!r} of {self.passes} passes")

    def run(self) -> None:
        if self.order == "first-mistake":
            order = self._in_order(0)
            while self._next_mistake(order, 0) < len(order) and self.mistakes < self.stated:
                self._search(order)
            self.visits += self._next_mistake(order, 0)
            return
        for epoch in range(1, self.passes + 1):
            order, t = self._in_order(epoch), 0
            while t < len(order):
                ahead = self._next_mistake(order, t)
                self.visits += ahead - t
                if ahead < len(order):
                    self._correct(int(order[ahead]))
                    self.visits += 1
                t = ahead + 1

    def _in_order(self, epoch: int) -> Array:
        """The rows of positive weight; shuffled within the blocks in which they are read."""
        found, a = [], 0
        for number, size in enumerate(self.table.sizes):
            there = a + np.flatnonzero(self.table.weights[a : a + size] > 0)
            if self.order == "cyclic, shuffled" and len(there):
                there = there[np.random.default_rng([self.seed, epoch, number]).permutation(len(there))]
            found.append(there)
            a += size
        return np.concatenate(found)

    def _wins(self, S: Floats, codes: Array) -> Array:
        """The class that wins wrongly, or −1."""
        tie = self.order == "first-mistake"
        if S.shape[1] == 1:
            s = S[:, 0]
            return np.where(((s >= 0) != (codes == 1)) | (tie & (s == 0)), 1 - codes, -1)
        at, others = np.arange(len(S)), S.copy()
        others[at, codes] = -np.inf
        rival = others.argmax(axis=1)
        ahead = S[at, codes] - others[at, rival]
        return np.where((ahead < 0) | ((ahead == 0) & (tie | (rival < codes))), rival, -1)

    def _next_mistake(self, order: Array, t: int) -> int:
        width = 16
        while t < len(order):
            rows = order[t : t + width]
            wrong = self._wins(self.S[rows], self.table.codes[rows]) >= 0
            if wrong.any():
                return t + int(wrong.argmax())
            t, width = t + len(rows), min(2 * width, WIDEST)
        return t

    def _search(self, order: Array) -> None:
        t = self._next_mistake(order, 0)
        self.visits += t
        self._correct(int(order[t]))
        self.visits += 1

    def _correct(self, i: int) -> None:
        step, code = float(self.table.weights[i]), int(self.table.codes[i])
        rival = int(self._wins(self.S[i : i + 1], self.table.codes[i : i + 1])[0])
        if self.budget:
            self._make_room(i)
        change = np.zeros(len(self.coef))
        if len(change) == 1:
            change[0] = step if code == 1 else -step
        else:
            change[code], change[rival] = step, -step
        self._add(i, change)
        self.drift[:, i] += float(self.visits) * change
        self.mistakes += 1
        if self.mistakes > self.stated:
            raise ValueError(f"there are more mistakes than the stated {self.stated}")

    def _add(self, i: int, change: Floats) -> None:
        """Change the coefficients of row i; a score that has no terms left is zero, not what rounding left of them."""
        before = self.coef[:, i] != 0
        self.coef[:, i] += change
        one = self.machine._replace(support=np.array([i]), Z=self.X[i : i + 1])
        K = one.kernel(self.X)
        self.S += K * change
        self.terms += (K != 0) * ((self.coef[:, i] != 0).astype(np.int64) - before)
        self.S[self.terms == 0] = 0.0

    def _make_room(self, i: int) -> None:
        if i in self.kept:
            return
        if len(self.kept) < self.budget:
            self.kept.append(i)
            return
        place = _drawn(self.seed, self.mistakes, self.budget)
        gone, self.kept[place] = self.kept[place], i
        self._add(gone, -self.coef[:, gone])


def _mixed(z: int) -> int:
    """splitmix64's scrambling of a word."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def _drawn(seed: int, count: int, n: int) -> int:
    """Which of n kept rows goes at mistake number `count`."""
    step = 0x9E3779B97F4A7C15
    word = _mixed((_mixed((seed + step) & WORD) + count * step) & WORD)
    return ((word >> 32) * n) >> 32


@check("kernel_perceptron_replay")
def check_replay(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Go through the run again: the same visits, mistakes and coefficients, and their average."""
    t, table = claim.witness, table_of(claim, rows)
    if t["kernel"] == "own":
        raise ValueError("a function is no witness")
    machine = StatedMachine.of(claim, table, "last")
    again = KernelReplay(claim, table, machine)
    again.run()
    pairs = [(again.coef, machine.coef)]
    if "coef" in t:
        pairs.append((again.coef - again.drift / max(1, again.visits), StatedMachine.of(claim, table, "coef").coef))
    off = 0.0
    for there, stated in pairs:
        due = np.zeros_like(there)
        due[:, machine.support] = stated
        off = max(off, float(np.abs(there - due).max()) / max(float(np.abs(due).max()), 1e-300))
    counts = (again.visits, again.mistakes) == (t["visits"], t["mistakes"]) and claim.value == again.mistakes
    reason = f"{again.visits} visits with {again.mistakes} mistakes again, coefficients off by {off:.3g}"
    return Verdict(claim.name, bool(counts and off <= 1e-9), reason, float(again.mistakes), claim.kind)
