"""What is learnt from which rows: a block as the loops want it, rows of weight zero left out, rows held out for validation apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Part, Rows, load
from assay.hypotheses.network.standard import Standard
from assay.hypotheses.network.survey import target_of
from assay.labels import Labels
from assay.networks import Shape
from assay.networks.prepared import Prepared, prepare
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.networks.training import Order

HELD = 1  # what draws are for, so that no two are alike
MOST_FILLED = 1 << 29  # bytes of sparse rows that are kept with their zeros; more are filled in again in each epoch


class Task(NamedTuple):
    """Shape and loss; how columns are standardised; labels (None: numbers) with the factor of each class; the mean weight of a row; the share of rows
    held out, and the seed that chooses them."""

    shape: Shape
    loss: str
    standard: Standard
    labels: Labels | None
    factor: Floats | None
    unit: float
    dtype: str
    held: float
    seed: int


class Kept(NamedTuple):
    """Rows of positive weight as they are: X, target (codes or numbers), weights c (None: all 1)."""

    X: Array
    target: Array
    c: Floats | None


def keep(task: Task, block: Block) -> Kept:
    """Weights are those of the rows times those of their classes."""
    X, target = block.X, target_of(task.labels, block)
    if block.w is None and task.factor is None:
        return Kept(X, target, None)
    c = np.ones(len(target)) if block.w is None else block.w
    c = c if task.factor is None else c * task.factor[target]
    there = c > 0
    return Kept(X, target, c) if there.all() else Kept(X[there], target[there], c[there])


class Piece(NamedTuple):
    """A block prepared; the numbers of the rows to learn from and of those held out; the weight of the former, in rows; the first row's number in the table."""

    rows: Prepared
    train: Array
    held: Array
    weight: float
    start: int


def piece_of(task: Task, block: Block) -> Piece:
    """A block for the loops."""
    kept = keep(task, block)
    numbers, codes = (None, kept.target) if task.labels is not None else (task.standard.numbers(kept.target), None)
    c = None if kept.c is None else kept.c / task.unit
    rows = prepare(task.shape, kept.X, codes, numbers, c, task.dtype, task.standard.columns)
    held = held_out(task, block.start, kept.target)
    train = np.flatnonzero(~held)
    weight = float(len(train)) if kept.c is None else float(rows.weights[train].sum())
    return Piece(rows, train, np.flatnonzero(held), weight, block.start)


def held_out(task: Task, start: int, target: Array) -> Array:
    """Which rows of a block are held out: a share of each class of them, drawn by the seed and the number of the block's first row."""
    n = len(target)
    found = np.zeros(n, dtype=bool)
    if task.held > 0 and n:
        order = np.random.default_rng([task.seed, HELD, start]).permutation(n)
        if task.labels is not None:
            order = order[np.argsort(target[order], kind="stable")]
        places = np.floor(task.held * np.arange(n + 1))
        found[order[places[1:] > places[:-1]]] = True
    return found


def order_of(task: Task, epoch: int, piece: Piece, shuffles: bool) -> Order:
    """How an epoch goes through the rows of a block."""
    from assay.networks.training import Order

    return Order(piece.train, shuffles, task.seed, epoch, piece.start)


def stays(task: Task, rows: Rows) -> bool:
    """Whether rows stay in memory as they are prepared: those that lie there anyway, and sparse ones that are not too many with their zeros."""
    if rows.resident or not rows.local or rows.n_rows is None:
        return rows.resident
    return rows.n_rows * int(task.shape.wide[0]) * np.dtype(task.dtype).itemsize <= MOST_FILLED


class Pieces:
    """The pieces of all blocks in order, as often as they are asked for: kept where the rows are in memory, else read again."""

    def __init__(self, engine: Engine, rows: Rows, task: Task) -> None:
        rows = rows.at_hand()
        self._engine, self._rows, self._task = engine.reader(), rows, task
        self._kept: list[Piece] | None = None
        if stays(task, rows):
            self._kept = list(self._engine.map(partial(_prepared, task), rows.blocks()))

    @property
    def only(self) -> Piece | None:
        """The one block with rows to learn from, where it is in memory and there is no other."""
        full = [piece for piece in self._kept or () if len(piece.train)]
        return full[0] if len(full) == 1 else None

    def __iter__(self) -> Iterator[Piece]:
        if self._kept is not None:
            yield from self._kept
            return
        for block in self._engine.map(load, self._rows.blocks()):
            yield piece_of(self._task, block)


def _prepared(task: Task, part: Part) -> Piece:
    return piece_of(task, part.load())
