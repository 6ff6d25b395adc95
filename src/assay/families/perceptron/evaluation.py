"""What weights make of rows: their scores, and one pass over all rows of a fit that measures its finished weights.

Scores, by one set of weights or by the vote of many, are NumPy alone: an answer needs no compiler. The pass brings radius, margin
and mistakes, the fingerprint of the rows, and the weights of the classes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, SparseMatrix, fold
from assay.engines.engine import Threads
from assay.engines.fingerprint import bits, join, leaf, leaf_of
from assay.errors import DataError, ParameterError
from assay.inputs import refuse_non_finite
from assay.inputs.labels import Labels, class_multipliers
from assay.inputs.refusals import refuse_absent
from assay.numerics import Array, Floats

TILE = 1 << 22  # scores of rows by voters that are held at a time
NO_WEIGHTS = np.empty(0)


def linear_scores(X: Any, coef: Floats, intercept: Floats) -> Floats:
    """Xwᵀ + b for dense rows or sparse ones."""
    if isinstance(X, SparseMatrix):
        rows, data = X.row_numbers(), X.data.astype(np.float64)
        Z = np.column_stack([np.bincount(rows, data * w[X.indices], minlength=len(X)) for w in coef])
    else:
        Z = X.astype(np.float64, copy=False) @ coef.T
    out: Floats = Z + intercept
    return out


def vote(X: Any, voters: Floats, votes: Array) -> Floats:
    """The share of votes: (n, 1), for the greater class less for the lower, or (n, K); voters (V, m, d + 1), bias first."""
    m = voters.shape[1]
    Z = np.zeros((len(X), m))
    tile = max(1, TILE // max(1, len(X) * m))
    for v in range(0, len(votes), tile):
        some = votes[v : v + tile].astype(np.float64)
        flat = voters[v : v + tile].reshape(-1, voters.shape[2])
        S = linear_scores(X, flat[:, 1:], flat[:, 0]).reshape(len(X), -1, m)
        Z[~np.isfinite(S).all(axis=(1, 2))] = np.nan  # a row that no vote should hide
        if m == 1:
            Z[:, 0] += np.where(S[:, :, 0] >= 0, 1.0, -1.0) @ some
        else:
            winners = S.argmax(axis=2)
            Z += np.column_stack([(winners == k) @ some for k in range(m)])
    return Z / max(1, int(votes.sum()))


def mean_weights(last: Floats, drift: Floats, visits: int) -> Floats:
    """The average of the weights over all visits: (T·w_T − u) / T."""
    return last - drift / max(1, visits)


class PerceptronEvaluation(NamedTuple):
    """What weights make of the rows of positive weight: R² = max ‖x̃‖², least margin, rows and mistakes with their weights."""

    square: float
    margin: float
    rows: int
    weight: float
    wrong: int
    wrong_weight: float
    mark: bytes


class BackgroundFingerprint:
    """The fingerprint of rows in memory, taken on a thread of its own: passes in order keep but one processor busy."""

    def __init__(self, engine: Engine, rows: Rows, labels: Labels) -> None:
        rows = rows.at_hand()
        pays = rows.resident and (engine.workers or 1) > 1
        self._pool = ThreadPoolExecutor(1) if pays else None
        self._mark = self._pool.submit(_mark_of, rows, labels) if self._pool is not None else None

    def result(self) -> bytes | None:
        """The mark, or None where it was not taken."""
        if self._pool is None or self._mark is None:
            return None
        self._pool.shutdown(wait=False)
        return self._mark.result()


def _mark_of(rows: Rows, labels: Labels) -> bytes | None:
    return fold(Threads(1), rows.blocks(), partial(_absorb_mark, labels), join)


def _absorb_mark(labels: Labels, block: Block) -> bytes:
    assert block.y is not None
    return leaf_of(block.X, np.ascontiguousarray(labels.encode(block.y), dtype=np.int64), block.w)


def evaluate(
    engine: Engine,
    rows: Rows,
    labels: Labels,
    factor: Floats | None,
    one: float,
    names: Any,
    w: Floats,
    b: Floats,
    mark: bytes | None = None,
) -> PerceptronEvaluation:
    """One more fold over the rows, with the finished weights; it takes their fingerprint as well, unless that is known."""
    absorb = partial(_evaluate_block, labels, factor, one, names, w, b, mark is None)
    found = fold(engine, rows.blocks(), absorb, _merge_evaluations)
    assert found is not None
    return found if mark is None else found._replace(mark=mark)


def _evaluate_block(
    labels: Labels, factor: Floats | None, one: float, names: Any, w: Floats, b: Floats, hashes: bool, block: Block
) -> PerceptronEvaluation:
    from assay.families.perceptron import loops as loops

    assert block.y is not None
    X, codes = block.X, np.ascontiguousarray(labels.encode(block.y), dtype=np.int64)
    w, b = np.require(w, None, ["C", "A"]), np.require(b, None, ["C", "A"])
    weights = _weights(factor, codes, block.w)
    out = np.array([0.0, np.inf, 0.0, 0.0, 0.0, 0.0, 0.0])
    if isinstance(X, SparseMatrix):
        loops.measure(loops.Csr(X.data, X.indices, X.indptr), codes, weights, one, w, b, out)
        mark = leaf_of(X, codes, block.w) if hashes else b""
    elif not hashes:
        loops.measure(X, codes, weights, one, w, b, out)
        mark = b""
    else:
        h = np.zeros(X.shape[1], dtype=np.uint64)
        loops.measure_and_hash(X, *bits(X), codes, weights, one, w, b, out, h)
        mark = leaf(h, X, codes, block.w)
    return _evaluation_of(out, block, mark, names)


def _merge_evaluations(a: PerceptronEvaluation, b: PerceptronEvaluation) -> PerceptronEvaluation:
    return PerceptronEvaluation(
        max(a.square, b.square),
        min(a.margin, b.margin),
        a.rows + b.rows,
        a.weight + b.weight,
        a.wrong + b.wrong,
        a.wrong_weight + b.wrong_weight,
        join(a.mark, b.mark),
    )


def class_counts(engine: Engine, rows: Rows, labels: Labels, *, exact: bool) -> Floats:
    """The weight of the rows of each class. `exact`: the same bits on every engine, for which whole blocks are read."""
    parts = rows.blocks() if exact and rows.has_weight else rows.targets()
    found = fold(engine, parts, partial(_absorb_counts, labels), np.add)
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return np.asarray(found)


def class_factors(class_weight: Any, engine: Engine, rows: Rows, labels: Labels, whole: bool) -> Floats:
    """The factor of each class; `whole`: these are all rows of the fit, so at least two classes must have some."""
    balanced = isinstance(class_weight, str)
    counts = np.ones(len(labels.classes))
    if rows.has_weight or balanced:
        counts = class_counts(engine, rows, labels, exact=balanced)
        refuse_absent(labels.classes, counts, whole)
    factors = class_multipliers(class_weight, labels.classes, counts)
    if not np.any(counts * factors > 0):
        raise ParameterError(f"class_weight={class_weight!r} leaves no class with any weight.")
    return factors


def _absorb_counts(labels: Labels, block: Block) -> Floats:
    assert block.y is not None
    found: Floats = np.bincount(labels.encode(block.y), weights=block.w, minlength=len(labels.classes))
    return np.asarray(found, dtype=np.float64)


def _weights(factor: Floats | None, codes: Array, w: Array | None) -> Floats:
    """The weights of rows times the factors of their classes; empty where all are 1."""
    if factor is None:
        return NO_WEIGHTS if w is None else w
    return factor[codes] if w is None else w * factor[codes]


def _evaluation_of(out: Floats, block: Block, mark: bytes, names: Any) -> PerceptronEvaluation:
    if not np.isfinite(out[[0, 6]]).all():
        refuse_non_finite(block.X, block.start, names)
        raise DataError(
            "Squares of the values overflow float64: divide the columns by a constant (or standardise them)."
        )
    square, margin, n, weight, wrong, wrong_weight = (float(v) for v in out[:6])
    return PerceptronEvaluation(square, margin, int(n), weight, int(wrong), wrong_weight, mark)
