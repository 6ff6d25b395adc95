"""Targets of the rows, and what a fit knows of the rows before it starts. One fold.

Targets t and weights c = sample weight · class weight are what a block's labels become before a solver is given it:

    margin losses: t = 1 for one class, −1 for the rest;   softmax: the code of the class;   regression: the number itself

The statistics are weights, means and scales of the columns and, for not too many columns, all their products, which are the
preconditioner of L-BFGS as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fingerprint, fold
from assay.engines.csr import SparseMatrix
from assay.engines.rows import rows_of
from assay.errors import DataError
from assay.inputs import as_regression_target, refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats
from assay.solvers.problem import WIDE_SPARSE
from assay.statistics.class_moments import ClassMoments, merge_moments
from assay.statistics.gram import Gram, gram_of, merge_gram

MOST_PRODUCTS = 2000  # columns up to which all products are taken


@dataclass(frozen=True)
class TargetMaker:
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
class TargetedRows:
    """Rows, and what is still to be done to each block when it is read (None: nothing)."""

    rows: Rows
    targets: TargetMaker
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


def prepare(rows: Rows, targets: TargetMaker) -> TargetedRows:
    """Rows in memory are encoded once; others each time they are read."""
    if not rows.resident:
        return TargetedRows(rows, targets, False)
    whole = Block(rows.X, rows.y, rows.w, 0)
    codes = targets.codes(whole)
    return TargetedRows(rows_of(rows.X, codes, targets.weights(codes, rows.w), like=rows), targets, True)


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


class RowStatistics(NamedTuple):
    """Moments of the columns for each class (K, d) (regression: K = 1), and the Gram matrix of columns and t, or None.

    t is 1 for the last class, −1 for the others, or the number of a regression. `mark` is the fingerprint of the rows.
    """

    classes: ClassMoments
    weight: Floats
    gram: Gram | None
    rows: int
    mark: bytes

    @property
    def n(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())


def row_statistics(engine: Engine, rows: Rows, targets: TargetMaker, most: int = MOST_PRODUCTS) -> RowStatistics:
    """One fold over rows whose y are labels (or numbers); of more columns than `most` no products are taken."""
    absorb = partial(absorb_statistics, rows.names, targets, wants_products(rows, most))
    found = fold(engine, rows.blocks(), absorb, merge_statistics)
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.n > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    return found


def wants_products(rows: Rows, most: int = MOST_PRODUCTS) -> bool:
    """Whether the products of all columns are worth taking."""
    return rows.n_columns <= (WIDE_SPARSE if rows.sparse else most)


def absorb_statistics(
    names: tuple[str, ...] | None, targets: TargetMaker, products: bool, block: Block
) -> RowStatistics:
    """The statistics of one block whose y are labels (or numbers)."""
    codes = targets.codes(block)
    c = targets.weights(codes, block.w)
    regression = targets.labels is None
    K = 1 if regression else len(targets.multipliers)
    number = codes if regression else np.where(codes == K - 1, 1.0, -1.0)
    classes = np.zeros(len(codes), dtype=np.int64) if regression else codes
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(block.X, SparseMatrix):
            found, gram = _sparse(block.X, classes, number, c, K, products)
            mark = fingerprint.leaf_of(block.X, codes, block.w)
        else:
            found, gram, hashes = _dense(block, classes, number, c, K, products)
            mark = fingerprint.leaf(hashes, block.X, codes, block.w)
    if not np.isfinite(found.m2).all() or not np.isfinite(found.n).all():
        refuse_non_finite(block.X, block.start, names)
        refuse_heavy(c)
        refuse_overflow(block.X, block.start, names)
    weight = np.bincount(classes, weights=c, minlength=K).astype(np.float64)
    return RowStatistics(found, weight, gram, len(codes), mark)


def _dense(
    block: Block, classes: Array, number: Floats, c: Array | None, K: int, products: bool
) -> tuple[ClassMoments, Gram | None, Array]:
    from assay.statistics.class_moments import absorb_moments

    if not products:
        found, _, hashes = absorb_moments(block.X, classes, c, K)
        return found, None, hashes
    gram, hashes = gram_of(block.X, number, c)
    if K <= 2:
        weight = np.bincount(classes, weights=c, minlength=K).astype(np.float64)
        return _moments_of(gram, weight), gram, hashes
    return absorb_moments(block.X, classes, c, K)[0], gram, hashes


def _moments_of(gram: Gram, weight: Floats) -> ClassMoments:
    """Class means from the products with t = ±1: Σ_{t=1} c(x − x̄) = ½·cross. The spread is that of all rows together."""
    K = len(weight)
    n = np.repeat(weight[:, None], len(gram.mean), axis=1)
    shares = np.divide(weight, weight.sum(), out=np.zeros(K), where=weight.sum() > 0)
    m2 = np.outer(shares, np.diag(gram.scatter))
    if K == 1:
        return ClassMoments(n, gram.mean[None, :], m2)
    half = 0.5 * gram.cross
    lean = np.divide(np.stack([-half, half]), weight[:, None], out=np.zeros((2, len(half))), where=weight[:, None] > 0)
    return ClassMoments(n, gram.mean + lean, m2)


def _sparse(
    X: SparseMatrix, classes: Array, number: Floats, c: Array | None, K: int, products: bool
) -> tuple[ClassMoments, Gram | None]:
    """Sums of the entries of each class by counting; absent entries are zeros. Products by the sweep itself."""
    d = X.shape[1]
    rows = X.row_numbers()
    weights = np.ones(len(classes)) if c is None else c
    place = classes[rows] * d + X.indices
    data = X.data.astype(np.float64)
    s1, s2 = (
        np.bincount(place, weights=weights[rows] * data**power, minlength=K * d).reshape(K, d).astype(np.float64)
        for power in (1, 2)
    )
    n = np.repeat(np.bincount(classes, weights=weights, minlength=K)[:, None], d, axis=1)
    mean = np.divide(s1, n, out=np.zeros_like(s1), where=n > 0)
    found = ClassMoments(n, mean, np.maximum(s2 - s1 * mean, 0.0))
    return found, _sparse_gram(X, number, c) if products else None


def _sparse_gram(X: SparseMatrix, number: Floats, c: Array | None) -> Gram:
    """Products from one sweep of the squared loss at w = 0: H = Σ c x̃x̃ᵀ, g = −Σ c t x̃."""
    from assay.risk.surrogates import SQUARED
    from assay.solvers.problem import evaluate_block

    d = X.shape[1]
    evaluation = evaluate_block(SQUARED.code, 1.0, np.zeros(d + 1), np.zeros(d), True, Block(X, number, c, 0))
    assert evaluation.hessian is not None
    n = float(evaluation.hessian[d, d])
    mean = evaluation.hessian[:d, d] / n if n > 0 else np.zeros(d)
    target = -float(evaluation.gradient[d]) / n if n > 0 else 0.0
    scatter = evaluation.hessian[:d, :d] - n * np.outer(mean, mean)
    cross = -evaluation.gradient[:d] - n * target * mean
    left = max(2.0 * evaluation.loss - n * target * target, 0.0)
    return Gram(np.array([n]), mean, scatter, cross, np.array([target]), np.array([left]), b"")


def merge_statistics(a: RowStatistics, b: RowStatistics) -> RowStatistics:
    """The statistics of both stretches of rows together."""
    gram = None if a.gram is None or b.gram is None else merge_gram(a.gram, b.gram)
    mark = fingerprint.join(a.mark, b.mark)
    return RowStatistics(merge_moments(a.classes, b.classes), a.weight + b.weight, gram, a.rows + b.rows, mark)
