"""Where the batches of an epoch run: where the rows are read, or, on a cluster, where the rows lie.

Each batch begins at the weights that the one before left, so blocks come one after another. Rows on a cluster stay there: the weights travel to the worker that has
a block, go through its batches, and come back, the same bits with little to send. Rows held out are answered by all workers at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.engines import Engine, Part, Rows
from assay.engines.threads import Threads
from assay.hypotheses.network.task import Piece, Pieces, Task, order_of, piece_of
from assay.networks.plain import wrong
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.networks.training import Rule, Trainer


class Gone(NamedTuple):
    """What was seen in a block's batches: Σ c loss, Σ c [wrong], Σ c, rows."""

    loss: float
    wrong: float
    weight: float
    rows: int


class Answered(NamedTuple):
    """Of rows held out: Σ c, Σ c [right], Σ c (f − y)²; of the numbers y their mean and Σ c (y − mean)²."""

    weight: float
    right: float
    off: float
    mean: float
    spread: float

    def and_(self, other: Answered) -> Answered:
        """Both together."""
        weight = self.weight + other.weight
        share, gap = (other.weight / weight if weight else 0.0), other.mean - self.mean
        spread = self.spread + other.spread + gap * gap * self.weight * share
        return Answered(weight, self.right + other.right, self.off + other.off, self.mean + gap * share, spread)


class Step(NamedTuple):
    """What an epoch does in each block."""

    task: Task
    rule: Rule
    batch: int
    shuffled: bool
    epoch: int


def walk_of(engine: Engine, rows: Rows, task: Task) -> Here | There:
    """How such rows are walked through."""
    here = engine.shares_memory or rows.at_hand().local
    return Here(engine, rows, task) if here else There(engine, rows, task)


class Here:
    """The rows are read in this process."""

    def __init__(self, engine: Engine, rows: Rows, task: Task) -> None:
        self.rows, self.task, self.pieces = rows.at_hand(), task, Pieces(engine, rows, task)

    def epoch(self, trainer: Trainer, step: Step) -> Iterator[Gone]:
        """Block after block."""
        return (go_through(trainer, step, piece) for piece in self.pieces)

    def answers(self, trainer: Trainer) -> Iterator[Answered]:
        """Of the rows held out of each block."""
        return (answer_held_out(self.task, trainer, piece) for piece in self.pieces)

    def some(self) -> Piece | None:
        """The first block with rows to learn from."""
        return next((piece for piece in self.pieces if len(piece.train)), None)

    def only(self) -> Piece | None:
        """The one block, where there is no other and it is at hand."""
        return self.pieces.only


class There:
    """The rows lie on a cluster."""

    def __init__(self, engine: Engine, rows: Rows, task: Task) -> None:
        self.engine, self.rows, self.task = engine, engine.keep(rows), task

    def epoch(self, trainer: Trainer, step: Step) -> Iterator[Gone]:
        """Block after block; the weights go there and come back."""
        for part in self.rows.blocks():
            work = partial(_go_there, step, trainer.P, trainer.M, trainer.V, trainer.begun)
            ((gone, P, M, V, begun),) = self.engine.map(work, [part])
            trainer.P, trainer.M, trainer.V, trainer.begun = P, M, V, begun
            yield gone

    def answers(self, trainer: Trainer) -> Iterator[Answered]:
        """Of the rows held out of each block."""
        return self.engine.map(partial(_answer_there, self.task, trainer.P), self.rows.blocks())

    def some(self) -> Piece | None:
        """The first block with rows to learn from."""
        pieces = (piece_of(self.task, part.load()) for part in self.rows.blocks())
        return next((piece for piece in pieces if len(piece.train)), None)

    def only(self) -> Piece | None:
        """None: the rows lie elsewhere."""
        return None


def go_through(trainer: Trainer, step: Step, piece: Piece) -> Gone:
    """The batches of one block."""
    if not len(piece.train):
        return Gone(0.0, 0.0, 0.0, 0)
    order = order_of(step.task, step.epoch, piece, step.shuffled).drawn()
    found = trainer.epoch(piece.rows, order.rows, step.batch, step.rule)
    return Gone(found.loss, found.wrong, piece.weight, len(piece.train))


def _go_there(
    step: Step, P: Array, M: Array, V: Array, begun: int, part: Part
) -> tuple[Gone, Array, Array, Array, int]:
    trainer = _trainer_of(step.task, P)
    trainer.M, trainer.V, trainer.begun = M, V, begun
    gone = go_through(trainer, step, piece_of(step.task, part.load()))
    return gone, trainer.P, trainer.M, trainer.V, trainer.begun


def _trainer_of(task: Task, P: Array) -> Trainer:
    from assay.networks.training import Trainer

    return Trainer(task.shape, task.loss, task.shape.layers(P), task.dtype, Threads())


def answer_held_out(task: Task, trainer: Trainer, piece: Piece) -> Answered:
    """How the rows held out of one block are answered."""
    if not len(piece.held):
        return Answered(0.0, 0.0, 0.0, 0.0, 0.0)
    rows, c = piece.rows, piece.rows.weights[piece.held]
    weight = float(c.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        F = trainer.outputs(rows.X[piece.held])
        if task.labels is not None:
            return Answered(weight, float((c * ~wrong(F, rows.codes[piece.held])).sum()), 0.0, 0.0, 0.0)
        y: Floats = rows.targets[piece.held, 0].astype(np.float64)
        mean = float((c * y).sum()) / weight
        return Answered(weight, 0.0, float((c * (F[:, 0] - y) ** 2).sum()), mean, float((c * (y - mean) ** 2).sum()))


def _answer_there(task: Task, P: Array, part: Part) -> Answered:
    return answer_held_out(task, _trainer_of(task, P), piece_of(task, part.load()))
