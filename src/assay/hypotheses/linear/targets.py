"""What a block's labels become before a solver sees it: targets t and weights c = sample weight · class weight.

margin losses: t = 1 for one class, −1 for the rest;   softmax: the code of the class;   regression: the number itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.engines.sparse import rows_of
from assay.inputs import as_regression_target
from assay.labels import Labels
from assay.numerics import Array, Floats


@dataclass(frozen=True)
class Targets:
    """From labels (None: numbers) and the factor of each class to codes and weights."""

    labels: Labels | None
    multipliers: Floats

    def codes(self, block: Block) -> Array:
        """Codes of the classes, or the numbers of a regression target."""
        assert block.y is not None
        if self.labels is None:
            return as_regression_target(block.y, block.start)
        return self.labels.encode(block.y)

    def weights(self, codes: Array, w: Array | None) -> Array | None:
        """The weight of each row, with that of its class."""
        if self.labels is None or bool(np.all(self.multipliers == 1.0)):
            return w
        factor: Array = self.multipliers[codes]
        return factor if w is None else factor * w

    def prepare(self, positive: int | None, block: Block) -> Block:
        """The block with targets and weights; `positive` is the class with t = 1, None leaves codes (or numbers)."""
        codes = self.codes(block)
        return Block(block.X, as_target(codes, positive), self.weights(codes, block.w), block.start)


def as_target(codes: Array, positive: int | None) -> Array:
    """Codes as ±1, or as float64."""
    if positive is None:
        return np.asarray(codes, dtype=np.float64)
    return np.where(codes == positive, 1.0, -1.0)


@dataclass(frozen=True)
class Prepared:
    """Rows, and what is still to be done to each block when it is read (None: nothing)."""

    rows: Rows
    targets: Targets
    ready: bool  # y already holds codes, and w the weights

    def labels(self) -> Labels:
        """The labels of the rows as they stand here."""
        assert self.targets.labels is not None
        return Labels.of(np.arange(len(self.targets.multipliers))) if self.ready else self.targets.labels

    def of(self, positive: int | None) -> tuple[Rows, partial[Block] | None]:
        """The rows with the targets of one problem."""
        if not self.ready:
            return self.rows, partial(self.targets.prepare, positive)
        rows = self.rows
        assert rows.y is not None
        return rows_of(rows.X, as_target(rows.y, positive), rows.w, like=rows), None


def prepare(rows: Rows, targets: Targets) -> Prepared:
    """Rows in memory are encoded once; others each time they are read."""
    if not rows.resident:
        return Prepared(rows, targets, False)
    whole = Block(rows.X, rows.y, rows.w, 0)
    codes = targets.codes(whole)
    return Prepared(rows_of(rows.X, codes, targets.weights(codes, rows.w), like=rows), targets, True)


def _count(labels: Labels, block: Block) -> Floats:
    assert block.y is not None
    codes = labels.encode(block.y)
    return np.bincount(codes, weights=block.w, minlength=len(labels.classes)).astype(np.float64)


def _add(a: Any, b: Any) -> Any:
    return a + b


def class_counts(engine: Engine, rows: Rows, labels: Labels) -> Floats:
    """The weight of the rows of each class: a fold over the targets alone."""
    counts: Floats | None = fold(engine, rows.targets(), partial(_count, labels), _add)
    assert counts is not None
    return counts


def _rows_that_count(block: Block) -> int:
    assert block.y is not None
    return len(block.y) if block.w is None else int(np.count_nonzero(block.w))


def count_rows(engine: Engine, rows: Rows) -> int:
    """How many rows have a positive weight."""
    n = fold(engine, rows.targets(), _rows_that_count, _add)
    return int(n or 0)
