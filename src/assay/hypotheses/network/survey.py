"""What a network's fit knows of its rows before the first epoch: weights of the classes, means and deviations. One fold, with the fingerprint."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fingerprint, fold
from assay.errors import DataError
from assay.hypotheses.class_moments import ClassMoments, absorb_moments, merge_moments
from assay.hypotheses.heavy_weights import refuse_heavy
from assay.inputs import as_regression_target, refuse_non_finite, refuse_overflow
from assay.labels import Labels
from assay.numerics import Array, Floats


class Survey(NamedTuple):
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


def absorb(labels: Labels | None, names: tuple[str, ...] | None, block: Block) -> Survey:
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
    return Survey(columns, of_target, weight, rows, n, fingerprint.leaf(hashes, block.X, target, w))


def merge(a: Survey, b: Survey) -> Survey:
    """The survey of both stretches of rows together."""
    with np.errstate(over="ignore", invalid="ignore"):
        columns = merge_moments(a.columns, b.columns)
        target = None if a.target is None or b.target is None else merge_moments(a.target, b.target)
    mark = fingerprint.join(a.mark, b.mark)
    return Survey(columns, target, a.weight + b.weight, a.rows + b.rows, a.total + b.total, mark)


def survey(engine: Engine, rows: Rows, labels: Labels | None) -> Survey:
    """One fold over the rows."""
    found: Survey | None = fold(engine, rows.blocks(), partial(absorb, labels, rows.names), merge)
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.weight.sum() > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    if not np.isfinite(found.columns.m2).all():
        raise DataError("The spread of a column overflows float64: divide its values by a constant.")
    return found
