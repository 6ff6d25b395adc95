"""Epochs of mini-batches, over blocks of rows in their order. Shape: ordered stream.

An epoch whose loss or weights are not finite, or whose loss is far above that of no weights at all, is taken back and done again with steps half as long.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.errors import DataError
from assay.hypotheses.network.plan import Pace, Plan
from assay.hypotheses.network.straying import beyond_bounds, is_astray
from assay.hypotheses.network.task import Task, order_of
from assay.hypotheses.network.walks import Answered, Here, Step, There
from assay.learner.stopping import Stopping
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.networks.training import Rule, Trainer

AHEAD = 0.02  # seconds that the loops may run before anybody looks
HELD = 1 << 23  # bytes of states on the way
NOTHING = np.empty(0)
MOST_HALVINGS = 30  # in a row
SAMPLE = 256  # rows


class Epoch(NamedTuple):
    """After an epoch: its number, mean loss with the penalty, share of wrong answers, validation score, and the weights (as flat as the trainer's)."""

    number: int
    loss: float
    wrong: float
    score: float | None
    flat: Array

    def told(self) -> Epoch:
        """Without the weights, which are a part of an array that many epochs share."""
        return self._replace(flat=NOTHING)


class Held(NamedTuple):
    """The trainer's numbers before an epoch."""

    P: Array
    M: Array
    V: Array
    begun: int


class Ahead(NamedTuple):
    """An epoch that is done: mean loss with the penalty, share of wrong answers, and the trainer's numbers after it."""

    loss: float
    wrong: float
    held: Held


class Epochs:
    """Mini-batches until the plan says so, or the time is over; what they come to stays in the trainer."""

    def __init__(self, task: Task, plan: Plan, trainer: Trainer, walk: Here | There, stopping: Stopping) -> None:
        self.task, self.plan, self.trainer, self.walk, self.stopping = task, plan, trainer, walk, stopping
        self.pace, self.seen, self.done, self.rows = Pace(plan), 0, 0, 0
        self.until = stopping.begin()
        self.best: Array | None = None  # weights that the rows held out liked best, of a fit that this one goes on with
        self.kept_best = False  # whether a fit that was ended went back to its best epoch
        self.ahead: deque[Ahead] = deque()  # epochs that the loops have done already
        self.sure = self._hold()  # the last weights known to be sound: what an epoch makes of them shows in the next

    @property
    def converged(self) -> bool:
        return self.pace.converged

    @property
    def halved(self) -> int:
        """How often steps were too long."""
        return self.pace.halved

    def go_on(self, score: float) -> None:
        """The weights to begin with are those of the best epoch of an earlier fit, and had this validation score."""
        self.pace.best_score, self.best = score, self.trainer.P

    def run(self, first: int = 1) -> Iterator[Epoch]:
        """One epoch after another, numbered from `first`."""
        best, least = self.best, Ahead(math.inf, 0.0, self._hold())
        while self.done < self.plan.most and not self.stopping.over(self.until, self.done):
            found = self._tried(first + self.done)
            if found is None:
                break
            self.done += 1
            if found.score is not None and found.score > self.pace.best_score:
                best = found.flat
            if found.loss < least.loss:
                least = Ahead(found.loss, found.wrong, self._hold())
            yield found
            if not self.pace.goes_on(found.loss, found.score, self.seen):
                break
        if best is not None:
            self.trainer.P = best
        elif not self._sound():
            self._restore(self.sure)
            self.pace.halve()
        elif self.stopping.over(self.until, self.done) and least.held.begun < self.trainer.begun:
            self._restore(least.held)
            self.kept_best = True

    def _tried(self, number: int) -> Epoch | None:
        """The epoch, with steps short enough; None where the time was over in the middle of it."""
        before, seen = self._hold(), self.seen
        for _ in range(MOST_HALVINGS):
            found = self._epoch(number)
            if found is not None and not is_astray(self.task, found.loss):
                self.sure = before
                return found
            self.seen = seen
            self.ahead.clear()
            if found is None:
                self._restore(before)
                return None
            self._restore(self.sure)
            before = self.sure
            self.pace.halve()
        raise beyond_bounds(f"{self.pace.rate:.1g}")

    def _hold(self) -> Held:
        t = self.trainer
        return Held(t.P, t.M, t.V, t.begun)

    def _restore(self, held: Held) -> None:
        t = self.trainer
        t.P, t.M, t.V, t.begun = held

    def _sound(self) -> bool:
        """Whether the last epoch left weights whose loss, on some rows, is not astray."""
        from assay.networks.plain import losses

        piece = self.walk.some()
        if piece is None:
            return True
        some = piece.train[:SAMPLE]
        target = piece.rows.codes if self.task.labels is not None else piece.rows.targets
        with np.errstate(all="ignore"):
            found = losses(self.task.loss, self.trainer.outputs(piece.rows.X[some]), target[some])
        return not is_astray(self.task, float(self._whole(found.mean(), self.trainer.P)))

    def _epoch(self, number: int) -> Epoch | None:
        if not self.ahead:
            self._run_ahead(number)
        if self.ahead:
            done = self.ahead.popleft()
            self._restore(done.held)
            self.seen += self.rows
            return Epoch(number, done.loss, done.wrong, None, done.held.P)
        return self._epoch_of_blocks(number)

    def _run_ahead(self, number: int) -> None:
        """Some epochs at once, where all rows are one block in memory, and nothing that an epoch finds changes how the next one goes."""
        piece = self.walk.only()
        if piece is None or self.plan.early or self.plan.schedule != "constant":
            return
        self.rows = len(piece.train)
        certain = min(
            self.plan.most - self.done, self.plan.patience - self.pace.idle + 1
        )  # to come, whatever they find
        seconds = self.trainer.seconds_of(len(piece.train), self.plan.batch)
        many = max(1, min(int(AHEAD / seconds), HELD // (3 * self.trainer.P.nbytes), certain))
        order = order_of(self.task, number, piece, self.plan.shuffle)
        passed = self.trainer.epochs(piece.rows, order, many, self.plan.batch, self._rule())
        loss, wrong = self._whole(passed.loss / piece.weight, passed.states[:, 0]), passed.wrong / piece.weight
        for e, (P, M, V) in enumerate(passed.states):
            self.ahead.append(Ahead(float(loss[e]), float(wrong[e]), Held(P, M, V, passed.begun[e])))

    def _epoch_of_blocks(self, number: int) -> Epoch | None:
        loss = wrong = weight = 0.0
        step = Step(self.task, self._rule(), self.plan.batch, self.plan.shuffle, number)
        for gone in self.walk.epoch(self.trainer, step):
            if loss and self.done and self.stopping.over(self.until, self.done):
                return None
            loss, wrong, weight = loss + gone.loss, wrong + gone.wrong, weight + gone.weight
            self.seen += gone.rows
        return Epoch(
            number,
            float(self._whole(loss / weight, self.trainer.P)),
            wrong / weight,
            self._score() if self.plan.early else None,
            self.trainer.P,
        )

    def _rule(self) -> Rule:
        from assay.networks.training import Rule

        p = self.plan
        return Rule(
            p.solver, self.pace.rate, p.alpha, p.momentum, p.nesterov, p.beta1, p.beta2, p.small, p.dropout, p.seed
        )

    def _whole(self, loss: float | Floats, P: Array) -> Floats:
        """The mean loss with the penalty; infinite where weights are not finite. Of one epoch, or of several."""
        penalty = 0.5 * self.plan.alpha * squares(P, self.trainer.decays) / self.plan.batch
        return np.where(np.isfinite(P).all(axis=-1), loss + penalty, np.inf)

    def _score(self) -> float:
        """Of the rows held out: the share answered rightly, or R²."""
        found = Answered(0.0, 0.0, 0.0, 0.0, 0.0)
        for some in self.walk.answers(self.trainer):
            found = found.and_(some)
        if not found.weight:
            raise DataError(
                "early_stopping=True holds out no row: raise validation_fraction, or leave early_stopping out for so few rows."
            )
        if self.task.labels is not None:
            return found.right / found.weight
        return 1.0 - found.off / found.spread if found.spread > 0 else -found.off


def squares(flat: Array, decays: Array) -> Floats:
    """‖W‖² of all layers, biases left out; of several networks (n, p) at once, or of one."""
    with np.errstate(over="ignore", invalid="ignore"):
        wide = flat.astype(np.float64)
        wide *= wide
        wide *= decays
        found: Floats = wide.sum(axis=-1)
        return found
