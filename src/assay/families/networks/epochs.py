"""Epochs of mini-batches, over blocks of rows in their order. Shape: ordered stream.

An epoch that diverged, whose loss or weights are not finite, or whose loss is far above that of no weights at all, is taken back and done
again with steps half as long. The rate of the steps, and when they end, follow scikit-learn's rules.

Each batch begins at the weights that the one before left, so blocks come one after another. Rows on a cluster stay there: the weights travel
to the worker that has a block, go through its batches, and come back, the same bits with little to send. Rows held out are answered by all
workers at once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.engines import Engine, Part, Rows
from assay.engines.engine import Threads
from assay.errors import DataError
from assay.estimator.progress import Stopping
from assay.families.networks.architecture import TrainingPlan, wrong
from assay.families.networks.training_data import NetworkTask, PreparedBlock, PreparedBlocks, epoch_order, prepare_block
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.networks.training import Trainer, UpdateRule

DIVERGED = 1e2  # times the loss of weights of zero
AHEAD = 0.02  # seconds that the loops may run before control returns
MOST_STATE_BYTES = 1 << 23  # bytes of states on the way
NOTHING = np.empty(0)
SMALLEST_RATE = 1e-6  # of learning_rate="adaptive": below it the fit ends
FALL = 5.0  # by which an adaptive rate is divided
MOST_HALVINGS = 30  # in a row
SAMPLE = 256  # rows


class Epoch(NamedTuple):
    """After an epoch: its number, mean loss with the penalty, share of wrong answers, validation score, and the weights (as flat as the trainer's)."""

    number: int
    loss: float
    wrong: float
    score: float | None
    flat: Array

    def without_weights(self) -> Epoch:
        """Without the weights, which are a part of an array that many epochs share."""
        return self._replace(flat=NOTHING)


class TrainerSnapshot(NamedTuple):
    """The trainer's numbers before an epoch."""

    P: Array
    M: Array
    V: Array
    n_batches: int


class FinishedEpoch(NamedTuple):
    """An epoch that is done: mean loss with the penalty, share of wrong answers, and the trainer's numbers after it."""

    loss: float
    wrong: float
    held: TrainerSnapshot


class Epochs:
    """Mini-batches until the plan ends them, or the time is over; what they come to stays in the trainer."""

    def __init__(
        self,
        task: NetworkTask,
        plan: TrainingPlan,
        trainer: Trainer,
        batches: LocalBatches | RemoteBatches,
        stopping: Stopping,
    ) -> None:
        self.task, self.plan, self.trainer, self.batches, self.stopping = task, plan, trainer, batches, stopping
        self.schedule, self.seen, self.done, self.rows = LearningRate(plan), 0, 0, 0
        self.until = stopping.begin()
        self.best: Array | None = None  # weights that the rows held out liked best, of a fit that this one goes on with
        self.kept_best = False  # whether a fit that was ended went back to its best epoch
        self.ahead: deque[FinishedEpoch] = deque()  # epochs that the loops have done already
        self.last_sound = (
            self._snapshot()
        )  # the last weights known to be sound: what an epoch makes of them shows in the next

    @property
    def converged(self) -> bool:
        return self.schedule.converged

    @property
    def halved(self) -> int:
        """How often steps were too long."""
        return self.schedule.halved

    def resume(self, score: float) -> None:
        """The weights to begin with are those of the best epoch of an earlier fit, and had this validation score."""
        self.schedule.best_score, self.best = score, self.trainer.P

    def run(self, first: int = 1) -> Iterator[Epoch]:
        """One epoch after another, numbered from `first`."""
        best, least = self.best, FinishedEpoch(math.inf, 0.0, self._snapshot())
        while self.done < self.plan.most and not self.stopping.over(self.until, self.done):
            found = self._with_halving(first + self.done)
            if found is None:
                break
            self.done += 1
            if found.score is not None and found.score > self.schedule.best_score:
                best = found.flat
            if found.loss < least.loss:
                least = FinishedEpoch(found.loss, found.wrong, self._snapshot())
            yield found
            if not self.schedule.goes_on(found.loss, found.score, self.seen):
                break
        if best is not None:
            self.trainer.P = best
        elif not self._sound():
            self._restore(self.last_sound)
            self.schedule.halve()
        elif self.stopping.over(self.until, self.done) and least.held.n_batches < self.trainer.n_batches:
            self._restore(least.held)
            self.kept_best = True

    def _with_halving(self, number: int) -> Epoch | None:
        """The epoch, with steps short enough; None where the time was over in the middle of it."""
        before, seen = self._snapshot(), self.seen
        for _ in range(MOST_HALVINGS):
            found = self._epoch(number)
            if found is not None and not has_diverged(self.task, found.loss):
                self.last_sound = before
                return found
            self.seen = seen
            self.ahead.clear()
            if found is None:
                self._restore(before)
                return None
            self._restore(self.last_sound)
            before = self.last_sound
            self.schedule.halve()
        raise divergence_error(f"{self.schedule.rate:.1g}")

    def _snapshot(self) -> TrainerSnapshot:
        t = self.trainer
        return TrainerSnapshot(t.P, t.M, t.V, t.n_batches)

    def _restore(self, held: TrainerSnapshot) -> None:
        t = self.trainer
        t.P, t.M, t.V, t.n_batches = held

    def _sound(self) -> bool:
        """Whether the last epoch left weights whose loss, on some rows, has not diverged."""
        from assay.families.networks.architecture import losses

        piece = self.batches.first_block()
        if piece is None:
            return True
        some = piece.train[:SAMPLE]
        target = piece.rows.codes if self.task.labels is not None else piece.rows.targets
        with np.errstate(all="ignore"):
            found = losses(self.task.loss, self.trainer.outputs(piece.rows.X[some]), target[some])
        return not has_diverged(self.task, float(self._with_penalty(found.mean(), self.trainer.P)))

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
        piece = self.batches.only()
        if piece is None or self.plan.early or self.plan.schedule != "constant":
            return
        self.rows = len(piece.train)
        certain = min(
            self.plan.most - self.done, self.plan.patience - self.schedule.idle + 1
        )  # to come, whatever they find
        seconds = self.trainer.seconds_of(len(piece.train), self.plan.batch)
        many = max(1, min(int(AHEAD / seconds), MOST_STATE_BYTES // (3 * self.trainer.P.nbytes), certain))
        order = epoch_order(self.task, number, piece, self.plan.shuffle)
        passed = self.trainer.epochs(piece.rows, order, many, self.plan.batch, self._rule())
        loss, wrong = self._with_penalty(passed.loss / piece.weight, passed.states[:, 0]), passed.wrong / piece.weight
        for e, (P, M, V) in enumerate(passed.states):
            self.ahead.append(
                FinishedEpoch(float(loss[e]), float(wrong[e]), TrainerSnapshot(P, M, V, passed.n_batches[e]))
            )

    def _epoch_of_blocks(self, number: int) -> Epoch | None:
        loss = wrong = weight = 0.0
        step = BatchStep(self.task, self._rule(), self.plan.batch, self.plan.shuffle, number)
        for totals in self.batches.epoch(self.trainer, step):
            if loss and self.done and self.stopping.over(self.until, self.done):
                return None
            loss, wrong, weight = loss + totals.loss, wrong + totals.wrong, weight + totals.weight
            self.seen += totals.rows
        return Epoch(
            number,
            float(self._with_penalty(loss / weight, self.trainer.P)),
            wrong / weight,
            self._score() if self.plan.early else None,
            self.trainer.P,
        )

    def _rule(self) -> UpdateRule:
        from assay.families.networks.training import UpdateRule

        p = self.plan
        return UpdateRule(
            p.solver, self.schedule.rate, p.alpha, p.momentum, p.nesterov, p.beta1, p.beta2, p.small, p.dropout, p.seed
        )

    def _with_penalty(self, loss: float | Floats, P: Array) -> Floats:
        """The mean loss with the penalty; infinite where weights are not finite. Of one epoch, or of several."""
        penalty = 0.5 * self.plan.alpha * squares(P, self.trainer.decays) / self.plan.batch
        return np.where(np.isfinite(P).all(axis=-1), loss + penalty, np.inf)

    def _score(self) -> float:
        """Of the rows held out: the share answered rightly, or R²."""
        found = HeldOutSums(0.0, 0.0, 0.0, 0.0, 0.0)
        for some in self.batches.answers(self.trainer):
            found = found.merged(some)
        if not found.weight:
            raise DataError(
                "The validation set is too small: early_stopping=True holds out no row: raise validation_fraction, or leave early_stopping out for so few rows."
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


class LearningRate:
    """The rate of the steps, and whether the loss (or the validation score) still gets better."""

    def __init__(self, plan: TrainingPlan) -> None:
        self.plan, self.rate = plan, plan.rate
        self.halved, self.idle = 0, 0
        self.best_loss, self.best_score = math.inf, -math.inf
        self.converged = False

    def halve(self) -> None:
        """The steps were too long."""
        self.halved += 1
        self.rate *= 0.5

    def goes_on(self, loss: float, score: float | None, seen: int) -> bool:
        """An epoch ended with this loss and validation score, `seen` rows since the beginning: whether there should be another."""
        plan = self.plan
        if score is None:
            self.idle = self.idle + 1 if loss > self.best_loss - plan.tol else 0
        else:
            self.idle = self.idle + 1 if score < self.best_score + plan.tol else 0
            self.best_score = max(self.best_score, score)
        self.best_loss = min(self.best_loss, loss)
        if plan.schedule == "invscaling":
            self.rate = plan.rate * 0.5**self.halved / float(seen + 1) ** plan.power
        if self.idle <= plan.patience:
            return True
        if plan.schedule == "adaptive" and self.rate > SMALLEST_RATE:
            self.rate /= FALL
            self.idle = 0
            return True
        self.converged = True
        return False


class BatchTotals(NamedTuple):
    """What was seen in a block's batches: Σ c loss, Σ c [wrong], Σ c, rows."""

    loss: float
    wrong: float
    weight: float
    rows: int


class HeldOutSums(NamedTuple):
    """Of rows held out: Σ c, Σ c [right], Σ c (f − y)²; of the numbers y their mean and Σ c (y − mean)²."""

    weight: float
    right: float
    off: float
    mean: float
    spread: float

    def merged(self, other: HeldOutSums) -> HeldOutSums:
        """Both together."""
        weight = self.weight + other.weight
        share, gap = (other.weight / weight if weight else 0.0), other.mean - self.mean
        spread = self.spread + other.spread + gap * gap * self.weight * share
        return HeldOutSums(weight, self.right + other.right, self.off + other.off, self.mean + gap * share, spread)


class BatchStep(NamedTuple):
    """What an epoch does in each block."""

    task: NetworkTask
    rule: UpdateRule
    batch: int
    shuffled: bool
    epoch: int


def batches_of(engine: Engine, rows: Rows, task: NetworkTask) -> LocalBatches | RemoteBatches:
    """How such rows are walked through."""
    here = engine.shares_memory or rows.at_hand().local
    return LocalBatches(engine, rows, task) if here else RemoteBatches(engine, rows, task)


class LocalBatches:
    """The rows are read in this process."""

    def __init__(self, engine: Engine, rows: Rows, task: NetworkTask) -> None:
        self.rows, self.task, self.pieces = rows.at_hand(), task, PreparedBlocks(engine, rows, task)

    def epoch(self, trainer: Trainer, step: BatchStep) -> Iterator[BatchTotals]:
        """Block after block."""
        return (train_on(trainer, step, piece) for piece in self.pieces)

    def answers(self, trainer: Trainer) -> Iterator[HeldOutSums]:
        """Of the rows held out of each block."""
        return (answer_held_out(self.task, trainer, piece) for piece in self.pieces)

    def first_block(self) -> PreparedBlock | None:
        """The first block with rows to learn from."""
        return next((piece for piece in self.pieces if len(piece.train)), None)

    def only(self) -> PreparedBlock | None:
        """The one block, where there is no other and it is at hand."""
        return self.pieces.only


class RemoteBatches:
    """The rows lie on a cluster."""

    def __init__(self, engine: Engine, rows: Rows, task: NetworkTask) -> None:
        self.engine, self.rows, self.task = engine, engine.keep(rows), task

    def epoch(self, trainer: Trainer, step: BatchStep) -> Iterator[BatchTotals]:
        """Block after block; the weights go there and come back."""
        for part in self.rows.blocks():
            work = partial(_train_remotely, step, trainer.P, trainer.M, trainer.V, trainer.n_batches)
            ((totals, P, M, V, n_batches),) = self.engine.map(work, [part])
            trainer.P, trainer.M, trainer.V, trainer.n_batches = P, M, V, n_batches
            yield totals

    def answers(self, trainer: Trainer) -> Iterator[HeldOutSums]:
        """Of the rows held out of each block."""
        return self.engine.map(partial(_answer_remotely, self.task, trainer.P), self.rows.blocks())

    def first_block(self) -> PreparedBlock | None:
        """The first block with rows to learn from."""
        pieces = (prepare_block(self.task, part.load()) for part in self.rows.blocks())
        return next((piece for piece in pieces if len(piece.train)), None)

    def only(self) -> PreparedBlock | None:
        """None: the rows lie elsewhere."""
        return None


def train_on(trainer: Trainer, step: BatchStep, piece: PreparedBlock) -> BatchTotals:
    """The batches of one block."""
    if not len(piece.train):
        return BatchTotals(0.0, 0.0, 0.0, 0)
    order = epoch_order(step.task, step.epoch, piece, step.shuffled).drawn()
    found = trainer.epoch(piece.rows, order.rows, step.batch, step.rule)
    return BatchTotals(found.loss, found.wrong, piece.weight, len(piece.train))


def _train_remotely(
    step: BatchStep, P: Array, M: Array, V: Array, n_batches: int, part: Part
) -> tuple[BatchTotals, Array, Array, Array, int]:
    trainer = _trainer_of(step.task, P)
    trainer.M, trainer.V, trainer.n_batches = M, V, n_batches
    totals = train_on(trainer, step, prepare_block(step.task, part.load()))
    return totals, trainer.P, trainer.M, trainer.V, trainer.n_batches


def _trainer_of(task: NetworkTask, P: Array) -> Trainer:
    from assay.families.networks.training import Trainer

    return Trainer(task.shape, task.loss, task.shape.layers(P), task.dtype, Threads())


def answer_held_out(task: NetworkTask, trainer: Trainer, piece: PreparedBlock) -> HeldOutSums:
    """How the rows held out of one block are answered."""
    if not len(piece.held):
        return HeldOutSums(0.0, 0.0, 0.0, 0.0, 0.0)
    rows, c = piece.rows, piece.rows.weights[piece.held]
    weight = float(c.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        F = trainer.outputs(rows.X[piece.held])
        if task.labels is not None:
            return HeldOutSums(weight, float((c * ~wrong(F, rows.codes[piece.held])).sum()), 0.0, 0.0, 0.0)
        y: Floats = rows.targets[piece.held, 0].astype(np.float64)
        mean = float((c * y).sum()) / weight
        return HeldOutSums(weight, 0.0, float((c * (F[:, 0] - y) ** 2).sum()), mean, float((c * (y - mean) ** 2).sum()))


def _answer_remotely(task: NetworkTask, P: Array, part: Part) -> HeldOutSums:
    return answer_held_out(task, _trainer_of(task, P), prepare_block(task, part.load()))


def has_diverged(task: NetworkTask, loss: float) -> bool:
    """Whether no network should have such a mean loss."""
    usual = _loss_of_zero_outputs(task)
    return not math.isfinite(loss) or (usual is not None and loss > DIVERGED * usual)


def _loss_of_zero_outputs(task: NetworkTask) -> float | None:
    """The mean loss of outputs of zero, where the targets have a known size."""
    if task.loss == "squared":
        return 1.0 if task.standard.target_scale != 1.0 else None
    if task.loss == "signs":
        return 0.5 * task.shape.widths[-1]
    if task.loss == "hinge":
        return 1.0
    return math.log(max(2, task.shape.widths[-1]))


def divergence_error(steps: str) -> DataError:
    """The error for rows on which steps of any length diverge."""
    return DataError(
        f"The loss of the network grows beyond all bounds even with steps of {steps}: its inputs or targets are too large. Leave "
        "standardize=True, divide the columns (and the target) by a constant, or lower alpha."
    )
