"""The run of a kernel perceptron gone through again, in plain NumPy: all scores are kept, and each mistake adds a row of the kernel to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.checks.kernel_perceptron import Machine, Table, table_of
from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats

WIDEST = 1024  # rows looked at at a time
WORD = (1 << 64) - 1


class Replay:
    """Coefficients (m, n), scores (n, m) and counts, visit by visit."""

    def __init__(self, claim: Claim, table: Table, machine: Machine) -> None:
        t = claim.witness
        self.table, self.machine = table, machine
        self.order, self.seed, self.budget = str(t["order"]), int(t["seed"]), int(t["budget"])
        self.passes, self.stated = int(t["passes"]), int(t["mistakes"])
        self.X = np.asarray(table.X, dtype=np.float64)
        m, n = len(machine.coef), len(self.X)
        self.coef, self.drift, self.S = np.zeros((m, n)), np.zeros((m, n)), np.zeros((n, m))
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
        self.coef[:, i] += change
        one = self.machine._replace(support=np.array([i]), Z=self.X[i : i + 1])
        self.S += one.kernel(self.X) * change

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
    machine = Machine.of(claim, table, "last")
    again = Replay(claim, table, machine)
    again.run()
    pairs = [(again.coef, machine.coef)]
    if "coef" in t:
        pairs.append((again.coef - again.drift / max(1, again.visits), Machine.of(claim, table, "coef").coef))
    off = 0.0
    for there, stated in pairs:
        due = np.zeros_like(there)
        due[:, machine.support] = stated
        off = max(off, float(np.abs(there - due).max()) / max(float(np.abs(due).max()), 1e-300))
    counts = (again.visits, again.mistakes) == (t["visits"], t["mistakes"]) and claim.value == again.mistakes
    reason = f"{again.visits} visits with {again.mistakes} mistakes again, coefficients off by {off:.3g}"
    return Verdict(claim.name, bool(counts and off <= 1e-9), reason, float(again.mistakes), claim.kind)
