"""How a fitted model does on rows: one fold that counts its answers, or sums its squared errors.

R̂(h) = 1/n Σ ℓ(h(x_i), y_i)
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from assay.engines import ArrayRows, Block, Rows, engine_for, fold, rows_of
from assay.errors import DataError
from assay.inputs import as_regression_target
from assay.numerics import Array


class Confusion(NamedTuple):
    """counts (K + 1, K): rows of true class k answered with class l; the last row counts labels the model does not know."""

    counts: Array

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def errors(self) -> int:
        return self.n - int(np.trace(self.counts))


class Residuals(NamedTuple):
    """n rows; mean and Σ(· − mean)² of the squared errors (y − ŷ)² and of the target y."""

    n: int
    loss: float
    loss_m2: float
    target: float
    target_m2: float

    @property
    def standard_error(self) -> float:
        """s/√n of the mean squared error."""
        return math.sqrt(self.loss_m2 / (self.n - 1) / self.n) if self.n > 1 else math.inf

    @property
    def r2(self) -> float:
        """1 − Σ(y − ŷ)² / Σ(y − ȳ)²."""
        return 1 - self.loss * self.n / self.target_m2 if self.target_m2 > 0 else float(self.loss == 0)


Measured = TypeVar("Measured", Confusion, Residuals)


def confusion(model: Any, rows: Rows) -> Confusion:
    """Count the answers of a classifier."""
    rows, engine = _opened(rows, model)
    found = fold(engine, rows.blocks(), partial(_count, model, rows.names, rows.categories), _add)
    return _some(None if found is None else Confusion(found))


def residuals(model: Any, rows: Rows) -> Residuals:
    """Sum up the squared errors of a regressor."""
    rows, engine = _opened(rows, model)
    found: Residuals | None = fold(engine, rows.blocks(), partial(_square, model, rows.names, rows.categories), _merge)
    return _some(found)


def _opened(rows: Rows, model: Any) -> tuple[Rows, Any]:
    engine = engine_for(rows, model.n_jobs)
    return engine.open(rows), engine


def _some(found: Measured | None) -> Measured:
    if found is None or found.n == 0:
        raise DataError("There are no rows to measure the model on: give more rows, or hold out a larger share.")
    return found


def _judged(model: Any, names: Any, categories: Any, block: Block) -> tuple[Array, Array]:
    """Truth and answers of the rows that count: a row of weight 0 is as good as absent."""
    assert block.y is not None
    like = ArrayRows(np.empty((0, block.X.shape[1])), names=names, categories=categories)
    answers = model.predict(rows_of(block.X, like=like))
    return (block.y, answers) if block.w is None else (block.y[block.w > 0], answers[block.w > 0])


def _count(model: Any, names: Any, categories: Any, block: Block) -> Array:
    return count_answers(*_judged(model, names, categories, block), model.classes_)


def class_codes(labels: Array, classes: Array) -> Array:
    """The place of each label among the sorted classes; K for a label that is none of them."""
    at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[at] == labels, at, len(classes))


def count_answers(truth: Array, answers: Array, classes: Array) -> Array:
    """(K + 1, K): rows of true class k answered with class l; true labels that are no class come last."""
    K = len(classes)
    pairs = class_codes(truth, classes) * K + np.searchsorted(classes, answers)
    return np.bincount(pairs, minlength=(K + 1) * K).reshape(K + 1, K)


def _add(a: Array, b: Array) -> Array:
    return a + b


def _square(model: Any, names: Any, categories: Any, block: Block) -> Residuals:
    truth, answers = _judged(model, names, categories, block)
    if not len(truth):
        return Residuals(0, 0.0, 0.0, 0.0, 0.0)
    y = as_regression_target(truth)
    losses = (y - answers) ** 2
    mean, centre = float(losses.mean()), float(y.mean())
    return Residuals(len(y), mean, float(((losses - mean) ** 2).sum()), centre, float(((y - centre) ** 2).sum()))


def _merge(a: Residuals, b: Residuals) -> Residuals:
    n = a.n + b.n
    if n == 0:
        return a
    share, both = b.n / n, a.n * b.n / n
    return Residuals(
        n,
        a.loss + (b.loss - a.loss) * share,
        a.loss_m2 + b.loss_m2 + (b.loss - a.loss) ** 2 * both,
        a.target + (b.target - a.target) * share,
        a.target_m2 + b.target_m2 + (b.target - a.target) ** 2 * both,
    )
