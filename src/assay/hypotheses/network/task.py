"""What is learnt from which rows: a block as the loops want it, rows of weight zero left out, rows held out for validation apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import ArrayRows, Block, Engine, Part, Rows
from assay.engines.threads import default_engine
from assay.hypotheses.network.standard import Standard
from assay.hypotheses.network.survey import target_of
from assay.labels import Labels
from assay.networks import Shape
from assay.networks.prepared import Prepared, prepare
from assay.numerics import Array, Floats

HELD, ORDER = 1, 2  # what draws are for, so that no two are alike


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
    rows = prepare(task.shape, kept.X, codes, numbers, c, task.dtype, task.standard.rows)
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


def visits(task: Task, epoch: int, piece: Piece, shuffled: bool) -> Array:
    """The rows of a block in the order of an epoch."""
    if not shuffled:
        return piece.train
    order: Array = piece.train[
        np.random.default_rng([task.seed, ORDER, epoch, piece.start]).permutation(len(piece.train))
    ]
    return order


class Pieces:
    """The pieces of all blocks in order, as often as they are asked for: kept where the rows are in memory, else read again."""

    def __init__(self, engine: Engine, rows: Rows, task: Task) -> None:
        rows = rows.at_hand()
        self._engine, self._rows, self._task = engine, rows, task
        self._kept: list[Piece] | None = None
        if isinstance(rows, ArrayRows):
            reader = default_engine() if engine.name == "cluster" else engine
            self._kept = list(reader.map(partial(_prepared, task), rows.blocks()))

    def __iter__(self) -> Iterator[Piece]:
        if self._kept is not None:
            yield from self._kept
            return
        for block in self._engine.map(_load, self._rows.blocks()):
            yield piece_of(self._task, block.load())  # what travelled may lie at odd addresses


def _prepared(task: Task, part: Part) -> Piece:
    return piece_of(task, part.load())


def _load(part: Part) -> Block:
    return part.load()
