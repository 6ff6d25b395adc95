"""What a kernel map is made from: the weight and spread of the columns, and some distinct rows. One fold, with the fingerprint."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fingerprint, fold
from assay.errors import DataError
from assay.hypotheses.heavy_weights import refuse_heavy
from assay.hypotheses.kernel_features.draw import Draw, draw, merge_draws
from assay.inputs import as_regression_target, refuse_non_finite, refuse_overflow
from assay.labels import Labels
from assay.numerics import Array, Floats


class Survey(NamedTuple):
    """Weight n of the rows; mean (d,) and Σ w (x − mean)² (d,) of the columns; the drawn rows; the fingerprint (b"": not asked for)."""

    n: float
    mean: Floats
    squares: Floats
    drawn: Draw
    mark: bytes


class Question(NamedTuple):
    """What is asked of each block: how many rows are drawn and by which seed; with which target (None: none) the rows are marked."""

    names: tuple[str, ...] | None
    most: int
    seed: int
    marked: bool = False
    labels: Labels | None = None


def survey(engine: Engine, rows: Rows, question: Question) -> Survey:
    """One fold over the rows."""
    found: Survey | None = fold(engine, rows.blocks(), partial(absorb, question), partial(merge, question.most))
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.n > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    return found


def absorb(question: Question, block: Block) -> Survey:
    """The survey of one block."""
    X, w = block.X, block.w
    target = _target(question, block)
    n = float(len(X)) if w is None else float(w.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _weighted(X, w) / n if n > 0 else np.zeros(X.shape[1])
        off = X.astype(np.float64) - mean
        squares = _weighted(off * off, w)
    if not (np.isfinite(squares).all() and np.isfinite(mean).all() and np.isfinite(n)):
        refuse_non_finite(X, block.start, question.names)
        refuse_heavy(w)
        refuse_overflow(X, block.start, question.names)
    mark = fingerprint.leaf_of(X, target, w) if question.marked else b""
    return Survey(n, mean, squares, draw(X, w, question.most, question.seed), mark)


def _weighted(X: Array, w: Array | None) -> Floats:
    sums: Floats = X.sum(axis=0, dtype=np.float64) if w is None else np.asarray(w, dtype=np.float64) @ X
    return sums


def _target(question: Question, block: Block) -> Array | None:
    if not question.marked:
        return None
    assert block.y is not None
    return as_regression_target(block.y, block.start) if question.labels is None else question.labels.encode(block.y)


def merge(most: int, a: Survey, b: Survey) -> Survey:
    """The survey of both stretches of rows together."""
    n = a.n + b.n
    share = b.n / n if n > 0 else 0.0
    gap = b.mean - a.mean
    squares = a.squares + b.squares + gap * gap * (a.n * share)
    mark = fingerprint.join(a.mark, b.mark) if a.mark else b""
    return Survey(n, a.mean + gap * share, squares, merge_draws(a.drawn, b.drawn, most), mark)
