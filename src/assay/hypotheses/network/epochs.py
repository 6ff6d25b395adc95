"""Epochs of mini-batches, over blocks of rows in their order. Shape: ordered stream.

An epoch whose loss or weights are not finite, or whose loss is far above that of no weights at all, is taken back and done again with steps half as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.errors import DataError
from assay.hypotheses.network.plan import Pace, Plan
from assay.hypotheses.network.task import Task
from assay.hypotheses.network.walks import Answered, Here, Step, There
from assay.learner.stopping import Stopping
from assay.numerics import Array

if TYPE_CHECKING:
    from assay.networks.training import Rule, Trainer

BLOWN = 1e2  # times the loss of weights of zero: an epoch that went astray
MOST_HALVINGS = 30  # in a row
SAMPLE = 512  # rows


class Epoch(NamedTuple):
    """After an epoch: its number, mean loss with the penalty, share of wrong answers, validation score, and the weights (as flat as the trainer's)."""

    number: int
    loss: float
    wrong: float
    score: float | None
    flat: Array


class Held(NamedTuple):
    """The trainer's numbers before an epoch."""

    P: Array
    M: Array
    V: Array
    begun: int


class Epochs:
    """Mini-batches until the plan says so, or the time is over; what they come to stays in the trainer."""

    def __init__(self, task: Task, plan: Plan, trainer: Trainer, walk: Here | There, stopping: Stopping) -> None:
        self.task, self.plan, self.trainer, self.walk, self.stopping = task, plan, trainer, walk, stopping
        self.pace, self.seen, self.done = Pace(plan), 0, 0
        self.until = stopping.begin()
        self.best: Array | None = None  # weights that the rows held out liked best, of a fit that this one goes on with
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
        self.pace.best_score, self.best = score, self.trainer.P.copy()

    def run(self, first: int = 1) -> Iterator[Epoch]:
        """One epoch after another, numbered from `first`."""
        best = self.best
        while self.done < self.plan.most and not self.stopping.over(self.until, self.done):
            found = self._tried(first + self.done)
            if found is None:
                break
            self.done += 1
            if found.score is not None and found.score > self.pace.best_score:
                best = found.flat
            yield found
            if not self.pace.goes_on(found.loss, found.score, self.seen):
                break
        if best is not None:
            self.trainer.P[:] = best
        elif not self._sound():
            self._restore(self.sure)
            self.pace.halve()

    def _tried(self, number: int) -> Epoch | None:
        """The epoch, with steps short enough; None where the time was over in the middle of it."""
        before, seen = self._hold(), self.seen
        for _ in range(MOST_HALVINGS):
            found = self._epoch(number)
            if found is not None and not self._astray(found.loss):
                self.sure = before
                return found
            self.seen = seen
            if found is None:
                self._restore(before)
                return None
            self._restore(self.sure)
            before = self.sure
            self.pace.halve()
        raise DataError(
            f"The loss of the network grows beyond all bounds even with steps of {self.pace.rate:.1g}: its inputs or targets are too large. Leave "
            "standardize=True, divide the columns (and the target) by a constant, or lower alpha."
        )

    def _hold(self) -> Held:
        t = self.trainer
        return Held(t.P.copy(), t.M.copy(), t.V.copy(), t.begun)

    def _restore(self, held: Held) -> None:
        t = self.trainer
        t.P[:], t.M[:], t.V[:], t.begun = held

    def _astray(self, loss: float) -> bool:
        usual = _loss_of_nothing(self.task)
        far = usual is not None and loss > BLOWN * usual
        return far or not (math.isfinite(loss) and bool(np.isfinite(self.trainer.P).all()))

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
        return not self._astray(float(found.mean()))

    def _epoch(self, number: int) -> Epoch | None:
        loss = wrong = weight = 0.0
        step = Step(self.task, self._rule(), self.plan.batch, self.plan.shuffle, number)
        for gone in self.walk.epoch(self.trainer, step):
            if loss and self.done and self.stopping.over(self.until, self.done):
                return None
            loss, wrong, weight = loss + gone.loss, wrong + gone.wrong, weight + gone.weight
            self.seen += gone.rows
        return Epoch(
            number,
            loss / weight + self._penalty(),
            wrong / weight,
            self._score() if self.plan.early else None,
            self.trainer.P.copy(),
        )

    def _rule(self) -> Rule:
        from assay.networks.training import Rule

        p = self.plan
        return Rule(
            p.solver, self.pace.rate, p.alpha, p.momentum, p.nesterov, p.beta1, p.beta2, p.small, p.dropout, p.seed
        )

    def _penalty(self) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return 0.5 * self.plan.alpha * squares(self.trainer.P, self.trainer.decays) / self.plan.batch

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


def squares(flat: Array, decays: Array) -> float:
    """‖W‖² of all layers, biases left out."""
    wide = flat.astype(np.float64)
    return float((wide * wide * decays).sum())


def _loss_of_nothing(task: Task) -> float | None:
    """The mean loss of outputs of zero, where the targets have a known size."""
    if task.loss == "squared":
        return 1.0 if task.standard.target_scale != 1.0 else None
    if task.loss == "hinge":
        return 1.0
    return math.log(max(2, task.shape.widths[-1]))
