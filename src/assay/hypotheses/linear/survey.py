"""What a fit knows of its rows before it starts: weights, means and scales of the columns, and, for not too many columns, all
their products. One fold.

With the products the first look of most losses is known: at w = 0 every row has the same slope (but for its sign) and the
same curvature. They are the preconditioner of L-BFGS as well.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fingerprint, fold
from assay.engines.sparse import SparseMatrix
from assay.errors import DataError
from assay.hypotheses.class_moments import ClassMoments, merge_moments
from assay.hypotheses.gram import Gram, gram_of, merge_gram
from assay.hypotheses.heavy_weights import refuse_heavy
from assay.hypotheses.linear.targets import Targets
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.numerics import Array, Floats
from assay.solvers.problem import WIDE_SPARSE

MOST_PRODUCTS = 2000  # columns up to which all products are taken


class Survey(NamedTuple):
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


def absorb_survey(names: tuple[str, ...] | None, targets: Targets, products: bool, block: Block) -> Survey:
    """The survey of one block whose y are labels (or numbers)."""
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
    return Survey(found, weight, gram, len(codes), mark)


def _dense(
    block: Block, classes: Array, number: Floats, c: Array | None, K: int, products: bool
) -> tuple[ClassMoments, Gram | None, Array]:
    from assay.hypotheses.class_moments import absorb_moments

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
    from assay.solvers.problem import absorb_look

    d = X.shape[1]
    look = absorb_look(SQUARED.code, 1.0, np.zeros(d + 1), np.zeros(d), True, Block(X, number, c, 0))
    assert look.hessian is not None
    n = float(look.hessian[d, d])
    mean = look.hessian[:d, d] / n if n > 0 else np.zeros(d)
    target = -float(look.gradient[d]) / n if n > 0 else 0.0
    scatter = look.hessian[:d, :d] - n * np.outer(mean, mean)
    cross = -look.gradient[:d] - n * target * mean
    left = max(2.0 * look.loss - n * target * target, 0.0)
    return Gram(np.array([n]), mean, scatter, cross, np.array([target]), np.array([left]), b"")


def merge_surveys(a: Survey, b: Survey) -> Survey:
    """The survey of both stretches of rows together."""
    gram = None if a.gram is None or b.gram is None else merge_gram(a.gram, b.gram)
    mark = fingerprint.join(a.mark, b.mark)
    return Survey(merge_moments(a.classes, b.classes), a.weight + b.weight, gram, a.rows + b.rows, mark)


def wants_products(rows: Rows) -> bool:
    """Whether the products of all columns are worth taking."""
    return rows.n_columns <= (WIDE_SPARSE if rows.sparse else MOST_PRODUCTS)


def survey(engine: Engine, rows: Rows, targets: Targets) -> Survey:
    """One fold over rows whose y are labels (or numbers)."""
    absorb = partial(absorb_survey, rows.names, targets, wants_products(rows))
    found = fold(engine, rows.blocks(), absorb, merge_surveys)
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.n > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    return found
