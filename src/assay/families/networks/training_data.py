"""What a network's fit knows of its rows before the first epoch: weights of the classes, means and deviations. One fold, with the fingerprint."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Part, Rows, fingerprint, fold, load
from assay.errors import DataError
from assay.families.networks.architecture import Layer, NetworkShape
from assay.families.networks.prepared import NetworkRows, prepare
from assay.inputs import as_regression_target, refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats
from assay.statistics.class_moments import ClassMoments, absorb_moments, merge_moments

if TYPE_CHECKING:
    from assay.families.networks.training import Order


class NetworkSurvey(NamedTuple):
    """Moments of the columns (1, d) and of a number to predict (1, 1); weight and rows of positive weight of each class (K,); all rows; the mark."""

    columns: ClassMoments
    target: ClassMoments | None
    weight: Floats
    rows: Array
    total: int
    mark: bytes


def target_of(labels: Labels | None, block: Block) -> Array:
    """Codes of the classes, or numbers."""
    assert block.y is not None
    return as_regression_target(block.y, block.start) if labels is None else labels.encode(block.y)


def absorb(labels: Labels | None, names: tuple[str, ...] | None, block: Block) -> NetworkSurvey:
    """The survey of one block."""
    target = target_of(labels, block)
    n, w, K = len(target), block.w, 1 if labels is None else len(labels.classes)
    codes = np.zeros(n, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        columns, weight, hashes = absorb_moments(block.X, codes, w, 1)
        of_target = None
        if labels is None:
            of_target = absorb_moments(np.ascontiguousarray(target.reshape(n, 1)), codes, w, 1)[0]
    if not (np.isfinite(columns.m2).all() and np.isfinite(weight).all()):
        refuse_non_finite(block.X, block.start, names)
        refuse_heavy(w)
        refuse_overflow(block.X, block.start, names)
    if of_target is not None and not np.isfinite(of_target.m2).all():
        raise DataError("The squares of y overflow float64: divide the target by a constant.")
    classes = codes if labels is None else target
    there = np.ones(n) if w is None else (w > 0).astype(np.float64)
    weight = np.bincount(classes, weights=w, minlength=K).astype(np.float64)
    rows = np.bincount(classes, weights=there, minlength=K).astype(np.int64)
    return NetworkSurvey(columns, of_target, weight, rows, n, fingerprint.leaf(hashes, block.X, target, w))


def merge(a: NetworkSurvey, b: NetworkSurvey) -> NetworkSurvey:
    """The survey of both stretches of rows together."""
    with np.errstate(over="ignore", invalid="ignore"):
        columns = merge_moments(a.columns, b.columns)
        target = None if a.target is None or b.target is None else merge_moments(a.target, b.target)
    mark = fingerprint.join(a.mark, b.mark)
    return NetworkSurvey(columns, target, a.weight + b.weight, a.rows + b.rows, a.total + b.total, mark)


def survey(engine: Engine, rows: Rows, labels: Labels | None) -> NetworkSurvey:
    """One fold over the rows."""
    found: NetworkSurvey | None = fold(engine, rows.blocks(), partial(absorb, labels, rows.names), merge)
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.weight.sum() > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    if not np.isfinite(found.columns.m2).all():
        raise DataError("The spread of a column overflows float64: divide its values by a constant.")
    return found


# Columns at mean 0 and deviation 1, and the weights of the columns as they are.
#
# z = (x − m) / s,  a regression's target (y − n) / r:      W₁ ← W₁ / s,  b₁ ← b₁ − (m / s)·W₁,      W_L ← r W_L,  b_L ← r b_L + n

LEAST = 1e-150  # a deviation below counts as none: its inverse would overflow


class Standardisation(NamedTuple):
    """mean, scale (d,) of the columns; target_mean, target_scale of a number to predict."""

    mean: Floats
    scale: Floats
    target_mean: float = 0.0
    target_scale: float = 1.0

    def rows(self, X: Array) -> Floats:
        """The rows at mean 0 and deviation 1."""
        Z: Floats = X - self.mean
        Z /= self.scale
        return Z

    @property
    def columns(self) -> tuple[Floats, Floats]:
        """Mean and scale of the columns."""
        return self.mean, self.scale

    def numbers(self, y: Floats) -> Floats:
        """The target likewise."""
        found: Floats = (y - self.target_mean) / self.target_scale
        return found

    def folded(self, layers: Sequence[Layer]) -> list[Layer]:
        """The layers that answer rows as they are."""
        found = [Layer(W.copy(), b.copy()) for W, b in layers]
        W = found[0].weights / self.scale[:, None]
        found[0] = Layer(W, found[0].biases - self.mean @ W)
        W, b = found[-1]
        found[-1] = Layer(W * self.target_scale, b * self.target_scale + self.target_mean)
        return found

    def unfolded(self, layers: Sequence[Layer]) -> list[Layer]:
        """The layers that answer standardised rows as these answer rows as they are."""
        W, b = layers[-1]
        found = [*layers[:-1], Layer(W / self.target_scale, (b - self.target_mean) / self.target_scale)]
        W, b = found[0]
        found[0] = Layer(W * self.scale[:, None], b + self.mean @ W)
        return found


def deviations(moments: ClassMoments) -> tuple[Floats, Floats]:
    """Means and deviations of the columns; a constant column has deviation 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.sqrt(moments.m2[0] / np.maximum(moments.n[0], 1e-300))
    return moments.mean[0], np.where(scale > LEAST, scale, 1.0)


def packed(layers: Sequence[Layer]) -> Floats:
    """All weights and biases in one array, layer after layer."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def unpacked(widths: Sequence[int], numbers: Floats) -> list[Layer]:
    """The layers again."""
    found, at = [], 0
    for before, after in itertools.pairwise(widths):
        W = numbers[at : at + before * after].reshape(before, after)
        at += before * after
        found.append(Layer(W, numbers[at : at + after]))
        at += after
    return found


def count(widths: Sequence[int]) -> int:
    """How many numbers `packed` gives."""
    return sum((before + 1) * after for before, after in itertools.pairwise(widths))


# What is learnt from which rows: a block as the loops want it, rows of weight zero left out, rows held out for validation apart.

HELD = 1  # what draws are for, so that no two are alike
MOST_FILLED = 1 << 29  # bytes of sparse rows that are kept with their zeros; more are filled in again in each epoch


class NetworkTask(NamedTuple):
    """Shape and loss; how columns are standardised; labels (None: numbers) with the factor of each class; the mean weight of a row; the share of rows
    held out, and the seed that chooses them."""

    shape: NetworkShape
    loss: str
    standard: Standardisation
    labels: Labels | None
    factor: Floats | None
    unit: float
    dtype: str
    held: float
    seed: int


class UnpreparedRows(NamedTuple):
    """Rows of positive weight as they are: X, target (codes or numbers), weights c (None: all 1)."""

    X: Array
    target: Array
    c: Floats | None


def keep(task: NetworkTask, block: Block) -> UnpreparedRows:
    """Weights are those of the rows times those of their classes."""
    X, target = block.X, target_of(task.labels, block)
    if block.w is None and task.factor is None:
        return UnpreparedRows(X, target, None)
    c = np.ones(len(target)) if block.w is None else block.w
    c = c if task.factor is None else c * task.factor[target]
    there = c > 0
    return UnpreparedRows(X, target, c) if there.all() else UnpreparedRows(X[there], target[there], c[there])


class PreparedBlock(NamedTuple):
    """A block prepared; the numbers of the rows to learn from and of those held out; the weight of the former, in rows; the first row's number in the table."""

    rows: NetworkRows
    train: Array
    held: Array
    weight: float
    start: int


def piece_of(task: NetworkTask, block: Block) -> PreparedBlock:
    """A block for the loops."""
    kept = keep(task, block)
    numbers, codes = (None, kept.target) if task.labels is not None else (task.standard.numbers(kept.target), None)
    c = None if kept.c is None else kept.c / task.unit
    rows = prepare(task.shape, kept.X, codes, numbers, c, task.dtype, task.standard.columns)
    held = held_out(task, block.start, kept.target)
    train = np.flatnonzero(~held)
    weight = float(len(train)) if kept.c is None else float(rows.weights[train].sum())
    return PreparedBlock(rows, train, np.flatnonzero(held), weight, block.start)


def held_out(task: NetworkTask, start: int, target: Array) -> Array:
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


def order_of(task: NetworkTask, epoch: int, piece: PreparedBlock, shuffles: bool) -> Order:
    """How an epoch goes through the rows of a block."""
    from assay.families.networks.training import Order

    return Order(piece.train, shuffles, task.seed, epoch, piece.start)


def stays(task: NetworkTask, rows: Rows) -> bool:
    """Whether rows stay in memory as they are prepared: those that lie there anyway, and sparse ones that are not too many with their zeros."""
    if rows.resident or not rows.local or rows.n_rows is None:
        return rows.resident
    return rows.n_rows * int(task.shape.wide[0]) * np.dtype(task.dtype).itemsize <= MOST_FILLED


class PreparedBlocks:
    """The pieces of all blocks in order, as often as they are asked for: kept where the rows are in memory, else read again."""

    def __init__(self, engine: Engine, rows: Rows, task: NetworkTask) -> None:
        rows = rows.at_hand()
        self._engine, self._rows, self._task = engine.reader(), rows, task
        self._kept: list[PreparedBlock] | None = None
        if stays(task, rows):
            self._kept = list(self._engine.map(partial(_prepared, task), rows.blocks()))

    @property
    def only(self) -> PreparedBlock | None:
        """The one block with rows to learn from, where it is in memory and there is no other."""
        full = [piece for piece in self._kept or () if len(piece.train)]
        return full[0] if len(full) == 1 else None

    def __iter__(self) -> Iterator[PreparedBlock]:
        if self._kept is not None:
            yield from self._kept
            return
        for block in self._engine.map(load, self._rows.blocks()):
            yield piece_of(self._task, block)


def _prepared(task: NetworkTask, part: Part) -> PreparedBlock:
    return piece_of(task, part.load())
